"""Runs the program: as a process of its own, or in this one where many calls are wanted.

To load the packages takes longer than most commands. So on Linux one process loads them, and what
tests start are copies of it, with streams, folder and environment of their own.
"""

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
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


LOADED = """
import importlib, json, os, pkgutil, re, select, shutil, signal, socket, sys, traceback
from pathlib import Path
import skstretch.cli, skstretch.io

for package in (skstretch.cli, skstretch.io):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.bind(sys.argv[1])
door.listen()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
while 0 not in select.select([door, 0], [], [])[0]:  # whoever started this has not ended
    asked, _ = door.accept()
    if os.fork():
        asked.close()
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    door.close()
    order, streams, *_ = socket.recv_fds(asked, 1 << 20, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    folder, words, environment = json.loads(order)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["skstretch", *words]
    sys.stdin = open(0, closefd=False)
    sys.stdout = open(1, "w", closefd=False)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    try:
        code = skstretch.cli.main() or 0
        sys.stdout.flush()
    except SystemExit as end:
        code = end.code or 0
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        code = 1
    if "PEAK" in environment:  # most memory; `getrusage` would count that of the test
        status = Path("/proc/self/status").read_text()
        Path(environment["PEAK"]).write_text(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1])
    asked.send(bytes([code]))
    os._exit(code)
shutil.rmtree(Path(sys.argv[1]).parent)
"""
ASK = """
import json, os, socket, sys
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.connect(sys.argv[1])
order = json.dumps([os.getcwd(), sys.argv[2:], dict(os.environ)]).encode()
socket.send_fds(door, [order], [0, 1, 2])
os._exit((door.recv(1) or b"F")[0])
"""


@cache
def program() -> tuple[str, ...]:
    """The words that start the program, or a loaded copy of it."""
    if sys.platform != "linux":
        return (sys.executable, "-m", "skstretch.cli")
    path = os.path.join(tempfile.mkdtemp(), "door")
    command = [sys.executable, "-c", LOADED, path]
    loaded = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    )
    assert loaded.stdout is not None
    assert loaded.stdout.readline() == b"ready\n"
    kept.append(loaded)  # its standard input ends with us
    return (sys.executable, "-I", "-S", "-c", ASK, path)


kept: list[subprocess.Popen[bytes]] = []


def run(*words: object, cwd: Path, stdin: bytes | str | None = None, **more: str) -> Done:
    """The program in a folder."""
    return started(program(), words, cwd, stdin, environment(**more))


def run_afresh(*words: object, cwd: Path) -> Done:
    """The program in a folder, with packages as the environment has them now."""
    return started((sys.executable, "-m", "skstretch.cli"), words, cwd, None, environment())


def started(command, words, cwd, stdin, env) -> Done:
    given = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [*command, *quick(words)], cwd=cwd, input=given, capture_output=True, env=env, timeout=600
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
