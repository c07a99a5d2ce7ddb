"""One walk over wide data for everything that a search needs: moments, and K of every transform.

A block holds all rows of its columns, so their moments are known as soon as it is read, and the
Gram matrices of all (a, k) are summed while it is at hand.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.dual_gram import DualGram, DualSums, joined
from skstretch.core.moments import Moments, column_moments, resolution
from skstretch.core.quadrant import Quadrant, Strip
from skstretch.core.stretch import is_safe
from skstretch.core.types import Array, Index
from skstretch.designs.blocks import blocks_of, copies_for, in_threads, shares, threads_for_rows
from skstretch.designs.protocol import Design
from skstretch.designs.source import Raw, Source

Block = tuple[Quadrant, Index]


@dataclass(frozen=True)
class Wanted:
    """A transform, given the moments of a slice of columns, and the exponents that it is raised to.

    `block` returns the transform of the columns that take part, and their places in the slice.
    """

    block: Callable[[Moments, slice], Block]
    exponents: Sequence[float]


@dataclass(frozen=True)
class Ready:
    """Gram matrices that are known before they are asked for, by exponent."""

    weights: Array
    borders: bool
    grams: dict[float, DualGram]

    def __getstate__(self) -> dict[str, object]:
        # sums can be made again: they stay out of pickles
        return {"weights": self.weights, "borders": self.borders, "grams": {}}

    def find(
        self, exponents: Sequence[float], weights: Array, log_rows: Array | None, borders: bool
    ) -> list[DualGram] | None:
        """Those of all the exponents, or None where one has to be summed anew."""
        known = log_rows is None and (self.borders or not borders)
        if known and np.array_equal(weights, self.weights) and {*exponents} <= self.grams.keys():
            return [self.grams[r] for r in exponents]
        return None


def with_one_sum(design: Design, exponent: float) -> Design:
    """The design of a finished fit: of the Gram matrices at hand only that of its own exponent."""
    ready = vars(design).get("ready")
    if ready is None:
        return design
    grams = {r: gram for r, gram in ready.grams.items() if r == exponent}
    return replace(design, ready=replace(ready, grams=grams))  # type: ignore[type-var]


def survey(
    source: Source, rows: Index | None, weights: Array, wanted: Sequence[Wanted], borders: bool
) -> tuple[Moments, list[Ready]]:
    """Moments of all columns and, for every transform, K of the exponents that are safe."""
    eps = resolution(source.dtype)

    def part(share: slice) -> _Share:
        found = _Share(wanted, weights, borders)
        for columns in blocks_of(source.shape[1], source.shape[0], share, copies):
            raw = source.read(rows, columns)
            found.add(raw, columns, column_moments(raw, weights, eps))
        return found

    with threads_for_rows(weights.size) as threads:
        copies = copies_for(sum(1 + len(want.exponents) for want in wanted), threads)
        parts = in_threads(part, shares(source.shape[1], threads, weights.size))
    names = Moments.__dataclass_fields__
    blocks = [moments for one in parts for moments in one.moments]
    moments = Moments(*(np.concatenate([getattr(b, f) for b in blocks]) for f in names))
    ready = [
        Ready(weights, borders, _safe_grams(want, [one.sums[i] for one in parts]))
        for i, want in enumerate(wanted)
    ]
    return moments, ready


class _Share:
    """What one thread sums over its columns."""

    def __init__(self, wanted: Sequence[Wanted], weights: Array, borders: bool) -> None:
        self.moments: list[Moments] = []
        self.wanted = wanted
        self.sums = [_Sums(want.exponents, weights, borders) for want in wanted]

    def add(self, raw: Raw, columns: slice, moments: Moments) -> None:
        self.moments.append(moments)
        for want, sums in zip(self.wanted, self.sums, strict=True):
            quadrant, active = want.block(moments, columns)
            sums.add(raw if active.size == raw.shape[1] else raw[:, active], quadrant)


class _Sums:
    """Gram matrices of one transform, and how large its features are."""

    def __init__(self, exponents: Sequence[float], weights: Array, borders: bool) -> None:
        self.peaks = np.full(weights.size, -np.inf)
        self.grams = DualSums(exponents, weights, None, borders, self.peaks)

    def add(self, raw: Raw, quadrant: Quadrant) -> None:
        if not raw.shape[1]:
            return
        # what overflows is not safe, and is summed again with scaled rows
        with np.errstate(over="ignore", invalid="ignore"):
            self.grams.add(Strip(raw, quadrant, slice(None)))
        if quadrant.kind == "exp":
            # the smallest features must be safe too, not only the largest of each row
            np.maximum(self.peaks, -quadrant.lowest_log(), out=self.peaks)


def _safe_grams(want: Wanted, sums: Sequence[_Sums]) -> dict[float, DualGram]:
    peaks = np.max([part.peaks for part in sums], axis=0)
    low, high = float(peaks.min()), float(peaks.max())
    columns = zip(*(part.grams.grams() for part in sums), strict=True)
    grams = [joined(parts) for parts in columns]
    return {
        gram.r: gram
        for gram in grams
        if np.isfinite([low, high]).all() and is_safe(low, high, gram.r)
    }
