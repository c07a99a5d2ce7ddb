"""A search for minimisers of other losses: a path over c for every k, folds, and their average.

Every candidate is solved for all samples, and from there for each fold, whose rows have weight
zero: exact refits, not an approximation. A fold is judged by the loss of all samples less that of
those it was made from, at its own scores: the loss of the rows left out, and for Cox's partial
likelihood the cross-validated one of Verweij and van Houwelingen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from skstretch.core.bridge import start
from skstretch.core.bridge_path import first_c
from skstretch.core.loss_newton import (
    CERTIFIED,
    Minimum,
    Scores,
    Stopping,
    at_zero,
    minimise,
    modelled,
)
from skstretch.core.losses import Loss
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs import Design
from skstretch.search.choice import tempered, trimmed
from skstretch.solve.choose import (
    LEAST_LOSS,
    LOSS_FOLDS,
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
    """One (k, c): the fit of all samples, the scores of every fold's model (F, N), and the
    held-out loss, summed over the folds; inf where a solution is not certified."""

    k: float
    c: float
    fit: LossFit
    scores: Array
    held_out: float


@dataclass(frozen=True)
class LossSearch:
    """What a search has found.

    Attributes
    ----------
    candidates : list of LossCandidate
        All that were solved, for every k along its c.
    best : list of LossCandidate
        The best of every k that has one.
    shares : array of shape (len(best),)
        The weights of their average.
    coef, level : arrays of shape (D, C) and (C,)
        The average.
    scores : array of shape (F, N)
        The averages without each fold, at all samples.
    held_out, null : float
        Held-out losses of the average, and of models without features.
    """

    candidates: Sequence[LossCandidate]
    best: Sequence[LossCandidate]
    shares: Array
    coef: Array
    level: Array
    scores: Array
    held_out: float
    null: float


def stratified_folds(
    codes: Index | None, n_samples: int, groups: Any = None, n_folds: int = LOSS_FOLDS
) -> list[Index]:
    """Rows that each fold leaves out: of every class (or event) alike, and whole groups."""
    X, n = np.zeros((n_samples, 1)), min(n_folds, n_samples)
    if codes is not None:
        counts = np.bincount(codes)
        n = min(n, int(counts[counts > 0].min()))
    if groups is not None:
        n = min(n, np.unique(groups).size)
    if n < 2:
        raise ValueError(
            f"{n_samples} samples, {0 if codes is None else np.unique(codes).size} classes and "
            f"{'no' if groups is None else np.unique(groups).size} groups do not make two folds: "
            "every class needs two samples, and there must be two groups."
        )
    if codes is None:
        splits = KFold(n).split(X) if groups is None else GroupKFold(n).split(X, groups=groups)
    elif groups is None:
        splits = StratifiedKFold(n).split(X, codes)
    else:
        splits = StratifiedGroupKFold(n).split(X, codes, groups)
    return [held for _, held in splits]


def held_out_loss(whole: Loss, parts: Sequence[Loss], scores: Array) -> float:
    """Loss of all less loss of the rest, summed over folds, for the scores of each (F, N)."""
    pairs = zip(parts, scores, strict=True)
    return float(sum(whole.value(eta) - part.value(eta) for part, eta in pairs))


def search_losses(
    design: Design,
    make: MakeLoss,
    weights: Array,
    held: Sequence[Index],
    intercept: Intercept = Intercept.FREE,
    ks: Sequence[float] = LOSS_POWERS,
    cs: Sequence[float] | None = None,
) -> LossSearch:
    """Search all ks along c (by default from where features begin to matter) and average the best.

    The average weighs the best candidate of every k by ``exp(-tau L)``, L its held-out loss.
    """
    whole, parts = make(weights), []
    for rows in held:
        rest = weights.copy()
        rest[rows] = 0.0
        parts.append(make(rest))
    found, best = [], []
    for k in ks:
        scores = scores_of(design, intercept, k, whole.n_scores)
        zeros = [at_zero(scores, loss, k, 1.0) for loss in (whole, *parts)]
        path = along(design, intercept, scores, zeros, cs)
        found += path
        best += [min(path, key=lambda one: one.held_out)]
    null = held_out_loss(whole, parts, np.stack([zero.eta for zero in zeros[1:]]))
    best = [one for one in best if np.isfinite(one.held_out)]
    if not best:
        raise ValueError(
            "no candidate has a certified solution in every fold: folds that miss a class, or "
            "never penalised columns that tell the targets. Use fewer folds, or penalise them."
        )
    shares = trimmed(tempered(TAU_CLASSES * np.array([one.held_out for one in best])))
    coef = sum(share * one.fit.coef for share, one in zip(shares, best, strict=True))
    level = sum(share * one.fit.level for share, one in zip(shares, best, strict=True))
    mixed = np.asarray(sum(share * one.scores for share, one in zip(shares, best, strict=True)))
    return LossSearch(
        found, best, shares, np.asarray(coef), np.asarray(level), mixed,
        held_out_loss(whole, parts, mixed), null,
    )  # fmt: skip


def along(
    design: Design,
    intercept: Intercept,
    scores: Scores,
    zeros: Sequence[Minimum],
    cs: Sequence[float] | None,
) -> list[LossCandidate]:
    """The candidates of one k, upwards in c, from the points without features of all samples and
    of each fold. An automatic path ends where the held-out loss has risen, or little is left."""
    near, parts, k = zeros[0], [zero.loss for zero in zeros[1:]], zeros[0].k
    whole, path = near.loss, list[LossCandidate]()
    first = beginning(scores, near)
    for c in cs if cs is not None else first * LOSS_RATIO ** np.arange(PATH_LENGTH):
        near = minimise(scores, [elsewhere(scores, near, whole, k, float(c))])[0]
        starts = [elsewhere(scores, near, part, k, float(c)) for part in parts]
        folds = minimise(scores, starts, FOLD)
        eta = np.stack([one.eta for one in folds])
        certified = max(one.gap for one in (near, *folds)) <= CERTIFIED.gap
        loss = held_out_loss(whole, parts, eta) if certified else np.inf
        fit = read(design, intercept, scores, near)
        path.append(LossCandidate(k, float(c), fit, eta, loss))
        losses = np.array([one.held_out for one in path])
        risen = len(path) > PATIENCE and bool((losses[-PATIENCE:] > WORSE * losses.min()).all())
        if cs is None and (risen or whole.value(near.eta) <= LEAST_LOSS * zeros[0].objective):
            break
    return path


def beginning(scores: Scores, zero: Minimum) -> float:
    """The c at which the features take half to one degree of freedom."""
    model = modelled(scores, zero)
    return first_c(start(model.products, [model.problem], [model.e], anywhere=True)[0])
