"""Small problems, and the grid of them held against literal refits."""

from types import SimpleNamespace

import numpy as np

from skstretch.estimators.inputs import prepare
from skstretch.search import Grid, Problem, evaluate_grid, folds_from_splits, leave_one_out
from tests import literal

SHAPES = {"wide": (15, 40), "tall": (40, 6), "square": (12, 12)}
AS, KS, CS = (-0.2, 0.0, 0.5), (1.1, 1.25, 1.5, 2.0), (1.0, 1e3, np.inf)
DENSITIES = (1.0, 0.5, 0.1)
# shape, rows that have a rare value, noise
RARE = {
    "wide": (30, 80, 30, 0.05),
    "wide, some rows": (40, 60, 20, 0.01),
    "tall": (60, 5, 60, 0.05),
}


def data(shape, n_targets=1, seed=0):
    """X with columns of different location and scale, and Y (n, t) that depends on three."""
    M, D = SHAPES[shape] if isinstance(shape, str) else shape
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((M, D))
    X = Z * rng.uniform(0.5, 20.0, D) + rng.uniform(-30.0, 30.0, D)
    effects = rng.standard_normal((min(3, D), n_targets))
    return X, Z[:, :3] @ effects + 0.5 * rng.standard_normal((M, n_targets)) + 3.0


def rare_columns(kind):
    """Columns near one, and zero in one row or (tall) two: at a=-3 features reach e**16.

    At k=1.05 stretched features reach e**320. In some rows no feature may be large.
    """
    M, D, n_rows, noise = RARE[kind]
    rng = np.random.default_rng(0)
    X = 1 + noise * rng.standard_normal((M, D))
    X[np.arange(D) % n_rows, np.arange(D)] = 0.0
    if M > D:
        X[np.arange(D) + M // 2, np.arange(D)] = 0.0
    return X, X[:, :3].sum(axis=1, keepdims=True) + 0.2 * rng.standard_normal((M, 1))


def prepared_data(X, weights=None, intercept=True, quadrant="exp"):
    """X measured as an estimator would."""
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    settings = SimpleNamespace(quadrant=quadrant, b=0.0, fit_intercept=intercept, _loss="squared")
    return prepare(settings, X, weights)


def evaluated(X, Y, splits=None, *, a=AS, k=KS, c=CS, densities=(1.0,), **how):
    """Every candidate with its outcome and out-of-fold predictions; None is leave one out."""
    prepared = prepared_data(X, **how)
    rows = prepared.rows
    folds = leave_one_out(rows.size)
    if splits is not None:
        folds = folds_from_splits(splits, rows, len(X))
    counts = [literal.count_of(density, X.shape[1]) for density in densities]
    problem = Problem(Y[rows], prepared.weights, prepared.intercept, folds)
    grid = Grid(a, k, c, densities, counts)
    for candidate, outcome in evaluate_grid(grid, lambda a: prepared.at(a).design, problem):
        yield candidate, outcome, Y[rows][folds.tested] - outcome.residuals


def assert_literal(X, Y, splits=None, *, at_least=0.9, huge=False, **settings):
    """Usable candidates equal literal refits; `at_least` this share of the candidates is usable.

    To 1e-9 of the size of Y where rcond is 1e-6 or more, else to 1e-15/rcond; where predictions
    are `huge`, of their size.
    """
    how = {key: settings.get(key) for key in ("weights", "quadrant")}
    how["quadrant"] = how["quadrant"] or "exp"
    intercept = settings.get("intercept", True)
    pairs = literal.leave_one_out(len(X)) if splits is None else splits
    found = list(evaluated(X, Y, splits, **settings))
    features = {candidate.a: literal.features(X, candidate.a, **how) for candidate, _, _ in found}
    Z = literal.features(X, 0.0, **how)
    usable = 0
    for candidate, outcome, predictions in found:
        if not outcome.usable:
            continue
        usable += 1
        count = literal.count_of(candidate.density, X.shape[1])
        # every target has features of its own
        own = np.arange(Y.shape[1]) if candidate.target is None else np.array([candidate.target])
        refitted = literal.out_of_fold(
            features[candidate.a],
            Y[:, own],
            pairs,
            candidate.k,
            candidate.c,
            intercept,
            how["weights"],
            count,
            Z,
        )
        tolerance = 1e-9 if outcome.rcond >= 1e-6 else 1e-15 / outcome.rcond
        size = np.abs(np.vstack([Y[:, own], refitted]) if huge else Y).max()
        # a square system without penalty can be far better conditioned than with a sample less:
        # the bound of the candidate knows, and is met with three digits to spare
        tolerance = max(tolerance, 1e-3 * outcome.error.max() / size)
        error = np.abs(predictions[:, own] - refitted).max() / size
        assert error <= tolerance, (candidate, outcome.rcond, error)
    assert usable >= at_least * len(found)
