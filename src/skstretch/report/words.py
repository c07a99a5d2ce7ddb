"""Numbers and user's strings as people read them."""

from collections import Counter
from typing import Any

import numpy as np

LONGEST = 60
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: Any, digits: int = 3) -> str:
    """A number with some significant digits, a true minus, and powers of ten for extremes."""
    x = float(value)
    if np.isnan(x):
        return "not known"
    if np.isinf(x):
        return "∞" if x > 0 else "−∞"
    if x == 0:
        return "0"
    mantissa, _, exponent = f"{x:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if -4 <= power < 6:
        text = f"{float(f'{x:.{digits - 1}e}'):,.{max(0, digits - 1 - power)}f}"
        text = text.replace(",", "\u202f")
    else:
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{mantissa} × 10{str(power).translate(_RAISED)}"
    return text.replace("-", "−")


def near_one(value: Any) -> str:
    """A share such as R², with more digits where it is close to one."""
    x = float(value)
    if np.isnan(x) or x < 0.995:
        return number(x, 3) if np.isnan(x) or abs(x) >= 0.1 else f"{x:.3f}".replace("-", "−")
    return "> 0.9999" if x > 0.9999 and x < 1 else f"{x:.4f}"


def share(value: Any, digits: int = 1) -> str:
    """A share as per cent."""
    return f"{100 * float(value):.{digits}f}\u00a0%".replace("-", "−")


def plain(value: Any) -> str:
    """A grid value: as short as it can be said."""
    return f"{value:g}".replace("-", "−")


def count(n: int, noun: str, plural: str | None = None) -> str:
    """``3 cells``, ``1 cell``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}".replace(",", "\u202f")


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
