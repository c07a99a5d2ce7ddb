"""A fitted state in plain arrays: taken apart for a file, and put together from one."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from skstretch.core.quadrant import Quadrant, active_columns
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit, Index, Mask
from skstretch.designs import Design
from skstretch.estimators.state import Decision, State
from skstretch.solve import FittedModel, Solution, Spec
from skstretch.solve.model import Pass


@dataclass(frozen=True)
class Parts:
    """A state in plain arrays and without its training data, as it is written to files.

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
    coef: Array  # (t, D), of the features in their unit
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
    gaps: list[float | None]  # p, None for a closed form

    @property
    def spec(self) -> Spec:
        intercept, solver = Intercept(self.intercept_kind), cast(Any, self.solver)
        linear = self.quadrant.kind == "linear"
        return Spec(self.k, self.c, intercept, solver, self.quadrant.unit, linear)

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


def take_apart(state: State) -> Parts:
    """The parts of a state."""
    model = state.model
    solutions = [p.solution for p in model.passes]
    fits = [solution.fit for solution in solutions]
    # a model of batches has rows that it does not keep
    M = int(state.used.sum())
    beta, log_beta = np.zeros((M, state.n_targets)), np.zeros((len(fits), M))
    has_dual = [fit.beta is not None and fit.log_beta is not None for fit in fits]
    for i in np.flatnonzero(has_dual):
        beta[:, model.passes[i].targets], log_beta[i] = fits[i].beta, fits[i].log_beta
    return Parts(
        k=float(model.spec.k),
        c=float(model.spec.c),
        intercept_kind=model.spec.intercept.value,
        solver=model.spec.solver,
        quadrant=state.quadrant,
        dtype=state.dtype.name,
        used=state.used,
        coef=state.spread(model.coef),
        support=state.support,
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
        gaps=[fit.gap for fit in fits],
    )


def put_together(
    parts: Parts,
    whole: Design,
    kept: Design,
    Y: Array,
    weights: Array,
    single: bool,
    decision: Decision | None = None,
) -> State:
    """The state of parts and designs of its training features.

    `whole` has the columns that take part in a fit, `kept` those that some target keeps. Either
    may be a design that only knows its shape.
    """
    passes = [_pass(parts, number, kept) for number in range(len(parts.spaces))]
    model = FittedModel(whole, Y, weights, parts.spec, passes)
    dtype = np.dtype(parts.dtype)
    return State(model, parts.quadrant, parts.columns, parts.used, dtype, single, decision)


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
        parts.gaps[number],
    )
    space, solver = cast(Any, parts.spaces[number]), parts.solvers[number]
    solution = Solution(fit, float(parts.dof[number]), space, solver)
    if own.size < kept.shape[1]:
        kept = kept.take(np.searchsorted(parts.kept, own))
    return Pass(targets, np.searchsorted(parts.columns, own), kept, solution)
