"""A fitted model: one pass over all features, or a second pass over each target's own choice.

``build_system`` factors one model as `choose` says, ``fit_stretchy`` solves it for targets, and
``fit_model`` adds the second pass. What else a fitted model tells (the spread of its coefficients,
its path along k or c) follows below.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed

from skstretch.core.gram import PrimalGram, PrimalTotals
from skstretch.core.krylov import Report
from skstretch.core.primal import primal_system
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit, Index, Mask
from skstretch.designs.protocol import AbsentDesign, Design
from skstretch.designs.threads import SHARED_ROWS, single_blas_thread
from skstretch.exceptions import IllConditionedWarning, SingularSystemError
from skstretch.solve.choose import (
    POOR_RCOND,
    QR_SPARE,
    Spec,
    choose_space,
    is_matrix_free,
    keeps_digits,
    loses_digits,
    unusable,
)
from skstretch.solve.direct import (
    DualLU,
    PrimalLU,
    System,
    accurate_system,
    check_invertible,
    gram_scale,
    primal_fit,
    with_scale,
)
from skstretch.solve.krylov import Krylov, krylov_system
from skstretch.solve.left_out import Jackknife, make_jackknife
from skstretch.solve.newton import INTERPOLATED, Minimised, minimise, warn_unless_certified


def build_system(
    design: Design,
    weights: Array,
    spec: Spec,
    report: Report | None = None,
    Y: Array | None = None,
) -> System:
    """Factor the model; ``solver="auto"`` goes on to QR where LU loses digits and Q fits.

    What QR keeps depends on the targets Y: where they are given, it must keep more than LU. A
    matrix-free system has nothing to factor; it tells its steps to `report`.
    """
    space = choose_space(*design.shape, spec.intercept, spec.solver)
    if is_matrix_free(design, spec):
        return krylov_system(design, weights, spec, space, report)
    if spec.solver == "qr":
        accurate = accurate_system(design, weights, spec, space)
        if accurate is None:
            raise MemoryError(
                f'solver="qr" needs four copies of the {design.shape} features in memory; use '
                'solver="auto", or raise sklearn.set_config(working_memory=...).'
            )
        return accurate
    lu = DualLU(design, weights, spec) if space == "dual" else PrimalLU(design, weights, spec)
    if spec.solver == "auto" and loses_digits(lu.rcond) and not _in_own_scales(design, spec.r):
        # it may keep digits that its condition does not promise
        kept = Y is not None and lu.rcond > 0.0 and keeps_digits(lu.rounding(Y))
        return lu if kept else _better(lu, design, weights, spec, Y)
    return lu


def _in_own_scales(design: Design, r: float) -> bool:
    """Whether rows of penalty factors have scales of their own: then LU's condition is not that of
    its digits, and it keeps more of them than QR does."""
    return design.log_factors(r) is not None and design.row_peaks(r) is not None


def _better(plain: System, design: Design, weights: Array, spec: Spec, Y: Array | None) -> System:
    """The accurate system, unless it does not fit, is singular, or loses more than LU.

    QR bounds its error target by target and component by component, with some digits to spare;
    the condition of LU says what is usual, whatever the targets are. Where rows are scaled one by
    one it may be that of the scales: then LU stays unless QR is sure of its digits.
    """
    try:
        accurate = accurate_system(design, weights, spec, plain.space)
        if accurate is None or not accurate.rcond > 0.0:
            return plain
        told = accurate.rcond if Y is None else accurate.fit(Y).rcond
        worse = Y is not None and QR_SPARE * told < plain.rcond
        if plain.rcond < OF_SCALES and told < POOR_RCOND:
            worse |= design.row_peaks(spec.r) is not None
        return plain if worse else accurate
    except (SingularSystemError, FloatingPointError):  # or powers that QR cannot hold
        return plain


def _merged(design: Design, Y: Array, weights: Array, spec: Spec) -> Fit | None:
    """The dual fit with copies of a sample as one of the mean of their targets and the sum of their
    weights: the same model by a system that is not singular. None where there are no copies.
    """
    features = design.in_memory() if spec.solver in ("auto", "qr") and spec.lam > 0.0 else None
    if features is None:
        return None
    _, rows, group = np.unique(features.excess(1.0), axis=0, return_index=True, return_inverse=True)
    if rows.size == weights.size:
        return None
    total = np.asarray(np.bincount(group, weights), dtype=np.float64)
    means = np.column_stack([np.bincount(group, weights * y) / total for y in Y.T])
    fit = fit_stretchy(design.take_rows(rows), means, total, spec)
    if fit.beta is None or fit.log_beta is None:
        return fit
    # beta = W (y - P alpha - m) / lam, the last of these as the mean of its copies has it
    log_beta = fit.log_beta[group]
    rest = (weights / spec.lam * np.exp(log_beta))[:, None] * (Y - means[group])
    beta = (weights / total[group])[:, None] * fit.beta[group] + rest
    return replace(fit, beta=beta, log_beta=log_beta)


# below this the condition of LU is one of scales: rounding alone leaves no equilibrated system so
# far from regular, but rows in scales of their own do, and cost no digits as a rule
OF_SCALES = 1e-40
# rounding of predictions beside the targets that is worth a warning
VISIBLE = 1e-6


def fit_stretchy(
    design: Design, Y: Array, weights: Array, spec: Spec, report: Report | None = None
) -> Fit:
    """Fit targets Y of shape (M, t) with positive weights of shape (M,); t = 1 for Newton."""
    if spec.exact and (design.shape[1] or spec.intercept is Intercept.COLUMN):
        [solution] = exact_solutions(design, Y, weights, spec)[1]
        return solution
    if design.shape[1] == 0:
        return constant_solution(Y, weights, spec)
    fit: Fit | None = None
    with single_blas_thread(min(design.shape)):
        system = build_system(design, weights, spec, report, Y)
        with suppress(SingularSystemError):
            fit = system.fit(Y)
        if system.space == "dual" and (fit is None or loses_digits(fit.rcond)):
            merged = _merged(design, Y, weights, spec)
            if merged is not None:
                return merged
        fit = system.fit(Y) if fit is None else fit
        if isinstance(system, Krylov) and system.gave_up(fit):
            system = build_system(design, weights, replace(spec, solver=system.space), None, Y)
            fit = system.fit(Y)
        dof = system.dof
    at = f"k={spec.k:g}, c={spec.c:g}"
    check_fit(fit, at, f"the system at {at} is ill-conditioned", "Use a smaller c or a larger k.")
    return replace(fit, dof=dof, space=system.space, solver=system.solver)


def exact_solutions(
    design: Design, Y: Array, weights: Array, spec: Spec
) -> tuple[Minimised, list[Fit]]:
    """The exact minimiser of every target Y (M, t), solved together; one solution for each."""
    with single_blas_thread(min(design.shape), SHARED_ROWS):
        found = minimise(design, Y, weights, spec)
        fits = [found.fit(target) for target in range(Y.shape[1])]
        dofs = [found.dof(target) for target in range(Y.shape[1])]
    warn_unless_certified(found)
    pairs = zip(fits, dofs, strict=True)
    return found, [replace(fit, dof=dof, space=found.space, solver="newton") for fit, dof in pairs]


def of_columns(fit: Fit, targets: Index, columns: Index, design: Design) -> Fit:
    """The fit, as a pass of a model over some of its targets and columns."""
    return replace(fit, targets=targets, columns=columns, design=design)


def check_fit(fit: Fit, at: str, trouble: str, advice: str) -> None:
    """Refuse coefficients that are not finite, and warn of a solution without correct digits."""
    if not (np.isfinite(fit.coef).all() and np.isfinite(fit.level).all()):
        raise FloatingPointError(
            f"the coefficients at {at} leave the range of float64: use a larger k, a smaller |a| "
            "or a smaller c."
        )
    if unusable(fit.rcond):
        warnings.warn(
            f"{trouble} (rcond={fit.rcond:.1e}): the coefficients may carry no correct digit. "
            f"{advice}",
            IllConditionedWarning,
            stacklevel=3,
        )


def constant_solution(Y: Array, weights: Array, spec: Spec) -> Fit:
    """No feature varies: only the intercept is left."""
    total = weights.sum()
    shrink = {
        Intercept.FREE: 1.0,
        Intercept.COLUMN: total / (total + spec.lam),
        Intercept.NONE: 0.0,
    }[spec.intercept]
    level = shrink * (weights @ Y) / total
    fit = Fit(np.zeros((0, Y.shape[1])), level, level, None, None, 1.0)
    return replace(fit, dof=shrink, space="primal", solver="primal")


@dataclass(frozen=True)
class FittedModel:
    """All that was learned, with a reference to the design that it was learned from."""

    design: Design
    Y: Array
    weights: Array
    spec: Spec
    passes: list[Fit]  # with their targets and columns

    @property
    def coef(self) -> Array:
        """Coefficients of shape (t, D), zero where a target did not keep a column."""
        coef = np.zeros((self.Y.shape[1], self.design.shape[1]))
        for p in self.passes:
            coef[np.ix_(p.targets, p.columns)] = p.coef.T
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
        return self._gathered([p.level for p in self.passes])

    @property
    def intercept(self) -> Array:
        return self._gathered([p.intercept for p in self.passes])

    def _gathered(self, values: Sequence[Array]) -> Array:
        """What the passes say of their targets, (t,); zero for those that no pass has."""
        out = np.zeros(self.Y.shape[1])
        for p, own in zip(self.passes, values, strict=True):
            out[p.targets] = own
        return out

    @property
    def dual(self) -> Array:
        """Dual coefficients in the paper's scale, shape (t, M)."""
        return np.vstack([self._dual(p).T for p in self.passes])

    def _dual(self, fit: Fit) -> Array:
        """Those of one pass, (M, t); of a primal fit ``beta = W (y - P alpha - m) / lam``."""
        if fit.beta is not None and fit.log_beta is not None:
            with np.errstate(over="ignore", divide="ignore"):
                logs = np.log(np.abs(fit.beta)) - fit.log_beta[:, None]
                return np.asarray(np.sign(fit.beta) * np.exp(logs))
        if self.spec.lam == 0.0:
            raise AttributeError(
                "the primal form without regularisation (c=inf) has no dual coefficients; use a "
                'finite c, or solver="dual" where there are fewer samples than features.'
            )
        residuals = self.Y[:, fit.targets] - fit.design.dot(fit.coef) - fit.level
        return np.asarray(self.weights[:, None] * residuals / self.spec.lam)

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

    def fitted_to(self, rows: Index) -> "FittedModel":
        """The model of some samples alone, on the columns that every pass kept."""
        Y, weights, passes = self.Y[rows], self.weights[rows], []
        for p in self.passes:
            part = p.design.take_rows(rows)
            solution = fit_stretchy(part, Y[:, p.targets], weights, self.spec)
            passes.append(of_columns(solution, p.targets, p.columns, part))
        return FittedModel(self.design.take_rows(rows), Y, weights, self.spec, passes)

    def variance(self, noise: Array | None) -> Array:
        """Variance of every coefficient given the kept columns, shape (t, D).

        The noise of a sample has the variance ``noise / w``; None estimates it.
        """
        out = np.zeros((self.Y.shape[1], self.design.shape[1]))
        for p, found, given in self._exact_spreads(noise):
            out[p.targets[0], p.columns] = given * found.variance(0)
        for p, system, each in self._spreads(noise):
            out[np.ix_(p.targets, p.columns)] = np.multiply.outer(each, system.variance())
        return out

    def covariance(self, noise: Array | None) -> Array:
        """Covariance of the coefficients given the kept columns, shape (t, D, D)."""
        D = self.design.shape[1]
        out = np.zeros((self.Y.shape[1], D, D))
        for p, found, given in self._exact_spreads(noise):
            out[np.ix_(p.targets, p.columns, p.columns)] = given * found.covariance(0)
        for p, system, each in self._spreads(noise):
            parts = np.multiply.outer(each, system.covariance())
            out[np.ix_(p.targets, p.columns, p.columns)] = parts
        return out

    def _spreads(self, noise: Array | None) -> Iterator[tuple[Fit, System, Array]]:
        """Every pass that kept a column, its system and the noise of its targets."""
        for p in self.passes:
            if p.columns.size == 0 or self.spec.exact:
                continue
            check_invertible(p.design, self.spec, "the spread of the coefficients")
            Y = self.Y[:, p.targets]
            system = build_system(p.design, self.weights, self.spec, None, Y)
            if noise is None:
                yield p, system, noise_variance(p.design, system, Y, self.weights, self.spec)
            else:
                yield p, system, noise[p.targets]

    def _exact_spreads(self, noise: Array | None) -> Iterator[tuple[Fit, Minimised, float]]:
        """The same for exact minimisers, whose passes have one target each."""
        for p in self.passes if self.spec.exact else ():
            if p.columns.size:
                found = minimise(p.design, self.Y[:, p.targets], self.weights, self.spec)
                given = found.noise_variance(0) if noise is None else float(noise[p.targets[0]])
                yield p, found, given


