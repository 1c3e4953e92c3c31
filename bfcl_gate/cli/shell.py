"""What both commands share around their work: errors to exit codes, safe text, progress on a terminal."""

import errno
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer

from bfcl_gate.cli.streams import leave_stdout, open_streams
from bfcl_gate.errors import EdgeAgenticError, EngineError, InputError, SourceError

INTERRUPTED = 130


def safe_text(text: str) -> str:
    """Return `text` with every control character except newline and tab made visible.

    Traces, models and servers are not trusted with the terminal: an escape sequence could repaint it.
    """
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def fail(error: EdgeAgenticError) -> NoReturn:
    """Print the error's paragraph to stderr and leave with its exit code."""
    sys.stderr.write(safe_text(f"Error: {error}\n"))
    raise SystemExit(error.exit_code)


def run_app(app: Callable[[], object]) -> NoReturn:
    """Run a typer app; the only place where an error becomes an exit code."""
    open_streams()
    try:
        try:
            _refuse_empty_arguments(sys.argv[1:])
            with _terminable():
                app()
        finally:
            sys.stdout.flush()
    except EdgeAgenticError as error:
        fail(error)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; everything finished so far is kept.\n")
        raise SystemExit(INTERRUPTED) from None
    except OSError as error:
        if error.filename is None:
            leave_stdout()
        fail(_refused_by_system(error))
    raise SystemExit(0)


def _refuse_empty_arguments(arguments: Sequence[str]) -> None:
    """Raise InputError for an argument without a character: a path of it would be this folder, a model the default."""
    for before, argument in zip(("", *arguments), arguments, strict=False):
        option = before if before.startswith("--") else ""
        if argument.startswith("--") and argument.endswith("=") and argument.count("=") == 1:
            option, argument = argument[:-1], ""
        if not argument:
            raise InputError(
                f"{option or 'An argument'}: is empty; expected a value. Where it comes from a variable of the shell, "
                "see whether that is set; to have the default, leave the option out."
            )


_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


def _refused_by_system(error: OSError) -> EdgeAgenticError:
    """Return what to say of a file that the system refuses, where nobody closer to it had better words."""
    if error.filename is not None and error.errno not in _DISK:
        return InputError(
            f"{_short_name(error.filename)}: cannot be used ({error.strerror}); expected a path that can be read or "
            "written. Check its name, and who may read its folders."
        )
    if error.filename is None and error.errno == errno.ENOENT:
        return InputError("The folder this command runs in is not there any more. Change to another one.")
    return SourceError(
        f"The output cannot be written ({error.strerror}). Free some space or write it elsewhere."
    )


def _short_name(path: object) -> str:
    name = str(path)
    return name if len(name) <= 300 else f"{name[:200]} … {name[-60:]}"


@contextmanager
def _terminable() -> Iterator[None]:
    """Let a polite end from outside (kill, timeout, a stopped service) be what Ctrl-C is, unless it is ignored."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def continuable(how: Callable[[], str]) -> Iterator[None]:
    """Say `how` a run goes on where Ctrl-C (exit 130) or the loss of its engine ends it."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(safe_text(f"Interrupted. {how()}\n"))
        raise SystemExit(INTERRUPTED) from None
    except EngineError:
        sys.stderr.write(safe_text(f"{how()}\n"))
        raise


def new_app(help_text: str) -> typer.Typer:
    """Return a typer app with plain help, no completion installers and no framework tracebacks."""
    return typer.Typer(
        help=help_text,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def new_command(help_text: str, name: str) -> typer.Typer:
    """Return the typer app of a whole command, which also says its version."""
    app = new_app(help_text)

    def say(wanted: bool) -> None:
        if wanted:
            from importlib.metadata import version

            sys.stdout.write(f"{name} {version('edge-agentic')}\n")
            raise typer.Exit

    @app.callback(help=help_text)
    def command(
        shown: Annotated[
            bool, typer.Option("--version", callback=say, is_eager=True, help="Say the version and exit.")
        ] = False,
    ) -> None:
        """Take the options that stand before a sub-command."""

    return app
