"""What a search found out about every candidate, kept for whoever wants to look at other
candidates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs.protocol import Design
from skstretch.search.candidates import Candidate, Outcome, Problem, Unknowns
from skstretch.solve.left_out import held_out_bounds
from skstretch.solve.spec import Spec

# bytes of out-of-fold outputs and unknowns that a fitted search may hold on to
MOST_BYTES = 48 << 20
# bytes of coefficients that are made at a time
BATCH_BYTES = 64 << 20


class Seen(Protocol):
    """X seen through the transform at one a, and the columns of X that take part."""

    @property
    def design(self) -> Design: ...

    @property
    def quadrant(self) -> Quadrant: ...

    @property
    def columns(self) -> Index: ...


@dataclass(frozen=True)
class Outcomes:
    """Every candidate with its out-of-fold outputs and what its coefficients are made of.

    Attributes
    ----------
    outputs : array of shape (n_cells, M, t)
        The mean over the folds that tested a sample; NaN where none did, or the candidate is
        unusable.
    unknowns : list
        For each candidate what was solved for, one entry a pass; empty where there is nothing.
    views : dict
        For every a the design, its quadrant, and the columns of X that take part.
    Y, weights, intercept : what all candidates were fitted to, (M, t) and (M,)
    sample_weights : array of shape (M,)
        Weights without those of classes.
    grouped : bool
        Whether samples belong together, so that single ones are no independent units.
    X : what the views see, as it was checked
    """

    candidates: Sequence[Candidate]
    outputs: Array
    unknowns: Sequence[Sequence[Unknowns]]
    views: Mapping[float, Seen]
    Y: Array
    weights: Array
    intercept: Intercept
    grouped: bool
    sample_weights: Array
    X: Any = None

    def slopes(self, rows: Sequence[int], n_features: int) -> Iterator[tuple[int, Array]]:
        """``(row, coef_ (t, n_features))`` of some candidates, by products alone.

        Candidates of one (a, k) share a pass over the data: ``alpha = Q' [beta_1, beta_2, ...]``.
        """
        for batch in self._batches(rows, n_features):
            view = self.views[self.candidates[batch[0]].a]
            for row, coef in zip(batch, self._coefficients(batch, view), strict=True):
                whole = np.zeros((self.Y.shape[1], n_features))
                whole[:, view.columns] = coef
                yield row, view.quadrant.slope(whole)

    def _batches(self, rows: Sequence[int], n_features: int) -> Iterator[list[int]]:
        """Candidates whose coefficients one pass makes."""
        shared: dict[tuple[float, float], list[int]] = {}
        for row in rows:
            parts = self.unknowns[row]
            if len(parts) == 1 and parts[0].is_shared:
                shared.setdefault((self.candidates[row].a, self.candidates[row].k), []).append(row)
            else:
                yield [row]
        size = max(1, BATCH_BYTES // (8 * n_features * self.Y.shape[1]))
        for found in shared.values():
            for start in range(0, len(found), size):
                yield found[start : start + size]

    def _coefficients(self, rows: list[int], view: Seen) -> Iterator[Array]:
        """Coefficients (t, columns of the design) of the candidates of a batch."""
        design, t = view.design, self.Y.shape[1]
        if len(rows) > 1:
            parts = [self.unknowns[row][0] for row in rows]
            found = [[one] for one in Unknowns.solve_many(parts, design, self.weights)]
        else:
            alone = [
                (part, design if part.columns is None else design.take(part.columns))
                for part in self.unknowns[rows[0]]
            ]
            found = [[part.coefficients(own, self.weights) for part, own in alone]]
        for row, coefs in zip(rows, found, strict=True):
            coef = np.zeros((t, design.shape[1]))
            for part, own in zip(self.unknowns[row], coefs, strict=True):
                kept = np.arange(design.shape[1]) if part.columns is None else part.columns
                targets = np.arange(t) if part.target is None else np.array([part.target])
                coef[np.ix_(targets, kept)] = own.T
            yield coef

    def held_out_bounds(
        self, row: int, folds: Sequence[Index], levels: Sequence[float]
    ) -> Array | None:
        """Jackknife+ bounds of every fold by the candidate without it, (2, levels, M, t).

        None where the candidate keeps some of the features: which ones must be chosen without the
        fold.
        """
        candidate = self.candidates[row]
        if any(part.columns is not None for part in self.unknowns[row]):
            return None
        design = self.views[candidate.a].design
        spec = Spec(candidate.k, candidate.c, self.intercept, "auto", design.unit, candidate.a == 0)
        return held_out_bounds(design, self.Y, self.weights, spec, folds, levels)


def kept_outcomes(
    candidates: Sequence[Candidate],
    results: Sequence[Outcome],
    problem: Problem,
    views: Mapping[float, Any],
    grouped: bool,
    sample_weights: Array,
) -> Outcomes | None:
    """What is worth keeping of a finished search; None where it would take too much memory, or
    where what is made of it takes inverses that the search has done without."""
    n, t = problem.Y.shape
    if any(outcome.loo == "held out" for outcome in results):
        return None
    held = sum(part.n_bytes for outcome in results for part in outcome.unknowns)
    if 8 * len(candidates) * n * t + held > MOST_BYTES:
        return None
    outputs = np.full((len(candidates), n, t), np.nan)
    true = problem.Y[problem.folds.tested]
    for row, outcome in enumerate(results):
        own = outcome.served
        outputs[row][:, own] = problem.folds.mean(true[:, own] - outcome.residuals[:, own], n)
    unknowns = [outcome.unknowns if outcome.usable else () for outcome in results]
    data = problem.Y, problem.weights, problem.intercept
    return Outcomes(candidates, outputs, unknowns, views, *data, grouped, sample_weights)


def light_design(design: Design) -> Design:
    """The design without the Gram matrices that an earlier pass has left."""
    return design.light()
