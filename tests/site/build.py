"""The built site for tests: built once, with nothing but this machine to talk to."""

import fcntl
import functools
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
# What the build must not need: any address but this machine's own.
OFFLINE = """\
import socket

real = socket.socket.connect


def connect(self, address):
    host = address[0] if isinstance(address, tuple) else ""
    if host and not host.startswith("127.") and host not in ("localhost", "::1", "0.0.0.0"):
        raise ConnectionRefusedError(f"the site asked the network for {address}")
    return real(self, address)


socket.socket.connect = connect
"""


def offline_environment(folder: Path) -> dict[str, str]:
    """Variables with which every Python process refuses to connect to other machines."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(OFFLINE, "utf-8")
    path = os.pathsep.join([str(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path.rstrip(os.pathsep)}


@functools.cache
def built_site() -> Path:
    """The folder of the site; skips where its extra is not installed."""
    if importlib.util.find_spec("sphinx_gallery") is None:
        pytest.skip("needs the extra docs: make docs installs it")
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one builder at a time; the others find it done
        command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
        done = subprocess.run(
            [*command, "-d", "build/doctrees", "docs", str(SITE)],
            cwd=ROOT,
            env=offline_environment(ROOT / "build" / "offline"),
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    return SITE
