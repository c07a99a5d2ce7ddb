"""Losses of other targets than real numbers: classes, counts, survival.

A loss is convex and smooth in the scores η = Zα + Fb. It is made from targets and weights, and
answers three questions; everything else (`skstretch.core.loss_newton`) is the same for all. Scores
of several classes stand one after the other, (C·M). A weight counts as so many repetitions of its
sample, and a loss is never negative: what is reported is relative to it.

Cox's partial likelihood: who is at risk when an event happens.

    L(η) = Σ_terms ω log (Σ_j a_j x_j / s) − Σ_events w_i η_i,     x_j = w_j e^(η_j)

Every time of an event is one term of ω = Σ w of its events, a_j = 1 for those at risk (Breslow).
Efron has a term for each of d = Σ w tied events, in which those tied count 1 − l/d, l = 0, 1, …;
the last one has what d is beyond a whole number as its ω. So a weight is a repetition under both.
s is the part of d that a term counts: ties and weights, in any unit, leave L ≥ 0.
Strata have risk sets of their own; a sample is at risk after its entry, until and at its time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from skstretch.core.types import Array, Index, Mask

# A diagonal (M), X ↦ H X for X (M×n), or of coupled scores h (C×M): diag(h) − h hᵀ/Σh for each
# sample.
Hessian: TypeAlias = Array | Callable[[Array], Array]


class Loss(Protocol):
    """What Newton's method asks of a loss."""

    @property
    def n_scores(self) -> int:
        """Scores of a sample: 1, or the number of coupled classes C."""

    def value(self, eta: Array) -> float:
        """L(η) ≥ 0 for η (C·M); inf (or nan) where it overflows."""

    def gradient(self, eta: Array) -> Array:
        """∇L(η) (C·M)."""

    def hessian(self, eta: Array) -> Hessian:
        """∇²L(η)."""


class Logistic:
    """Σ w (log(1 + e^η) − yη) for y in [0, 1], the share of the second class; with an offset."""

    n_scores = 1

    def __init__(self, y: Array, weights: Array, offset: Array | float = 0.0) -> None:
        self.y, self.w, self.offset = y, weights, offset

    def value(self, eta: Array) -> float:
        x = eta + self.offset
        both = self.y * np.logaddexp(0.0, -x) + (1.0 - self.y) * np.logaddexp(0.0, x)
        return float(self.w @ both)

    def gradient(self, eta: Array) -> Array:
        x = eta + self.offset
        return self.w * ((1.0 - self.y) * expit(x) - self.y * expit(-x))

    def hessian(self, eta: Array) -> Hessian:
        x = eta + self.offset
        return self.w * expit(x) * expit(-x)


class Poisson:
    """Σ w (e^η − yη − y + y log y): half the deviance of counts y ≥ 0; offset: log of exposure."""

    n_scores = 1

    def __init__(self, y: Array, weights: Array, offset: Array | float = 0.0) -> None:
        with np.errstate(over="ignore"):
            total = float(weights @ y)
        if not total > 0.0:
            raise ValueError(
                "all counts are zero: their rate is 0, and its logarithm no number. Pass samples "
                "with counts above zero."
            )
        if not total * (total / float(weights.sum())) < np.inf:  # the fall along the first step
            raise ValueError(
                f"counts up to {y.max():g}, with weights up to {weights.max():g}, are too large: "
                "their squares leave the range of numbers. Divide the counts by a constant; rates "
                "are divided by it as well."
            )
        self.y, self.w, self.offset = y, weights, offset
        self.some = y > 0
        self.log = np.log(np.where(self.some, y, 1.0))

    def value(self, eta: Array) -> float:
        x = eta + self.offset
        with np.errstate(over="ignore", invalid="ignore"):
            d = np.minimum(x - self.log, 710.0)
            each = np.where(self.some, self.y * (np.expm1(d) - d), np.exp(x))
            return float(self.w @ each)

    def gradient(self, eta: Array) -> Array:
        x = eta + self.offset
        return self.w * np.where(self.some, self.y * np.expm1(x - self.log), np.exp(x))

    def hessian(self, eta: Array) -> Hessian:
        return self.w * np.exp(eta + self.offset)


