"""A search for minimisers of other losses: a path over c for every k, folds, and their average.

Every candidate is solved for all samples, and from there for each fold, whose rows have weight
zero: exact refits, not an approximation. A fold is judged by the loss of all samples less that of
those it was made from, at its own scores: the loss of the rows left out, and for Cox's partial
likelihood the cross-validated one of Verweij and van Houwelingen.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.bridge import start
from skstretch.core.bridge_path import first_c
from skstretch.core.bridge_products import TINY
from skstretch.core.crossfit import Fold
from skstretch.core.loss_newton import (
    CERTIFIED,
    FOLD,
    Minimum,
    Scores,
    at_zero,
    freedom,
    minimise,
    modelled,
    settled,
)
from skstretch.core.losses import Loss
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit, Index
from skstretch.designs import Design
from skstretch.search.candidates import Problem
from skstretch.search.selection import path_supports
from skstretch.solve.choose import (
    AUTOMATIC_STRENGTH,
    LEAST_LOSS,
    LEAST_WEIGHT,
    LOSS_RATIO,
    PATH,
    SEARCHES,
    TAU_CLASSES,
)
from skstretch.solve.losses import LossFit, beside, elsewhere, onwards, read, scores_of

# A loss of the same targets under other weights.
MakeLoss = Callable[[Array], Loss]


@dataclass(frozen=True)
class LossCandidate:
    """One (k, c): the fit of all samples, its degrees of freedom, the outputs (n_tested, C) of the
    folds' models at the samples that they test, and the held-out loss, summed over the folds; inf
    where a solution is not certified. `gap` is the largest of all solutions. A candidate of some
    features has their `columns` and number, or share, as `density`."""

    k: float
    c: float
    fit: LossFit
    dof: float
    outputs: Array
    held_out: float
    gap: float
    columns: Index | None = None
    density: Any = 1.0


@dataclass(frozen=True)
class LossEnd:
    """Reads the fit of all samples off a candidate."""

    one: LossCandidate

    def __call__(self) -> Fit:
        at, fit = self.one.fit.minimum, self.one.fit
        # as of squared error, whose gradient is w e: alpha = phi(Z' beta)
        beta = (4.0 * at.c / at.k) * at.g.reshape(fit.level.size, -1).T
        return Fit(
            fit.coef,
            fit.level,
            fit.level,
            beta,
            np.zeros(len(beta)),
            np.nan,
            n_iter=at.n_iter,
            gap=at.gap,
            dof=self.one.dof,
            space="dual" if len(beta) <= len(fit.coef) else "primal",
            solver="newton",
        )


@dataclass(frozen=True)
class FoldLoss:
    """A fold: the loss of the samples that it is made from, that of these and of those that it
    tests together, and the latter."""

    fold: Fold
    rest: Loss
    both: Loss

    @classmethod
    def of(cls, fold: Fold, make: MakeLoss, weights: Array) -> "FoldLoss":
        rest = fold.weights(weights)
        both = rest.copy()
        both[fold.tested] = weights[fold.tested]
        try:
            return cls(fold, make(rest), make(both))
        except ValueError as error:
            raise ValueError(
                f"without the samples of one fold {error} Or use other folds."
            ) from None

    def held_out(self, eta: Array) -> float:
        """The loss of what is tested, at the scores (N) of the fold's model."""
        return self.both.value(eta) - self.rest.value(eta)

    def outputs(self, eta: Array) -> Array:
        """The scores (n, C) of what is tested."""
        return np.asarray(eta.reshape(self.rest.n_scores, -1)[:, self.fold.tested].T)


@dataclass(frozen=True)
class PathView:
    """A design as a path sees it: what the scores of all samples are made of, and of each fold
    where folds have columns of their own."""

    design: Design
    scores: Scores
    columns: Index | None = None
    folds: Sequence[Scores] = ()
    density: Any = 1.0

    def folds_at(
        self,
        near: Minimum,
        gram: Array | None,
        before: Minimum,
        last: Sequence[Minimum],
        parts: Sequence[FoldLoss],
    ) -> list[Minimum]:
        """The solutions of all folds at the k and c of `near`: as far beside it as the `last` ones
        were beside that `before` it, else from there; from the last ones where columns are their
        own."""
        k, c = near.k, near.c
        if not self.folds:
            found: list[Minimum | None] = [None] * len(parts)
            if gram is not None:
                each = zip(last, parts, strict=True)
                close = [beside(near, before, at, part.rest) for at, part in each]
                found = settled(self.scores, near, gram, close, FOLD.gap / 10.0)
            rest = [part.rest for part, one in zip(parts, found, strict=True) if one is None]
            starts = [elsewhere(self.scores, near, loss, k, c) for loss in rest]
            solved = iter(minimise(self.scores, starts, FOLD))
            return [next(solved) if one is None else one for one in found]
        own = zip(self.folds, last, parts, strict=True)
        starts = [elsewhere(scores, at, part.rest, k, c) for scores, at, part in own]
        pairs = zip(self.folds, starts, strict=True)
        return [minimise(scores, [start], FOLD)[0] for scores, start in pairs]


