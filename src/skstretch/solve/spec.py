"""What to fit and what comes out."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

from skstretch.core.stretch import (
    Intercept,
    checked_number,
    penalty,
    penalty_in_unit,
    stretch_exponent,
)
from skstretch.core.types import Array, Fit

Space = Literal["dual", "primal"]
Solver = Literal["auto", "dual", "primal", "qr", "krylov"]
SOLVERS: tuple[Solver, ...] = get_args(Solver)


@dataclass(frozen=True)
class Spec:
    """One model: the stretching power, the regularisation, the intercept, the way to solve.

    Features come divided by ``exp(unit)``; c is that of the features as they were before.
    """

    k: float
    c: float
    intercept: Intercept = Intercept.FREE
    solver: Solver = "auto"
    unit: float = 0.0

    @property
    def r(self) -> float:
        return stretch_exponent(self.k)

    @property
    def lam(self) -> float:
        return penalty_in_unit(penalty(self.c, self.k), self.r, self.unit)


def checked_spec(
    k: Any, c: Any, a: float, fit_intercept: Any, solver: Any, unit: float = 0.0
) -> Spec:
    """The model that the parameters stand for; ``a = 0`` is the linear limit with ``k = 2``."""
    k = checked_number("k", k, "pass the stretching power, 1 < k < inf; (1, 2] compresses.")
    c = checked_number("c", c, "pass a positive number, or np.inf for no regularisation.")
    stretch_exponent(k)
    penalty(c, k)
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is not known: use one of {', '.join(SOLVERS)}.")
    return Spec(2.0 if a == 0 else k, c, Intercept.of(fit_intercept), solver, unit)


class System(Protocol):
    """A factorised model: fit any targets, and say how well and how freely it fits."""

    @property
    def space(self) -> Space: ...

    @property
    def solver(self) -> str: ...

    @property
    def rcond(self) -> float: ...

    @property
    def dof(self) -> float: ...

    def fit(self, Y: Array) -> Fit:
        """Fit targets of shape (M, t)."""
        ...

    def variance(self) -> Array:
        """The diagonal of ``A W^-1 A'`` for ``alpha = A y``, shape (D,)."""
        ...

    def covariance(self) -> Array:
        """``A W^-1 A'``, shape (D, D)."""
        ...

    def residual_norm(self) -> float:
        """``tr((I - H)'(I - H))`` over repeated rows: a weight w counts as w rows."""
        ...
