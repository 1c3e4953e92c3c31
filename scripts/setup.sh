# Sourced by the other scripts: makes .venv and installs the product into it, once.
#
#   setup            what `edge-agentic` needs
#   setup dev        the same, and the tools of scripts/check and the tests
#
# A second call does nothing: a stamp remembers pyproject.toml and the kind of set-up.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
venv="$root/.venv"
python=${PYTHON:-python3}

stop() {
    echo "Error: $1" >&2
    exit 2
}

# need COMMAND PACKAGE WHAT: installs the package where that is allowed without asking, else names it.
need() {
    command -v "$1" >/dev/null 2>&1 && return
    install_package "$2"
    command -v "$1" >/dev/null 2>&1 || stop "$3 is missing; install it, on Debian, Ubuntu and Jetson with: sudo apt-get install $2"
}

install_package() {
    [ "${setup_kind:-}" = dev ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 0
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$1"; } >&2 || return 0
}

make_venv() {
    [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 && return
    need "$python" python3 "Python 3.10 or newer"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        stop "$("$python" --version) is too old; Python 3.10 or newer is needed (set PYTHON=/path/to/python3)."
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_package python3-venv
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        stop "this Python cannot make virtual environments; install them, on Debian, Ubuntu and Jetson with: sudo apt-get install python3-venv"
    "$python" -m venv --clear "$venv"
}

# The AMX intrinsic of GCC 12 names 8 of the 64 bytes it loads, so the optimiser drops the stores to the others and the
# first long prompt ends with SIGILL. Compilers before AMX know no such option, and their llama.cpp has no AMX either.
without_amx() {
    grep -qw amx_tile /proc/cpuinfo 2>/dev/null || return 0
    flags="-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
    echo 'int main(void) { return 0; }' | cc $flags -x c -fsyntax-only - 2>/dev/null || return 0
    export CFLAGS="${CFLAGS:-} $flags" CXXFLAGS="${CXXFLAGS:-} $flags"
}

# A wheel in pip's cache may come from a build without these options.
replace_amx_build() {
    "$venv/bin/python" -c 'import sys, llama_cpp; sys.exit(b"AMX_INT8 = 1" not in llama_cpp.llama_print_system_info())' || return 0
    "$venv/bin/python" -m pip cache remove llama_cpp_python >/dev/null 2>&1 || :
    "$venv/bin/python" -m pip install -qq --force-reinstall --no-deps \
        "$(sed -n 's/.*"\(llama-cpp-python==[^"]*\)".*/\1/p' "$root/pyproject.toml")" >&2
}

setup() {
    setup_kind=${1:-user}
    extra=
    [ "$setup_kind" = dev ] && extra='[dev]'
    sum=$(cksum <"$root/pyproject.toml")
    # What serves development serves a user too.
    for kind in "$setup_kind" dev; do
        [ -x "$venv/bin/edge-agentic" ] && grep -qxF "$kind $sum" "$venv/stamp" 2>/dev/null && return
    done
    make_venv
    if ! "$venv/bin/python" -c 'import llama_cpp' >/dev/null 2>&1; then
        need c++ g++ "a C++ compiler (llama.cpp is built on this machine)"
        echo "Building llama.cpp for this machine, once: about 4 minutes on 2 cores." >&2
    fi
    without_amx
    "$venv/bin/python" -m pip install -qq --upgrade pip >&2
    { "$venv/bin/python" -m pip install -qq --editable "$root$extra" >&2 && replace_amx_build; } ||
        stop "the installation failed; the lines above say why. Run the same command again once that is repaired."
    echo "$setup_kind $sum" >>"$venv/stamp"
}
