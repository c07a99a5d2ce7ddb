"""Names for the array types of the maths, and what every way of solving returns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Index: TypeAlias = npt.NDArray[np.intp]
ArrayLike: TypeAlias = npt.ArrayLike

NO_PLACES: Callable[[], Any] = partial(np.array, (), dtype=np.intp)

# The one precision of what is reported: gaps, residuals and rounding of coefficients, relative.
PRECISION = 1e-10


@dataclass(frozen=True)
class Fit:
    """Coefficients of t targets.

    ``prediction = P coef + intercept = (P - offset) coef + level``, where `offset` is that of the
    features. Predicting from `level` keeps the digits that a large intercept would swallow.

    Attributes
    ----------
    coef : array of shape (D, t)
    level, intercept : arrays of shape (t,)
    beta : array of shape (M, t) or None
        Dual coefficients times ``exp(log_beta)``, row by row. None where the primal form was
        solved.
    log_beta : array of shape (M,) or None
    rcond : float
        Reciprocal condition number of the solve: ``eps / rcond`` bounds the relative error.
    n_iter, residual : int, float or None
        Steps and relative residual of an iterative solve; None for a direct one.
    gap : float or None
        Relative duality gap of an exact minimiser; None for a closed form.
    dof : float
        Degrees of freedom.
    space, solver : str
        How it was found: "dual" or "primal", and the name of the solver.
    targets, columns : index arrays
        Of a fitted model: which targets these are, and which columns of the model's design.
    design : Design or None
        These columns.
    """

    coef: Array
    level: Array
    intercept: Array
    beta: Array | None
    log_beta: Array | None
    rcond: float
    n_iter: int | None = None
    residual: float | None = None
    gap: float | None = None
    dof: float = np.nan
    space: str = ""
    solver: str = ""
    targets: Index = field(default_factory=NO_PLACES)
    columns: Index = field(default_factory=NO_PLACES)
    design: Any = None
