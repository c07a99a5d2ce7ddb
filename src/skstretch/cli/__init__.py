"""The command ``skstretch``: `app` has its commands, `options` what they are asked."""

import os
import signal
import sys
from typing import Any


def main() -> None:
    """Run the command line; with the extra `cli` missing, say how to get it."""
    _open_streams()
    # nothing is written yet, so that an early Ctrl-C can end the program where it stands
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop_at_once)
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(
            f"error: the command line needs {error.name}: pip install 'skstretch[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
    from skstretch.cli.app import run

    run()


def _open_streams() -> None:
    """Put the null device in place of closed streams, so that no file gets their numbers.

    ``sys.stdin`` stays None, and `console` refuses to write results to a closed stdout.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  open until the end


def _stop_at_once(number: int, frame: Any) -> None:
    os.write(2, b"error: interrupted.\n")
    os._exit(128 + number)
