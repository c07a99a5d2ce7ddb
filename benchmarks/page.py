"""Generated pages, and generated parts of pages: written whole or not at all."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_page(path: str | Path, lines: Sequence[str]) -> None:
    """Write lines to a temporary name beside the page, then rename."""
    page = Path(path)
    page.parent.mkdir(parents=True, exist_ok=True)
    temporary = page.with_name(page.name + ".tmp")
    temporary.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    temporary.replace(page)
    print(f"wrote {page}")


def write_part(path: str | Path, name: str, lines: Sequence[str]) -> None:
    """Replace what stands between ``<!-- begin: name -->`` and ``<!-- end: name -->``."""
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    text = Path(path).read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"{path} needs one line {begin} and one line {end}.")
    before, rest = text.split(begin)
    write_page(path, [f"{before}{begin}", "", *lines, "", f"{end}{rest.split(end)[1]}"])


def keep(path: str | Path, found: Any) -> None:
    """Results as JSON, from which tables and figures are made."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(file.name + ".tmp")
    temporary.write_text(json.dumps(found, indent=1), encoding="utf-8")
    temporary.replace(file)
