"""Runs the program: as a process of its own, or in this one where many calls are wanted."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Done:
    """How a call of the program ended."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """The environment of the tests, without colours."""
    return {**os.environ, "NO_COLOR": "1", "OPENBLAS_NUM_THREADS": "1", **more}


def quick(words: tuple[object, ...]) -> list[str]:
    """Words without the search repeated on other rows, unless they ask for it by --nested."""
    found = [*map(str, words)]
    if found[:1] == ["fit"] and not {"--nested", "--no-nested", "--help"} & set(found):
        found.append("--no-nested")
    return found


def run(*words: object, cwd: Path, stdin: bytes | str | None = None) -> Done:
    """The real program, in a folder."""
    command = [sys.executable, "-m", "skstretch.cli", *quick(words)]
    given = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        command, cwd=cwd, input=given, capture_output=True, env=environment(), timeout=600
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


class Caller:
    """Calls the program in this process: the same code, without a second start of Python."""

    def __init__(self, monkeypatch, capfd) -> None:
        self.monkeypatch, self.capfd = monkeypatch, capfd

    def __call__(self, *words: object) -> Done:
        from skstretch.cli import main

        self.capfd.readouterr()
        self.monkeypatch.setattr(sys, "argv", ["skstretch", *quick(words)])
        names = ("SIGTERM", "SIGHUP", "SIGINT")  # Windows has no SIGHUP
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        kept = {number: signal.getsignal(number) for number in numbers}
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
        out, err = self.capfd.readouterr()
        return Done(code, out, err)
