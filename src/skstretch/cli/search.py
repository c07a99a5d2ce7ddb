"""From options and data to a fitted search."""

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from skstretch.cli import folds, grids
from skstretch.cli.console import Talk
from skstretch.cli.data.errors import DataError
from skstretch.cli.problem import Problem
from skstretch.cli.wording import in_options


@dataclass(frozen=True)
class Plan:
    """What to search, and how to judge it."""

    cv: str | None = None
    grid: Any = None
    rule: str = "guarded"

    @classmethod
    def read(
        cls,
        cv: str | None,
        k: str | None,
        c: str | None,
        a: str | None,
        density: str | None,
        keep: str | None,
        rule: str,
    ) -> "Plan":
        """From the options; refuses what cannot be read before any data are."""
        folds.fold_number(cv)
        grid = {"c_grid": grids.strengths(c), "density_grid": grids.densities(density, keep)}
        grid |= {"k_grid": grids.powers(k)} if k is not None else {}
        grid |= {"a_grid": grids.transforms(a)} if a is not None else {}
        return cls(cv, grid, str(rule))

    def check(self, problem: Problem, talk: Talk) -> None:
        """Refuse what does not go with the data."""
        grids.check_counts(self.grid["density_grid"], problem.X.shape[1])
        folds.check_groups(problem)
        number = folds.fold_number(self.cv)
        if number is not None:
            folds.check_number("--cv", number, problem)
            folds.check_classes("--cv", number, problem, talk.note)

    def compressed(self, n_features: int) -> bool:
        """Whether some cell keeps fewer than all features."""
        listed = self.grid["density_grid"]
        return any(d < n_features if isinstance(d, int) else d < 1 for d in listed)

    def folds(self, problem: Problem) -> Any:
        """The splitter."""
        groups, compressed = problem.groups is not None, self.compressed(problem.X.shape[1])
        return folds.splitter(self.cv, groups, problem.classifies, compressed)

    def folds_named(self, problem: Problem) -> str:
        """The folds in words."""
        groups, compressed = problem.groups is not None, self.compressed(problem.X.shape[1])
        return folds.folds_named(self.cv, groups, compressed)


def searched(problem: Problem, plan: Plan, talk: Talk) -> tuple[Any, float]:
    """The fitted estimator, and the seconds that it took."""
    from skstretch import StretchyClassifierCV, StretchyRegressorCV

    plan.check(problem, talk)
    kind = StretchyClassifierCV if problem.classifies else StretchyRegressorCV
    model = kind(
        **plan.grid, cv=plan.folds(problem), rule=plan.rule, verbose=int(talk.shows_progress)
    )
    more = {} if problem.groups is None else {"groups": problem.groups}
    start = perf_counter()
    try:
        with talk.warnings(problem.names):
            # the note of `Plan.check` says it in other words
            warnings.filterwarnings("ignore", "The least populated class")
            model.fit(problem.X, problem.y, sample_weight=problem.weights, **more)
    except ValueError as error:
        raise DataError(in_options(str(error), problem.names)) from error
    if problem.names is not None:
        model.feature_names_in_ = np.array(problem.names, dtype=object)
    return model, perf_counter() - start
