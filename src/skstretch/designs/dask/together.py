"""One product of several tall designs of the same Dask array: one walk for all of them.

The folds of a search keep columns of their own and train on rows of their own; a block answers for
each of them while it is at hand. Other designs are asked one after the other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np

from skstretch.core.moments import pooled_sum
from skstretch.core.primal_gram import PrimalGram
from skstretch.core.types import Array
from skstretch.designs.blocks import working_bytes
from skstretch.designs.dask.array import FAN_IN, Block
from skstretch.designs.dask.design import TallDesign, pooled_column_grams, without_square
from skstretch.designs.dask.walk import Ask, Place, walked
from skstretch.designs.protocol import Design


@dataclass(frozen=True, eq=False)
class Each:
    """Work: a product of every design of the block; None where it has no row of a design."""

    asks: Sequence[Ask]

    def __call__(
        self, X: Any, block: Block, own: Sequence[tuple[Place, Mapping[str, Any]] | None]
    ) -> list[Any]:
        told = zip(self.asks, own, strict=True)
        return [None if place is None else ask(X, block, place) for ask, place in told]


@dataclass(frozen=True, eq=False)
class MergedEach:
    """Merge: what the blocks say of each design."""

    merge: Callable[[Sequence[Any]], Any]

    def __call__(self, parts: Sequence[list[Any]]) -> list[Any]:
        found = [[part for part in one if part is not None] for one in zip(*parts, strict=True)]
        return [self.merge(some) if some else None for some in found]


def are_walked(designs: Sequence[Design]) -> TypeGuard[Sequence[TallDesign]]:
    """Whether designs are tall ones of the same array, whose rows are not in memory."""
    tall = [design for design in designs if isinstance(design, TallDesign)]
    return 0 < len(tall) == len(designs) and all(one.X is tall[0].X for one in tall)


def column_grams_of(
    designs: Sequence[Design], exponent: float, weights: Sequence[Array]
) -> list[PrimalGram]:
    """``Q'WP`` of every design with weights (n,) of its own, about the means of its rows."""
    if not are_walked(designs):
        pairs = zip(designs, weights, strict=True)
        return [design.column_grams([exponent], w)[0] for design, w in pairs]
    some = [_of_positive(design, w) for design, w in zip(designs, weights, strict=True)]
    side = max(design.shape[1] for design in designs)
    # a merge has eight parts and their sum
    size = max(1, working_bytes() // ((FAN_IN + 1) * 8 * max(1, side) ** 2))
    found: list[PrimalGram] = []
    for at in range(0, len(some), size):
        batch = some[at : at + size]
        grams = _asked(
            [design for design, _ in batch],
            "column_grams",
            [{"exponents": [exponent]} for _ in batch],
            [{"weights": w} for _, w in batch],
            pooled_column_grams,
            8 * side**2 * len(batch),
        )
        found += [gram for [gram] in grams]
    return found


def projections_of(
    designs: Sequence[Design], grams: Sequence[PrimalGram], V: Sequence[Array]
) -> list[Array]:
    """``project`` of every design."""
    told = [*zip(designs, grams, V, strict=True)]
    if not are_walked(designs):
        return [design.project(gram, v) for design, gram, v in told]
    known = [{"gram": without_square(gram)} for _, gram, _ in told]
    found: list[Array] = _asked(designs, "project", known, [{"V": v} for *_, v in told], pooled_sum)
    return found


def dots_of(designs: Sequence[Design], coefs: Sequence[Array]) -> list[Array]:
    """``dot`` of every design, (n, t)."""
    if not are_walked(designs):
        return [design.dot(coef) for design, coef in zip(designs, coefs, strict=True)]
    known = [{"coef": coef} for coef in coefs]
    found: list[Array] = _asked(designs, "dot", known, [{} for _ in known], np.concatenate)
    return found


def _of_positive(design: TallDesign, weights: Array) -> tuple[TallDesign, Array]:
    """The rows of positive weight."""
    used = np.flatnonzero(weights > 0)
    index = used if design.rows is None else design.rows[used]
    return replace(design, rows=index), weights[used]


def _asked(
    designs: Sequence[TallDesign],
    product: str,
    known: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Array]],
    merge: Callable[[Sequence[Any]], Any],
    need: int = 0,
) -> Any:
    """A product of every design, with what all blocks are `known` and each its `rows` of."""
    array = designs[0].X
    asks = [Ask(one.lens, product, told) for one, told in zip(designs, known, strict=True)]
    owns: list[list[Any]] = [[None] * len(designs) for _ in array.blocks]
    for i, (one, own) in enumerate(zip(designs, rows, strict=True)):
        for place in one.places:
            told = {name: values[place.use] for name, values in own.items()}
            owns[place.number][i] = (place, told)
    numbers = [number for number, own in enumerate(owns) if any(own)]
    return walked(array, Each(asks), [owns[i] for i in numbers], numbers, MergedEach(merge), need)
