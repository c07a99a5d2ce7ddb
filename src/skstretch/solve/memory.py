"""What a direct solution may take of the machine."""

import os

from skstretch.designs.blocks import working_bytes

# square matrices of the side of the system that a direct fit holds at once
DIRECT_COPIES = 3


def direct_budget() -> int:
    """Bytes for a direct fit: half of the machine's memory, or scikit-learn's working_memory.

    The larger of the two; where the system does not tell its memory, the second.
    """
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        physical = 0
    return max(working_bytes(), physical // 2)


def direct_bytes(side: int) -> int:
    """Bytes that a direct fit takes for a system of this side."""
    return DIRECT_COPIES * 8 * side**2
