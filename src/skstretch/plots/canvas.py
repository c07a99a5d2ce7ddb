"""Where displays draw."""

from typing import Any


def axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """The axes that were passed, or new ones; names the extra where matplotlib is missing."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib: pip install 'skstretch[plot]', or 'pip install matplotlib'."
        ) from error
    _, ax = pyplot.subplots(figsize=figsize, layout="constrained")
    return ax
