"""Walks of the exact minimiser over a wide Dask array: one task a block of features.

A task answers all trials for its columns; an ordered tree adds what the blocks have summed, so that
the sums have the same bits whichever worker did what.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from skstretch.core.bridge_walks import DenseWalks, Trial, Walk, phi
from skstretch.core.types import Array
from skstretch.designs.dask.array import Block, DaskArray, gram_bytes
from skstretch.designs.dask.walk import Lens, Place, batches, walked
from skstretch.designs.walks import added, kept_by


class FeatureBlocks(Protocol):
    """As much of a design in blocks of features as a walk asks for."""

    @property
    def X(self) -> DaskArray: ...

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def lens(self) -> Lens: ...

    @property
    def places(self) -> list[Place]: ...


@dataclass(frozen=True, eq=False)
class Answers:
    """Work: all trials over the columns of one block."""

    lens: Lens
    trials: Sequence[Trial]

    def __call__(self, X: Any, block: Block, own: Place) -> list[Walk]:
        return self.lens.design(X, own).walks(once=True).step(self.trials)


@dataclass(frozen=True, eq=False)
class Transposed:
    """Work: ``Z'V`` of one block."""

    lens: Lens
    V: Array

    def __call__(self, X: Any, block: Block, own: Place) -> Array:
        return self.lens.design(X, own).walks(once=True).transposed(self.V)


@dataclass(frozen=True, eq=False)
class Added:
    """Merge: the answers of consecutive blocks as one."""

    trials: Sequence[Trial]

    def __call__(self, parts: Sequence[list[Walk]]) -> list[Walk]:
        return added(self.trials, parts)


class BlockWalks:
    """Walks over the blocks of features of a Dask array, on its workers.

    v comes to this process only where it takes at most a quarter of its working memory.
    """

    def __init__(self, design: FeatureBlocks) -> None:
        self.design = design

    def step(self, trials: Sequence[Trial]) -> list[Walk]:
        """All trials in one walk."""
        n_rows, n_columns = self.design.shape
        if not self.design.places:
            return DenseWalks(np.empty((n_rows, 0))).step(trials)
        kept = kept_by(trials, n_columns)
        told = [replace(trial, keep=i in kept) for i, trial in enumerate(trials)]
        need = gram_bytes(self.design.X, sum(trial.gram != "none" for trial in trials))
        places = self.design.places
        found: list[Walk] = walked(
            self.design.X,
            Answers(self.design.lens, told),
            places,
            [place.number for place in places],
            Added([replace(trial, x=np.zeros(0)) for trial in told]),
            need,
        )
        return found

    def coef(self, trial: Trial, v: Array | None) -> Array:
        """``phi(Z'x)`` (D)."""
        v = self.transposed(trial.x[:, None])[:, 0] if v is None else v
        return phi(v, trial.k, trial.lam)[0]

    def transposed(self, X: Array) -> Array:
        """``Z'X`` (D x n), as many blocks at a time as fit the working memory."""
        out = np.empty((self.design.shape[1], X.shape[1]))
        work = Transposed(self.design.lens, X)
        for places in batches(self.design.places, X.shape[1]):
            numbers = [place.number for place in places]
            parts = walked(self.design.X, work, places, numbers)
            for place, part in zip(places, parts, strict=True):
                out[place.use] = part
        return out
