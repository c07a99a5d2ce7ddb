"""``make performance``: how time and memory grow with samples, features and the size of a search.

Writes its parts of docs/performance.md. Every series changes one thing and keeps the rest;
exponents are least squares on logarithms.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.limits import rates
from benchmarks.page import write_part
from benchmarks.peak import with_peak
from benchmarks.timing import best_time
from skstretch import StretchyClassifier, StretchyRegressor, StretchyRegressorCV

PAGE = "docs/performance.md"
REPEATS = 2
# beside what is changed: wide data, and tall data
SAMPLES, FEATURES, TALL_FEATURES = 200, 10_000, 100
CLOSED = {"a_grid": (-0.2,)}


@dataclass(frozen=True)
class Series:
    """One thing that grows, the values it takes, and the work at each of them."""

    what: str
    grows: str
    values: Sequence[int]
    work: Callable[[int], Callable[[], object]]

    def measured(self) -> tuple[list[float], float]:
        """Seconds at every value, and the exponent."""
        seconds = [best_time(self.work(value), REPEATS) for value in self.values]
        slope = np.polyfit(np.log(self.values), np.log(seconds), 1)[0]
        return seconds, float(slope)

    def row(self) -> str:
        """Of the table."""
        seconds, exponent = self.measured()
        ends = f"{self.values[0]:,} … {self.values[-1]:,}"
        times = f"{seconds[0]:.2g} … {seconds[-1]:.2g}"
        return f"| {self.what} | {self.grows} | {ends} | {times} | **{exponent:.2f}** |"


def problem(n_samples: int, n_features: int, n_targets: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Normal features, of which twenty matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    Y = X[:, :20] @ rng.standard_normal((20, n_targets))
    Y += 3.0 * rng.standard_normal(Y.shape)
    return X, Y[:, 0] if n_targets == 1 else Y


def sparse_problem(n_samples: int, n_features: int, filled: int) -> tuple[Any, np.ndarray]:
    """Counts with so many entries a sample, of which twenty features matter."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(n_samples), filled)
    columns = rng.integers(0, n_features, rows.size)
    counts = rng.integers(1, 5, rows.size).astype(float)
    X = sparse.csr_array((counts, (rows, columns)), shape=(n_samples, n_features))
    return X, X[:, :20].sum(axis=1) + rng.standard_normal(n_samples)


def fitted(model: Any, X: Any, y: np.ndarray) -> Callable[[], object]:
    """The work of a fit."""
    return lambda: model.fit(X, y)


def one_fit(n_samples: int, n_features: int) -> Callable[[], object]:
    return fitted(StretchyRegressor(k=1.25), *problem(n_samples, n_features))


def closed(n_samples: int, n_features: int, t: int = 1, **grid: Any) -> Callable[[], object]:
    model = StretchyRegressorCV(**CLOSED, **grid)
    return fitted(model, *problem(n_samples, n_features, t))


def whole(n_samples: int, n_features: int) -> Callable[[], object]:
    return fitted(StretchyRegressorCV(), *problem(n_samples, n_features))


def sparsely(n_features: int, filled: int) -> Callable[[], object]:
    """One fit of 1,000 sparse samples."""
    return fitted(StretchyRegressor(k=1.25), *sparse_problem(1_000, n_features, filled))


def classified(n_classes: int) -> Callable[[], object]:
    """One classifier of 1,000 samples, whose thresholds are tuned out of fold."""
    X, y = problem(1_000, 2_000)
    codes = np.argsort(np.argsort(y)) * n_classes // y.size
    return fitted(StretchyClassifier(k=1.25), X, codes)


def spread(low: float, high: float, n: int) -> tuple[float, ...]:
    """Values of a grid, evenly in logarithms."""
    return tuple(np.geomspace(low, high, n).tolist())


