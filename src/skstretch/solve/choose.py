"""What to fit, and the plan of it: every choice of size, storage, targets or memory, made once.

Nothing is built or solved here. A `Spec` is the model that parameters stand for. Estimators make
a `Plan` from what is known before any work is done, keep it as ``plan_`` and print it; preparation,
solvers and searches ask the functions below, so that what is announced and what is done is one
answer. All constants that change what a search finds stand here too.

Sizes enter in one way: by an estimate of seconds (operations over `RATE`) and of bytes, which a
`Budget` bounds.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from skstretch.core.bridge import Tolerance
from skstretch.core.bridge_path import PathRule
from skstretch.core.krylov import CYCLE
from skstretch.core.stretch import (
    Intercept,
    checked_number,
    penalty,
    penalty_in_unit,
    stretch_exponent,
)
from skstretch.core.types import PRECISION
from skstretch.designs.as_design import Storage
from skstretch.designs.protocol import Design
from skstretch.designs.threads import working_bytes

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


# floating point operations a second of LU and inverses on two cores (`make performance`)
RATE = 4e10


@dataclass(frozen=True)
class Budget:
    """What a fit may take.

    Attributes
    ----------
    seconds : float
        Of one factorisation; what takes longer is iterated without the matrix.
    search_seconds : float
        Of a default search; what takes longer searches fewer families.
    n_bytes : int or None
        For square matrices; None for half of the machine's memory, or scikit-learn's
        working_memory where that is more.
    """

    seconds: float = 50.0
    search_seconds: float = 600.0
    n_bytes: int | None = None

    @property
    def available_bytes(self) -> int:
        """The bytes, asked of the machine where none are given."""
        if self.n_bytes is not None:
            return self.n_bytes
        try:
            physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            physical = 0
        return max(working_bytes(), physical // 2)


BUDGET = Budget()

# Precision: `PRECISION` is the target. Where rounding moves more than a tenth of it, by the
# condition and by drawn perturbations, the accurate solution by QR takes over from LU.
# how much better than its bound QR is, as a rule
QR_SPARE = 30.0

# Honesty, see `unusable`: a solution below this condition carries no trustworthy digit ...
POOR_RCOND = 1e-13
# ... and leave-one-out residuals must be made of so many independent numbers: the best ridge
# candidates of real sets have ten and more
FEWEST_NUMBERS = 2.0

# The automatic penalty of a single model, as a share of the mean diagonal of K; under other losses
# than squared error, of the penalty at which features begin to matter
AUTOMATIC_STRENGTH = 0.1

# Relative strengths that a search tries, from interpolation to nearly the mean alone: at k = 2,
# where one eigendecomposition serves all; every second, where each takes a factorisation
STRENGTHS = tuple(10.0 ** (e / 2) for e in (-24, -22, -20, -18, *range(-16, 5)))
# the path of an exact minimiser along c, and how closely candidates are solved while they only
# choose; its gap is also the residual at which fits without the matrix end
PATH = PathRule(
    n=20,
    first_dof=0.5,
    most_dof=0.98,
    step=0.1,
    least_diagonal=1e-6,
    least_residual=1e-4,
    patience=3,
    worse=1.1,
)
SCORING = Tolerance(gap=1e-6, step=1e-2, stale=3e-2)
# of other losses than squared error: the step of c, and the part of the loss of no features below
# which a path has nothing left to explain
LOSS_RATIO, LEAST_LOSS = 2.0, 1e-3
# folds where features are selected (that small, one is left out by one Newton step on a path's way;
# what it and larger ones, which are solved, say of the best candidates is then made exact), and
# held-out samples that are enough to choose by
N_FOLDS, ENOUGH = 10, 1_000
# numbers that a lasso path is made of, at most: of more columns those that correlate most
PATH_NUMBERS = 2**24
# of stability selection: the threshold for which one feature is selected in so many halves that
# no assumption is needed would be (1 + this) / 2 (Meinshausen and Buehlmann)
SURE_SHARE = 0.8
# parts of the samples that are left out in turn for the errors of effects
N_JACKKNIFE = 20
# of adaptive intervals: what residuals that teach a spread are at least, relative to their median
LEAST_SPREAD = 0.05
# of novelty: principal components at most, and training samples that new ones are compared with
N_COMPONENTS, N_REFERENCE = 10, 200

# Averages (docs/rules.md): how soon a family that is worse loses its share (squared error, log
# loss), what a != 0 is worth less on few samples, and the least weight
TAU, TAU_CLASSES, HANDICAP, LEAST_WEIGHT = 0.15, 0.3, 16.0, 0.01
# by how much, as a part of log(classes), an approximate log loss may lie above the exact one
APPROXIMATE_LOSS = 0.15


@dataclass(frozen=True)
class Families:
    """What a search tries by itself.

    Attributes
    ----------
    linear_k, k : tuple of float
        Powers at a = 0 (exact minimisers below 2, ridge at 2) and of closed forms elsewhere.
    a : tuple of float
        Transforms ``exp(a z)``; 0 is the linear limit.
    counts : tuple of int
        Numbers of features that are selected along the lasso path, for ridge (k < 2 took ten times
        as long and was no better: 0.494 and 0.490, 0.392 and 0.396 of eyedata, 0.0237 twice of
        cookie).
    iterated : bool
        Whether closed forms are fitted without the matrix.
    left_out : str
        What is missing beside the whole search.
    """

    linear_k: tuple[float, ...]
    k: tuple[float, ...] = (1.25, 1.5, 2.0)
    counts: tuple[int, ...] = (2, 3, 5, 7, 10, 14, 20)
    iterated: bool = False
    left_out: str = ""
    a: tuple[float, ...] = (-0.2, 0.0)

    @property
    def strengths(self) -> tuple[float, ...]:
        """The automatic strengths; of iterated fits those about that of single models."""
        if not self.iterated:
            return STRENGTHS
        return tuple(s for s in STRENGTHS if 0.99 < 10.0 * s / AUTOMATIC_STRENGTH < 101.0)

    @property
    def loss_k(self) -> tuple[float, ...]:
        """Powers of other losses than squared error: all at a = 0 but the smallest."""
        return self.linear_k[1:]

    def seconds(
        self, n_samples: int, n_features: int, n_targets: int, n_c: int | None = None
    ) -> float:
        """About how long such a search takes, by counting operations; `n_c` values of c if given.

        Closed forms take a Gram matrix for each power and a factorisation for each penalty; the
        path of an exact minimiser a Gram matrix and a factorisation for every Newton step, about
        four a penalty, and as many again for exact leave one out; both for every target.
        """
        side = min(n_samples, n_features)
        gram, factor = float(n_samples) * n_features * side, 2.0 * float(side) ** 3
        if self.iterated:
            fits = (n_c or len(self.strengths)) * (len(self.k) + 1)
            return 4.0 * CYCLE * fits * n_samples * n_features / RATE
        curved, linear = len(self.k) * sum(a != 0.0 for a in self.a), 0.0 in self.a
        closed = (curved + linear) * gram + curved * (n_c or len(self.strengths) / 2.0) * factor
        n_exact = linear * sum(k < 2.0 for k in self.linear_k)
        exact = 8.0 * n_exact * (n_c or PATH.n) * n_targets * (gram + factor)
        chosen = N_FOLDS * len(self.strengths) / 2.0 * n_targets
        selected = chosen * n_samples * float(np.square(self.counts).sum())
        return (closed + exact + selected) / RATE


# From the whole search to what is left of it where the whole would take too long
SEARCHES = (
    Families((1.02, 1.05, 1.1, 1.25, 1.5, 2.0)),
    Families(
        (1.05, 1.25, 1.5, 2.0),
        counts=(3, 7, 14),
        left_out="k = 1.02 and 1.1 at a = 0 and half of the numbers of features",
    ),
    Families(
        (2.0,), counts=(), left_out="sparse linear models (a = 0, k < 2) and selected features"
    ),
    Families(
        (2.0,),
        (1.25, 2.0),
        counts=(),
        iterated=True,
        left_out="sparse linear models (a = 0, k < 2), selected features, k = 1.5, and all but "
        "five penalties",
    ),
)


def choose_families(
    storage: Storage, n_used: int, n_targets: int, budget: Budget = BUDGET
) -> Families:
    """The first of `SEARCHES` that the budget allows; of data that `reads_again`, without what
    every Newton step and every fold would read anew."""
    shape = n_used, storage.shape[1]
    if is_costly(*shape, budget):
        return SEARCHES[-1]
    for families in SEARCHES[2 * reads_again(storage) : -2]:
        if families.seconds(*shape, n_targets) <= budget.search_seconds:
            return families
    return SEARCHES[-2]


def reads_again(storage: Storage) -> bool:
    """Whether every step of an exact minimiser would read X again.

    So it is where the z-scores take more than half the working memory, for what is read in blocks
    and for sparse matrices of more rows than columns; not for plain arrays in memory, and for wide
    sparse matrices, whose products are cheap.
    """
    n_rows, n_columns = storage.shape
    tall = storage.kind == "sparse" and n_rows > n_columns
    return (tall or is_read(storage)) and 8 * n_rows * n_columns > working_bytes() // 2


def is_read(storage: Storage) -> bool:
    """Whether X is read in blocks, by Dask or from a file."""
    return "blocks" in storage.kind


def comes_into_memory(storage: Storage, one_pass: bool) -> bool:
    """Whether a search reads X once and goes on in memory: blocks that fit, unless every candidate
    comes from `one_pass` over them."""
    return is_read(storage) and not one_pass and not reads_again(storage)


def approximates_folds(largest: float, total: float) -> bool:
    """Whether one Newton step is near enough to what a path without a fold would be, by the sum of
    weights of the largest fold and that of all samples."""
    return largest * N_FOLDS <= total * (1.0 + 1e-9)


def count_for_stability(expected_false: float, n_features: int, half: int) -> int:
    """How many features each half selects, where few of those that persist may be false.

    So many that the bound without assumptions holds at a threshold of 0.9; a path through more
    than half of its samples says little.
    """
    most = min(n_features, max(1, half // 2))
    return max(1, min(most, int(np.sqrt(SURE_SHARE * expected_false * n_features))))


@dataclass(frozen=True)
class Plan:
    """How a fit is computed, decided before any work is done.

    Attributes
    ----------
    storage : Storage
        How X is stored.
    n_used : int
        Samples of positive weight.
    intercept : Intercept
    solver : str or None
        As the user asked; None for a search.
    exact : bool
        Whether a single model is an exact minimiser, found by Newton's method.
    selects : bool
        Whether a second fit on selected features follows, with a system of its own.
    n_candidates : int
        Models that a search tries.
    searched : str
        What it tries, in words.
    left_out : tuple of str
        What was not tried, and why.
    seconds : float
        A rough estimate.
    traffic : str
        What a pass over the data costs a cluster.
    into_memory : bool
        Whether X, stored in blocks, is read once and searched in memory.
    held_out : str or None
        Once fitted: which samples the cut and the probabilities of classes were learned on, each
        by a model that had not seen it; None after `partial_fit`.
    residual : float or None
        Once fitted: the relative residual that Krylov left of its system, the largest of all
        targets.
    """

    storage: Storage
    n_used: int
    intercept: Intercept
    solver: str | None = None
    exact: bool = False
    selects: bool = False
    n_candidates: int = 1
    searched: str = ""
    left_out: tuple[str, ...] = ()
    seconds: float = 0.0
    traffic: str = ""
    into_memory: bool = False
    held_out: str | None = None
    residual: float | None = None
    budget: Budget = field(default=BUDGET, repr=False)

    @property
    def space(self) -> Space:
        """The form of the system, should no column be constant."""
        return choose_space(self.n_used, self.storage.shape[1], self.intercept, self.solver)

    @property
    def side(self) -> int:
        """The side of the square system."""
        return self.n_used if self.space == "dual" else self.storage.shape[1]

    @property
    def matrix_free(self) -> bool:
        """Whether the system is solved without its matrix."""
        shape = self.n_used, self.storage.shape[1]
        return not self.exact and may_be_matrix_free(self.solver, *shape, self.budget)

    @property
    def method(self) -> str:
        """How systems are solved."""
        if self.exact or self.matrix_free:
            return "Newton" if self.exact else "Krylov"
        return {"dual": "LU", "primal": "LU", "qr": "QR"}.get(self.solver or "", "LU or QR")

    def __str__(self) -> str:
        (n_rows, n_columns), stored = self.storage.shape, self.storage
        weighed = "" if self.n_used == n_rows else f" ({self.n_used:,} of positive weight)"
        need = "" if self.matrix_free else f" of {readable(direct_bytes(self.side))}"
        first = ", then again on selected features" if self.selects else ""
        models = f", up to {self.n_candidates:,} models to try" if self.n_candidates > 1 else ""
        read = ", read into memory once" if self.into_memory else ""
        about = f", about {_rounded(self.seconds)}" if self.seconds else ""
        text = (
            f"{n_rows:,} samples × {n_columns:,} features{weighed}{models}{about}; {stored.dtype} "
            f"{stored.kind}, {readable(stored.nbytes)}{self.traffic}{read}; {self.method} on a "
            f"{self.space} system of {self.side:,} x {self.side:,}{need}{first}"
        )
        missing = "".join(f"; left out: {each}" for each in self.left_out)
        return text + (f"; tries {self.searched}" if self.searched else "") + missing


def _rounded(seconds: float) -> str:
    """A rough time in words."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1.0):.0f} s"


