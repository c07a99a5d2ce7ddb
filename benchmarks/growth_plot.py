"""Time against features and samples, beside the limit of the machine."""

from pathlib import Path
from typing import Any


def draw(found: dict[str, Any], path: Path) -> None:
    """Two panels on logarithmic axes, written to a temporary name first."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for axes, rows, name, label in (
        (left, found["columns"], "D", "features, 500 samples"),
        (right, found["samples"], "M", "samples, 20,000 features"),
    ):
        x = [row[name] for row in rows]
        axes.loglog(x, [row["seconds"] for row in rows], "o-", color="black", label="one fit")
        axes.loglog(
            x, [row["limit"] for row in rows], "--", color="0.5", label="limit of the machine"
        )
        axes.set_xlabel(label)
        axes.set_ylabel("seconds")
        axes.grid(alpha=0.3)
    left.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.stem + ".tmp.png")
    figure.savefig(temporary, dpi=130)
    temporary.replace(path)
