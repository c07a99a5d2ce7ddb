"""Searches under other losses: held-out losses are those of literal refits."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from skstretch.core.crossfit import Fold
from skstretch.core.losses import Logistic
from skstretch.core.stretch import Intercept
from skstretch.search import Folds, Problem
from skstretch.search.losses import search_losses
from skstretch.solve.losses import solve_losses
from tests.core.test_losses import loss_of, rows_of
from tests.solve.test_losses import design_of

KINDS = ("logistic", "poisson", "softmax", "breslow")


CS = (0.02, 0.2)


def shared_by(weights, folds, intercept):
    """What all candidates share."""
    tested = np.concatenate([fold.tested for fold in folds])
    return Problem(np.zeros((len(weights), 1)), weights, intercept, Folds(folds, tested))


def flat(paths):
    """The candidates of all paths."""
    return [one for path in paths for one in path]


def folds_of(n, M):
    """Every n-th sample."""
    return [Fold(rows, rows) for rows in (np.arange(i, M, n) for i in range(n))]


def problem(kind, M=40, D=60, seed=0):
    """Two features that matter; targets, the intercept."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((M, D))
    Z = (Z - Z.mean(0)) / Z.std(0)
    signal = 1.5 * (Z[:, 0] - Z[:, 1])
    if kind == "logistic":
        y = (signal + rng.logistic(size=M) > 0) * 1.0
        return Z, y, Intercept.FREE
    if kind == "softmax":
        y = np.digitize(signal + rng.standard_normal(M), [-1.0, 1.0])
        return Z, y, Intercept.FREE
    if kind == "poisson":
        y = {"y": rng.poisson(np.exp(0.5 * signal)) * 1.0, "offset": np.zeros(M)}
        return Z, y, Intercept.FREE
    time, event = rng.exponential(np.exp(-signal)), rng.random(M) < 0.7
    return Z, {"time": time, "event": event, "ties": "breslow"}, Intercept.NONE


@pytest.mark.parametrize("kind", KINDS)
def test_held_out_losses_are_those_of_literal_refits(kind):
    Z, y, how = problem(kind)
    w, design = np.ones(len(Z)), design_of(Z, Z.shape[1])
    held = folds_of(4, len(Z))
    shared = shared_by(w, held, how)
    found = flat(search_losses(design, lambda v: loss_of(kind, y, v), shared, (1.1, 2.0), CS))
    assert [(one.k, one.c) for one in found] == [
        (1.1, 0.02), (1.1, 0.2), (2.0, 0.02), (2.0, 0.2),
    ]  # fmt: skip
    for one in found:
        want, outputs = 0.0, []
        for fold in held:
            rows = fold.held
            kept = np.setdiff1d(np.arange(len(Z)), rows)
            loss = loss_of(kind, rows_of(y, kept), np.ones(kept.size))
            fit = solve_losses(design.take_rows(kept), [loss], one.k, one.c, how)[0]
            eta = Z @ fit.coef + fit.level
            want += loss_of(kind, y, w).value(eta.T.ravel()) - loss.value(eta[kept].T.ravel())
            outputs.append((eta - eta.mean(axis=1, keepdims=True) * (kind == "softmax"))[rows])
        assert abs(one.held_out / want - 1) <= 1e-6
        level = one.outputs.mean(axis=1, keepdims=True) if kind == "softmax" else 0.0
        # a fold is solved to a gap of 1e-12, and scores are as good as its root
        assert np.abs(one.outputs - level - np.concatenate(outputs)).max() <= 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_an_automatic_search_finds_what_is_there(kind):
    """From where features begin to matter to beyond the least held-out loss, for every k."""
    Z, y, how = problem(kind, 80, 100)
    held = folds_of(4, len(Z))
    shared = shared_by(np.ones(80), held, how)
    given = design_of(Z, 100), lambda v: loss_of(kind, y, v), shared
    [[nothing]] = search_losses(*given, (1.5,), (1e-9,))  # nothing but the intercept
    null, found = nothing.held_out, flat(search_losses(*given, (1.1, 1.5)))
    best = min(found, key=lambda one: one.held_out)
    assert best.held_out < 0.95 * null
    assert set(np.argsort(np.abs(best.fit.coef).max(axis=1))[-2:]) == {0, 1}
    for k in (1.1, 1.5):
        path = [one for one in found if one.k == k]
        losses = [one.held_out for one in path]
        assert 0 < int(np.argmin(losses)) < len(losses) - 1
        assert losses[0] > 0.9 * null  # the path begins near no features
        dof = [one.dof for one in path]
        assert dof[0] < 3.5 + 2 * (kind == "softmax")
        assert (np.diff(dof) > 0).all()


