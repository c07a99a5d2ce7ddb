"""What was measured, as the claims ask for it: means by data set, method and setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from skstretch.experiments.figures.summary import KS, placed
from skstretch.experiments.ranks import RankTest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LASSOS", "SEARCHING", "Evidence"]

SR = "SR1.0"
LASSOS = ("LASSO1", "LASSO2", "LASSO100", "LASSOCV")
SEARCHING = LASSOS[1:]
FOLD = ["trial", "fold"]


@dataclass(frozen=True)
class Evidence:
    """The two tables of a run, with the means that the claims compare.

    Methods are named as in Fig. 9 and 10: SR at c = 100 by its density (``"SR0.1"``), SR without
    regularisation (``"SR1.0 (c=1e100)"``), and the four LASSO.
    """

    results: pd.DataFrame
    curves: pd.DataFrame

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The results of Fig. 9 and 10 with `name` and `place`."""
        return placed(self.results)

    @cached_property
    def _by_figure(self) -> dict[str, pd.DataFrame]:
        return {str(name): part for name, part in self.curves.groupby("figure")}

    def curves_of(self, figure: str) -> pd.DataFrame:
        """The curves of one figure, empty where there are none."""
        return self._by_figure.get(figure, self.curves.iloc[:0])

    def along(
        self, dataset: str, name: str, value: str = "error", like: str | None = None
    ) -> dict[float, float]:
        """Mean of a method at each of its places: k for SR, the place itself for LASSO.

        With `like`, over those trials and folds alone that this other method has as well.
        """
        rows = self.rows[self.rows["dataset"] == dataset]
        part = rows[rows["name"] == name]
        if like is not None:
            other = rows.loc[rows["name"] == like, FOLD].drop_duplicates()
            part = part.merge(other, on=FOLD)
        key = (lambda i: KS[int(i)]) if name.startswith("SR") else float
        return {key(i): float(v) for i, v in part.groupby("place")[value].mean().items()}

    def level(
        self, dataset: str, name: str, value: str = "error", like: str | None = None
    ) -> float:
        """Mean over all k or mixing values, NaN where nothing was measured."""
        values = list(self.along(dataset, name, value, like).values())
        return float(np.mean(values)) if values else float("nan")

    def best(self, dataset: str, name: str, like: str | None = None) -> float:
        """The least mean error over k or mixing values, NaN where nothing was measured."""
        return min(self.along(dataset, name, like=like).values(), default=float("nan"))

    def has(self, dataset: str, names: Sequence[str] = ()) -> bool:
        """Whether the set has rows of all these methods."""
        there = set(self.rows.loc[self.rows["dataset"] == dataset, "name"])
        return bool(there) and there >= set(names)

    def sets(self, task: str) -> list[str]:
        """Measured sets of a task, in the paper's order; stand-ins are no evidence."""
        from skstretch.experiments.sets import SETS

        there = set(self.rows["dataset"])
        return [
            name for name, entry in SETS.items()
            if entry.task == task and not entry.standin and name in there
        ]  # fmt: skip

    def against_c(self, dataset: str, power: float = 1.25) -> dict[float, float]:
        """Mean error of SR1.0 at this k by c."""
        rows = self.results
        rows = rows[(rows["dataset"] == dataset) & (rows["method"] == "SR")]
        rows = rows[np.isclose(rows["k"], power) & (rows["density"] == 1)]
        return {float(c): float(v) for c, v in rows.groupby("c")["error"].mean().items()}

    def oracle(self, dataset: str, name: str) -> float:
        """Mean error of a LASSO at the penalty of least *test* error, over mixing values."""
        rows = self.results
        rows = rows[(rows["piece"] == "oracle") & (rows["dataset"] == dataset)]
        return float(rows.loc[rows["method"] == name, "error"].mean())

    def projection(self) -> dict[tuple[int, float], float]:
        """Mean error of the random projection network by size and k."""
        rows = self.results[self.results["method"] == "RPN"]
        means = rows.groupby(["size", "k"])["error"].mean()
        return {(int(size), float(k)): float(v) for (size, k), v in means.items()}

    def points(self, figure: str, panel: str, series: str) -> dict[float, float]:
        """y by x of one series of the curves; empty where there is none."""
        table = self.curves_of(figure)
        part = table[(table["panel"] == panel) & (table["series"] == series)]
        return dict(zip(part["x"], part["y"], strict=True))

    def panels(self, figure: str) -> list[str]:
        """Names of the panels of a figure."""
        return list(dict.fromkeys(self.curves_of(figure)["panel"]))

    def ranks(self, value: str) -> RankTest | None:
        """Friedman and Nemenyi over the classification sets; None with fewer than two sets."""
        from skstretch.experiments.figures.fig12 import rank_test

        try:
            return rank_test(self.results, value)[0]
        except ValueError:
            return None