class Softmax:
    """Σ w (log Σ_c e^(η_c) − η_y) for codes y in 0 … C−1: all classes at once."""

    def __init__(self, codes: Index, weights: Array, n_classes: int) -> None:
        self.codes, self.w, self.n_scores = codes, weights, n_classes
        self.at = codes, np.arange(codes.size)

    def _others(self, eta: Array) -> Array:
        """Scores less that of the own class (C×M), whose place is −inf."""
        x = eta.reshape(self.n_scores, -1)
        x = x - x[self.at]
        x[self.at] = -np.inf
        return x

    def _shares(self, eta: Array) -> Array:
        """Probabilities (C×M)."""
        x = eta.reshape(self.n_scores, -1)
        p = np.exp(x - x.max(axis=0))
        return np.asarray(p / p.sum(axis=0))

    def value(self, eta: Array) -> float:
        with np.errstate(invalid="ignore"):
            x = np.vstack([np.zeros(self.w.size), self._others(eta)])
            return float(self.w @ np.logaddexp.reduce(x, axis=0))

    def gradient(self, eta: Array) -> Array:
        p = self._shares(eta)
        p[self.at] = 0.0
        p[self.at] = -p.sum(axis=0)  # not p − 1, which has lost the digits of a sure class
        return (self.w * p).ravel()

    def hessian(self, eta: Array) -> Hessian:
        return self.w * self._shares(eta)


def expit(x: Array) -> Array:
    """1/(1 + e^−x) without overflow, to full relative precision on both sides."""
    return np.exp(-np.logaddexp(0.0, -x))


def rates(eta: Array) -> Array:
    """e^η, the rate that a score of counts stands for; finite."""
    with np.errstate(over="ignore"):
        return np.minimum(np.exp(eta), np.finfo(eta.dtype).max)


def deviances(y: Array, rate: Array) -> Array:
    """2 (y log(y/μ) − y + μ) of counts, or of counts for one unit of exposure."""
    some = y > 0
    ratio = np.where(some, y, 1.0) / np.where(some, rate, 1.0)
    return np.asarray(2.0 * (np.where(some, y * np.log(ratio), 0.0) - y + rate))


# Terms of Efron's formula that are held at a time.
MOST_TERMS = 10**7
# Sums of which a reciprocal and its products are still numbers. The largest score stands for its
# reciprocal, so that scores may be 1,150 apart.
SMALLEST_SUM = 2.0**-830


def suffix_sums(Y: Array) -> Array:
    """Σ_{i ≥ j} Y_i for j = 0 … M (M+1 rows)."""
    out = np.zeros((len(Y) + 1, *Y.shape[1:]))
    np.cumsum(Y[::-1], axis=0, out=out[1:])
    return out[::-1]


