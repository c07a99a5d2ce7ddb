"""What Fig. 9 and 10 share: error and training time against k, or the mixing value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skstretch.experiments.figures.style import Line, canvas, caption, legend_above, title
from skstretch.experiments.figures.summary import (
    KS,
    METHODS,
    MIXINGS,
    dataset_title,
    datasets_in,
    missing_from,
    placed,
    spread,
    trial_words,
    without_standins,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LOOKS", "UNITS", "accuracy_figure"]

DASHES, DOTS = (0, (5, 2)), (0, (1, 1.3))
# SR in full lines, LASSO in broken ones; within each, colours from dark to light.
LOOKS = dict(
    zip(
        METHODS,
        (
            Line("#000000", "-", "o"),
            Line("#0072b2", "-", "s"),
            Line("#009e73", "-", "^"),
            Line("#56b4e9", "-", "D"),
            Line("#7f7f7f", "-", "x"),
            Line("#661100", DASHES, "v"),
            Line("#d55e00", DASHES, "P"),
            Line("#cc79a7", DOTS, "X"),
            Line("#e69f00", "-.", "*"),
        ),
        strict=True,
    )
)
UNITS = {"mse": "MSE", "rmse": "√MSE", "ber": "BER"}
WIDE = 8.0  # a squared error gets a logarithmic axis from this ratio of top bar to least mean on


def accuracy_figure(
    results: pd.DataFrame, measures: tuple[str, ...], known: tuple[str, ...], name: str
) -> Figure:
    """One row of panels per data set: error on the left, CPU on the right."""
    rows = without_standins(placed(results))
    rows = rows[rows["measure"].isin(measures)]
    if rows.empty:
        raise ValueError(
            f"{name}: the table of results has no SR or LASSO row measured as {list(measures)}; "
            "run the real-data study for at least one such data set first."
        )
    sets = datasets_in(rows, known)
    fig, axes = canvas(len(sets), 2, size=(9.6, 2.75 * len(sets) + 1.1))
    for i, dataset in enumerate(sets):
        part = rows[rows["dataset"] == dataset]
        unit = UNITS[str(part["measure"].iloc[0])]
        for ax, value, label in zip(
            axes[2 * i : 2 * i + 2], ("error", "cpu"), (unit, "training CPU (s)"), strict=True
        ):
            table = spread(part, ["name", "place"], value)
            _panel(ax, table, label, value == "cpu" or (unit != "BER" and _is_wide(table)))
            title(ax, f"{dataset_title(dataset)}: {label}")
    names = [method for method in METHODS if method in set(rows["name"])]
    handles = [_handle(LOOKS[method]) for method in names]
    for ax in axes[-2:]:
        ax.set_xlabel("k of SR (above), mixing value of LASSO (below)")
    legend_above(fig, handles, names, n=5)
    caption(fig, _text(rows), missing_from(rows, known))
    return fig


def _text(rows: pd.DataFrame) -> str:
    trials = trial_words(rows.groupby(["dataset", "name"])["trial"].nunique())
    return (
        f"{trials} SR at c = 100 unless marked. LASSO1, 2 and 100 at the penalty of least training "
        "error; LASSOCV searches."
    )


def _panel(ax: Axes, table: pd.DataFrame, label: str, log: bool) -> None:
    for j, method in enumerate(METHODS):
        part = table[table["name"] == method].sort_values("place")
        if part.empty:
            continue
        shift = 0.022 * (j - (len(METHODS) - 1) / 2)  # so that bars of equal places do not hide
        ax.errorbar(
            part["place"] + shift, part["mean"], part["std"].fillna(0.0), capsize=1.8,
            elinewidth=0.8, label=method, **LOOKS[method].kwargs,
        )  # fmt: skip
    if log:
        # A deviation as large as its mean would run off to zero: the bar ends at the frame.
        ax.set_yscale("log", nonpositive="clip")
        ax.set_ylim(0.6 * table["mean"].min(), 1.5 * _tops(table).max())
        label += ", log scale"
    ax.set_ylabel(label)
    ticks = [f"{k:g}\n{mixing:g}" for k, mixing in zip(KS, MIXINGS, strict=True)]
    ax.set_xticks(range(len(KS)), ticks)
    ax.set_xlim(-0.3, len(KS) - 0.7)


def _tops(table: pd.DataFrame) -> pd.Series:
    return table["mean"] + table["std"].fillna(0.0)


def _is_wide(table: pd.DataFrame) -> bool:
    least = table["mean"].min()
    return bool(least > 0 and _tops(table).max() > WIDE * least)


def _handle(look: Line) -> object:
    from matplotlib.lines import Line2D

    return Line2D([], [], **look.kwargs)
