"""The primal system of some rows, and of more rows: sums that need no data again."""

from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.gram import PrimalGram
from skstretch.core.types import Array


@dataclass(frozen=True)
class PrimalTotals:
    """``C = Qc'W Pc``, ``Qc'W (Y - y)`` of shape (D, t) and the weighted means y (t,).

    Two sets of rows with total weights ``T, U`` and means ``p, q, y`` have together the sums of
    both about their own means, and the part between these means:

    ``C + C' + TU/(T+U) (q - q')(p - p')'``, and ``(q - q')(y - y')'`` for the targets.

    No large numbers cancel, in whatever order and sizes the rows come.
    """

    gram: PrimalGram
    projected: Array
    means: Array

    def rescaled(self, log_columns: Array | None) -> "PrimalTotals":
        """The same with column j of Q divided by ``exp(log_columns_j)``."""
        gram = self.gram
        if log_columns is None and gram.log_columns is None:
            return self
        old = 0.0 if gram.log_columns is None else gram.log_columns
        new = 0.0 if log_columns is None else log_columns
        factor = np.exp(np.broadcast_to(old - np.asarray(new), (gram.n_features,)))
        q_centre = gram.q * factor - (gram.offset if log_columns is None else 0.0)
        C = gram.C * factor[:, None]
        scaled = replace(gram, C=C, q_centre=q_centre, log_columns=log_columns)
        return replace(self, gram=scaled, projected=self.projected * factor[:, None])

    def plus(self, more: "PrimalTotals") -> "PrimalTotals":
        """These rows and others, in the scale of the others."""
        new, here = more.gram, self.rescaled(more.gram.log_columns)
        old = here.gram
        total = old.total_weight + new.total_weight
        between = old.total_weight * new.total_weight / total
        share = new.total_weight / total
        p, q = new.centre - old.centre, new.q_centre - old.q_centre
        y = more.means - here.means
        C = np.outer(between * q, p)
        C += old.C
        C += new.C
        gram = replace(
            new,
            C=C,
            centre=old.centre + share * p,
            q_centre=old.q_centre + share * q,
            total_weight=total,
        )
        projected = here.projected + more.projected + np.outer(between * q, y)
        return PrimalTotals(gram, projected, here.means + share * y)
