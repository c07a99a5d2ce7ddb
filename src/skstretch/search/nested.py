"""An honest score: every sample is predicted by a search that has never seen it.

The residuals of all samples without sample i follow from 2 x 2 blocks of an inverse that is known
(`pair_residuals`). From these the search without i chooses the best cell of every family and their
weights, and predicts i by the models that have not seen it. Exact for closed forms, given the
z-scores of all samples.

Of exact minimisers pairs tell to first order alone, and too well: without a sample other features
matter, and so does the choice of c. Cells that select features know nothing of pairs. Where such
cells take part and samples are few, parts of the samples are left out in place of single ones, and
these cells are fitted again (`Without`). Of many samples first order is enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from skstretch.core.crossfit import others
from skstretch.core.lazy import cached_property
from skstretch.core.types import Array, Index
from skstretch.search.cells import Cell, Outcome, Problem
from skstretch.search.mix import (
    class_weights,
    family_of,
    regression_weights,
    residual_moments,
)

# samples that a search is repeated without, at most, of numbers and of classes: more are drawn
MOST, MOST_OF_CLASSES = 300, 100
# pairs of samples that are looked at in every cell, of numbers and of classes, unless the samples
# without which a search is repeated become fewer than say anything
PAIRS, PAIRS_OF_CLASSES, LEAST = 60_000, 20_000, 30
# residuals that are kept of a family, at most
MOST_KEPT = 4_000_000
# steps of Newton's method for the temperature of probabilities
STEPS = 30


def outer_samples(n_samples: int, n_targets: int, classes: bool) -> Index:
    """The samples that are predicted: all, or a fixed draw where there are many.

    None where their residuals would take too much memory.
    """
    most, pairs = (MOST_OF_CLASSES, PAIRS_OF_CLASSES) if classes else (MOST, PAIRS)
    size = n_samples * n_targets
    most = min(most, max(LEAST, pairs // size))
    if n_samples <= most:
        return np.arange(n_samples)
    if MOST_KEPT // size < LEAST:
        return np.zeros(0, dtype=np.intp)
    drawn = np.random.default_rng(0).choice(n_samples, most, replace=False)
    return np.sort(drawn).astype(np.intp)


@dataclass
class Leader:
    """The best cell of one family for every outer sample and target.

    `losses` (m, s), with s = t for a regression and 1 for classes; `residuals` (m, n, t) of all
    samples without each; `rows` (m, s), the cells.
    """

    losses: Array
    residuals: Array
    rows: Index


@dataclass
class Nested:
    """Collects what searches without single samples need to know of every cell."""

    problem: Problem
    weights: Array
    codes: Index | None
    leaders: dict[Any, Leader] = field(default_factory=dict)
    n_cells: int = 0

    @property
    def outer(self) -> Index:
        return self.problem.outer

    def enter(self, cell: Cell, outcome: Outcome) -> None:
        """One more cell of the search, in the order of its table."""
        row, self.n_cells = self.n_cells, self.n_cells + 1
        if not outcome.usable:
            return
        some = self.outer
        if outcome.pairs is None and self.problem.parts:
            return  # a neighbour stands for it
        if outcome.pairs is None:
            residuals = np.broadcast_to(outcome.residuals, (some.size, *outcome.residuals.shape))
        else:
            residuals = outcome.pairs(some)
        losses = self._losses(residuals)
        losses = np.where(np.isfinite(losses), losses, np.inf)
        family, rows = family_of(cell), np.full(losses.shape, row)
        if family not in self.leaders:
            self.leaders[family] = Leader(losses, residuals.copy(), rows)
            return
        leader = self.leaders[family]
        better = losses < leader.losses
        leader.losses = np.where(better, losses, leader.losses)
        leader.rows = np.where(better, rows, leader.rows)
        mask = np.broadcast_to(better[:, None, :], residuals.shape)
        np.copyto(leader.residuals, residuals, where=mask)

    @cached_property
    def _others(self) -> Array:
        """Weights (m, n) of the samples that choices without an outer sample may see."""
        weights = others(self.weights, self.outer)
        for part in self.problem.parts:
            weights[np.ix_(np.isin(self.outer, part), part)] = 0.0
        return weights

    def _losses(self, residuals: Array) -> Array:
        """The loss of a cell over all samples but one, (m, s)."""
        weights = self._others
        if self.codes is None:
            with np.errstate(over="ignore"):
                squared = np.einsum("mn,mnt->mt", weights, np.square(residuals))
            return np.asarray(squared / weights.sum(axis=1, keepdims=True))
        return log_losses(self.problem.Y - residuals, self.codes, weights)[:, None]

    def outputs(self, results: Sequence[Outcome]) -> Array:
        """Predictions of the outer samples by searches without them, (m, t).

        `results` may know more exactly by now what single cells predict.
        """
        leaders = list(self.leaders.values())
        bent = np.array([float(family[0] != 0.0) for family in self.leaders])
        out = np.empty((self.outer.size, self.problem.Y.shape[1]))
        weights = self._others
        for i, sample in enumerate(self.outer.tolist()):
            shares = self._shares(i, weights[i], leaders, bent)
            own = np.array([self._own(leader, i, sample, results) for leader in leaders])
            # what has no share may be unknown
            out[i] = self.problem.Y[sample] - np.where(shares > 0, shares * own, 0.0).sum(axis=0)
        return out

    def _own(self, leader: Leader, i: int, sample: int, results: Sequence[Outcome]) -> Array:
        """Residuals (t,) of the sample by the cells that the search without it prefers."""
        if self.problem.parts:
            return np.asarray(leader.residuals[i, sample])
        rows = np.broadcast_to(leader.rows[i], self.problem.Y.shape[1:])
        return np.array([results[row].residuals[sample, j] for j, row in enumerate(rows)])

    def _shares(self, i: int, weights: Array, leaders: list[Leader], bent: Array) -> Array:
        """Weights (F, t) of the families without one sample."""
        n, t = float(weights.sum()), self.problem.Y.shape[1]
        if self.codes is not None:
            losses = np.array([leader.losses[i, 0] for leader in leaders])
            return np.repeat(class_weights(losses, n)[:, None], t, axis=1)
        out = np.zeros((len(leaders), t))
        R = np.array([leader.residuals[i] for leader in leaders])
        for j in range(t):
            # of a family without a finite loss nothing is known
            known = np.isfinite([leader.losses[i, j] for leader in leaders])
            A = residual_moments(R[known][:, :, [j]], weights, bent[known])
            out[known, j] = regression_weights(A, n)
        return out


def log_losses(outputs: Array, codes: Index, weights: Array) -> Array:
    """Balanced log losses (m,) of outputs (m, n, t) with weights (m, n), each at its temperature.

    As `LogLoss`: labels smoothed by one pseudo-observation a class, ``softmax(A margins)`` with A
    of greatest likelihood. `codes` are those of all (n,), or of each (m, n).
    """
    C = max(2, outputs.shape[2])
    codes = np.broadcast_to(codes, weights.shape)
    counts = _class_sums(weights, codes, C)
    present = np.maximum((counts > 0).sum(axis=1), 1)[:, None]
    total = weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        balance = np.where(counts > 0, total / (present * counts), 0.0)
    V = weights * np.take_along_axis(balance, codes, axis=1)
    # a label counts (1 + s) / (C + s) for its own class, s the weight of that class, the rest alike
    sure = np.take_along_axis(_class_sums(V, codes, C), codes, axis=1)
    own, other = (1.0 + sure) / (C + sure), 1.0 / (C + sure)
    at_own, everywhere = _margins(outputs, codes)
    wanted = (V * ((own - other) * at_own + other * everywhere)).sum(axis=1)
    A = np.exp(_log_temperatures(outputs, wanted, V))[:, None]
    found = _log_partition(outputs, A) - A * at_own
    return np.asarray((V * found).sum(axis=1) / total[:, 0])


def _class_sums(weights: Array, codes: Index, n_classes: int) -> Array:
    """Total weights (m, C) of the classes."""
    return np.stack([(weights * (codes == c)).sum(axis=1) for c in range(n_classes)], axis=1)


def _margins(outputs: Array, codes: Index) -> tuple[Array, Array]:
    """The margin of the own class of every sample, and the sum over all classes, both (m, n).

    One column of outputs is the margin of the second class, and that of the first is zero.
    """
    if outputs.shape[2] == 1:
        only = outputs[:, :, 0]
        return only * codes, only
    return np.take_along_axis(outputs, codes[:, :, None], 2)[:, :, 0], outputs.sum(axis=2)


def _log_partition(outputs: Array, A: Array) -> Array:
    """``log sum_c exp(A margin_c)`` (m, n)."""
    if outputs.shape[2] == 1:
        return np.asarray(np.logaddexp(0.0, A * outputs[:, :, 0]))
    scaled = A[:, :, None] * outputs
    peak = scaled.max(axis=2)
    return np.asarray(peak + np.log(np.exp(scaled - peak[:, :, None]).sum(axis=2)))


def _log_temperatures(outputs: Array, wanted: Array, V: Array) -> Array:
    """``log A`` (m,) of greatest likelihood by Newton's method, within bounds that close in.

    Scores that are worse than none have the least A that `temperature` knows. One sample more or
    less changes little: all start from the first, which starts anywhere.
    """
    M = outputs if outputs.shape[2] > 1 else np.dstack([np.zeros_like(outputs), outputs])
    size = np.abs(M - M.mean(axis=2, keepdims=True)).max(axis=(1, 2))
    size = np.maximum(size, np.finfo(float).tiny)
    low, high = np.log(1e-6 / size), np.log(1e9 / size)
    useless = _gradients(outputs, V, low)[0] >= wanted
    x = np.where(useless, low, np.log(3.0 / size))
    open_ = np.flatnonzero(~useless)
    first, later = open_[:1], open_[1:]
    _newton(outputs, wanted, V, x, (low, high), first)
    if later.size:
        x[later] = np.clip(x[first[0]], low[later] + 1e-9, high[later] - 1e-9)
        _newton(outputs, wanted, V, x, (low, high), later)
    return np.asarray(x)


def _newton(
    outputs: Array, wanted: Array, V: Array, x: Array, bounds: tuple[Array, Array], some: Index
) -> None:
    """Solve for some of the x, in place."""
    low, high = bounds
    for _ in range(STEPS):
        if not some.size:
            return
        slope, curvature = _gradients(outputs[some], V[some], x[some])
        slope, at = slope - wanted[some], x[some]
        low[some] = np.where(slope < 0, at, low[some])
        high[some] = np.where(slope < 0, high[some], at)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            new = at - slope / curvature
        inside = (new > low[some]) & (new < high[some])
        x[some] = np.where(inside, new, 0.5 * (low[some] + high[some]))
        # at its least a loss is known to the square of this
        some = some[np.abs(x[some] - at) > 1e-6]


def _gradients(outputs: Array, V: Array, x: Array) -> tuple[Array, Array]:
    """``sum V E[margin]`` (m,) under ``softmax(exp(x) margins)``, and its derivative by x."""
    A = np.exp(x)[:, None]
    if outputs.shape[2] == 1:
        only = outputs[:, :, 0]
        p = expit(A * only)
        mean, spread = p * only, p * (1.0 - p) * np.square(only)
    else:
        scaled = A[:, :, None] * outputs
        scaled -= scaled.max(axis=2, keepdims=True)
        p = np.exp(scaled)
        p /= p.sum(axis=2, keepdims=True)
        mean = (p * outputs).sum(axis=2)
        spread = (p * np.square(outputs - mean[:, :, None])).sum(axis=2)
    return (V * mean).sum(axis=1), (V * spread).sum(axis=1) * A[:, 0]
