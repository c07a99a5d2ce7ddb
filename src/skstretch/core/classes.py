"""Classification as regression on +-1: targets, class weights, cuts and probabilities."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax, logsumexp, softmax

from skstretch.core.crossfit import paired_error
from skstretch.core.types import Array, Index, Mask

# what stands for a factor of zero, for scores of size one
LEAST_FACTOR = 1e-6


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


def favoured_cuts(
    outputs: Array, codes: Index, n_classes: int, weights: Array, n_parts: int
) -> Array:
    """Balanced cuts where they beat zero by more than a standard error, else zeros.

    The cuts that are compared are learned from the other parts of the samples. These are dealt out
    by class and score: their order does not matter, and copies of a sample stay together.
    """
    keys = np.column_stack([codes, outputs])
    part = np.unique(keys, axis=0, return_inverse=True)[1].ravel() % n_parts
    tuned = np.zeros_like(outputs)
    for p in range(n_parts):
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


def smoothed(codes: Index, n_classes: int, weights: Array) -> Array:
    """What a label counts for every class, (n, C): its own ``(W + 1/2) / (W + 1)``.

    W is the weight of all samples: one of them might have been labelled otherwise, as Jeffreys'
    prior has it, however many classes there are. So separable scores have finite answers.
    """
    slip = 0.5 / (weights.sum() + 1.0)
    found = np.full((codes.size, n_classes), slip / (n_classes - 1))
    found[np.arange(codes.size), codes] = 1.0 - slip
    return found


def calibrated(outputs: Array, codes: Index, weights: Array) -> tuple[float, Array]:
    """``(A, b)`` of ``softmax(A margins + b)``: of greatest likelihood, by `smoothed` labels.

    ``b = d log(shares)`` of the classes, less their mean, with ``0 <= d <= 1``: scores of balanced
    weights or cuts know nothing of the shares (d = 1), others have them (d = 0). Scores that fall
    where they should rise have an A > 0 that stands for zero.

    Then A is times ``1 - 1/gain`` (or zero): two fitted numbers gain one in log likelihood, over
    the shares alone, where scores mean nothing, and the same samples have chosen the model.
    """
    M = margins(outputs)
    M = M - M.mean(axis=1, keepdims=True)
    unit = float(np.abs(M).max()) or 1.0
    wanted = smoothed(codes, M.shape[1], weights)
    shares = np.log(np.bincount(codes, weights=weights, minlength=M.shape[1]))
    basis = np.stack([M / unit, np.broadcast_to(shares - shares.mean(), M.shape)])
    x = np.array([LEAST_FACTOR, 1.0])
    # where A is nearly nothing, the shares are the best probabilities
    loss, slope, _ = _likelihood(x, basis, wanted, weights)
    if slope[0] < 0.0:
        x = _newton(x, basis, wanted, weights, np.array([True, True]))
        if not 0.0 <= x[1] <= 1.0:
            x[1] = min(max(x[1], 0.0), 1.0)
            x = _newton(x, basis, wanted, weights, np.array([True, False]))
        gain = loss - _likelihood(x, basis, wanted, weights)[0]
        x[0] *= max(0.0, 1.0 - 1.0 / gain) if gain > 0.0 else 0.0
    return max(float(x[0]), LEAST_FACTOR) / unit, x[1] * basis[1, 0]


def _newton(x: Array, basis: Array, wanted: Array, weights: Array, free: Mask) -> Array:
    """The minimum of a convex loss over the free ones of x: Newton's steps, halved until they go
    down."""
    loss, slope, curvature = _likelihood(x, basis, wanted, weights)
    promised = np.inf
    while True:
        step = np.zeros_like(x)
        # scores that do not vary, or shares: the shortest step
        step[free] = -np.linalg.lstsq(curvature[np.ix_(free, free)], slope[free], rcond=1e-13)[0]
        promised, last = float(-slope @ step), promised
        # far below what the loss can show, steps end when they no longer shrink
        rounded = 1e-12 * abs(loss)
        if promised <= 0.0 or (promised < rounded and promised >= 0.25 * last):
            return x
        size, before = 2.0, loss
        while size == 2.0 or loss > before + rounded:
            size /= 2.0
            loss, slope, curvature = _likelihood(x + size * step, basis, wanted, weights)
        x = x + size * step


def _likelihood(
    x: Array, basis: Array, wanted: Array, weights: Array
) -> tuple[float, Array, Array]:
    """Minus the log likelihood of ``softmax(sum_j x_j basis_j)``, with two derivatives."""
    logs = log_softmax(np.tensordot(x, basis, 1), axis=1)
    p = np.exp(logs)
    loss = -float(weights @ (wanted * logs).sum(axis=1))
    slope = np.einsum("i,ic,jic->j", weights, p - wanted, basis)
    rest = basis - (p * basis).sum(axis=2, keepdims=True)
    return loss, slope, np.einsum("i,ic,jic,kic->jk", weights, p, rest, rest)


def temperatures(outputs: Array, codes: Index, weights: Array) -> Array:
    """``A > 0`` of greatest likelihood in ``softmax(A margins)``: (m,) for many outputs (m, n, t).

    With codes and weights (m, n). Newton's method for ``x = log A``, within bounds that close in.
    A label counts as it does in `smoothed`.
    """
    M = outputs if outputs.shape[2] > 1 else np.dstack([np.zeros_like(outputs), outputs])
    size = np.abs(M - M.mean(axis=2, keepdims=True)).max(axis=(1, 2), initial=0.0)
    flat, size = size == 0.0, np.where(size > 0.0, size, 1.0)
    outputs = outputs / size[:, None, None]  # so that the answer is as accurate in every unit
    slip = 0.5 / (weights.sum(axis=1, keepdims=True) + 1.0)
    own, other = 1.0 - slip, slip / (M.shape[2] - 1)
    at_own, everywhere = own_margins(outputs, codes)
    wanted = (weights * ((own - other) * at_own + other * everywhere)).sum(axis=1)
    low, high = np.full(len(size), np.log(LEAST_FACTOR)), np.full(len(size), np.log(1e9))
    useless = mean_margins(outputs, weights, low)[0] >= wanted
    x, some = np.where(useless, low, np.log(3.0)), np.flatnonzero(~useless)
    while some.size:
        at = x[some]
        mean, curvature = mean_margins(outputs[some], weights[some], at)
        slope = mean - wanted[some]
        low[some] = np.where(slope < 0, at, low[some])
        high[some] = np.where(slope < 0, high[some], at)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            new = at - slope / curvature
        inside = (new > low[some]) & (new < high[some])
        x[some] = np.where(inside, new, 0.5 * (low[some] + high[some]))
        some = some[np.abs(x[some] - at) > 1e-12 * (1.0 + np.abs(at))]
    return np.asarray(np.where(flat, 1.0, np.exp(x) / size))


def mean_margins(outputs: Array, weights: Array, x: Array) -> tuple[Array, Array]:
    """``sum w E[margin]`` (m,) under ``softmax(exp(x) margins)``, and its derivative by x."""
    A = np.exp(x)[:, None]
    if outputs.shape[2] == 1:
        only = outputs[:, :, 0]
        p = expit(A * only)
        mean, variance = p * only, p * (1.0 - p) * np.square(only)
    else:
        p = softmax(A[:, :, None] * outputs, axis=2)
        mean = (p * outputs).sum(axis=2)
        variance = (p * np.square(outputs - mean[:, :, None])).sum(axis=2)
    return (weights * mean).sum(axis=1), (weights * variance).sum(axis=1) * A[:, 0]


def class_sums(weights: Array, codes: Index, n_classes: int) -> Array:
    """Total weights (m, C) of the classes."""
    return np.stack([(weights * (codes == c)).sum(axis=1) for c in range(n_classes)], axis=1)


def own_margins(outputs: Array, codes: Index) -> tuple[Array, Array]:
    """The margin of the own class of every sample, and the sum over all classes, both (m, n).

    One column of outputs is the margin of the second class, and that of the first is zero.
    """
    if outputs.shape[2] == 1:
        only = outputs[:, :, 0]
        return only * codes, only
    return np.take_along_axis(outputs, codes[:, :, None], 2)[:, :, 0], outputs.sum(axis=2)


def balanced_log_losses(outputs: Array, codes: Index, weights: Array) -> tuple[Array, Array]:
    """Log losses (m, n) of outputs (m, n, t), each at its temperature, and these factors (m,).

    Classes weigh alike: with weights (m, n) the losses of a sample count n / (C n_class) times.
    """
    C = max(2, outputs.shape[2])
    codes = np.broadcast_to(codes, weights.shape)
    counts = class_sums(weights, codes, C)
    present = np.maximum((counts > 0).sum(axis=1), 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = weights.sum(axis=1, keepdims=True) / (present * counts)
    balance = np.take_along_axis(np.where(counts > 0, share, 0.0), codes, axis=1)
    factors = temperatures(outputs, codes, weights * balance)
    scaled = factors[:, None, None] * outputs
    if outputs.shape[2] == 1:
        partition = np.logaddexp(0.0, scaled[:, :, 0])
    else:
        partition = logsumexp(scaled, axis=2)
    return (partition - own_margins(scaled, codes)[0]) * balance, factors


def log_losses(outputs: Array, codes: Index, weights: Array) -> Array:
    """Mean `balanced_log_losses` (m,)."""
    found, _ = balanced_log_losses(outputs, codes, weights)
    return np.asarray((weights * found).sum(axis=1) / weights.sum(axis=1))


def model_biases(cuts: Array, codes: Index, weights: Array, own: Array) -> Array:
    """What is added to cut log-odds so that their softmax are the probabilities of the model.

    The cuts, and less the logarithm of what every class weighs beside the samples' own weights:
    weights of classes shift log-odds by theirs.
    """
    n_classes = max(2, cuts.size)
    fitted, plain = (np.bincount(codes, weights=w, minlength=n_classes) for w in (weights, own))
    some = (fitted > 0) & (plain > 0)
    ratio = np.where(some, fitted, 1.0) / np.where(some, plain, 1.0)
    back = np.append(0.0, cuts) if cuts.size == 1 else cuts
    found = back - np.log(ratio)
    return np.asarray(found - found.mean())


def probabilities(outputs: Array, factor: float, biases: Array | float) -> Array:
    """``softmax(factor * margins + biases)``, in the type of the outputs."""
    M = factor * margins(outputs).astype(np.float64) + biases
    return np.asarray(softmax(M, axis=1), dtype=outputs.dtype)
