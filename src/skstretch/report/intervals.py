"""Jackknife+ intervals of samples that the model has not seen, and how often they hold."""

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold

from skstretch.core.intervals import residual_width
from skstretch.core.types import Array
from skstretch.estimators import StretchyRegressor
from skstretch.report.effort import Effort
from skstretch.report.foretold import quiet
from skstretch.report.subject import Subject

COVERAGE = 0.9
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
N_FOLDS = 10


@dataclass(frozen=True)
class Bars:
    """Intervals at COVERAGE of shape (n, t), and the coverage seen at several levels, (t, L).

    `method` is "plus" or "residual"; the second is a quantile of what it would be tested on, and
    has no levels.
    """

    lower: Array
    upper: Array
    levels: tuple[float, ...]
    seen: Array
    method: str

    @property
    def half(self) -> float:
        """Half the width of the middle interval."""
        return float(np.nanmedian(self.upper - self.lower)) / 2

    @property
    def finite(self) -> bool:
        """Whether there are enough samples for the coverage."""
        return not (np.isinf(self.lower).any() or np.isinf(self.upper).any())


def bars_of(subject: Subject, outputs: Array | None, effort: Effort, verified: bool) -> Bars | None:
    """Bars for every sample with an out-of-fold prediction.

    Jackknife+ where the training data are at hand: ten fits of the chosen cell, each of which
    bounds a tenth of the samples that it has not seen. Else the quantile of the out-of-fold
    residuals on either side of the out-of-fold prediction.
    """
    if subject.classifies or subject.y is None or outputs is None:
        return None
    n = subject.shape[0]
    affordable = effort.intervals_fit(min(N_FOLDS, n), len(LEVELS))
    if verified and affordable and n >= N_FOLDS:
        return _plus(subject)
    return _residual(subject, outputs)


def _plus(subject: Subject) -> Bars:
    Y, given = subject.Y, subject.model.get_params()
    shared = {name: given[name] for name in ("b", "quadrant", "fit_intercept", "n_jobs")}
    cell = dict(subject.cell)
    bounds = np.full((2, len(LEVELS), *Y.shape), np.nan)
    splits = KFold(N_FOLDS, shuffle=True, random_state=0).split(np.zeros((Y.shape[0], 1)))
    for train, test in splits:
        model = StretchyRegressor(**cell, **shared)
        with quiet():
            model.fit(subject.X[train], Y[train])
            for i, level in enumerate(LEVELS):
                bounds[:, i, test] = model.predict_interval(subject.X[test], level)
    at = LEVELS.index(COVERAGE)
    seen = ((bounds[0] <= Y) & (bounds[1] >= Y)).mean(axis=1).T
    return Bars(bounds[0, at], bounds[1, at], LEVELS, seen, "plus")


def _residual(subject: Subject, outputs: Array) -> Bars:
    residuals = (subject.Y - outputs).T
    half = np.array([residual_width(r[np.isfinite(r)], COVERAGE) for r in residuals])
    return Bars(outputs - half, outputs + half, (), np.empty((half.size, 0)), "residual")
