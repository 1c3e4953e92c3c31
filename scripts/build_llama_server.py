#!/usr/bin/env python3
"""Builds llama-server and llama-bench around the very llama.cpp libraries that the local engine is linked with.

    scripts/build_llama_server.py        prints the folder that holds `bin/`, `lib/` and `templates/`

Their source is the tree that llama-cpp-python's source distribution carries (llama.cpp, MIT); the libraries are copies
of those that the installed package was built with from the same tree. So server, benchmark and engine compute with the
same machine code. The result stays in the cache folder (EDGE_AGENTIC_CACHE overrides it) and is built once for each
version and build of the package, in some three minutes of one core.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bfcl_gate.cache import cache_dir, hash_file

PACKAGE = "llama-cpp-python"
SDIST_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
"""Of the source distribution of the version that pyproject.toml pins; another version needs its own."""

PROGRAMS = ("llama-server", "llama-bench")

# Takes the place of the tree's own file, which would build its libraries again. The two functions are what its parts
# call; a web page is left out of the server, for it would be downloaded.
CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(peers C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(Threads REQUIRED)
function(license_add_file)
endfunction()
function(llama_add_compile_flags)
endfunction()
foreach(name ggml-base ggml llama mtmd llama-common)
  add_library(${name} SHARED IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES
    IMPORTED_LOCATION ${LIBRARIES}/lib${name}${CMAKE_SHARED_LIBRARY_SUFFIX})
endforeach()
target_include_directories(ggml-base INTERFACE ggml/include)
target_include_directories(llama INTERFACE include)
target_include_directories(llama-common INTERFACE common vendor)
target_include_directories(mtmd INTERFACE tools/mtmd)
target_compile_definitions(llama-common INTERFACE LLAMA_SUBPROCESS)
target_link_libraries(ggml INTERFACE ggml-base)
target_link_libraries(llama INTERFACE ggml)
target_link_libraries(mtmd INTERFACE llama)
target_link_libraries(llama-common INTERFACE llama)
if(NOT APPLE)
  add_link_options(-Wl,-rpath-link,${LIBRARIES})
endif()
add_subdirectory(vendor/cpp-httplib)
add_subdirectory(tools/ui)
add_subdirectory(tools/server)
add_subdirectory(tools/llama-bench)
set_target_properties(llama-server llama-bench PROPERTIES
  BUILD_WITH_INSTALL_RPATH ON
  INSTALL_RPATH $<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>/../lib)
"""


class BuildError(Exception):
    """The programs cannot be built here; the text says why."""


def built() -> Path:
    """Return the folder with `bin/`, `lib/` and `templates/`, building it first where it is not there yet.

    Raises BuildError where the source cannot be had or does not build.
    """
    version, libraries = pinned_version(), _libraries()
    folder = cache_dir() / "llama-server" / f"{version}-{SDIST_SHA256[:12]}-{_digest(libraries)}"
    if not (folder / "bin").is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=folder.parent) as work:
            finished = _build(_unpacked(_sdist(version, Path(work)), Path(work)), libraries, Path(work))
            try:
                finished.rename(folder)
            except OSError:
                if not (folder / "bin").is_dir():  # else someone else was faster
                    raise
    return folder


def pinned_version() -> str:
    """Return the version of llama-cpp-python that this product is made for, which has to be the installed one."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(rf'"{PACKAGE}==([\w.]+)"', text)
    if found is None:
        raise BuildError(f"pyproject.toml does not pin {PACKAGE} to one version.")
    try:
        installed = distribution(PACKAGE).version
    except PackageNotFoundError:
        raise BuildError(f"{PACKAGE} is not installed for {sys.executable}.") from None
    if installed != found[1]:
        raise BuildError(f"{PACKAGE} {installed} is installed, {found[1]} is pinned.")
    return found[1]


def _libraries() -> tuple[Path, ...]:
    """Return the libraries that the package's build installed, those beside its Python modules left out."""
    files = [Path(str(file.locate())) for file in distribution(PACKAGE).files or () if file.parts[0] == "lib"]
    found = tuple(sorted(file for file in files if re.search(r"\.(so|dylib)(\.[\d.]+)?$", file.name)))
    if not any(file.name.startswith("libllama-common.") for file in found):
        raise BuildError(
            f"the installed {PACKAGE} brings no libllama-common; install it from source: {sys.executable} -m pip "
            f"install --force-reinstall --no-deps --no-binary {PACKAGE} {PACKAGE}"
        )
    return found


