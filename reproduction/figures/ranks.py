"""Fig. 12: Nemenyi's critical difference on the classification sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduction.evidence import CLASSIFICATION, METHODS, RANKED, dataset_title, rank_test
from reproduction.figures.canvas import canvas, caption, title
from reproduction.ranks import RankTest
from skstretch import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def fig12(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig12, not yet written."""
    tests = {value: rank_test(results, value) for value in RANKED}
    rows = max(len(test.names) for test, _, _ in tests.values())
    fig, axes = canvas(2, 1, size=(8.4, 2 * (1.3 + 0.16 * rows) + 0.8))
    for ax, (value, (test, _, _)) in zip(axes, tests.items(), strict=True):
        _diagram(ax, test)
        title(ax, f"{RANKED[value]}: Friedman χ² = {test.chi2:.3g}, p = {test.chi2_pvalue:.2g}")
    table = tests["error"][1]
    sets = ", ".join(dataset_title(str(name)) for name in table.index)
    caption(
        fig,
        f"Mean ranks over {sets}, 1 = best; each set by its mean over k or mixing values. A bar "
        "joins methods whose ranks Nemenyi's test cannot tell apart at 5 %.",
        _missing(table, [*tests["error"][2], *tests["cpu"][2]]),
    )
    return fig


def _missing(table: pd.DataFrame, left_out: list[str]) -> list[str]:
    """Sets and methods of the paper that take no part, each once."""
    there = [str(name).lower() for name in table.index]
    sets = [
        dataset_title(word)
        for word in CLASSIFICATION
        if not any(name.startswith(word) for name in there)
    ]
    methods = [method for method in METHODS if method not in table.columns]
    return list(dict.fromkeys([*sets, *methods, *left_out]))


def _diagram(ax: Axes, test: RankTest) -> None:
    """Ranks on a line, names on both sides, bars over groups, the critical difference on top."""
    n = len(test.names)
    half, step = -(-n // 2), 0.34
    base = 0.25 * len(test.groups) + 0.3
    ax.axis("off")
    ax.set_xlim(1 - 0.28 * n, n + 0.28 * n)
    ax.set_ylim(-base - step * half - 0.1, 0.75)
    ax.plot([1, n], [0, 0], color="black", lw=1.2)
    for rank in range(1, n + 1):
        ax.plot([rank, rank], [0, 0.07], color="black", lw=1.2)
        ax.text(rank, 0.11, str(rank), ha="center", va="bottom", fontsize=style.SMALL)
    ax.plot([1, 1 + test.cd], [0.5, 0.5], color="black", lw=1.6, marker="|", markersize=7)
    ax.text(
        1 + test.cd / 2, 0.54, f"CD = {test.cd:.2f}", ha="center", va="bottom", fontsize=style.SMALL
    )
    rank_of = dict(zip(test.names, test.mean_ranks, strict=True))
    for i, (name, at) in enumerate(rank_of.items()):
        left = i < half
        # Half a step between the sides, so that lines of equal ranks do not run into each other.
        y = -base - step * (i if left else n - 0.5 - i)
        end = 1 - 0.02 * n if left else n + 0.02 * n
        ax.plot([at, at, end], [0, y, y], color=style.MARK, lw=0.9)
        ax.text(
            end, y, f" {name} ({at:.2f}) ", ha="right" if left else "left", va="center",
            fontsize=style.SMALL,
        )  # fmt: skip
    for i, group in enumerate(test.groups):
        ends = [rank_of[group[0]] - 0.04, rank_of[group[-1]] + 0.04]
        y = -0.2 - 0.25 * i
        ax.plot(ends, [y, y], color="black", lw=4, solid_capstyle="butt")
