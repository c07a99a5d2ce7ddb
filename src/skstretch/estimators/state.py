"""A fitted model taken apart into plain arrays, and put together again."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit, Index, Mask
from skstretch.designs import Design
from skstretch.estimators.inputs import Prepared, View
from skstretch.estimators.parameters import active_columns
from skstretch.solve import FittedModel, Solution, Spec
from skstretch.solve.model import Pass


@dataclass(frozen=True)
class Parts:
    """A fitted model without its training data.

    For t targets, D columns of X, n samples of which M have a positive weight, and p passes: one,
    or one for each target.
    """

    k: float
    c: float
    intercept_kind: str
    solver: str
    quadrant: Quadrant
    dtype: str  # of the coefficients
    used: Mask  # (n,), samples of positive weight
    coef: Array  # (t, D)
    support: Mask  # (t, D)
    level: Array  # (t,)
    intercept: Array  # (t,)
    rcond: Array  # (p,)
    dof: Array  # (p,)
    spaces: list[str]  # p
    solvers: list[str]  # p
    has_dual: list[bool]  # p
    beta: Array  # (M, t), zeros where a pass has none
    log_beta: Array  # (p, M)
    iterations: list[int | None]  # p, None for a direct solver
    residuals: list[float | None]  # p

    @property
    def spec(self) -> Spec:
        return Spec(self.k, self.c, Intercept(self.intercept_kind), cast(Any, self.solver))

    @property
    def columns(self) -> Index:
        """The columns of X that take part in a fit."""
        return active_columns(self.quadrant, self.spec.intercept)

    @property
    def kept(self) -> Index:
        """The columns of X that some target keeps."""
        return np.flatnonzero(self.support.any(axis=0))

    def targets(self, number: int) -> Index:
        """The targets of a pass."""
        return np.arange(self.level.size) if len(self.spaces) == 1 else np.array([number])

    def own(self, number: int) -> Index:
        """The columns of X that a pass keeps."""
        return np.flatnonzero(self.support[self.targets(number)[0]])


def take_apart(estimator: Any) -> Parts:
    """The parts of a fitted estimator."""
    model, columns = estimator._model, estimator._columns
    used = np.zeros(estimator._n_samples, dtype=bool)
    used[estimator._rows] = True
    solutions = [p.solution for p in model.passes]
    fits = [solution.fit for solution in solutions]
    # a model of batches has rows that it does not keep
    M, t, D = estimator._rows.size, model.Y.shape[1], estimator.n_features_in_
    coef, support = np.zeros((t, D)), np.zeros((t, D), dtype=bool)
    coef[:, columns], support[:, columns] = model.coef, model.support
    beta, log_beta = np.zeros((M, t)), np.zeros((len(fits), M))
    has_dual = [fit.beta is not None and fit.log_beta is not None for fit in fits]
    for i in np.flatnonzero(has_dual):
        beta[:, model.passes[i].targets], log_beta[i] = fits[i].beta, fits[i].log_beta
    return Parts(
        k=float(model.spec.k),
        c=float(model.spec.c),
        intercept_kind=model.spec.intercept.value,
        solver=model.spec.solver,
        quadrant=estimator._quadrant,
        dtype=estimator.coef_.dtype.name,
        used=used,
        coef=coef,
        support=support,
        level=model.level,
        intercept=model.intercept,
        rcond=np.array([fit.rcond for fit in fits], dtype=float),
        dof=np.array([solution.dof for solution in solutions], dtype=float),
        spaces=[solution.space for solution in solutions],
        solvers=[solution.solver for solution in solutions],
        has_dual=has_dual,
        beta=beta,
        log_beta=log_beta,
        iterations=[fit.n_iter for fit in fits],
        residuals=[fit.residual for fit in fits],
    )


def put_together(
    estimator: Any, parts: Parts, whole: Design, kept: Design, Y: Array, weights: Array
) -> FittedModel:
    """Make an estimator fitted, from parts and designs of its training features.

    `whole` has the columns that take part in a fit, `kept` those that some target keeps. Either
    may be a design that only knows its shape.
    """
    passes = [_pass(parts, number, kept) for number in range(len(parts.spaces))]
    model = FittedModel(whole, Y, weights, parts.spec, passes)
    n_samples, n_features = parts.used.size, parts.quadrant.b.size
    X = np.broadcast_to(np.zeros((), parts.dtype), (n_samples, n_features))
    prepared = Prepared(
        X,
        np.flatnonzero(parts.used),
        weights,
        parts.quadrant.moments,
        parts.quadrant.kind,
        parts.quadrant.b,
        parts.spec.intercept,
        None,
    )
    estimator.n_features_in_ = n_features
    estimator._store(prepared, View(whole, parts.quadrant, parts.columns), model)
    stored: FittedModel = estimator._model
    return stored


def _pass(parts: Parts, number: int, kept: Design) -> Pass:
    targets, own = parts.targets(number), parts.own(number)
    dual = parts.has_dual[number]
    fit = Fit(
        parts.coef[np.ix_(targets, own)].T,
        parts.level[targets],
        parts.intercept[targets],
        parts.beta[:, targets] if dual else None,
        parts.log_beta[number] if dual else None,
        float(parts.rcond[number]),
        parts.iterations[number],
        parts.residuals[number],
    )
    space, solver = cast(Any, parts.spaces[number]), parts.solvers[number]
    solution = Solution(fit, float(parts.dof[number]), space, solver)
    if own.size < kept.shape[1]:
        kept = kept.take(np.searchsorted(parts.kept, own))
    return Pass(targets, np.searchsorted(parts.columns, own), kept, solution)
