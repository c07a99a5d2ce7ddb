"""Result files that were packed after a run."""

from __future__ import annotations

from pathlib import Path

__all__ = ["there_or_packed"]


def there_or_packed(path: Path) -> Path:
    """The file, or where only its gzip is there (``results.csv.gz``) that one."""
    packed = path.with_name(path.name + ".gz")
    return packed if packed.exists() and not path.exists() else path
