"""Features with penalty factors: columns in another scale, and columns beside the intercept."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from skstretch.core.bridge_products import MinimiserProducts
from skstretch.core.features import Features, Offset
from skstretch.core.gram import DualGram, Frame, PrimalGram
from skstretch.core.primal import (
    FreeBasis,
    check_free,
    check_left_out,
    free_basis,
    log_penalties,
    log_scales,
)
from skstretch.core.stretch import strongest
from skstretch.core.types import Array, Index
from skstretch.designs.protocol import Design


@dataclass(frozen=True, eq=False)
class FactoredDesign(Design):
    """A design whose column j is penalised `factors` (D,) times as much as usual.

    Coefficients, features and offsets are those of `inner`. The dual form sees penalised columns in
    the scale ``s_j = p_j^(-1/k)``, and beside the ones of the free intercept a basis F of the
    columns whose factor is zero: dual coefficients have the q coefficients of F below them. The
    primal form sees ``lam p_j^r`` on its diagonal, and never penalised columns unstretched. See
    `skstretch.core.primal`.
    """

    inner: Design
    factors: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.inner.shape

    @property
    def offset(self) -> Offset:
        return self.inner.offset

    @property
    def unit(self) -> float:
        return self.inner.unit

    @cached_property
    def free(self) -> Index:
        """The columns that are never penalised."""
        return np.flatnonzero(self.factors == 0)

    @cached_property
    def penalised(self) -> Index:
        """The other columns."""
        return np.flatnonzero(self.factors > 0)

    @property
    def is_scaled(self) -> bool:
        """Whether a penalised column has another factor than one."""
        return bool((self.factors[self.penalised] != 1.0).any())

    @cached_property
    def U(self) -> Array:
        """The never penalised columns without their offset (M x q)."""
        if not self.free.size:
            return np.zeros((self.shape[0], 0))
        return free_columns(self.inner, self.free)

    @cached_property
    def _penalised(self) -> Design:
        return self.inner.take(self.penalised) if self.free.size else self.inner

    def scales(self, r: float) -> Array:
        """``s_j`` of the penalised columns."""
        return np.exp(log_scales(self.factors[self.penalised], r))

    def at(self, r: float) -> Design:
        """The penalised columns in the scale that belongs to the exponent r."""
        scaled: Design = self._in_scale(self._penalised, r)
        return scaled

    def _in_scale(self, some: Any, r: float) -> Any:
        if not self.is_scaled:
            return some
        if not hasattr(some, "quadrant"):  # features that are gone refuse products themselves
            return some
        logs = log_scales(self.factors[self.penalised], r)
        return replace(some, quadrant=some.quadrant.scaled(logs), ready=None)

    def beside_free(self, r: float) -> Design:
        """All columns, those that are penalised in their scale."""
        some: Any = self.inner
        if not self.is_scaled:
            return self.inner
        logs = np.zeros(self.shape[1])
        logs[self.penalised] = log_scales(self.factors[self.penalised], r)
        scaled = some.quadrant.scaled(logs)
        return replace(some, quadrant=scaled, ready=None)  # type: ignore[no-any-return]

    def whole(self, r: float, alpha: Array, gamma: Array) -> Array:
        """Coefficients (D, t) from those of the scaled columns and of U (q, t)."""
        coef = np.zeros((self.shape[1], alpha.shape[1]))
        coef[self.penalised] = alpha * self.scales(r)[:, None] if self.is_scaled else alpha
        if self.free.size:
            coef[self.free] = gamma
        return coef

    def basis(self, weights: Array) -> FreeBasis | None:
        return free_basis(self.U, weights) if self.free.size else None

    def log_factors(self, r: float) -> Array:
        return log_penalties(self.factors, r)

    def strongest(self, coef: Array, count: int) -> Index:
        some = self.penalised[strongest(coef[self.penalised], count)]
        return np.sort(np.concatenate([some, self.free]))

    def check_held_out(self, weights: Array, held: Sequence[Index] | None) -> None:
        if self.free.size:
            check_left_out(self.U, weights, held)

    def take(self, columns: Index) -> "FactoredDesign":
        return FactoredDesign(self.inner.take(columns), self.factors[columns])

    def take_rows(self, rows: Index) -> "FactoredDesign":
        return FactoredDesign(self.inner.take_rows(rows), self.factors)

    def dot(self, coef: Array) -> Array:
        return self.inner.dot(coef)

    def weighted_sum(self, weights: Array) -> Array:
        return self.inner.weighted_sum(weights)

    def row_peaks(self, exponent: float) -> Array | None:
        return self.at(exponent).row_peaks(exponent) if self.penalised.size else None

    def gram(
        self,
        exponents: Sequence[float],
        weights: Array,
        log_rows: Array | None,
        borders: bool = True,
    ) -> list[DualGram]:
        if self.is_scaled:
            grams = [self.at(r).gram([r], weights, log_rows, borders)[0] for r in exponents]
        else:
            grams = self._penalised.gram(exponents, weights, log_rows, borders)
        return [self._bordered(gram, weights) for gram in grams]

    def _bordered(self, gram: DualGram, weights: Array) -> DualGram:
        """The means in the scale of the design, and F beside K."""
        centre = np.zeros(self.shape[1])
        centre[self.penalised] = gram.centre / self.scales(gram.r)
        basis = self.basis(weights)
        if basis is None:
            return replace(gram, centre=centre)
        # features in scaled rows are whole, and so is what their means leave out
        left = 0.0 if gram.log_rows is None else self.inner.take(self.free).offset
        centre[self.free] = basis.mean + left
        return replace(gram, centre=centre, free=basis.F)

    def _inner_frame(self, frame: Frame) -> Frame:
        """The frame as the scaled columns know it."""
        if not frame.centre.size:
            return frame
        return replace(frame, centre=frame.centre[self.penalised] * self.scales(frame.r))

    def coefficients(
        self, frame: Frame, beta: Array, total: Array, weights: Array
    ) -> Iterator[tuple[slice, Array]]:
        M = self.shape[0]
        alpha = np.zeros((self.penalised.size, beta.shape[1]))
        if self.penalised.size:
            own = self._inner_frame(frame)
            for columns, part in self.at(frame.r).coefficients(own, beta[:M], total, weights):
                alpha[columns] = part
        gamma, basis = beta[M:], self.basis(weights)
        if basis is not None:
            gamma = basis.coefficients(gamma)
        yield slice(0, self.shape[1]), self.whole(frame.r, alpha, gamma)

    def column_grams(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        """In the scale of the features: factors stand on the diagonal alone.

        Rows of never penalised columns are ``Pc'W P`` whatever r is.
        """
        asked = list(exponents)
        if self.free.size and 1.0 not in asked:
            asked.append(1.0)
        grams = self.inner.column_grams(asked, weights)
        out = []
        for r, gram in zip(exponents, grams, strict=False):
            known = replace(gram, log_factors=self.log_factors(r))
            if self.free.size:
                plain = grams[asked.index(1.0)]
                C, q_centre = gram.C.copy(), gram.q_centre.copy()
                C[self.free], q_centre[self.free] = self._unstretched(plain), gram.centre[self.free]
                known = replace(known, C=C, q_centre=q_centre, free=self.free)
            out.append(known)
        return out

    def _unstretched(self, plain: PrimalGram) -> Array:
        """``Pc'W P`` for the rows of never penalised columns."""
        logs = plain.log_columns
        rows = plain.C[self.free]
        return rows if logs is None else rows * np.exp(logs[self.free, None])

    def project(self, gram: PrimalGram, V: Array) -> Array:
        out = self.inner.project(replace(gram, free=None), V)
        if self.free.size:
            out[self.free] = (self.U - gram.centre[self.free]).T @ V
        return out

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        if not self.free.size:
            return self.inner.stretched_gram(gram, weights)
        out = np.zeros((self.shape[1], self.shape[1]))
        for rows in self.row_slices():
            Q = gram.stretched(self.row_features(np.arange(rows.start, rows.stop)))
            out += Q.T @ (weights[rows, None] * Q)
        return out

    def row_features(self, rows: Index) -> Features:
        return self.inner.row_features(rows)

    def row_slices(self) -> Iterator[slice]:
        return self.inner.row_slices()

    def cross(self, frame: Frame, weights: Array, other: Design) -> tuple[Array, Array]:
        """As in `Design`, with the basis F at the other rows to the right of the first product."""
        other = other.inner if isinstance(other, FactoredDesign) else other
        n_new = other.shape[0]
        K, Pq = np.zeros((n_new, self.shape[0])), np.zeros(n_new)
        if self.penalised.size:
            new = self._in_scale(other.take(self.penalised), frame.r)
            K, Pq = self.at(frame.r).cross(self._inner_frame(frame), weights, new)
        basis = self.basis(weights)
        if basis is not None:
            K = np.hstack([K, basis.at(free_columns(other, self.free))])
        return K, Pq

    def minimiser_products(self, once: bool = False) -> MinimiserProducts:
        return self.inner.minimiser_products(once)

    def row_factor(self, root: Array) -> Array:
        return self.inner.row_factor(root)

    def in_memory(self) -> Features | None:
        return self.inner.in_memory()


def free_columns(design: Design, columns: Index) -> Array:
    """Some columns without their offset, in memory (M x q)."""
    return design.take(columns).row_features(np.arange(design.shape[0])).excess(1.0)


def factored(design: Design, factors: Array | None) -> Design:
    """The design with penalty factors of its columns, where one of them is not one."""
    if factors is None or (factors == 1.0).all():
        return design
    return FactoredDesign(design, factors)


def check_factored(design: Design, weights: Array, names: Sequence[str]) -> None:
    """Refuse never penalised columns that samples cannot tell apart."""
    if isinstance(design, FactoredDesign) and design.free.size:
        check_free(design.U, weights, [names[j] for j in design.free])
