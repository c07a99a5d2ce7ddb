"""Seconds of every example of the gallery: ``make docs`` prints them after the build.

They are seconds of the processor: those of the clock tell what else the machine had to do. An
example may take a minute and all of them ten. Beyond that ``python tools/gallery.py`` says so, and
fails where CI is set, as continuous integration does.
"""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLE_SECONDS, GALLERY_SECONDS = 60.0, 600.0


def seconds_of(root: Path) -> dict[str, float]:
    """Seconds by example, the slowest first, as `docs/_ext/processor.py` noted them; NaN where it
    did not."""
    found = {}
    for example in sorted((root / "examples").glob("*/plot_*.py")):
        noted = root / "docs" / "gallery" / f"{example.stem}.seconds.json"
        known = noted.exists()
        found[example.stem] = json.loads(noted.read_text("utf-8")) if known else float("nan")
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def too_slow(seconds: dict[str, float]) -> list[str]:
    """What takes longer than it may, in words; a time that is not known counts too."""
    slow = [
        f"{name} takes {value:.0f} s, more than {EXAMPLE_SECONDS:.0f} s"
        for name, value in seconds.items()
        if not value < EXAMPLE_SECONDS
    ]
    total = sum(seconds.values())
    if not total < GALLERY_SECONDS:
        slow.append(f"the gallery takes {total:.0f} s, more than {GALLERY_SECONDS:.0f} s")
    return slow


def main(root: Path = ROOT) -> int:
    """Print the times; 1 where something is too slow and CI is set."""
    seconds = seconds_of(root)
    for name, value in seconds.items():
        print(f"{value:7.1f} s  {name}")
    print(f"{sum(seconds.values()):7.1f} s  all {len(seconds)} examples")
    slow = too_slow(seconds)
    print("".join(f"{line}\n" for line in slow), end="", file=sys.stderr)
    return int(bool(slow) and bool(os.environ.get("CI")))


if __name__ == "__main__":
    sys.exit(main())
