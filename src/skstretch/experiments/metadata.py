"""What a result line says about how it was made."""

from __future__ import annotations

import platform
import subprocess
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import skstretch

__all__ = ["code_version", "versions"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "python-glmnet")


@lru_cache(maxsize=1)
def versions() -> str:
    """Versions of Python and of the packages that compute, in one word each."""
    found = [f"skstretch={skstretch.__version__}", f"python={platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package}={version(package)}")
        except PackageNotFoundError:
            continue
    return " ".join(found)


@lru_cache(maxsize=1)
def code_version() -> str:
    """The commit that holds this package, with ``+`` where files differ; else its version."""
    source = Path(skstretch.__file__)
    try:
        _git(source.parent, "ls-files", "--error-unmatch", source.name)
        commit = _git(source.parent, "rev-parse", "--short=12", "HEAD")
        changed = _git(source.parent, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return f"v{skstretch.__version__}"
    return commit + ("+" if changed else "")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()
