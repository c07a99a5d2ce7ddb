"""The Python examples in README and docs run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [
        (f"{page.name}-{number}", code)
        for page in pages
        for number, code in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
    ]


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize(("name", "code"), examples(), ids=lambda value: value[:40])
def test_example_runs(name, code, capsys):
    exec(compile(code, name, "exec"), {})
    assert capsys.readouterr().out, "an example shows something"


def test_pages_are_linked_and_exist():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([\w./-]+\.(?:md|cff))\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
