"""Fig. 9 to 11 and the projection network: error and training time of SR and LASSO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reproduction.evidence import (
    CLASSIFICATION,
    KS,
    METHODS,
    MIXINGS,
    REGRESSION,
    UNREGULARISED,
    dataset_title,
    datasets_in,
    errors_against_c,
    missing_from,
    placed,
    spread,
    trial_words,
    without_standins,
)
from reproduction.figures.canvas import canvas, caption, legend_above, title
from reproduction.sets import UNITS
from skstretch import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# SR in full lines, LASSO in broken ones; within each, colours from dark to light.
LOOKS = dict(
    zip(
        METHODS,
        (
            style.Line(style.BLACK, "-", "o"),
            style.Line(style.BLUE, "-", "s"),
            style.Line(style.GREEN, "-", "^"),
            style.Line(style.SKY, "-", "D"),
            style.Line(style.GREY, "-", "x"),
            style.Line(style.WINE, style.LONG, "v"),
            style.Line(style.VERMILION, style.LONG, "P"),
            style.Line(style.PURPLE, style.DOTTED, "X"),
            style.Line(style.ORANGE, "-.", "*"),
        ),
        strict=True,
    )
)
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


def _handle(look: style.Line) -> object:
    from matplotlib.lines import Line2D

    return Line2D([], [], **look.kwargs)


def fig9(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig9, not yet written."""
    return accuracy_figure(results, ("mse", "rmse"), REGRESSION, "fig9")


