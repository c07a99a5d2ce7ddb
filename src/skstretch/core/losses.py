"""Losses of other targets than real numbers: classes, counts, survival (`skstretch.core.cox`).

A loss is convex and smooth in the scores η = Zα + Fb. It is made from targets and weights, and
answers three questions; everything else (`skstretch.core.loss_newton`) is the same for all. Scores
of several classes stand one after the other, (C·M). A weight counts as so many repetitions of its
sample, and a loss is never negative: what is reported is relative to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np

from skstretch.core.types import Array, Index

# A diagonal (M), blocks of coupled scores (M×C×C), or X ↦ H X for X (M×n).
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


class Squared:
    """½ Σ w (y − η)²."""

    n_scores = 1

    def __init__(self, y: Array, weights: Array) -> None:
        self.y, self.w = y, weights

    def value(self, eta: Array) -> float:
        return float(0.5 * self.w @ (self.y - eta) ** 2)

    def gradient(self, eta: Array) -> Array:
        return self.w * (eta - self.y)

    def hessian(self, eta: Array) -> Hessian:
        return self.w


class Huber:
    """Σ w of ½r² for |r| ≤ δ and δ|r| − ½δ² beyond, r = y − η: outliers pull no more than δ."""

    n_scores = 1

    def __init__(self, y: Array, weights: Array, delta: float) -> None:
        self.y, self.w, self.delta = y, weights, delta

    def value(self, eta: Array) -> float:
        r = np.abs(self.y - eta)
        inner = np.minimum(r, self.delta)
        return float(self.w @ (inner * (r - 0.5 * inner)))

    def gradient(self, eta: Array) -> Array:
        return self.w * np.clip(eta - self.y, -self.delta, self.delta)

    def hessian(self, eta: Array) -> Hessian:
        return self.w * (np.abs(self.y - eta) <= self.delta)


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
        if not weights @ y > 0.0:
            raise ValueError(
                "all counts are zero: their rate is 0, and its logarithm no number. Pass samples "
                "with counts above zero."
            )
        self.y, self.w, self.offset = y, weights, offset
        self.some = y > 0
        self.log = np.log(np.where(self.some, y, 1.0))

    def value(self, eta: Array) -> float:
        x = eta + self.offset
        with np.errstate(over="ignore"):
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
        p = self._shares(eta).T
        H = -self.w[:, None, None] * p[:, :, None] * p[:, None, :]
        each = np.arange(self.n_scores)
        H[:, each, each] = 0.0
        H[:, each, each] = -H.sum(axis=2)
        return H


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
