"""Write how many lines of the package the tests run into README.md: ``make line-coverage``.

The tests have run before, under pytest-cov, which leaves a file ``.coverage``.
"""

import subprocess
import sys
from pathlib import Path

from benchmarks.page import write_part

ROOT = Path(__file__).resolve().parent.parent


def sentence(share: str) -> str:
    """The line of the README."""
    return (
        f"The tests run **{share} %** of the lines of the package (`make line-coverage`; without\n"
        "the slow tests, and without commands that tests start as programs of their own)."
    )


def main() -> None:
    command = [sys.executable, "-m", "coverage", "report", "--format=total", "--precision=1"]
    share = subprocess.check_output(command, cwd=ROOT, text=True).strip()
    write_part(ROOT / "README.md", "line-coverage", [sentence(share)])
    print(f"{share} % of the lines: written to README.md.")


if __name__ == "__main__":
    main()
