"""Settings and fixtures that every test shares."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Draw into memory, also in the subprocesses of a test. Set before anything imports matplotlib.
os.environ["MPLBACKEND"] = "Agg"

# A shell starts what runs in its background with Ctrl-C ignored, and nohup with the end of the
# terminal; programs that the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The same examples on every run, and no verdict from the clock of a busy machine.
settings.register_profile("skstretch", derandomize=True, deadline=None)
settings.load_profile("skstretch")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the real data sets, named by the environment variable SKSTRETCH_DATA."""
    name = os.environ.get("SKSTRETCH_DATA") or os.environ.get("STRETCHY_DATA", "")
    if not name:
        pytest.skip(
            "needs real data: SKSTRETCH_DATA is not set; set it to the folder of the data sets"
        )
    folder = Path(name)
    if not folder.is_dir():
        pytest.fail(f"SKSTRETCH_DATA names {name!r}, which is not a folder; correct or unset it")
    return folder
