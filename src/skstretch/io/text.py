"""Lists of strings as two arrays, for lists too long for the header."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def text_arrays(strings: Sequence[str]) -> tuple[Any, Any]:
    """All characters in UTF-8, and where each string ends."""
    # lone surrogates are not text, but they do occur in names of columns
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def text_list(characters: Any, ends: Any) -> list[str]:
    """The strings again; `ValueError` for arrays that are none."""
    starts = np.concatenate([[0], ends[:-1]])
    if ends.size and ((ends < starts).any() or ends[0] < 0 or ends[-1] != characters.size):
        raise ValueError("strings end where they cannot")
    raw = characters.tobytes()
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return [raw[start:end].decode("utf-8", "surrogatepass") for start, end in pairs]
