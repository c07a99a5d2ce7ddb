"""Classification as regression on +-1: targets, class weights, cuts and probabilities."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit, logsumexp, softmax

from skstretch.core.crossfit import paired_error
from skstretch.core.types import Array, Index, Mask

# parts of the samples in which a tuned cut is compared with zero
N_PARTS = 10


def signed_targets(codes: Index, n_classes: int) -> Array:
    """+1 for a class and -1 for the rest: one column for two classes, else one per class."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def decided(outputs: Array) -> Index:
    """Class codes from outputs: positive or not for one column, else the largest."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0).astype(np.intp)
    return np.asarray(outputs.argmax(axis=1), dtype=np.intp)


def balanced_weights(codes: Index, n_classes: int, weights: Array) -> Array:
    """The weight of each class that gives all classes present the same total weight.

    As in scikit-learn's balanced accuracy, a class without samples does not count.
    """
    totals = np.bincount(codes, weights=weights, minlength=n_classes)
    present = totals > 0
    safe = np.where(present, totals, 1.0)
    return np.where(present, weights.sum() / (max(1, present.sum()) * safe), 0.0)


def class_weights(
    class_weight: str | Mapping[object, float] | None,
    classes: npt.NDArray[np.generic],
    codes: Index,
    weights: Array,
) -> Array:
    """Sample weights times the weights of their classes."""
    if class_weight is None:
        return weights
    if isinstance(class_weight, Mapping):
        labels = classes.tolist()
        unknown = [label for label in class_weight if label not in labels]
        if unknown:
            raise ValueError(
                f"class_weight names {unknown[0]!r}, which is not a class of y; those are {labels}."
            )
        chosen: Array = np.array([float(class_weight.get(v, 1.0)) for v in labels])
        if not (np.isfinite(chosen) & (chosen >= 0)).all() or not chosen.any():
            raise ValueError(
                f"class_weight={class_weight!r} needs finite numbers that are not negative, and "
                "one at least that is not zero."
            )
        return weights * chosen[codes]
    if class_weight != "balanced":
        raise ValueError(
            f'class_weight={class_weight!r} is not known: use None, "balanced" or a dict from '
            "class to weight."
        )
    return weights * balanced_weights(codes, classes.size, weights)[codes]


def settled(scores: Array) -> Array:
    """Scores rounded to ten digits of the largest.

    Equal samples have equal scores but for rounding, which differs with the storage of the data
    and the blocks it is read in; no cut may fall between them.
    """
    largest = float(np.max(np.abs(scores), initial=0.0))
    if not 0.0 < largest < np.inf:
        return scores
    unit = 2.0 ** (np.ceil(np.log2(largest)) - 34)
    return np.asarray(np.round(scores / unit) * unit)


def balanced_cut(scores: Array, positive: Mask, weights: Array) -> float:
    """The cut of least balanced error rate on the scores; nearest to zero among equals."""
    order = np.argsort(scores, kind="stable")
    ordered, is_positive, w = scores[order], positive[order], weights[order]
    share = np.where(is_positive, w / w[is_positive].sum(), -w / w[~is_positive].sum())
    # error of cutting below sample i: positives below it are missed, negatives above are not
    errors = np.concatenate([[0.0], np.cumsum(share)])
    gaps = np.flatnonzero(np.diff(ordered) > 0)
    cuts = (ordered[gaps] + ordered[gaps + 1]) / 2
    at = errors[gaps + 1]
    below_zero = errors[np.searchsorted(ordered, 0.0, side="right")]
    cuts, at = np.append(cuts, 0.0), np.append(at, below_zero)
    best = np.flatnonzero(at <= at.min() + 1e-12)
    return float(cuts[best[np.argmin(np.abs(cuts[best]))]])


def balanced_cuts(outputs: Array, codes: Index, weights: Array) -> Array:
    """A cut for every column: the second class of two, or each class against the rest."""
    if outputs.shape[1] == 1:
        return np.array([balanced_cut(outputs[:, 0], codes == 1, weights)])
    return np.array(
        [balanced_cut(outputs[:, j], codes == j, weights) for j in range(outputs.shape[1])]
    )


def favoured_cuts(outputs: Array, codes: Index, n_classes: int, weights: Array) -> Array:
    """Balanced cuts where they beat zero by more than a standard error, else zeros.

    The cuts that are compared are learned from the other parts of the samples.
    """
    order = np.argsort(codes, kind="stable")
    part = np.empty(codes.size, dtype=np.intp)
    part[order] = np.arange(codes.size) % N_PARTS
    tuned = np.zeros_like(outputs)
    for p in range(N_PARTS):
        others = part != p
        if len(np.unique(codes[others])) < n_classes:
            return np.zeros(outputs.shape[1])
        tuned[part == p] = balanced_cuts(outputs[others], codes[others], weights[others])
    balance = balanced_weights(codes, n_classes, weights)[codes]
    at_zero = (decided(outputs) != codes) * balance
    at_cut = (decided(outputs - tuned) != codes) * balance
    gain, error = paired_error(at_zero - at_cut, weights, None)
    if gain > error:
        return balanced_cuts(outputs, codes, weights)
    return np.zeros(outputs.shape[1])


def margins(outputs: Array) -> Array:
    """One column per class, of which only differences matter."""
    if outputs.shape[1] == 1:
        return np.hstack([np.zeros_like(outputs), outputs])
    return outputs


def temperature(outputs: Array, codes: Index, weights: Array) -> float:
    """The factor ``A > 0`` of greatest likelihood in ``softmax(A margins)``.

    Labels are smoothed by one pseudo-observation per class, so that separable scores have a
    finite answer.
    """
    M = margins(outputs)
    n_classes = M.shape[1]
    counts = np.bincount(codes, weights=weights, minlength=n_classes)
    targets = np.full(M.shape, 1.0)
    targets[np.arange(codes.size), codes] += counts[codes]
    targets /= targets.sum(axis=1, keepdims=True)
    size = float(np.abs(M - M.mean(axis=1, keepdims=True)).max())
    if size == 0:
        return 1.0

    M = M / size  # so that the answer is as accurate in every unit
    # of two classes the margin of the first is zero
    only, heavy = M[:, 1], weights * M[:, 1]
    wanted = float(heavy @ targets[:, 1])

    def gradient(A: float) -> float:
        if outputs.shape[1] == 1:
            return float(heavy @ expit(A * only)) - wanted
        return float(weights @ ((softmax(A * M, axis=1) - targets) * M).sum(axis=1))

    low, high = 1e-6, 1.0
    if gradient(low) >= 0:
        return low / size
    while gradient(high) < 0:
        high *= 4.0
    return float(brentq(gradient, low, high)) / size


def log_partition(outputs: Array, factor: float) -> Array:
    """``log sum_c exp(factor * margin_c)`` (n)."""
    if outputs.shape[1] == 1:
        return np.asarray(np.logaddexp(0.0, factor * outputs[:, 0]))
    return np.asarray(logsumexp(factor * outputs, axis=1))


def probabilities(outputs: Array, factor: float) -> Array:
    """``softmax(factor * margins)``: one half at a score of zero for two classes."""
    M = factor * margins(outputs)
    return np.asarray(np.exp(M - logsumexp(M, axis=1, keepdims=True)))
