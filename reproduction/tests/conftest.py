"""Fixtures that the tests of the library have too, and a path for the programs that tests start."""

import os
from pathlib import Path

from tests.conftest import data_dir  # noqa: F401

ROOT = Path(__file__).parents[2]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
