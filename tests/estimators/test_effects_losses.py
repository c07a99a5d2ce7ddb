"""`effects()` of classes by log loss, counts and survival: the definition, invariances, files."""

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from sklearn.base import clone

import skstretch
from skstretch import StretchyClassifierCV, StretchyRegressorCV, StretchySurvivalCV
from skstretch.core.stability import complementary_halves, parts_of_units
from skstretch.exceptions import RowsForgottenError
from skstretch.solve.choose import N_JACKKNIFE
from tests import literal
from tests.estimators.samples import problem, survival_of
from tests.literal_losses import value_and_gradient

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
KINDS = ("log", "softmax", "poisson", "cox")
SIZES = ("effect_per_sd", "standard_error", "sign_stability")
N = 30


def data(kind, shape=(N, 12)):
    X, y = problem(shape)
    z, rng = (y - y.mean()) / y.std(), np.random.default_rng(4)
    if kind == "poisson":
        return X, rng.poisson(np.exp(z + 0.5)) * 1.0
    if kind == "cox":
        return X, survival_of(y)
    return X, np.digitize(z + rng.standard_normal(len(z)), [0.1] if kind == "log" else [-0.5, 0.5])


def model(kind, **given):
    given = {"k_grid": (1.5, 2.0), "c_grid": (0.05, 0.2), "cv": 3, **given}
    if kind == "poisson":
        return StretchyRegressorCV(loss="poisson", **given)
    if kind == "cox":
        return StretchySurvivalCV(**given)
    return StretchyClassifierCV(loss="log", class_weight=None, **given)


def literal_effects(kind, Z, y, rows, k, c):
    """The minimiser (t, D) of the definition on some rows, by a method for anything smooth."""
    name, Z, own = {"log": "logistic"}.get(kind, kind), Z[rows], y[rows]
    if kind == "poisson":
        own = {"y": own, "offset": np.zeros(len(rows))}
    if kind == "cox":
        own = {"time": own["time"], "event": own["event"]}
    (M, D), C, lam = Z.shape, 3 if kind == "softmax" else 1, 0.25 / c

    def value(x):
        alpha, b = x[: C * D].reshape(C, D), x[C * D :] * (kind != "cox")
        loss, g = value_and_gradient(name, own, np.ones(M), (alpha @ Z.T + b[:, None]).ravel())
        g = g.reshape(C, M)
        slope = g @ Z + lam * k * np.sign(alpha) * np.abs(alpha) ** (k - 1)
        whole = np.append(slope.ravel(), g.sum(axis=1) * (kind != "cox"))
        return float(loss + lam * np.sum(np.abs(alpha) ** k)), whole.astype(float)

    start, tight = np.zeros(C * D + C), {"gtol": 1e-9, "ftol": 1e-16, "maxiter": 5000}
    found = scipy.optimize.minimize(value, start, jac=True, method="L-BFGS-B", options=tight)
    return found.x[: C * D].reshape(C, D)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_and_signs_are_those_of_literal_refits(kind):
    X, y = data(kind)
    fitted = model(kind).fit(X, y)
    table = fitted.effects(n_pairs=3, random_state=3)
    Z, scale = np.asarray(literal.features(X, 0.0), dtype=float), X.std(axis=0)
    members, share = fitted.weights_, np.asarray(fitted.weights_["weight"])

    def of(rows):
        each = zip(members["k"], members["c"], share, strict=True)
        return sum(w * literal_effects(kind, Z, y, rows, k, c * N / len(rows)) for k, c, w in each)

    strata = {"poisson": lambda: y > 0, "cox": lambda: y["event"]}.get(kind, lambda: y)()
    units, rng = np.arange(N), np.random.RandomState(3)
    halves = complementary_halves(units, strata.astype(int), 3, rng)
    folds = parts_of_units(units, strata.astype(int), N_JACKKNIFE, rng)
    whole = of(units)
    without = np.array([of(np.setdiff1d(units, fold)) for fold in folds])
    n, spread = len(folds), ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    error = np.sqrt((n - 1) / n * spread)
    signs = [[np.sign(of(np.flatnonzero(h))) == np.sign(whole) for h in pair] for pair in halves]
    close = {"rtol": 1e-4, "atol": 1e-5 * np.abs(whole).max()}
    np.testing.assert_allclose(table["effect_per_sd"], whole.ravel(), **close)
    np.testing.assert_allclose(table["effect_per_unit"] * np.tile(scale, len(whole)),
                               whole.ravel(), **close)  # fmt: skip
    np.testing.assert_allclose(table["standard_error"], error.ravel(), **close)
    agreed = np.all(signs, axis=1).mean(axis=0).ravel()
    clear = np.abs(whole.ravel()) > 1e-4
    np.testing.assert_allclose(table["sign_stability"][clear], agreed[clear])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(N, 12), (N, 60)], ids=["tall", "wide"])