def test_weights_are_repetitions_that_stay_in_one_fold():
    Z, y, how = problem("logistic")
    w = np.random.default_rng(1).integers(1, 3, len(Z)) * 1.0
    held = folds_of(3, len(Z))
    rows = np.repeat(np.arange(len(Z)), w.astype(int))
    again = [Fold(some, some) for some in (np.flatnonzero(np.isin(rows, f.held)) for f in held)]
    first, second = shared_by(w, held, how), shared_by(np.ones(rows.size), again, how)
    at, design = ((1.25,), (0.05, 0.5)), design_of(Z[rows], 60)
    [[one, _]] = search_losses(design_of(Z, 60), lambda v: Logistic(y, v), first, *at)
    [[two, _]] = search_losses(design, lambda v: Logistic(y[rows], v), second, *at)
    assert abs(one.held_out / two.held_out - 1) <= 1e-6
    assert np.abs(one.fit.coef - two.fit.coef).max() <= 1e-8 * np.abs(one.fit.coef).max()


NULL = {
    "logistic": lambda y: np.log(y.mean() / (1.0 - y.mean())) * np.ones(len(y)),
    "poisson": lambda y: np.log(y["y"].mean()) * np.ones(len(y["y"])),
    "softmax": lambda y: np.repeat(np.log(np.bincount(y) / len(y)), len(y)),
    "breslow": lambda y: np.zeros(len(y["time"])),
}


def literal_support(kind, Z, y, count):
    """The lasso on working responses at the null model, one a score, at ever smaller penalties that
    all scores share, until they have more columns together."""
    eta, loss = NULL[kind](y), loss_of(kind, y, np.ones(len(Z)))
    n, step = eta.size, 1e-5
    h = [(loss.gradient(eta + step * e) - loss.gradient(eta - step * e)) @ e for e in np.eye(n)]
    h = np.mean(np.reshape(h, (-1, len(Z))), axis=0) / (2 * step)
    used = h > 1e-9
    g, w, X = -loss.gradient(eta).reshape(-1, len(Z))[:, used], h[used], Z[used]
    X, r = X - w @ X / w.sum(), g / w - (g.sum(axis=1) / w.sum())[:, None]
    largest, kept = np.abs(X.T @ (w * r).T).max() / len(w), np.array([])
    for alpha in np.geomspace(largest, 0.1 * largest, 300)[1:]:
        coefs = [
            Lasso(alpha, fit_intercept=False, tol=1e-10, max_iter=100_000)
            .fit(np.sqrt(w)[:, None] * X, np.sqrt(w) * one)
            .coef_
            for one in r
        ]
        active = np.flatnonzero(np.any(coefs, axis=0))
        if active.size > count:
            break
        kept = active
    return kept


@pytest.mark.parametrize("kind", KINDS)
def test_features_are_selected_in_every_fold(kind):
    """Ridge on those of the lasso path without the fold, by literal refits of both."""
    Z, y, how = problem(kind)
    design, held = design_of(Z, Z.shape[1]), folds_of(4, len(Z))
    shared = shared_by(np.ones(len(Z)), held, how)
    given = design, lambda v: loss_of(kind, y, v), shared, (1.1, 2.0), CS
    found = flat(search_losses(*given, [(1.0, 60), (6, 6)]))
    assert [(one.k, one.density) for one in found] == [(1.1, 1.0)] * 2 + [(2.0, 1.0)] * 2 + [
        (2.0, 6), (2.0, 6),
    ]  # fmt: skip
    for one in found[4:]:
        outputs = []
        for rows in (np.array([], dtype=int), *(fold.held for fold in held)):
            kept = np.setdiff1d(np.arange(len(Z)), rows)
            loss = loss_of(kind, rows_of(y, kept), np.ones(kept.size))
            six = literal_support(kind, Z[kept], rows_of(y, kept), 6)
            fit = solve_losses(design.take_rows(kept).take(six), [loss], 2.0, one.c, how)[0]
            eta = Z[:, six] @ fit.coef + fit.level
            if not rows.size:
                assert np.array_equal(six, one.columns)
                assert np.abs(fit.coef - one.fit.coef).max() <= 1e-8
            outputs.append(eta[rows] - eta[rows].mean(axis=1, keepdims=True) * (kind == "softmax"))
        level = one.outputs.mean(axis=1, keepdims=True) * (kind == "softmax")
        assert np.abs(one.outputs - level - np.concatenate(outputs)).max() <= 1e-5
    alone = flat(search_losses(*given, [(6, 6)]))
    assert [one.held_out for one in alone] == [one.held_out for one in found[4:]]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_redundant_is_dropped(kind):
    """A feature and its near copy are strongest, and two that are kept are not these two."""
    Z, y, how = problem(kind, 120, 30)
    Z[:, 2] = Z[:, 0] + 0.01 * Z[:, 2]
    design = design_of(Z / Z.std(0), 30)
    shared = shared_by(np.ones(120), folds_of(4, 120), how)
    given = design, lambda v: loss_of(kind, y, v), shared
    [[one]] = search_losses(*given, cs=(0.02,), asked=[(2, 2)])
    assert {*one.columns} in ({0, 1}, {1, 2})
