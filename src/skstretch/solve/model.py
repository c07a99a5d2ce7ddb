"""A fitted model: one pass over all features, or a second pass over each target's own choice."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed

from skstretch.core.density import strongest
from skstretch.core.krylov import Report
from skstretch.core.types import Array, Index, Mask
from skstretch.designs import with_one_sum
from skstretch.designs.protocol import Design
from skstretch.solve.fit import Solution, fit_stretchy
from skstretch.solve.jackknife import Jackknife, make_jackknife
from skstretch.solve.spec import Spec
from skstretch.solve.spread import coefficient_covariance, coefficient_variance, dual_of_primal


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
