"""The program: all commands, and what holds for each of them.

Errors become messages and exit codes: 2 for mistakes, 1 for failures, 130 for Ctrl-C.
"""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar, cast

import typer
from typer.core import TyperCommand, TyperGroup

from skstretch.cli import datasets, fit, fitted, options
from skstretch.cli.console import Talk, close_stdout, fail, page, print_json, show
from skstretch.exceptions import DataError, Failure

MISTAKE, FAILURE, INTERRUPTED = 2, 1, 130
TRACEBACK = "SKSTRETCH_TRACEBACK"
Command = TypeVar("Command", bound=Callable[..., Any])

HELP = (
    "Regression and classification for wide data.\n\n"
    "Data go to stdout, messages to stderr. Exit code 0: done, 2: a mistake in the command or "
    "the data, 1: a failure, 130: interrupted."
)

START = (
    "skstretch fit train.csv --target y -o model.stretchy",
    "skstretch predict model.stretchy new.csv --interval 0.9 -o predictions.csv",
    "skstretch report model.stretchy -o report.html",
)

PACKAGES = ("numpy", "scipy", "scikit-learn", "typer", "rich", "pyarrow", "altair")


@options.taking()
def version(talk: Talk) -> None:
    """Print the versions of skstretch, Python and the packages that it uses."""
    import platform
    from importlib import metadata

    from skstretch import __version__

    found = {
        "skstretch": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    print_json(found) if talk.json else show(page(found.items()))


# what a command does, and its examples
COMMANDS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "fit": (fit.fit, fit.EXAMPLES),
    "predict": (fitted.predict, fitted.PREDICT_EXAMPLES),
    "inspect": (fitted.inspect, fitted.INSPECT_EXAMPLES),
    "effects": (fitted.effects, fitted.EFFECTS_EXAMPLES),
    "report": (fitted.report, fitted.REPORT_EXAMPLES),
    "compare": (fit.compare, fit.COMPARE_EXAMPLES),
    "datasets": (datasets.datasets, datasets.EXAMPLES),
    "version": (version, ("skstretch version", "skstretch version --json")),
}


def guarded(command: Command) -> Command:
    """Let a command end with a message instead of a traceback."""

    @wraps(command)
    def run(*args: Any, **keywords: Any) -> Any:
        early = signal.getsignal(signal.SIGINT)
        try:
            if early is not signal.SIG_IGN:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            return command(*args, **keywords)
        except (Exception, KeyboardInterrupt) as error:
            _end(error)
        finally:
            signal.signal(signal.SIGINT, early)

    return cast(Command, run)


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: some packages turn it into one while they are imported."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _end(error: BaseException) -> NoReturn:
    """Say what happened, in the words of the error where they are meant for users."""
    if _interrupted(error):
        fail("interrupted.")
        raise SystemExit(INTERRUPTED) from None
    if type(error).__module__.split(".")[0] in ("typer", "click"):
        raise error
    if os.environ.get(TRACEBACK):
        raise error
    if isinstance(error, DataError):
        fail(str(error))
        raise SystemExit(MISTAKE) from None
    if isinstance(error, BrokenPipeError):
        close_stdout()  # whoever read it has had enough
    elif isinstance(error, OSError) and error.errno is not None:
        # files are written under their name: what is full without one is stdout
        full = "standard output: " if error.errno == errno.ENOSPC else ""
        name = f"{error.filename!r}: " if error.filename is not None else full
        fail(f"{name}{error.strerror or error}.")
    elif isinstance(error, Failure | ImportError):
        fail(str(error))
    elif isinstance(error, MemoryError):
        fail(f"there is not enough memory. {error}".strip())
    else:
        fail(f"{type(error).__name__}: {error}")
        fail(f"this should not happen; run again with {TRACEBACK}=1 to see where.")
    raise SystemExit(FAILURE) from None


def shown(examples: tuple[str, ...]) -> str:
    """Examples for the end of a help page, one a line."""
    return "\n\n".join(["Examples:", *(f"  {line}" for line in examples)])


def print_version(asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        from skstretch import __version__

        print(__version__)
        raise typer.Exit


class _Bare:
    """Help pages without a type beside options that take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        listed: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in listed:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return listed


class BareCommand(_Bare, TyperCommand):
    """A command."""


class BareGroup(_Bare, TyperGroup):
    """The program."""


def program() -> typer.Typer:
    """The app with its commands."""
    app = typer.Typer(
        name="skstretch",
        cls=BareGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(help=HELP, epilog=shown(START))
    def skstretch(
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=print_version, is_eager=True, help="Print the version."
            ),
        ] = False,
    ) -> None: ...

    for name, (command, examples) in COMMANDS.items():
        app.command(name, cls=BareCommand, epilog=shown(examples))(guarded(command))
    return app


def run() -> None:
    """Run the program; leave no half file behind when it is told to stop."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(  # type: ignore[union-attr]
                encoding=_encoding(stream), errors="backslashreplace"
            )
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP; nohup ignores it
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
    _have_a_home()
    try:
        try:
            program()(prog_name="skstretch")
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except (KeyboardInterrupt, OSError) as error:
        close_stdout()
        _end(error)


def _encoding(stream: Any) -> str | None:
    """UTF-8, as files have it, for a pipe to which Windows gives a code page without − and ±."""
    page = (stream.encoding or "").lower().startswith("cp")
    return "utf-8" if page and not stream.isatty() else None


def _have_a_home() -> None:
    """Packages ask for a home when they are imported: name one that is none where there is none."""
    try:
        Path.home()
    except RuntimeError:  # neither HOME nor an entry among the users
        os.environ["HOME"] = "/nonexistent"
