"""The oldest packages that pyproject.toml allows, as constraints for pip.

``python tools/floors.py > constraints.txt`` prints ``name==version`` for the dependencies, all
extras and the group of the tests. A package that is named in several places must have one floor.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
GROUPS = ("test", "reproduction")
REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\s*(?:>=\s*([0-9][0-9a-z.]*))?")


def requirements(settings: dict[str, Any]) -> Iterator[str]:
    """Every requirement of the package, of its extras and of the groups."""
    project = settings["project"]
    yield from project["dependencies"]
    for extra in project["optional-dependencies"].values():
        yield from extra
    for group in GROUPS:
        yield from (line for line in settings["dependency-groups"][group] if isinstance(line, str))


def floors(lines: Iterable[str]) -> dict[str, str]:
    """Package to floor; an error names what has none, or two."""
    found: dict[str, str] = {}
    for line in lines:
        name, floor = REQUIREMENT.match(line).groups()  # type: ignore[union-attr]
        if floor is None:
            raise ValueError(f"{line!r} has no floor: write it as 'name>=version'.")
        if found.setdefault(name, floor) != floor:
            raise ValueError(f"{name} has the floors {found[name]} and {floor}: use one of them.")
    return found


def main() -> None:
    """Print the constraints."""
    settings = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    for name, floor in sorted(floors(requirements(settings)).items()):
        sys.stdout.write(f"{name}=={floor}\n")


if __name__ == "__main__":
    main()
