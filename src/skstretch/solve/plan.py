"""What a fit is about to do, in one line: what its own choices say, before it does it."""

from dataclasses import dataclass

from skstretch.core.stretch import Intercept
from skstretch.designs.as_design import Storage
from skstretch.solve.choose import choose_space, direct_bytes, may_be_matrix_free
from skstretch.solve.spec import Space

# "auto" and searches go on from LU to QR where digits would be lost
SOLVED_BY = {"dual": "LU", "primal": "LU", "qr": "QR"}


@dataclass(frozen=True)
class Plan:
    """How X is stored, and the system that is solved.

    Attributes
    ----------
    storage : Storage
    n_used : int
        Samples of positive weight.
    intercept : Intercept
    solver : str or None
        As the user asked; None for a search.
    n_cells : int
        Of the grid.
    selects : bool
        Whether a second pass on selected features follows, with a system of its own.
    traffic : str
        What a walk costs a cluster.
    exact : bool
        Whether the exact minimiser is asked for, by Newton's method.
    """

    storage: Storage
    n_used: int
    intercept: Intercept
    solver: str | None = None
    n_cells: int = 1
    selects: bool = False
    traffic: str = ""
    exact: bool = False

    @property
    def space(self) -> Space:
        """The form that the fit chooses, should no column be constant."""
        return choose_space(self.n_used, self.storage.shape[1], self.intercept, self.solver)

    @property
    def side(self) -> int:
        """The side of the square system."""
        return self.n_used if self.space == "dual" else self.storage.shape[1]

    @property
    def matrix_free(self) -> bool:
        shape = self.n_used, self.storage.shape[1]
        return not self.exact and may_be_matrix_free(self.solver, *shape)

    def __str__(self) -> str:
        (n_rows, n_columns), stored = self.storage.shape, self.storage
        weighed = "" if self.n_used == n_rows else f" ({self.n_used:,} of positive weight)"
        name = "Krylov" if self.matrix_free else SOLVED_BY.get(self.solver or "auto", "LU or QR")
        name = "Newton" if self.exact else name
        need = "never formed" if self.matrix_free else readable(direct_bytes(self.side))
        first = " in the first pass" if self.selects else ""
        cells = "1 cell" if self.n_cells == 1 else f"{self.n_cells:,} cells"
        return (
            f"{n_rows:,} x {n_columns:,} {stored.dtype}{weighed}, {stored.kind}, "
            f"{readable(stored.nbytes)} a walk{self.traffic}; {self.space} form by {name}{first}, "
            f"a {self.side:,} x {self.side:,} system ({need}), {cells}"
        )


def readable(nbytes: float) -> str:
    """Bytes in the unit that suits them."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if nbytes >= scale:
            return f"{nbytes / scale:.1f} {unit}"
    return f"{nbytes / 1e3:.0f} kB"