def fig10(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig10, not yet written."""
    return accuracy_figure(results, ("ber",), CLASSIFICATION, "fig10")


GAP = 1.8  # decades that the break takes


@dataclass(frozen=True)
class BrokenAxis:
    """Places of c: its decimal logarithm, and for c without regularisation one beyond a gap.

    Parameters
    ----------
    values : tuple of float
        All c that are drawn, rising.

    Examples
    --------
    >>> from reproduction.figures.errors import BrokenAxis
    >>> axis = BrokenAxis((10.0, 1e8, 1e100))
    >>> [round(axis.place(c), 1) for c in axis.values]
    [1.0, 8.0, 9.8]
    """

    values: tuple[float, ...]

    @property
    def last(self) -> float:
        """The place of the largest c before the gap."""
        return max((np.log10(c) for c in self.values if c < UNREGULARISED), default=0.0)

    def place(self, c: float) -> float:
        """Where c stands."""
        return float(np.log10(c)) if c < UNREGULARISED else float(self.last + GAP)

    def parted(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows, sorted by c, with a column `place`, and an empty row where the axis breaks."""
        import pandas as pd

        table = table.assign(place=[self.place(c) for c in table["c"]])
        free = table["c"] >= UNREGULARISED
        if not free.any() or free.all():
            return table
        numbers = ["place", "mean", "std"]
        gap = table[free].head(1).assign(**dict.fromkeys(numbers, np.nan))
        return pd.concat([table[~free], gap, table[free]], ignore_index=True)

    def draw(self, ax: Axes) -> None:
        """Ticks at the values, and two strokes across the axis in the gap."""
        ax.set_xticks([self.place(c) for c in self.values], [_power(c) for c in self.values])
        places = [self.place(c) for c in self.values]
        ax.set_xlim(min(places) - 0.4, max(places) + 0.4)
        if not any(c >= UNREGULARISED for c in self.values) or len(self.values) < 2:
            return
        middle = self.last + GAP / 2
        frame = ax.get_xaxis_transform()
        ax.plot(
            [middle - 0.1, middle + 0.1], [0, 0], transform=frame, color="white", lw=4,
            clip_on=False, zorder=5,
        )  # fmt: skip
        ax.plot(
            [middle - 0.1, middle + 0.1], [0, 0], transform=frame, color="black", lw=0,
            marker=[(-0.5, -1), (0.5, 1)], markersize=11, clip_on=False, zorder=6,
        )  # fmt: skip


def _power(c: float) -> str:
    exponent = np.log10(c) if c < UNREGULARISED else 100.0
    return f"$10^{{{exponent:.0f}}}$" if np.isclose(exponent, round(exponent)) else f"{c:g}"


def fig11(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig11, not yet written."""
    table = errors_against_c(results)
    if table.empty:
        raise ValueError(
            "fig11: the table of results has no SR row at k = 1.25 with density 1; run the "
            "real-data study for at least one data set first."
        )
    axis = BrokenAxis(tuple(sorted(set(table["c"]))))
    fig, axes = canvas(1, 2, size=(9.6, 4.4))
    is_class = table["measure"] == "ber"
    _strength_panel(axes[0], table[~is_class], REGRESSION, axis)
    _strength_panel(axes[1], table[is_class], CLASSIFICATION, axis)
    title(axes[0], "Regression")
    title(axes[1], "Classification")
    axes[0].set_ylabel("error, log scale (MSE; √MSE where marked)")
    axes[1].set_ylabel("BER")
    there = datasets_in(table, REGRESSION + CLASSIFICATION)
    absent = [
        dataset_title(word)
        for word in REGRESSION + CLASSIFICATION
        if not any(name.lower().startswith(word) for name in there)
    ]
    caption(
        fig,
        f"SR1.0 at k = 1.25. {trial_words(table['trials'])} The axis of c is broken before 1e100, "
        "which leaves no regularisation.",
        ["all of " + ", ".join(absent)] if absent else (),
    )
    return fig


def _strength_panel(
    ax: Axes, table: pd.DataFrame, known: tuple[str, ...], axis: BrokenAxis
) -> None:
    for line, dataset in zip(style.LINES, datasets_in(table, known), strict=False):
        part = axis.parted(table[table["dataset"] == dataset].sort_values("c"))
        unit = str(part["measure"].iloc[0])
        label = dataset_title(dataset) + (f" ({UNITS[unit]})" if unit == "rmse" else "")
        ax.errorbar(
            part["place"], part["mean"], part["std"].fillna(0.0), capsize=2, label=label,
            **line.kwargs,
        )  # fmt: skip
    if table.empty:
        ax.text(0.5, 0.5, "no rows", transform=ax.transAxes, ha="center", color=style.HINT)
    elif (table["measure"] != "ber").any():
        ax.set_yscale("log", nonpositive="clip")
    axis.draw(ax)
    ax.set_xlabel("c, log scale")
    if not table.empty:
        ax.legend(
            fontsize=style.SMALL,
            frameon=False,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.15),
            ncols=4,
        )


def projection(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The projection, not yet written."""
    import pandas as pd

    rows = results[results["method"] == "RPN"]
    if rows.empty:
        raise ValueError(
            'projection: the table of results has no row of method "RPN"; run the Madelon '
            "projection study first."
        )
    rows = rows.assign(
        **{name: pd.to_numeric(rows[name]) for name in ("size", "k", "error", "cpu")}
    )
    fig, (left, right) = canvas(1, 2, size=(9.6, 4.2))
    table = spread(rows, ["k", "size"], "error")
    _lines(left, table)
    _lines(right, spread(rows, ["k", "size"], "cpu"))
    left.set_ylabel("BER")
    right.set_ylabel("training CPU (s), log scale")
    right.set_yscale("log", nonpositive="clip")
    missing = _plain_levels(left, results)
    left.set_ylim(0, None)
    legend_above(fig, *left.get_legend_handles_labels(), n=4)
    caption(
        fig,
        "Eight Madelon features with the largest dot product with the target, through a random "
        f"projection network. {trial_words(table['trials'])}",
        missing,
    )
    return fig


def _lines(ax: Axes, table: pd.DataFrame) -> None:
    for line, (k, part) in zip(style.LINES, table.groupby("k", dropna=False), strict=False):
        label = "projection" if k != k else f"projection, k = {k:g}"
        ax.errorbar(
            part["size"], part["mean"], part["std"].fillna(0.0), capsize=2, label=label,
            **line.kwargs,
        )  # fmt: skip
    sizes = sorted(set(table["size"]))
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
    ax.minorticks_off()
    ax.set_xlabel("network size")


def _plain_levels(ax: Axes, results: pd.DataFrame) -> list[str]:
    """The best mean BER of SR and of LASSO on Madelon as it is; what is missing of them."""
    rows = placed(results)
    rows = rows[rows["dataset"].str.lower().str.startswith("madelon")]
    missing = []
    for family, dash in (("SR", style.LONG), ("LASSO", style.DOTTED)):
        part = rows[rows["method"].str.startswith(family)]
        if part.empty:
            missing.append(f"{family} on Madelon without projection")
            continue
        best = spread(part, ["name", "place"], "error")["mean"].min()
        label = f"best {family} without projection: {best:.3f}"
        ax.axhline(best, color=style.MARK, linestyle=dash, label=label)
    return missing