@dataclass(frozen=True)
class RiskSets:
    """Sums over those at risk at each of G times of events, in one stratum of m samples."""

    weights: Array
    by_time: Index
    leaves: Index  # place of each event time among the sorted times (G)
    by_entry: Index | None
    enters: Index  # the same among the sorted entries
    first: Index  # event times up to the entry of each sample (m)
    last: Index  # event times up to its own time (m)
    tied: Index  # samples with an event, in the order of time
    starts: Index  # where each time begins among them (G)
    group: Index  # the event time of each term (T)
    share: Array  # l/d of each term (T)
    omega: Array  # its weight (T)
    counted: Array  # the part of d that it counts (T)

    @classmethod
    def of(
        cls, time: Array, event: Mask, weights: Array, entry: Array | None, efron: bool
    ) -> RiskSets:
        by_time, happens = np.argsort(time, kind="stable"), event & (weights > 0)
        tied = by_time[happens[by_time]]
        times, starts, group = np.unique(time[tied], return_index=True, return_inverse=True)
        count = np.bincount(group, weights[tied], len(times))
        terms = np.maximum(np.ceil(count), 1.0) if efron else np.ones(len(times))
        if terms.sum() > MOST_TERMS:
            raise ValueError(
                f'ties="efron" has {terms.sum():,.0f} terms, one for each event and unit of '
                f'weight, more than {MOST_TERMS:,}: use ties="breslow", or smaller weights.'
            )
        group = np.repeat(np.arange(len(times)), terms.astype(int))
        before = np.arange(group.size) - np.repeat(np.cumsum(terms) - terms, terms.astype(int))
        by_entry = None if entry is None else np.argsort(entry, kind="stable")
        first = enters = np.zeros(len(time), dtype=np.intp)
        if entry is not None:
            enters = np.searchsorted(entry[by_entry], times, "left")
            first = np.searchsorted(times, entry, "right")
        return cls(
            weights, by_time, np.searchsorted(time[by_time], times, "left"), by_entry, enters,
            first, np.searchsorted(times, time, "right"), tied, starts, group,
            before / count[group],
            np.asarray(np.minimum(count[group] - before, 1.0) if efron else count[group], float),
            np.asarray(count[group] - before, float),
        )  # fmt: skip

    def at_risk(self, Y: Array) -> Array:
        """Σ Y_j over those at risk at every time (G or G×n) for Y (m or m×n)."""
        whole = suffix_sums(Y[self.by_time])[self.leaves]
        if self.by_entry is not None:
            whole = whole - suffix_sums(Y[self.by_entry])[self.enters]
        return whole

    def compares(self) -> bool:
        """Whether some event leaves another sample without one behind."""
        some = (self.weights > 0).astype(float)
        return bool((self.at_risk(some) > np.add.reduceat(some[self.tied], self.starts)).any())

    def sums(self, Y: Array) -> Array:
        """Σ_j a_j Y_j of every term (T or T×n) for Y (m or m×n)."""
        whole = self.at_risk(Y)
        if not self.share.any():
            return np.asarray(whole[self.group])
        own = np.add.reduceat(Y[self.tied], self.starts, axis=0)
        return np.asarray(whole[self.group] - (self.share * own[self.group].T).T)

    def back(self, b: Array) -> Array:
        """Σ_terms a_j b of every sample (m or m×n): the transpose of `sums`."""
        ends = np.searchsorted(self.group, np.arange(len(self.starts)))
        before = np.zeros((len(self.starts) + 1, *b.shape[1:]))
        np.cumsum(np.add.reduceat(b, ends, axis=0), axis=0, out=before[1:])
        out = before[self.last] - before[self.first]
        if self.share.any():
            own = np.add.reduceat((self.share * b.T).T, ends, axis=0)
            out[self.tied] -= own[self.last[self.tied] - 1]
        return np.asarray(out)

    def at(self, eta: Array) -> tuple[Array, Array, float]:
        """x (m) and the sum of every term (T), over SMALLEST_SUM, and the largest score,
        whose power both are divided by."""
        top = float(eta[self.weights > 0].max())
        half = np.exp(0.5 * np.minimum(eta - top, 0.0))
        x = self.weights * (half * (half / SMALLEST_SUM))
        return x, self.sums(x), top

    def value(self, eta: Array) -> float:
        _, A, top = self.at(eta)
        if not np.all(A > SMALLEST_SUM):  # scores so far apart that those at risk count nothing
            return np.inf
        own = np.add.reduceat(self.weights[self.tied] * (eta[self.tied] - top), self.starts)
        share, power = np.frexp(A / self.counted)
        power = power + np.frexp(SMALLEST_SUM)[1]  # whole numbers, which cancel without rounding
        terms = self.omega * (np.log(share) + (power - 1.0) * np.log(2.0))
        terms = np.add.reduceat(terms, np.unique(self.group, return_index=True)[1])
        return float(np.sum(terms - own))

    def gradient(self, eta: Array) -> Array:
        x, A, _ = self.at(eta)
        out = x * self.back(self.omega / A)
        out[self.tied] -= self.weights[self.tied]
        return np.asarray(out)

    def hessian(self, eta: Array) -> Callable[[Array], Array]:
        x, A, _ = self.at(eta)
        h = x * self.back(self.omega / A)

        def product(X: Array) -> Array:
            inner = (self.omega / A)[:, None] * (self.sums(x[:, None] * X) / A[:, None])
            return np.asarray(h[:, None] * X - x[:, None] * self.back(inner))

        return product


class Cox:
    """Cox's partial likelihood, ties by Breslow or by Efron; L is that of its strata together."""

    n_scores = 1

    def __init__(
        self, time: Array, event: Mask, weights: Array, *, entry: Array | None = None,
        strata: Index | None = None, ties: str = "breslow",
    ) -> None:  # fmt: skip
        if ties not in ("breslow", "efron"):
            raise ValueError(f'ties={ties!r} is not known: use "breslow" or "efron".')
        if not (event & (weights > 0)).any():
            raise ValueError(
                "no sample has an event: all are censored, and nothing tells who is at risk. Pass "
                "data with events, or check that the event is coded True."
            )
        if entry is not None and not np.all(entry < time):
            i = int(np.argmin(entry < time))
            raise ValueError(
                f"sample {i} enters at {entry[i]:g} and leaves at {time[i]:g}: entry must be "
                "before time."
            )
        codes = np.zeros(time.size, dtype=np.intp) if strata is None else strata
        self.size, self.parts = time.size, []
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            if (event[rows] & (weights[rows] > 0)).any():
                some = None if entry is None else entry[rows]
                sets = RiskSets.of(time[rows], event[rows], weights[rows], some, ties == "efron")
                self.parts.append((rows, sets))
        if not any(sets.compares() for _, sets in self.parts):
            raise ValueError(
                "no event leaves another sample behind that was at risk then: nothing tells who "
                "has it sooner. Pass more samples, or strata that hold several."
            )

    def value(self, eta: Array) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return sum(sets.value(eta[rows]) for rows, sets in self.parts)

    def gradient(self, eta: Array) -> Array:
        out = np.zeros(self.size)
        for rows, sets in self.parts:
            out[rows] = sets.gradient(eta[rows])
        return out

    def hessian(self, eta: Array) -> Hessian:
        each = [(rows, sets.hessian(eta[rows])) for rows, sets in self.parts]

        def product(X: Array) -> Array:
            out = np.zeros(X.shape)
            for rows, of in each:
                out[rows] = of(X[rows])
            return out

        return product
