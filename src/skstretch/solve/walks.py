"""Products with the centred features of a design, as many columns at a time as fit in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skstretch.core.gram import Frame
from skstretch.core.types import Array
from skstretch.designs.blocks import working_bytes
from skstretch.designs.protocol import Design


@dataclass(frozen=True)
class CentredWalks:
    """``Pc alpha`` and ``Qc' v`` without K: one walk over the data each.

    ``P = Pc + 1 p'`` and ``Q = Qc + 1 q'`` with weighted means p and q.
    """

    design: Design
    weights: Array
    r: float

    @cached_property
    def p(self) -> Array:
        """The weighted mean of P, (D, 1)."""
        return self._mean(1.0)

    @cached_property
    def q(self) -> Array:
        """The weighted mean of Q, (D, 1)."""
        return self._mean(self.r)

    def _mean(self, r: float) -> Array:
        nothing, one = np.zeros((self.weights.size, 1)), np.ones(1)
        frame = Frame(r, np.zeros(0), None)
        return np.vstack(
            [part for _, part in self.design.coefficients(frame, nothing, one, self.weights)]
        )

    def means(self, V: Array) -> Array:
        """Weighted means of the columns of V (M, t)."""
        return np.asarray(self.weights @ V / self.weights.sum())

    def forward(self, alpha: Array) -> Array:
        """``Pc alpha`` (M, t) for coefficients (D, t)."""
        return self._by_width(self._forward, alpha)

    def back(self, V: Array) -> Array:
        """``Qc' V`` (D, t) for V (M, t)."""
        return self._by_width(self._back, V)

    def dual_product(self, V: Array) -> Array:
        """``Pc Qc' V`` (M, t): coefficients are only held for some columns of V at a time."""
        return self._by_width(lambda some: self._forward(self._back(some)), V)

    def primal_product(self, V: Array) -> Array:
        """``Qc' W Pc V`` (D, t): fitted values are only held for some columns of V at a time."""
        weights = self.weights[:, None]
        return self._by_width(lambda some: self._back(weights * self._forward(some)), V)

    def _forward(self, alpha: Array) -> Array:
        fitted = self.design.dot(alpha)
        fitted -= self.means(fitted)
        return fitted

    def _back(self, V: Array) -> Array:
        frame, zero = Frame(self.r, np.zeros(0), None), np.zeros(V.shape[1])
        blocks = self.design.coefficients(frame, V, zero, self.weights)
        return np.vstack([alpha for _, alpha in blocks])

    def _by_width(self, work: Callable[[Array], Array], V: Array) -> Array:
        return by_width(work, V, width_of_walks(self.design.shape))


def width_of_walks(shape: tuple[int, int]) -> int:
    """Vectors that pass through the data at a time: parts and their stack fit half the budget."""
    return max(1, working_bytes() // (2 * 2 * 8 * max(1, sum(shape))))


def by_width(work: Callable[[Array], Array], V: Array, width: int) -> Array:
    """``work(V)``, so many columns at a time."""
    if V.shape[1] <= width:
        return work(V)
    starts = range(0, V.shape[1], width)
    return np.hstack([work(V[:, start : start + width]) for start in starts])
