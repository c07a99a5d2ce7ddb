"""Searches under other losses: held-out losses are those of literal refits, averages pay."""

import numpy as np
import pytest

from skstretch.core.losses import Logistic
from skstretch.core.stretch import Intercept
from skstretch.search.losses import search_losses, stratified_folds
from skstretch.solve.losses import solve_losses
from tests.core.test_losses import loss_of, rows_of
from tests.solve.test_losses import design_of

KINDS = ("logistic", "poisson", "softmax", "breslow")


def problem(kind, M=40, D=60, seed=0):
    """Two features that matter; targets, codes to stratify by, the intercept."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((M, D))
    Z = (Z - Z.mean(0)) / Z.std(0)
    signal = 1.5 * (Z[:, 0] - Z[:, 1])
    if kind == "logistic":
        y = (signal + rng.logistic(size=M) > 0) * 1.0
        return Z, y, y.astype(int), Intercept.FREE
    if kind == "softmax":
        y = np.digitize(signal + rng.standard_normal(M), [-1.0, 1.0])
        return Z, y, y, Intercept.FREE
    if kind == "poisson":
        y = {"y": rng.poisson(np.exp(0.5 * signal)) * 1.0, "offset": np.zeros(M)}
        return Z, y, None, Intercept.FREE
    time, event = rng.exponential(np.exp(-signal)), rng.random(M) < 0.7
    return Z, {"time": time, "event": event, "ties": "breslow"}, event.astype(int), Intercept.NONE


@pytest.mark.parametrize("kind", KINDS)
def test_held_out_losses_are_those_of_literal_refits(kind):
    Z, y, codes, how = problem(kind)
    w, design = np.ones(len(Z)), design_of(Z, Z.shape[1])
    held = stratified_folds(codes, len(Z), n_folds=4)
    found = search_losses(
        design, lambda v: loss_of(kind, y, v), w, held, how, ks=(1.1, 2.0), cs=(0.02, 0.2)
    )
    assert [(one.k, one.c) for one in found.candidates] == [
        (1.1, 0.02), (1.1, 0.2), (2.0, 0.02), (2.0, 0.2),
    ]  # fmt: skip
    for one in found.candidates:
        want = 0.0
        for rows in held:
            kept = np.setdiff1d(np.arange(len(Z)), rows)
            loss = loss_of(kind, rows_of(y, kept), np.ones(kept.size))
            fit = solve_losses(design.take_rows(kept), [loss], one.k, one.c, how)[0]
            eta = Z @ fit.coef + fit.level
            want += loss_of(kind, y, w).value(eta.T.ravel()) - loss.value(eta[kept].T.ravel())
        assert abs(one.held_out / want - 1) <= 1e-6
    mixed = sum(s * one.fit.coef for s, one in zip(found.shares, found.best, strict=True))
    assert np.array_equal(found.coef, mixed)
    assert abs(found.shares.sum() - 1) <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_an_automatic_search_finds_what_is_there(kind):
    """From where features begin to matter to beyond the least held-out loss, for every k."""
    Z, y, codes, how = problem(kind, 80, 100)
    held = stratified_folds(codes, len(Z), n_folds=4)
    found = search_losses(
        design_of(Z, 100), lambda v: loss_of(kind, y, v), np.ones(80), held, how, ks=(1.1, 1.5)
    )
    assert found.held_out < 0.95 * found.null
    assert set(np.argsort(np.abs(found.coef).max(axis=1))[-2:]) == {0, 1}
    for k in (1.1, 1.5):
        losses = [one.held_out for one in found.candidates if one.k == k]
        assert losses[0] > 0.9 * found.null  # the path begins near no features
        assert 0 < int(np.argmin(losses)) < len(losses) - 1


def test_weights_are_repetitions_that_stay_in_one_fold():
    Z, y, codes, how = problem("logistic")
    w = np.random.default_rng(1).integers(1, 3, len(Z)) * 1.0
    held = stratified_folds(codes, len(Z), n_folds=3)
    rows = np.repeat(np.arange(len(Z)), w.astype(int))
    again = [np.flatnonzero(np.isin(rows, some)) for some in held]
    one = search_losses(
        design_of(Z, 60), lambda v: Logistic(y, v), w, held, how, ks=(1.25,), cs=(0.05, 0.5)
    )
    two = search_losses(
        design_of(Z[rows], 60), lambda v: Logistic(y[rows], v), np.ones(rows.size), again, how,
        ks=(1.25,), cs=(0.05, 0.5),
    )  # fmt: skip
    assert abs(one.held_out / two.held_out - 1) <= 1e-6
    assert np.abs(one.coef - two.coef).max() <= 1e-8 * np.abs(one.coef).max()


def test_folds_respect_classes_and_groups():
    codes, groups = np.arange(60) % 3 // 2, np.arange(60) // 4
    for held in (stratified_folds(codes, 60), stratified_folds(codes, 60, groups)):
        assert np.array_equal(np.sort(np.concatenate(held)), np.arange(60))
        assert len(held) == 10
    assert all(np.bincount(codes[rows]).tolist() == [4, 2] for rows in stratified_folds(codes, 60))
    for rows in stratified_folds(codes, 60, groups):
        assert not set(groups[rows]) & set(np.delete(groups, rows))
    with pytest.raises(ValueError, match="do not make two folds"):
        stratified_folds(np.array([0, 0, 0, 1]), 4)