def noise_variance(design: Design, system: System, Y: Array, weights: Array, spec: Spec) -> Array:
    """``sum w e**2 / tr((I - H)'(I - H))`` of every target, shape (t,).

    Weights count as repetitions, in the residuals and in the trace. A fit that interpolates (0/0)
    has the mean square of its leave-one-out residuals, which are somewhat larger than the noise.
    """
    fit, norm = system.fit(Y), system.residual_norm()
    if norm <= INTERPOLATED * weights.sum():
        left_out = make_jackknife(design, Y, weights, spec).residuals
        return np.asarray(weights @ np.square(left_out) / weights.sum())
    residuals = Y - design.dot(fit.coef) - fit.level
    return np.asarray(weights @ np.square(residuals) / norm)


def light_model(model: FittedModel) -> FittedModel:
    """The model without Gram matrices that only its search needed."""
    designs = {id(model.design): model.design.light(model.spec.r)}
    passes = []
    for p in model.passes:
        design = designs.setdefault(id(p.design), p.design.light(model.spec.r))
        passes.append(replace(p, design=design))
    return replace(model, design=designs[id(model.design)], passes=passes)


def fit_columns(
    design: Design,
    Y: Array,
    weights: Array,
    spec: Spec,
    columns: Index,
    targets: Index,
    report: Report | None = None,
) -> FittedModel:
    """Fit some targets on some columns; an exact minimiser has a pass for every target."""
    kept = design if columns.size == design.shape[1] else design.take(columns)
    parts = [np.array([j]) for j in targets] if spec.exact else [targets]
    if spec.exact and kept.shape[1]:
        fits = exact_solutions(kept, Y[:, targets], weights, spec)[1]
    else:
        fits = [fit_stretchy(kept, Y[:, own], weights, spec, report) for own in parts]
    passes = [of_columns(fit, own, columns, kept) for fit, own in zip(fits, parts, strict=True)]
    return FittedModel(design, Y, weights, spec, passes)


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
    t = Y.shape[1]
    columns = np.arange(design.shape[1])
    whole = fit_columns(design, Y, weights, spec, columns, np.arange(t), report)
    if count >= design.n_penalised:
        return whole
    strengths = np.hstack([p.coef for p in whole.passes])

    def second(target: int) -> Fit:
        columns = design.strongest(strengths[:, target], count)
        kept = design.take(columns)
        solution = fit_stretchy(kept, Y[:, [target]], weights, spec)
        return of_columns(solution, np.array([target]), columns, kept)

    jobs = (delayed(second)(target) for target in range(t))
    passes = list(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))
    return FittedModel(design, Y, weights, spec, passes)


