"""What to fit and what comes out."""

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

from skstretch.core.stretch import (
    Intercept,
    checked_number,
    penalty,
    penalty_in_unit,
    stretch_exponent,
)
from skstretch.core.types import PRECISION, Array, Fit

Space = Literal["dual", "primal"]
Solver = Literal["auto", "dual", "primal", "qr", "krylov"]
SOLVERS: tuple[Solver, ...] = get_args(Solver)


@dataclass(frozen=True)
class Spec:
    """One model: the stretching power, the regularisation, the intercept, the way to solve.

    Features come divided by ``exp(unit)``; c is that of the features as they were before.
    `linear` says that features are z-scores (a = 0). They have both signs and no real powers, so
    that there is no closed form but at k = 2; for k < 2 the model is the exact minimiser.
    `automatic` says that c is to be tied to the scale of the data: see `skstretch.solve.direct`.
    `tolerance` is the relative residual at which iteration stops.
    """

    k: float
    c: float
    intercept: Intercept = Intercept.FREE
    solver: Solver = "auto"
    unit: float = 0.0
    linear: bool = False
    automatic: bool = False
    tolerance: float = PRECISION

    def __post_init__(self) -> None:
        if not self.linear or self.k == 2.0:
            return
        if self.k > 2.0:
            raise ValueError(
                f"k={self.k:g} at a=0: the exact minimiser of sum |alpha|^k + 2c sum e^2 is found "
                "for 1 < k <= 2 (beyond 2 its dual is not smooth, and nothing is compressed). Use "
                "k <= 2, or a different from 0."
            )
        if self.c == math.inf:
            raise ValueError(
                f"c=inf at a=0 and k={self.k:g} < 2: without regularisation there is no penalty "
                "whose power k could matter. Use a finite c, say 1e6, or k=2."
            )
        if self.solver != "auto":
            raise ValueError(
                f'solver="{self.solver}" solves a closed form, and at a=0 with k={self.k:g} < 2 '
                'there is none: use solver="auto", which takes Newton\'s method, or k=2.'
            )

    def __getstate__(self) -> dict[str, Any]:
        # a word in place of a member of an enumeration, which skops cannot put together again
        return {**self.__dict__, "intercept": self.intercept.value}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, intercept=Intercept(state["intercept"]))

    @property
    def exact(self) -> bool:
        """Whether the model is the exact minimiser, found by Newton's method."""
        return self.linear and self.k < 2.0

    @property
    def r(self) -> float:
        return stretch_exponent(self.k)

    @property
    def lam(self) -> float:
        assert not self.automatic, "c is not settled yet"
        return penalty_in_unit(penalty(self.c, self.k), self.r, self.unit)


def checked_spec(
    k: Any, c: Any, linear: bool, fit_intercept: Any, solver: Any, unit: float = 0.0
) -> Spec:
    """The model that the parameters stand for; `linear` for ``a = 0``."""
    k = checked_number("k", k, "pass the stretching power, 1 < k < inf; (1, 2] compresses.")
    automatic = isinstance(c, str) and c == "auto"
    hint = 'pass a positive number, np.inf for no regularisation, or "auto".'
    c = 1.0 if automatic else checked_number("c", c, hint)
    stretch_exponent(k)
    penalty(c, k)
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is not known: use one of {', '.join(SOLVERS)}.")
    return Spec(k, c, Intercept.of(fit_intercept), solver, unit, linear, automatic)


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