def _digest(files: Sequence[Path]) -> str:
    return hashlib.sha256("".join(hash_file(file) for file in files).encode()).hexdigest()[:8]


def _sdist(version: str, work: Path) -> Path:
    """Download the source distribution and verify it."""
    folder = work / "download"
    wanted = f"{PACKAGE}=={version}"
    download = ("download", "--no-deps", "--no-binary", PACKAGE, "--dest", str(folder), wanted)
    _run((sys.executable, "-m", "pip", *download), work)
    found = list(folder.glob("*.tar.gz"))
    if len(found) != 1:
        raise BuildError(f"pip brought {len(found)} source distributions of {wanted}, expected one.")
    digest = hash_file(found[0])
    if digest != SDIST_SHA256:
        raise BuildError(
            f"{found[0].name} has SHA-256 {digest}, expected {SDIST_SHA256}. After a change of the pinned version set "
            f"SDIST_SHA256 in {Path(__file__).name}; else the package index brought another file."
        )
    return found[0]


def _unpacked(sdist: Path, work: Path) -> Path:
    """Unpack the source distribution and return its llama.cpp tree."""
    with tarfile.open(sdist) as archive:
        archive.extractall(work / "source", filter="data")
    found = list((work / "source").glob("*/vendor/llama.cpp"))
    if len(found) != 1:
        raise BuildError(f"{sdist.name} holds no llama.cpp tree under vendor/.")
    return found[0]


def _build(source: Path, libraries: Sequence[Path], work: Path) -> Path:
    finished, build, cmake = work / "finished", work / "build", _tool("cmake")
    for part in ("bin", "lib"):
        (finished / part).mkdir(parents=True)
    for library in libraries:
        shutil.copy2(library, finished / "lib")
    (source / "CMakeLists.txt").write_text(CMAKE, encoding="utf-8")
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_MAKE_PROGRAM": _tool("ninja"),
        "LIBRARIES": finished / "lib",
        "LLAMA_BUILD_UI": "OFF",
        "LLAMA_USE_PREBUILT_UI": "OFF",
    }
    given = [f"-D{name}={value}" for name, value in options.items()]
    _run((cmake, "-S", str(source), "-B", str(build), "-G", "Ninja", *given), work)
    _run((cmake, "--build", str(build), "--parallel", str(os.cpu_count() or 1), "--target", *PROGRAMS), work)
    for program in PROGRAMS:
        name = program + (".exe" if os.name == "nt" else "")
        (made,) = (path for path in build.rglob(name) if path.is_file())
        shutil.copy2(made, finished / "bin")
    shutil.copytree(source / "models" / "templates", finished / "templates")
    shutil.copy2(source / "LICENSE", finished)
    return finished


def _tool(name: str) -> str:
    """Return the path of a build tool: the system's, or the one that was installed beside this Python."""
    beside = Path(sys.executable).parent
    found = shutil.which(name) or shutil.which(name, path=str(beside))
    if found is None:
        raise BuildError(f"{name} is missing; install it with: {sys.executable} -m pip install {name}")
    return found


def _run(command: Sequence[str], work: Path) -> None:
    """Run a step of the build, its output kept; raises BuildError with the last of it."""
    log = work / "log"
    with log.open("w", encoding="utf-8") as output:
        status = subprocess.call(command, cwd=work, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    if status:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = "\n".join(lines[-15:])
        raise BuildError(f"`{' '.join(command[:4])} …` ended with status {status}:\n{said}")


def main() -> int:
    """Print the folder; 3 where it cannot be had."""
    try:
        print(built())
    except (BuildError, OSError) as error:
        sys.stderr.write(f"Error: llama-server could not be built: {error}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
