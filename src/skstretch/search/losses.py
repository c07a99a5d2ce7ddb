"""A search for minimisers of other losses: a path over c for every k, folds, and their average.

Every candidate is solved for all samples, and from there for each fold, whose rows have weight
zero: exact refits, not an approximation. A fold is judged by the loss of all samples less that of
those it was made from, at its own scores: the loss of the rows left out, and for Cox's partial
likelihood the cross-validated one of Verweij and van Houwelingen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skstretch.core.bridge import start
from skstretch.core.bridge_path import first_c
from skstretch.core.crossfit import Fold
from skstretch.core.loss_newton import (
    CERTIFIED,
    Minimum,
    Scores,
    Stopping,
    at_zero,
    freedom,
    minimise,
    modelled,
)
from skstretch.core.losses import Loss
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit
from skstretch.designs import Design
from skstretch.solve.choose import (
    LEAST_LOSS,
    LEAST_WEIGHT,
    LOSS_POWERS,
    LOSS_RATIO,
    PATH_LENGTH,
    PATIENCE,
    TAU_CLASSES,
    WORSE,
)
from skstretch.solve.losses import LossFit, elsewhere, read, scores_of

# A fold is solved for its score alone, from a neighbour: Newton's next step is below this.
FOLD = Stopping(gap=1e-12, polish=False)

# A loss of the same targets under other weights.
MakeLoss = Callable[[Array], Loss]


@dataclass(frozen=True)
class LossCandidate:
    """One (k, c): the fit of all samples, its degrees of freedom, the outputs (n_tested, C) of the
    folds' models at the samples that they test, and the held-out loss, summed over the folds; inf
    where a solution is not certified. `gap` is the largest of all solutions."""

    k: float
    c: float
    fit: LossFit
    dof: float
    outputs: Array
    held_out: float
    gap: float


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
class Part:
    """A fold: the loss of the samples that it is made from, that of these and of those that it
    tests together, and the latter."""

    fold: Fold
    rest: Loss
    both: Loss

    @classmethod
    def of(cls, fold: Fold, make: MakeLoss, weights: Array) -> "Part":
        rest = weights.copy()
        rest[fold.held] = 0.0
        rest[fold.repeated] *= fold.times
        both = rest.copy()
        both[fold.tested] = weights[fold.tested]
        return cls(fold, make(rest), make(both))

    def held_out(self, eta: Array) -> float:
        """The loss of what is tested, at the scores (N) of the fold's model."""
        return self.both.value(eta) - self.rest.value(eta)

    def outputs(self, eta: Array) -> Array:
        """The scores (n, C) of what is tested."""
        return np.asarray(eta.reshape(self.rest.n_scores, -1)[:, self.fold.tested].T)


def search_losses(
    design: Design,
    make: MakeLoss,
    weights: Array,
    folds: Sequence[Fold],
    intercept: Intercept = Intercept.FREE,
    ks: Sequence[float] = LOSS_POWERS,
    cs: Sequence[float] | None = None,
    step: Callable[[], None] = lambda: None,
) -> list[LossCandidate]:
    """Search all ks along c, by default from where features begin to matter; `step` after each."""
    whole, parts = make(weights), [Part.of(fold, make, weights) for fold in folds]
    found = []
    for k in ks:
        scores = scores_of(design, intercept, k, whole.n_scores)
        zero = at_zero(scores, whole, k, 1.0)
        found += along(design, intercept, scores, zero, parts, cs)
        step()
    return found


def along(
    design: Design,
    intercept: Intercept,
    scores: Scores,
    zero: Minimum,
    parts: Sequence[Part],
    cs: Sequence[float] | None,
) -> list[LossCandidate]:
    """The candidates of one k, upwards in c, from the point without features. An automatic path
    ends where the held-out loss has risen, or little is left."""
    near, k, whole, path = zero, zero.k, zero.loss, list[LossCandidate]()
    first = beginning(scores, near) if cs is None else 1.0
    for c in cs if cs is not None else first * LOSS_RATIO ** np.arange(PATH_LENGTH):
        near = minimise(scores, [elsewhere(scores, near, whole, k, float(c))])[0]
        starts = [elsewhere(scores, near, part.rest, k, float(c)) for part in parts]
        folds = minimise(scores, starts, FOLD)
        pairs = [(part, one.eta) for part, one in zip(parts, folds, strict=True)]
        gap = max(one.gap for one in (near, *folds))
        loss = sum(part.held_out(eta) for part, eta in pairs) if gap <= CERTIFIED.gap else np.inf
        outputs = np.concatenate([part.outputs(eta) for part, eta in pairs])
        fit, dof = read(design, intercept, scores, near), freedom(scores, near)
        path.append(LossCandidate(k, float(c), fit, dof, outputs, float(loss), gap))
        losses = np.array([one.held_out for one in path])
        risen = len(path) > PATIENCE and bool((losses[-PATIENCE:] > WORSE * losses.min()).all())
        # beside the best it would have no share of an average
        risen |= np.exp(-TAU_CLASSES * (losses[-1] - losses.min())) < LEAST_WEIGHT
        if cs is None and (risen or whole.value(near.eta) <= LEAST_LOSS * zero.objective):
            break
    return path


def beginning(scores: Scores, zero: Minimum) -> float:
    """The c at which the features take half to one degree of freedom."""
    model = modelled(scores, zero)
    return first_c(start(model.products, [model.problem], [model.e], anywhere=True)[0])
