"""A fitted model: one pass over all features, or a second pass over each target's own choice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed

from skstretch.core.crossfit import jackknife_plus, residual_width
from skstretch.core.krylov import Report
from skstretch.core.stretch import strongest
from skstretch.core.types import Array, Fit, Index, Mask
from skstretch.designs import with_one_sum
from skstretch.designs.protocol import Design
from skstretch.solve.choose import Solution, build_system, check_invertible, fit_stretchy
from skstretch.solve.jackknife import Jackknife, make_jackknife
from skstretch.solve.spec import Spec, System

# Analysis of variance of a fitted model: noise, and the spread of the coefficients.


def noise_variance(design: Design, fit: Fit, system: System, Y: Array, weights: Array) -> Array:
    """``sum w e**2 / tr((I - H)'(I - H))`` of every target, shape (t,).

    Weights count as repetitions, in the residuals and in the trace.
    """
    norm = system.residual_norm()
    if norm <= 1e-9 * weights.sum():
        raise ValueError(
            "the fit interpolates the data, so the noise cannot be estimated from its residuals "
            "(0/0): pass noise_variance=..."
        )
    residuals = Y - design.dot(fit.coef) - fit.level
    return np.asarray(weights @ np.square(residuals) / norm)


def coefficient_variance(
    design: Design, Y: Array, weights: Array, spec: Spec, noise: Array | None
) -> Array:
    """The variance of every coefficient, shape (t, D), for noise of variance ``noise / w``."""
    if design.shape[1] == 0:
        return np.zeros((Y.shape[1], 0))
    check_invertible(design, spec, "the spread of the coefficients")
    system = build_system(design, weights, spec)
    if noise is None:
        noise = noise_variance(design, system.fit(Y), system, Y, weights)
    return np.multiply.outer(noise, system.variance())


def coefficient_covariance(
    design: Design, Y: Array, weights: Array, spec: Spec, noise: Array | None
) -> Array:
    """The covariance of the coefficients of every target, shape (t, D, D)."""
    if design.shape[1] == 0:
        return np.zeros((Y.shape[1], 0, 0))
    check_invertible(design, spec, "the spread of the coefficients")
    system = build_system(design, weights, spec)
    if noise is None:
        noise = noise_variance(design, system.fit(Y), system, Y, weights)
    return np.multiply.outer(noise, system.covariance())


def dual_of_primal(design: Design, fit: Fit, Y: Array, weights: Array, lam: float) -> Array:
    """``beta = W (y - P alpha - m) / lam``, shape (M, t): the dual coefficients of a primal fit."""
    return np.asarray(weights[:, None] * (Y - design.dot(fit.coef) - fit.level) / lam)


@dataclass(frozen=True)
class Pass:
    """A fit of some targets on some columns of the design."""

    targets: Index
    columns: Index
    design: Design
    solution: Solution


@dataclass(frozen=True)
class FittedModel:
    """All that was learned, with a reference to the design that it was learned from."""

    design: Design
    Y: Array
    weights: Array
    spec: Spec
    passes: list[Pass]

    @property
    def coef(self) -> Array:
        """Coefficients of shape (t, D), zero where a target did not keep a column."""
        coef = np.zeros((self.Y.shape[1], self.design.shape[1]))
        for p in self.passes:
            coef[np.ix_(p.targets, p.columns)] = p.solution.fit.coef.T
        return coef

    @property
    def support(self) -> Mask:
        """Which columns each target kept, shape (t, D)."""
        support = np.zeros((self.Y.shape[1], self.design.shape[1]), dtype=bool)
        for p in self.passes:
            support[np.ix_(p.targets, p.columns)] = True
        return support

    @property
    def level(self) -> Array:
        """Predictions where the excess of every feature is zero, shape (t,)."""
        return np.concatenate([p.solution.fit.level for p in self.passes])

    @property
    def intercept(self) -> Array:
        return np.concatenate([p.solution.fit.intercept for p in self.passes])

    @property
    def dual(self) -> Array:
        """Dual coefficients in the paper's scale, shape (t, M)."""
        return np.vstack(
            [_dual(p, self.Y[:, p.targets], self.weights, self.spec).T for p in self.passes]
        )

    @cached_property
    def jackknives(self) -> list[Jackknife]:
        """The leave-one-out models of every pass, given the columns that it kept."""
        return [
            make_jackknife(p.design, self.Y[:, p.targets], self.weights, self.spec)
            for p in self.passes
        ]

    @cached_property
    def loo_residuals(self) -> Array:
        """Residuals of every sample by the model fitted without it, shape (M, t)."""
        residuals = np.empty_like(self.Y)
        for p, jackknife in zip(self.passes, self.jackknives, strict=True):
            residuals[:, p.targets] = jackknife.residuals
        return residuals

    def __getstate__(self) -> dict[str, object]:
        # inverses can be made again: they stay out of pickles
        return {name: v for name, v in self.__dict__.items() if name != "jackknives"}

    def variance(self, noise: Array | None) -> Array:
        """Variance of every coefficient given the kept columns, shape (t, D)."""
        out = np.zeros((self.Y.shape[1], self.design.shape[1]))
        for p, given in self._with_noise(noise):
            parts = coefficient_variance(
                p.design, self.Y[:, p.targets], self.weights, self.spec, given
            )
            out[np.ix_(p.targets, p.columns)] = parts
        return out

    def covariance(self, noise: Array | None) -> Array:
        """Covariance of the coefficients given the kept columns, shape (t, D, D)."""
        D = self.design.shape[1]
        out = np.zeros((self.Y.shape[1], D, D))
        for p, given in self._with_noise(noise):
            parts = coefficient_covariance(
                p.design, self.Y[:, p.targets], self.weights, self.spec, given
            )
            out[np.ix_(p.targets, p.columns, p.columns)] = parts
        return out

    def _with_noise(self, noise: Array | None) -> Iterator[tuple[Pass, Array | None]]:
        for p in self.passes:
            yield p, None if noise is None else noise[p.targets]


def light_model(model: FittedModel) -> FittedModel:
    """The model without Gram matrices that only its search needed."""
    designs = {id(model.design): with_one_sum(model.design, model.spec.r)}
    passes = []
    for p in model.passes:
        design = designs.setdefault(id(p.design), with_one_sum(p.design, model.spec.r))
        passes.append(replace(p, design=design))
    return replace(model, design=designs[id(model.design)], passes=passes)


def fit_model(
    design: Design,
    Y: Array,
    weights: Array,
    spec: Spec,
    count: int,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> FittedModel:
    """Fit on all columns; where `count` is smaller, fit each target again on its strongest.

    A matrix-free fit on all columns tells its steps to `report`.
    """
    D, t = design.shape[1], Y.shape[1]
    whole = fit_stretchy(design, Y, weights, spec, report)
    first = Pass(np.arange(t), np.arange(D), design, whole)
    if count >= D:
        return FittedModel(design, Y, weights, spec, [first])

    def second(target: int) -> Pass:
        columns = strongest(first.solution.fit.coef[:, target], count)
        kept = design.take(columns)
        solution = fit_stretchy(kept, Y[:, [target]], weights, spec)
        return Pass(np.array([target]), columns, kept, solution)

    jobs = (delayed(second)(target) for target in range(t))
    passes = list(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))
    return FittedModel(design, Y, weights, spec, passes)


def _dual(p: Pass, Y: Array, weights: Array, spec: Spec) -> Array:
    fit = p.solution.fit
    if fit.beta is not None and fit.log_beta is not None:
        with np.errstate(over="ignore", divide="ignore"):
            logs = np.log(np.abs(fit.beta)) - fit.log_beta[:, None]
            return np.asarray(np.sign(fit.beta) * np.exp(logs))
    if spec.lam == 0.0:
        raise AttributeError(
            "the primal form without regularisation (c=inf) has no dual coefficients; use a "
            'finite c, or solver="dual" where there are fewer samples than features.'
        )
    return dual_of_primal(p.design, fit, Y, weights, spec.lam)


# Coefficients along k or c, from the design that a model was fitted on.


def coefficient_path(model: FittedModel, along: str, values: Sequence[float], count: int) -> Array:
    """Coefficients of every target at every value of k or c, shape (n_values, t, D)."""
    paths = []
    for value in values:
        at = float(value)
        spec = replace(model.spec, k=at) if along == "k" else replace(model.spec, c=at)
        fitted = fit_model(model.design, model.Y, model.weights, spec, count)
        paths.append(fitted.coef)
    return np.stack(paths)


# Prediction intervals of a fitted model.


# predictions of all leave-one-out models that are held at a time
CHUNK_BYTES = 1 << 27


def interval_bounds(
    model: FittedModel, new: Design, coverage: float, method: str
) -> tuple[Array, Array]:
    """``(lower, upper)`` of shape (N, t) at the rows of `new`."""
    if model.weights.size < 2:
        raise ValueError("intervals need at least two samples of positive weight.")
    return _plus(model, new, coverage) if method == "plus" else _residual(model, new, coverage)


def _plus(model: FittedModel, new: Design, coverage: float) -> tuple[Array, Array]:
    shape = new.shape[0], model.Y.shape[1]
    lower, upper = np.empty(shape), np.empty(shape)
    for p, jackknife in zip(model.passes, model.jackknives, strict=True):
        kept = new.take(p.columns)
        for rows in _chunks(new.shape[0], model.weights.size):
            part = kept.take_rows(rows)
            for i, target in enumerate(p.targets):
                bounds = jackknife_plus(
                    jackknife.predictions(part, i), jackknife.residuals[:, i], coverage
                )
                lower[rows, target], upper[rows, target] = bounds
    return lower, upper


def _residual(model: FittedModel, new: Design, coverage: float) -> tuple[Array, Array]:
    centre = new.dot(model.coef.T) + model.level
    width = np.array([residual_width(r, coverage) for r in model.loo_residuals.T])
    return centre - width, centre + width


def _chunks(n_rows: int, n_models: int) -> Iterator[Index]:
    size = max(1, CHUNK_BYTES // (8 * max(1, n_models)))
    for start in range(0, n_rows, size):
        yield np.arange(start, min(n_rows, start + size))
