"""What was summed over parts of the data, joined: the same whichever machine summed which part."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.gram import DualGram, PrimalGram
from skstretch.core.merged import MergedMoments
from skstretch.core.types import Array


def pooled_sum(parts: Sequence[Array]) -> Array:
    """The sum of arrays, added in their order into one new array."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def pooled_features(parts: Sequence[DualGram]) -> DualGram:
    """The dual Gram matrix of consecutive blocks of features, with one new matrix for all."""
    first = parts[0]
    return replace(
        first,
        K=pooled_sum([part.K for part in parts]),
        Pq=pooled_sum([part.Pq for part in parts]),
        Qp=pooled_sum([part.Qp for part in parts]),
        pq=sum(part.pq for part in parts),
        centre=np.concatenate([part.centre for part in parts]),
    )


def pooled_moments(parts: Sequence[MergedMoments]) -> MergedMoments:
    """Moments of the rows of all parts; see `MergedMoments` for the formula."""
    pooled = copy(parts[0])
    for part in parts[1:]:
        total = pooled.total + part.total
        with np.errstate(over="ignore", invalid="ignore"):
            shift = part.mean - pooled.mean
            spread = np.square(shift) * (pooled.total * part.total / total)
            pooled.squares = pooled.squares + part.squares + spread
            pooled.mean = pooled.mean + shift * (part.total / total)
        pooled.total = total
        pooled.smallest = np.minimum(pooled.smallest, part.smallest)
        pooled.largest = np.maximum(pooled.largest, part.largest)
    return pooled


def pooled_rows(parts: Sequence[PrimalGram]) -> PrimalGram:
    """The primal Gram matrix of blocks of rows.

    Two blocks with weights ``u, v`` and means ``p, q`` and ``p', q'`` have together
    ``C + C' + uv/(u+v) (q - q')(p - p')'``.
    """
    first, C = parts[0], parts[0].C.copy()
    total, centre, q_centre = first.total_weight, first.centre, first.q_centre
    for part in parts[1:]:
        both = total + part.total_weight
        shift, q_shift = part.centre - centre, part.q_centre - q_centre
        C += part.C
        C += np.outer((total * part.total_weight / both) * q_shift, shift)
        centre = centre + shift * (part.total_weight / both)
        q_centre = q_centre + q_shift * (part.total_weight / both)
        total = both
    return replace(first, C=C, centre=centre, q_centre=q_centre, total_weight=total)


@dataclass(frozen=True)
class RowProduct:
    """``Qc' V`` (D x t) over some rows about their own weighted mean q (D,), ``s = 1' V`` (t,)."""

    weight: float
    q: Array
    product: Array
    s: Array


def pooled_product(parts: Sequence[RowProduct]) -> RowProduct:
    """The product over the rows of all parts, about the mean of all of them.

    Moving the centre of a part from q to the common mean adds ``(q - mean) s'``.
    """
    weight = sum(part.weight for part in parts)
    q = pooled_sum([part.q * (part.weight / weight) for part in parts])
    product = pooled_sum([part.product for part in parts])
    for part in parts:
        product += np.outer(part.q - q, part.s)
    return RowProduct(weight, q, product, pooled_sum([part.s for part in parts]))
