"""How much a report may compute: rules in floating-point operations."""

from dataclasses import dataclass

# What a core does in a few seconds; a report is for waiting at, not for leaving overnight.
SEARCH_WORK = 2e11
REFIT_WORK = 6e10
INTERVAL_WORK = 1e11
# What one file has room for: targets or classes, and cells times these.
MOST_OUTPUTS = 30
MOST_PICTURES = 150


@dataclass(frozen=True)
class Effort:
    """Sizes of a problem: n samples, D features, t outputs; F folds with a second pass, or 1."""

    n: int
    D: int
    t: int
    folds: int

    @property
    def fit(self) -> float:
        """One fit: ``40 n D`` for the transform, ``2 n D m`` for Gram, ``4 m^3``, m = min(n, D)."""
        m = min(self.n, self.D)
        return 40.0 * self.n * self.D + 2.0 * self.n * self.D * m + 4.0 * m**3

    def search_fits(self, n_pairs: int, n_cells: int) -> bool:
        """Whether a second search, for the out-of-fold outputs of all cells, is affordable."""
        second = (self.folds * self.t if self.folds > 1 else 0) * n_cells * self.fit
        return n_pairs * self.fit + n_cells * 4.0 * min(self.n, self.D) ** 3 + second <= SEARCH_WORK

    def n_refits(self, n_cells: int) -> int:
        """How many cells to fit again for their coefficients, the chosen one included."""
        passes = 1 + self.t * (self.folds > 1)
        return int(min(n_cells, max(1, REFIT_WORK // (passes * self.fit)), self.most))

    @property
    def most(self) -> int:
        """How many cells have room for their pictures."""
        return max(1, MOST_PICTURES // min(self.t, MOST_OUTPUTS))

    def intervals_fit(self, n_folds: int, n_levels: int) -> bool:
        """Whether jackknife+ in folds is affordable."""
        return n_folds * (3 + n_levels) * self.fit <= INTERVAL_WORK
