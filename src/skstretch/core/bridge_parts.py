"""The exact minimiser without parts of the samples, as closely as a choice among cells needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skstretch.core.bridge import SCORING, Point, Tolerance, newton, start
from skstretch.core.bridge_loo import started, without
from skstretch.core.bridge_path import Space, approximate_loo, finish, has_loo, space, split
from skstretch.core.lazy import cached_property
from skstretch.core.types import Array, Index


@dataclass(frozen=True)
class Parts:
    """Parts S of the samples, and the spaces of the problems without each of them."""

    space: Space
    parts: Sequence[Index]

    @cached_property
    def spaces(self) -> list[Space]:
        """Wide: the same walks with weights of zero. Tall: the directions that the others reach."""
        s = self.space
        if s.Q is None:
            return [without(s, S) for S in self.parts]
        rests, Z, U = [self._rest(S) for S in self.parts], s.tall[1], s.U
        free = [None if U is None else U[rest] for rest in rests]
        told = zip(rests, free, strict=True)
        return [split(space(Z[rest], s.u[rest], s.intercept, own)) for rest, own in told]

    def _rest(self, S: Index) -> Index:
        return np.setdiff1d(np.arange(len(self.space.u)), S)

    def residuals(self, point: Point, y: Array, tol: Tolerance = SCORING) -> Array:
        """Residuals (P, M): of the samples of each part by the model without it, and of the others
        by the model without the part and themselves, to one Newton step from there. NaN where the
        model without the part interpolates."""
        e, p = self.space.residual(point, y), point.problem
        starts = [started(self.space, point, e, S) for S in self.parts]
        if self.space.Q is not None:
            return self._tall(point, y, starts, tol)
        walks = self.space.walks
        first = start(walks, [q.problem(p.k, p.c, y) for q in self.spaces], starts)
        points = newton(walks, first, tol)
        out = np.full((len(self.parts), len(y)), np.nan)
        for row, own, found in zip(out, self.spaces, points, strict=True):
            if has_loo(own, found, y):
                row[:] = approximate_loo(own, found, y)
        return out

    def _tall(self, point: Point, y: Array, starts: Sequence[Array], tol: Tolerance) -> Array:
        out, p = np.full((len(self.parts), len(y)), np.nan), point.problem
        for row, S, own, e in zip(out, self.parts, self.spaces, starts, strict=True):
            rest = self._rest(S)
            # without the part the others may be fewer than the features
            begin = e[rest] if own.Q is None else own.Q.T @ e[rest]
            first = start(own.walks, [own.problem(p.k, p.c, y[rest])], [begin])
            found = newton(own.walks, first, tol)[0]
            if not has_loo(own, found, y[rest]):
                continue
            row[rest] = approximate_loo(own, found, y[rest])
            fit = finish(own, found, y[rest])
            row[S] = y[S] - self.space.tall[1][S] @ fit.alpha - fit.m
            if self.space.U is not None:
                row[S] -= self.space.U[S] @ fit.gamma
        return out