def search_losses(
    design: Design,
    make: MakeLoss,
    problem: Problem,
    ks: Sequence[float] = SEARCHES[0].loss_k,
    cs: Sequence[float] | None = None,
    asked: Sequence[tuple[Any, int]] = (),
) -> Iterator[list[LossCandidate]]:
    """The paths of all ks along c, by default from where features begin to matter.

    `asked` are densities with the numbers of features that they keep, none for all features. Fewer
    than all are ridge on those that `null_supports` finds, in every fold on its own.
    """
    weights, intercept = problem.weights, problem.intercept
    whole, parts = make(weights), [FoldLoss.of(f, make, weights) for f in problem.folds.folds or ()]
    some = [(density, count) for density, count in asked if count < design.n_penalised]
    for k in sorted(ks) if not some or len(some) < len(asked) else ():
        seen = PathView(design, scores_of(design, intercept, k, whole.n_scores))
        yield along(seen, problem, whole, parts, k, cs)
    if some:
        losses, counts = (whole, *(part.rest for part in parts)), sorted({n for _, n in some})
        supports = [null_supports(design, intercept, loss, counts) for loss in losses]
    for density, count in some:
        own = [design.take(columns[count]) for columns in supports]
        scores = [scores_of(one, intercept, 2.0, whole.n_scores) for one in own]
        seen = PathView(own[0], scores[0], supports[0][count], scores[1:], density)
        yield along(seen, problem, whole, parts, 2.0, cs)


def null_supports(
    design: Design, intercept: Intercept, loss: Loss, counts: Sequence[int]
) -> dict[int, Index]:
    """Supports along the lasso path of what the loss is near the point without features: squared
    error of the responses ``g / h`` with the weights h, g minus its gradient and h the diagonal of
    its second derivative there, the mean of all scores."""
    C = loss.n_scores
    zero = at_zero(scores_of(design, intercept, 2.0, C), loss, 2.0, 1.0)
    H, g = loss.hessian(zero.eta), zero.g.reshape(C, -1)
    if callable(H):
        H = H(np.eye(g.size)).diagonal()
    h = np.mean(H - H**2 / np.maximum(H.sum(axis=0), TINY), axis=0) if H.ndim == 2 else H
    responses = np.divide(g, h, out=np.zeros_like(g), where=h > 0.0)
    return path_supports(design, responses.T, h, counts)


def along(
    seen: PathView,
    problem: Problem,
    whole: Loss,
    parts: Sequence[FoldLoss],
    k: float,
    cs: Sequence[float] | None,
) -> list[LossCandidate]:
    """The candidates of one k, upwards in c, from the point without features. An automatic path
    ends where the held-out loss has risen, or little is left."""
    scores, path = seen.scores, list[LossCandidate]()
    near = before = zero = at_zero(scores, whole, k, 1.0)
    pairs = zip(seen.folds or [scores] * len(parts), parts, strict=True)
    last = [at_zero(own, part.rest, k, 1.0) for own, part in pairs]
    first = beginning(scores, near) if cs is None else 1.0
    for c in cs if cs is not None else first * LOSS_RATIO ** np.arange(PATH.n):
        guess, before = onwards(near, before, float(c)), near
        [found] = settled(scores, guess, None, [guess])
        near = minimise(scores, [found or elsewhere(scores, near, whole, k, float(c))])[0]
        dof, gram = freedom(scores, near)
        last = seen.folds_at(near, gram, before, last, parts)
        path.append(judged(seen, problem.intercept, near, dof, last, parts))
        losses = np.array([one.held_out for one in path])
        least, risen = losses.min(), PATH.is_over(losses[:, None])
        if losses[-1] > least:  # beside the best it may have no share of an average
            risen |= bool(np.exp(TAU_CLASSES * (least - losses[-1]) / problem.unit) < LEAST_WEIGHT)
        if cs is None and (risen or whole.value(near.eta) <= LEAST_LOSS * zero.objective):
            break
    return path


def judged(
    seen: PathView,
    intercept: Intercept,
    near: Minimum,
    dof: float,
    folds: Sequence[Minimum],
    parts: Sequence[FoldLoss],
) -> LossCandidate:
    """A candidate from its solutions, of all samples and of every fold."""
    pairs = [(part, one.eta) for part, one in zip(parts, folds, strict=True)]
    gap = max(one.gap for one in (near, *folds))
    loss = sum(part.held_out(eta) for part, eta in pairs) if gap <= CERTIFIED.gap else np.inf
    nothing = np.empty((0, seen.scores.n_scores))
    outputs = np.concatenate([nothing, *(part.outputs(eta) for part, eta in pairs)])
    fit = read(seen.design, intercept, seen.scores, near)
    facts = dof, outputs, float(loss), gap, seen.columns, seen.density
    return LossCandidate(near.k, near.c, fit, *facts)


def automatic_c(design: Design, loss: Loss, intercept: Intercept, k: float) -> float:
    """An inverse strength that is tied to the data."""
    scores = scores_of(design, intercept, k, loss.n_scores)
    return 1.0 / AUTOMATIC_STRENGTH * beginning(scores, at_zero(scores, loss, k, 1.0))


def beginning(scores: Scores, zero: Minimum) -> float:
    """The c at which the features take half to one degree of freedom."""
    model = modelled(scores, zero)
    return first_c(
        start(model.products, [model.problem], [model.e], anywhere=True)[0], PATH.first_dof
    )
