"""Generated pages: written whole or not at all."""

from collections.abc import Sequence
from pathlib import Path


def write_page(path: str | Path, lines: Sequence[str]) -> None:
    """Write lines to a temporary name beside the page, then rename."""
    page = Path(path)
    page.parent.mkdir(parents=True, exist_ok=True)
    temporary = page.with_name(page.name + ".tmp")
    temporary.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    temporary.replace(page)
    print(f"wrote {page}")