def readable(nbytes: float) -> str:
    """Bytes in the unit that suits them."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if nbytes >= scale:
            return f"{nbytes / scale:.1f} {unit}"
    return f"{nbytes / 1e3:.0f} kB"


def choose_space(
    n_samples: int, n_features: int, intercept: Intercept, solver: str | None = None
) -> Space:
    """The form of a fit: as `solver` says, else the smaller system.

    Dual for fewer samples than coefficients, primal otherwise. The free intercept takes one
    sample away, the column adds one coefficient; so the chosen system is regular without a
    penalty whenever one of the two is.
    """
    if solver in ("dual", "primal"):
        return "dual" if solver == "dual" else "primal"
    if intercept is Intercept.NONE:
        return "dual" if n_samples < n_features else "primal"
    return "dual" if n_samples < n_features + 1 else "primal"


def crossfit_space(
    n_samples: int, n_features: int, intercept: Intercept, solver: str | None = None
) -> Space:
    """The space in which samples are left out: that of a fit with one sample less.

    Where samples and coefficients are equally many, a primal fit without one of the samples has
    no unique solution as the penalty goes to zero; the dual form is regular with and without it.
    """
    return choose_space(n_samples - 1, n_features, intercept, solver)


def direct_bytes(side: int) -> int:
    """Bytes that a direct fit takes: three square matrices of doubles."""
    return 3 * 8 * side**2


def is_large(n_samples: int, n_features: int, budget: Budget = BUDGET) -> bool:
    """Whether K would be too large for the machine."""
    return direct_bytes(min(n_samples, n_features)) > budget.available_bytes


def is_costly(n_samples: int, n_features: int, budget: Budget = BUDGET) -> bool:
    """Whether K is worth doing without: factor and inverse take too long, or it `is_large`.

    A fit by ``"auto"`` then iterates, and classifiers hold out a tenth of the samples once rather
    than every sample alone; what needs an inverse makes it, as long as K is not too large.
    """
    operations = 2.0 * float(min(n_samples, n_features)) ** 3
    return operations > budget.seconds * RATE or is_large(n_samples, n_features, budget)


def may_be_matrix_free(
    solver: str | None, n_samples: int, n_features: int, budget: Budget = BUDGET
) -> bool:
    """Whether a fit may do without K, as far as shapes tell.

    As asked, or by ``"auto"`` where K `is_costly`. A search has no solver (None) and needs K.
    """
    return solver == "krylov" or (solver == "auto" and is_costly(n_samples, n_features, budget))


def holds_out(solver: str, n_samples: int, n_features: int) -> bool:
    """Whether a tenth of the samples is held out once, in place of every sample alone.

    Leave one out takes an inverse: Krylov has none, and where K `is_costly` it costs more than the
    fit.
    """
    return solver == "krylov" or is_costly(n_samples, n_features)


def has_inverse(design: Design, spec: Spec) -> bool:
    """Whether an inverse can be had of a model: not of Krylov as asked, nor where K `is_large`."""
    if spec.solver == "krylov":
        return False
    large = spec.solver == "auto" and is_large(*design.shape)
    return not (large and design.row_peaks(spec.r) is None)


def is_matrix_free(design: Design, spec: Spec) -> bool:
    """Whether the model is solved without K: as asked, or by ``"auto"`` where K `is_costly`.

    Elsewhere ``"auto"`` prefers the direct solution, which is exact and tells its condition, its
    degrees of freedom and its leave-one-out residuals; so it does where powers need scaled rows.
    """
    if spec.exact or not may_be_matrix_free(spec.solver, *design.shape):
        return False
    if design.n_penalised == 0:  # nothing is penalised: least squares on a few columns
        return False
    return spec.solver == "krylov" or design.row_peaks(spec.r) is None


def loses_digits(rcond: float) -> bool:
    """Whether LU may lose more than the accurate solution by QR would."""
    return float(np.finfo(np.float64).eps) > PRECISION / 10.0 * rcond


def keeps_digits(rounding: float) -> bool:
    """Whether LU loses no more than that, by what drawn perturbations do to its coefficients."""
    return rounding <= PRECISION / 10.0


def unusable(
    rcond: float = 1.0,
    values: Sequence[np.ndarray] = (),
    gap: float = 0.0,
    promised_gap: float = np.inf,
    rank: float = np.inf,
    n_samples: int = 0,
) -> str:
    """Why a solution must not be believed; empty where it may.

    The one judgement of single fits, which warn, and of searches, which leave such candidates out.

    Parameters
    ----------
    rcond : float
        The condition of the system.
    values : sequence of arrays
        Coefficients or residuals, which must be finite.
    gap, promised_gap : float
        The duality gap of an exact minimiser, and the one that it was solved to.
    rank, n_samples : float, int
        The stable rank of the matrix R of leave-one-out residuals ``R y``, and its side. Where
        nearly as many coefficients are free as there are samples, all residuals can be multiples
        of one number, which is small in one draw of the noise out of a few: it would win the
        search.
    """
    if rcond < POOR_RCOND:  # one that is not known (NaN) says nothing
        return f"ill-conditioned: rcond {rcond:.0e} is below {POOR_RCOND:.0e}"
    if not all(np.isfinite(each).all() for each in values):
        return "predictions are not finite"
    if not gap <= promised_gap:
        return f"not converged: its duality gap is {gap:.1e}, above {promised_gap:.0e}"
    most = min(FEWEST_NUMBERS, (n_samples - 1) / 2)
    if rank < most:
        return f"all errors of left-out samples rest on fewer than {most:g} independent numbers"
    return ""