def warn_of_cancellation(model: FittedModel, log_peaks: Array) -> None:
    """Say so where predictions of the training data are nothing but rounding.

    A prediction ``P alpha`` is known to ``eps sum_j |alpha_j| max_i |P_ij|``; `log_peaks` are the
    logs of these largest features (D,). A sample of tiny weight hardly bounds its own: z-scores
    reach ``sqrt(sum(w) / w_i)``, and no condition number tells.
    """
    with np.errstate(over="ignore"):
        blur = np.finfo(np.float64).eps * (np.abs(model.coef) @ np.exp(log_peaks))
    size = np.abs(model.Y).max(axis=0)
    if not (blur > VISIBLE * size).any():
        return
    column = int(np.argmax(log_peaks))
    warnings.warn(
        f"features reach exp({log_peaks[column]:.0f}) at k={model.spec.k:g}, c={model.spec.c:g}: "
        f"predictions of such samples carry rounding errors of up to {blur.max():.1e}, beside "
        f"targets of up to {size.max():.1e}. Use a smaller |a|, or look at samples of tiny weight "
        "and at outlying values.",
        IllConditionedWarning,
        stacklevel=2,
    )


def coefficient_path(model: FittedModel, along: str, values: Sequence[float], count: int) -> Array:
    """Coefficients of every target at every value of k or c, shape (n_values, t, D)."""
    paths = []
    for value in values:
        at = float(value)
        spec = replace(model.spec, k=at) if along == "k" else replace(model.spec, c=at)
        fitted = fit_model(model.design, model.Y, model.weights, spec, count)
        paths.append(fitted.coef)
    return np.stack(paths)


