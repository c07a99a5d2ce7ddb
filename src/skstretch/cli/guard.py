"""From errors to messages and exit codes: 2 for mistakes, 1 for failures, 130 for Ctrl-C."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, TypeVar, cast

from skstretch.cli.console import fail
from skstretch.cli.data.errors import DataError, Failure

MISTAKE, FAILURE, INTERRUPTED = 2, 1, 130
TRACEBACK = "SKSTRETCH_TRACEBACK"
Command = TypeVar("Command", bound=Callable[..., Any])


def guarded(command: Command) -> Command:
    """Let a command end with a message instead of a traceback."""

    @wraps(command)
    def run(*args: Any, **keywords: Any) -> Any:
        try:
            return command(*args, **keywords)
        except KeyboardInterrupt:
            fail("interrupted.")
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError:
            # whoever read stdout has had enough; keep Python from flushing into it at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(FAILURE) from None
        except Exception as error:
            _end(error)

    return cast(Command, run)


def _end(error: Exception) -> NoReturn:
    """Say what happened, in the words of the error where they are meant for users."""
    if type(error).__module__.split(".")[0] in ("typer", "click"):
        raise error
    if os.environ.get(TRACEBACK):
        raise error
    if isinstance(error, DataError):
        fail(str(error))
        raise SystemExit(MISTAKE) from None
    if isinstance(error, OSError) and error.errno is not None:
        name = f"{error.filename!r}: " if error.filename is not None else ""
        fail(f"{name}{error.strerror or error}.")
    elif isinstance(error, Failure | ImportError):
        fail(str(error))
    elif isinstance(error, MemoryError):
        fail(f"there is not enough memory. {error}".strip())
    else:
        fail(f"{type(error).__name__}: {error}")
        fail(f"this should not happen; run again with {TRACEBACK}=1 to see where.")
    raise SystemExit(FAILURE) from None