def test_units_order_and_weights(kind, shape):
    X, y = data(kind, shape)
    ids, D = np.arange(N), shape[1]

    def effects(X, y, order=ids, weight=1.0, **given):
        given = {"combine": "best", **given}  # shares of an average know how much counts weigh
        own = model(kind, cv=[(ids[ids % 3 != f], ids[ids % 3 == f]) for f in range(3)], **given)
        own.set_params(cv=[(np.argsort(order)[a], np.argsort(order)[b]) for a, b in own.cv])
        own.fit(X[order], y[order], sample_weight=np.full(N, weight))
        return own.effects(n_pairs=2, groups=order)

    plain, close = effects(X, y), {"rtol": 1e-6, "atol": 1e-9}
    units = effects(X * 10.0 ** (np.arange(D) % 7 - 3) + 5.0, y)
    order = effects(X, y, np.random.default_rng(0).permutation(N))
    heavy = effects(X, y, weight=4.0, c_grid=(0.05 / 4.0, 0.2 / 4.0))
    for other in (units, order, heavy):
        for name in SIZES[:2]:
            np.testing.assert_allclose(other[name], plain[name], **close)
        clear = np.abs(plain["effect_per_sd"]) > 1e-7
        np.testing.assert_array_equal(
            other["sign_stability"][clear], plain["sign_stability"][clear]
        )


@pytest.mark.parametrize("kind", KINDS)
def test_halves_select_anew(kind):
    X, y = data(kind, (N, 60))
    fitted = model(kind, n_features_to_select=5).fit(X, y)
    table = fitted.effects(n_pairs=4)
    np.testing.assert_allclose(table["effect_per_sd"], fitted.effect_.ravel(), rtol=1e-7, atol=1e-9)
    frequency = np.asarray(table["selection_frequency"])[:60]
    assert 0 < frequency.sum() <= 5 + 1e-9
    assert set(np.round(8 * frequency, 9)) <= set(range(9))
    assert (frequency > 0).sum() > 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_asks_for_its_samples(kind, tmp_path):
    skstretch.save(model(kind).fit(*data(kind)), tmp_path / "m.stretchy")
    with pytest.raises(RowsForgottenError, match=r"pass them, effects\(X, y\), with the weights"):
        skstretch.load(tmp_path / "m.stretchy").effects()


def test_a_loaded_model_takes_the_exposure(tmp_path):
    X, counts = data("poisson")
    exposure = np.random.default_rng(0).uniform(0.5, 3.0, N)
    fitted = model("poisson").fit(X, counts / exposure, sample_weight=exposure)
    skstretch.save(fitted, tmp_path / "m.stretchy")
    loaded, plain = skstretch.load(tmp_path / "m.stretchy"), fitted.effects(n_pairs=3)
    again = loaded.effects(X, counts / exposure, sample_weight=exposure, n_pairs=3)
    pd.testing.assert_frame_equal(again, plain, rtol=1e-6, atol=1e-9)
    other = loaded.effects(X, counts / exposure, n_pairs=3)
    assert not np.allclose(other["effect_per_sd"], plain["effect_per_sd"], rtol=0.01)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_entries_strata_and_ties_are_remembered(ties):
    X, y = data("cox", (40, 8))
    beside = [*y.dtype.descr, ("entry", float), ("stratum", int)]
    own = np.empty(40, dtype=beside)
    own["event"], own["time"] = y["event"], np.ceil(y["time"] / np.quantile(y["time"], 0.2)) + 1
    own["entry"], own["stratum"] = 0.4 * (np.arange(40) % 3), np.arange(40) % 2
    fitted = model("cox", ties=ties).fit(X, own)
    table = fitted.effects(n_pairs=3)
    np.testing.assert_allclose(table["effect_per_sd"], fitted.effect_, rtol=1e-8, atol=1e-11)
    pd.testing.assert_frame_equal(fitted.effects(X, own, n_pairs=3), table)
    bare = clone(fitted).fit(X, own[["event", "time"]])
    assert not np.allclose(bare.effects(n_pairs=2)["effect_per_sd"], table["effect_per_sd"])


def test_of_many_features_the_true_ones_are_sure():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 1500))
    time, end = rng.exponential(np.exp(-2 * X[:, 0] + 2 * X[:, 1])), rng.exponential(3.0, 100)
    y = np.empty(100, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time <= end, np.minimum(time, end)
    fitted = StretchySurvivalCV(k_grid=(1.1, 1.5)).fit(X, y)
    table = fitted.effects(n_pairs=10)
    np.testing.assert_allclose(table["effect_per_sd"], fitted.effect_, rtol=1e-6, atol=1e-12)
    assert (table["sign_stability"][:2] > 0.99).all()
    assert (table["effect_per_sd"].abs() > 2 * table["standard_error"])[:2].all()
    assert "Signs that 95 % of pairs of halves agree on" in " ".join(str(fitted.summary()).split())
