"""Counts, and users' strings as people read them."""

from collections import Counter
from typing import Any

import numpy as np

from skstretch.style import thousands

LONGEST = 60


def count(n: int, noun: str, plural: str | None = None) -> str:
    """``3 cells``, ``1 cell``."""
    return f"{thousands(n)} {noun if n == 1 else plural or noun + 's'}"


def short(name: Any, length: int = LONGEST) -> str:
    """A user's string, on one line and of bounded length."""
    text = " ".join(str(name).split())
    text = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return text if len(text) <= length else text[: length - 1] + "…"


def distinct(names: list[str]) -> list[str]:
    """Names made different from each other by their place where they are not."""
    times = Counter(names)
    return [f"{name} ({i + 1})" if times[name] > 1 else name for i, name in enumerate(names)]


def rounded(values: Any, digits: int = 4) -> list[Any]:
    """Numbers for a page: few digits, None for what is not finite."""
    return [
        float(f"{v:.{digits}g}") if np.isfinite(v) else None
        for v in np.asarray(values, dtype=float).tolist()
    ]
