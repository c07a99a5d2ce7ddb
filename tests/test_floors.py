"""The floors of pyproject.toml: one for each package, wherever it is named."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.floors import floors

ROOT = Path(__file__).parents[1]


def test_constraints():
    command = [sys.executable, str(ROOT / "tools" / "floors.py")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9.]*", line) for line in lines)
    assert {"numpy", "scikit-learn", "typer", "dask", "altair", "onnx", "pytest"} <= {
        line.split("==")[0] for line in lines
    }


def test_one_floor_for_each_package():
    assert floors(["dask[array]>=2024.8", "numpy>=1.26.4", "numpy>=1.26.4"]) == {
        "dask": "2024.8",
        "numpy": "1.26.4",
    }
    with pytest.raises(ValueError, match=r"numpy has the floors 1\.26 and 2\.0"):
        floors(["numpy>=1.26", "numpy>=2.0"])
    with pytest.raises(ValueError, match="'numpy' has no floor"):
        floors(["numpy"])