# predictions of all leave-one-out models that are held at a time
CHUNK_BYTES = 1 << 27


def row_chunks(n_rows: int, n_models: int) -> Iterator[Index]:
    """Rows whose predictions by so many models fit in memory."""
    size = max(1, CHUNK_BYTES // (8 * max(1, n_models)))
    for start in range(0, n_rows, size):
        yield np.arange(start, min(n_rows, start + size))


# Models of rows that are seen once and not kept

# a share of a correlation that is rounding
ROUNDING = 1e-13

FORGOTTEN = (
    "this needs the training rows, and partial_fit keeps none of them: call fit with all rows "
    "instead (X may be a memory map or sparse)."
)


def totals_of(design: Design, Y: Array, weights: Array, r: float) -> PrimalTotals:
    """The primal system of the rows of a design: one pass for C, one for the targets."""
    total = float(weights.sum())
    means = np.asarray(weights @ Y / total)
    D, t = design.shape[1], Y.shape[1]
    if D == 0:
        none = np.zeros(0)
        gram = PrimalGram(r, np.zeros((0, 0)), none, design.offset, none, None, total)
        return PrimalTotals(gram, np.zeros((0, t)), means)
    with single_blas_thread(D):
        gram = design.column_grams([r], weights)[0]
        projected = design.project(gram, weights[:, None] * (Y - means))
    return PrimalTotals(gram, projected, means)


def with_totals(totals: PrimalTotals, spec: Spec) -> Spec:
    """The model with its c as a number: ``c="auto"`` follows the rows so far."""
    if totals.gram.n_features == 0 and spec.automatic:
        return replace(spec, c=1.0, automatic=False)
    scale = gram_scale(totals.gram, np.ones(0)) if spec.automatic else np.nan
    return with_scale(scale, spec)


def solve_totals(totals: PrimalTotals, spec: Spec, n_rows: int) -> Fit | None:
    """``(C + lam I) alpha = Qc'W y``; None where the rows do not determine alpha yet.

    With a penalty the system has a solution for any number of rows, without one it needs as many
    as there are coefficients; so it does for columns that are never penalised.
    """
    D = totals.gram.n_features
    if D == 0:
        return constant_solution(totals.means[None], np.array([totals.gram.total_weight]), spec)
    unknowns = D if spec.intercept is Intercept.NONE else D + 1
    if spec.lam == 0.0 and n_rows < unknowns:
        return None
    if totals.gram.free is not None and not _tell_apart(totals.gram, totals.gram.free, n_rows):
        return None
    with single_blas_thread(D):
        try:
            system = primal_system(totals.gram, spec.lam, spec.intercept)
            coef, constant = system.solve(totals.projected, totals.means)
            fit = primal_fit(totals.gram, coef, constant, spec.intercept, system.rcond)
            dof = system.dof
        except SingularSystemError:
            return None
    at = f"k={spec.k:g}, c={spec.c:g}"
    check_fit(
        fit,
        at,
        f"the sums of {n_rows} rows at {at} make an ill-conditioned system",
        "Use a smaller c or a larger k, or `fit`, which has a more accurate solver.",
    )
    return replace(fit, dof=dof, space="primal", solver="primal")


def _tell_apart(gram: PrimalGram, free: Index, n_rows: int) -> bool:
    """Whether the rows determine the coefficients of columns that are never penalised.

    By the eigenvalues of their correlations, which are known to a few eps.
    """
    S = gram.C[np.ix_(free, free)]
    size = np.sqrt(S.diagonal())
    if n_rows <= free.size or not (size > 0).all():
        return False
    return bool(np.linalg.eigvalsh(S / np.outer(size, size))[0] > ROUNDING * free.size)


def forgetful_model(totals: PrimalTotals, spec: Spec, n_rows: int) -> FittedModel | None:
    """A model that predicts and has no rows; None where they do not determine it yet."""
    solution = solve_totals(totals, spec, n_rows)
    if solution is None:
        return None
    D, t = totals.projected.shape
    means = totals.gram.centre
    design = AbsentDesign((n_rows, D), totals.gram.offset, FORGOTTEN, means=means)
    Y, weights = np.broadcast_to(np.nan, (n_rows, t)), np.broadcast_to(np.nan, (n_rows,))
    only = of_columns(solution, np.arange(t), np.arange(D), design)
    return FittedModel(design, Y, weights, spec, [only])
