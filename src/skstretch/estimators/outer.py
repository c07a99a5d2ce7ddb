"""The search once more without parts of the samples, and how well it predicts these.

Nothing of it has seen the part: not the z-scores, not the cells, not the weights, not the features
that are kept. It costs one search for every part. With `cv` the parts are the folds of the search,
and the search without one of them has the other folds; else they are ten, of whole groups where
there are groups.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from skstretch.core.types import Array, Index
from skstretch.designs import is_dask, is_source
from skstretch.search import Contest, Folds, Grid
from skstretch.search.parts import outer_parts

# parts at most
N_PARTS = 10
# parts times cells times N^2 L, N the smaller and L the larger side of X: what takes longer, a few
# seconds, is not done unless it is asked for
MOST = 5e9
# samples, and samples times targets, from which a search that sees one less is known well enough
# from blocks
MANY, MANY_OF_ALL = 300, 2000


@dataclass(frozen=True)
class Part:
    """Samples to search with, samples to predict, and the splits of the search, or None."""

    trained: Index
    tested: Index
    splits: list[tuple[Index, Index]] | None = None


def ten_parts(folds: Folds, n_samples: int) -> list[Part]:
    """The parts of folds that test every sample once; the search makes its folds by itself."""
    every = np.arange(n_samples)
    return [Part(np.setdiff1d(every, f.held), f.tested) for f in folds.folds or ()]


def own_parts(folds: Folds, n_samples: int) -> list[Part]:
    """The folds of a search, at most ten parts of them, each with the folds that it leaves.

    Of folds that are repeated those count that test samples for the first time. A part without
    which no fold is left, as with two folds, is not there.
    """
    seen, first = np.zeros(n_samples, dtype=bool), []
    own = list(folds.folds or ())
    for number, fold in enumerate(own):
        if not seen[fold.tested].any():
            first.append(number)
            seen[fold.tested] = True
    found = []
    for numbers in np.array_split(first, min(N_PARTS, len(first))):
        held = np.unique(np.concatenate([own[i].held for i in numbers]))
        tested = np.concatenate([own[i].tested for i in numbers])
        trained = np.setdiff1d(np.arange(n_samples), held)
        place = np.full(n_samples, -1)
        place[trained] = np.arange(trained.size)
        splits = []
        for fold in own:
            times = (fold.weights(np.ones(n_samples)) * (place >= 0)).astype(np.intp)
            train, test = np.repeat(place, times), place[fold.tested]
            if train.size and (test >= 0).any():
                splits.append((train, test[test >= 0]))
        if splits:
            found.append(Part(trained, tested, splits))
    return found


def inner_parts(
    contest: Contest, grids: Sequence[Grid], folds: Callable[..., Folds]
) -> tuple[Index, ...]:
    """Parts without which the search itself repeats its choices, for lack of closed forms."""
    n, t = contest.problem.Y.shape
    if contest.nested is None or n > MANY or n * t > MANY_OF_ALL or has_closed_alone(grids):
        return ()
    return outer_parts(folds(compressed=True))


def has_closed_alone(grids: Sequence[Grid]) -> bool:
    """Whether blocks of inverses tell everything: no exact minimiser, no selected features."""
    return len(grids) == 1 and not any(grids[0].exact_ks(a) for a in grids[0].a)


@dataclass(frozen=True)
class Again:
    """What a search was given: X and y as checked, the rows in use, weights and groups or None."""

    estimator: Any
    X: Any
    y: Any
    rows: Index
    sample_weight: Any
    groups: Any

    def outputs(self, parts: Sequence[Part]) -> tuple[Index, Array] | None:
        """Samples, and what searches without them predict, (n, t); None where one fails."""
        found = []
        for part in parts:
            outputs = self._without(part)
            if outputs is None:
                return None
            found.append(outputs)
        return (np.concatenate([p.tested for p in parts]), np.vstack(found)) if found else None

    def _without(self, part: Part) -> Array | None:
        model = clone(self.estimator)
        given: dict[str, Any] = {"nested": False, "verbose": 0}
        if part.splits is not None:
            given["cv"] = part.splits
        rows = self.rows[part.trained]
        with warnings.catch_warnings():
            # of its conditions and its grid the whole search speaks
            warnings.simplefilter("ignore")
            try:
                model.set_params(**given).fit(self.X[rows], self.y[rows], **self._of(rows))
            except ValueError:
                return None  # too few samples are left for these folds, or nothing varies
            classes = getattr(self.estimator, "classes_", None)
            if classes is not None and model.classes_.size != classes.size:
                return None
            return np.asarray(model._linear(self.X[self.rows[part.tested]]))

    def _of(self, rows: Index) -> dict[str, Any]:
        """Keywords of `fit` for some rows."""
        both = {"sample_weight": self.sample_weight, "groups": self.groups}
        return {name: np.asarray(v)[rows] for name, v in both.items() if v is not None}

    def search(
        self, contest: Contest, grids: Sequence[Grid], folds: Callable[..., Folds]
    ) -> tuple[Index, Array] | None:
        """Samples and their outputs, part by part; None where the search is not run again."""
        return self.outputs(self._parts(contest, grids, folds))

    def _parts(
        self, contest: Contest, grids: Sequence[Grid], folds: Callable[..., Folds]
    ) -> list[Part]:
        """The parts that a fit searches without; none where the search tells its score by itself,
        or it would take long. `folds` makes those of the search."""
        X, n, nested, cv = self.X, self.rows.size, self.estimator.nested, self.estimator.cv
        told = contest.nested is not None and nested != "refit"
        if is_source(X) or is_dask(X) or n < 3 or told:
            return []
        small, large = sorted((n, X.shape[1]))
        work = sum(grid.n_cells for grid in grids) * float(small) ** 2 * large
        own = contest.problem.folds
        parts = own_parts(own, n) if cv is not None else ten_parts(folds(compressed=True), n)
        return [] if work * len(parts) > MOST and nested != "refit" else parts
