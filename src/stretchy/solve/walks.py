"""Products with the centred features of a design, as many columns at a time as fit in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stretchy.core.gram import Frame
from stretchy.core.types import Array
from stretchy.designs.blocks import working_bytes
from stretchy.designs.protocol import Design


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
        fitted = _by_width(self.design.dot, alpha, sum(self.design.shape))
        fitted -= self.means(fitted)
        return fitted

    def back(self, V: Array) -> Array:
        """``Qc' V`` (D, t) for V (M, t)."""
        frame = Frame(self.r, np.zeros(0), None)

        def part(some: Array) -> Array:
            zero = np.zeros(some.shape[1])
            blocks = self.design.coefficients(frame, some, zero, self.weights)
            return np.vstack([alpha for _, alpha in blocks])

        return _by_width(part, V, 2 * sum(self.design.shape))


def _by_width(work: Callable[[Array], Array], V: Array, length: int) -> Array:
    """``work(V)``, some columns at a time so that results of this length fit the budget."""
    width = max(1, working_bytes() // (2 * 8 * max(1, length)))
    if V.shape[1] <= width:
        return work(V)
    starts = range(0, V.shape[1], width)
    return np.hstack([work(V[:, start : start + width]) for start in starts])