ONE_FIT = "`StretchyRegressor(k=1.25)`"
FORMS = "closed forms, `StretchyRegressorCV(a_grid=(-0.2,))`"
DEFAULT = "`StretchyRegressorCV()`"
SPARSE = "`StretchyRegressor(k=1.25)`, sparse X"
CLASSES = "`StretchyClassifier(k=1.25)`"
SERIES = (
    Series(ONE_FIT, f"features, {SAMPLES} samples", (10_000, 20_000, 40_000, 80_000),
           lambda D: one_fit(SAMPLES, D)),
    Series(ONE_FIT, f"samples, {FEATURES:,} features", (200, 400, 800, 1_600),
           lambda M: one_fit(M, FEATURES)),
    Series(ONE_FIT, f"samples, {TALL_FEATURES} features", (20_000, 40_000, 80_000, 160_000),
           lambda M: one_fit(M, TALL_FEATURES)),
    Series(FORMS, f"features, {SAMPLES} samples", (10_000, 20_000, 40_000, 80_000),
           lambda D: closed(SAMPLES, D)),
    Series(FORMS, f"samples, {FEATURES:,} features", (200, 400, 800, 1_600),
           lambda M: closed(M, FEATURES)),
    Series(FORMS + ", one k", "values of c, 500 x 2,000", (5, 10, 20, 40),
           lambda n: closed(500, 2_000, k_grid=(1.25,), c_grid=spread(1e-4, 1e2, n))),
    Series(FORMS + ", five c", "values of k, 500 x 2,000", (1, 2, 4, 8),
           lambda n: closed(500, 2_000, k_grid=spread(1.2, 1.9, n), c_grid=spread(1e-4, 1e2, 5))),
    Series(FORMS, "targets, 500 x 2,000", (1, 4, 16, 64), lambda t: closed(500, 2_000, t)),
    Series(SPARSE, "entries a sample, 1,000 x 100,000", (50, 100, 200, 400),
           lambda n: sparsely(100_000, n)),
    Series(SPARSE, "features, 1,000 samples of 100 entries", (50_000, 100_000, 200_000, 400_000),
           lambda D: sparsely(D, 100)),
    Series(CLASSES, "classes, 1,000 x 2,000", (2, 4, 8, 16, 32), classified),
    Series(DEFAULT, "features, 100 samples", (1_000, 2_000, 4_000, 8_000),
           lambda D: whole(100, D)),
    Series(DEFAULT, "samples, 2,000 features", (50, 100, 200, 400), lambda M: whole(M, 2_000)),
)  # fmt: skip


def growth_rows() -> list[str]:
    """The table of exponents."""
    head = "| what | what grows | from … to | seconds | exponent |"
    return [head, "|---|---|---|---|---|", *(series.row() for series in SERIES)]


# shapes of the rule of thumb
SHAPES = ((100, 1_000), (100, 10_000), (300, 3_000), (800, 2_000))


def thumb_rows() -> list[str]:
    """Seconds of three models, over those of one product of M x M x D at the rate of BLAS."""
    rows = [
        "| samples x features | one product, s | one fit / product | closed forms / product "
        "| default search / product |",
        "|---|---|---|---|---|",
    ]
    for M, D in SHAPES:
        product = rates().seconds(2.0 * M * M * D)
        works = one_fit(M, D), closed(M, D), whole(M, D)
        ratios = [best_time(work, REPEATS) / product for work in works]
        shown = " | ".join(f"{ratio:,.0f}" for ratio in ratios)
        rows.append(f"| {M:,} x {D:,} | {product:.2g} | {shown} |")
    return rows


# samples and features of the rows about memory
ROOM = ((100, 10_000), (400, 4_000))
KINDS = ("one fit", "closed forms", "default search")


def peak_of(kind: str, n_samples: int, n_features: int) -> float:
    """Fit a model once; X is made before, and its peak is what with_peak sees beyond it."""
    warnings.simplefilter("ignore")
    works = {"one fit": one_fit, "closed forms": closed, "default search": whole, "data": made}
    works[kind](n_samples, n_features)()
    return 0.0


def made(n_samples: int, n_features: int) -> Callable[[], object]:
    """The data alone."""
    X, y = problem(n_samples, n_features)
    return lambda: (X.shape, y.shape)


def memory_rows() -> list[str]:
    """What models take beside X, in MB and as a multiple of X."""
    rows = [
        f"| samples x features | X, MB | {' | '.join(f'{kind}, MB' for kind in KINDS)} |",
        "|---|---|---|---|---|",
    ]
    for M, D in ROOM:
        _, data = with_peak("benchmarks.performance", "peak_of", "data", M, D)
        found = []
        for kind in KINDS:
            _, peak = with_peak("benchmarks.performance", "peak_of", kind, M, D)
            found.append(f"{max(0, peak - data) / 1e6:,.0f}")
        rows.append(f"| {M:,} x {D:,} | {8 * M * D / 1e6:,.0f} | {' | '.join(found)} |")
    return rows


def main() -> None:
    """Measure and write all parts."""
    warnings.simplefilter("ignore")
    write_part(PAGE, "memory", memory_rows())
    write_part(PAGE, "growth", growth_rows())
    write_part(PAGE, "thumb", thumb_rows())


if __name__ == "__main__":
    main()
