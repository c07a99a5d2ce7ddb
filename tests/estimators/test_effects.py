"""`effects()`: effects with errors and stable signs, against literal refits and fresh samples."""

import sys

import numpy as np
import pandas as pd
import pytest

import skstretch
from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV
from skstretch.core.bridge_path import solve, space
from skstretch.core.stability import complementary_halves, parts_of_units
from skstretch.estimators import effects
from skstretch.estimators.losses import targets_of
from skstretch.solve.choose import N_JACKKNIFE
from tests import literal
from tests.references import minimiser_in_60_digits

LOADINGS = np.random.default_rng(9).standard_normal((4, 400))
RIDGE = {"a": 0.0, "k": 2.0, "c": 0.01}


def factor_sample(rng, n, p):
    """Columns that share four factors, two of which are the target's."""
    F = rng.standard_normal((n, 4))
    X = F @ LOADINGS[:, :p] + 0.5 * rng.standard_normal((n, p))
    return X, F[:, 0] + F[:, 1] + 0.5 * rng.standard_normal(n)


def sample(seed, n=50, p=20):
    return factor_sample(np.random.default_rng(seed), n, p)


def spread_of_fresh_samples(n, p, n_sets=40, **letters):
    found = []
    for seed in range(n_sets):
        X, y = sample(1000 + seed, n, p)
        found.append(StretchyRegressor(**letters).fit(X, y)._state)
    effects = [
        s.quadrant.slope(s.spread(s.model.coef))[0] * s.quadrant.moments.scale for s in found
    ]
    return np.mean(effects, axis=0), np.std(effects, axis=0, ddof=1)


def test_errors_and_signs_are_those_of_literal_refits():
    X, y = sample(0)
    X = np.abs(X)
    new = StretchyRegressor(k=1.5, c=0.1, quadrant="identity")  # no z-scores that refits would move
    table = new.fit(X, y).effects(n_pairs=4, random_state=3)

    def literal(rows):
        weight = np.zeros(50)
        weight[rows] = 50 / len(rows)
        fitted = StretchyRegressor(k=1.5, c=0.1, quadrant="identity")
        return fitted.fit(X, y, sample_weight=weight)._state.model.coef[0] * X.std(axis=0)

    whole, rng = literal(np.arange(50)), np.random.RandomState(3)
    units, strata = np.arange(50), np.zeros(50, dtype=int)
    halves = complementary_halves(units, strata, 4, rng)
    folds = parts_of_units(units, strata, N_JACKKNIFE, rng)
    without = np.array([literal(np.setdiff1d(units, fold)) for fold in folds])
    n = len(folds)
    error = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    both = [
        [np.sign(literal(np.flatnonzero(h))) == np.sign(whole) for h in pair] for pair in halves
    ]
    np.testing.assert_allclose(table["effect_per_sd"], whole, rtol=1e-8)
    np.testing.assert_allclose(table["effect_per_unit"], whole / X.std(axis=0), rtol=1e-8)
    np.testing.assert_allclose(table["standard_error"], error, rtol=1e-6)
    np.testing.assert_allclose(table["sign_stability"], np.all(both, axis=1).mean(axis=0))


def literal_member(member, Z, y, w):
    """Coefficients of one candidate of an average by some rows, by the book."""
    k, c, density = member.spec.k, member.spec.c, member.density
    columns = np.arange(Z.shape[1])
    if density != 1.0 or isinstance(density, int):
        columns = literal.lasso_support(Z, y[:, None], density, w)
    out, Z = np.zeros(Z.shape[1]), Z[:, columns]
    if k == 2.0:
        out[columns] = literal.fit(Z, y[:, None], k, c, weights=w)[0][:, 0]
    else:
        e = solve(space(Z, np.sqrt(w)), k, c, y)[1].e  # where the reference starts
        out[columns] = minimiser_in_60_digits(Z, y, w, k, c, "free", e)[0]
    return out


@pytest.mark.parametrize("n_left", [15, 28])
def test_a_refitted_average_is_that_of_its_literal_candidates(n_left):
    X, y = sample(8, 30, 40)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 30)
    state = StretchyRegressorCV(a_grid=(0.0,)).fit(X, y, sample_weight=w)._state
    parts = effects.parts_of(state, searched=True)
    assert {1.02, 1.5, 2.0} <= {part.spec.k for part in parts if part.count is None}
    assert any(part.count is not None for part in parts)
    rows = np.sort(np.random.default_rng(2).permutation(30)[:n_left])
    Z = np.asarray(literal.features(X, 0.0, w), dtype=float)
    raised = w[rows] * w.sum() / w[rows].sum()
    expected = sum(m.weight[0] * literal_member(m, Z[rows], y[rows], raised) for m in state.members)
    found = effects.refitted(parts, effects.Sample(targets_of(state)), rows)[0][0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_an_average_tells_its_own_effects_and_what_it_selects():
    X, y = sample(1)
    model = StretchyRegressorCV(k_grid=(1.5, 2.0)).fit(X, y)
    table = model.effects(n_pairs=3)
    assert model.effects_ is table
    np.testing.assert_allclose(table["effect_per_sd"], model.effect_, rtol=1e-8)
    near = X.mean(axis=0) + np.vstack([np.zeros(20), 1e-5 * np.eye(20)])
    slopes = np.diff(model.predict(near)[[0] * 20 + [*range(1, 21)]].reshape(2, 20), axis=0)[0]
    np.testing.assert_allclose(table["effect_per_unit"], slopes / 1e-5, rtol=1e-3, atol=1e-6)
    few = StretchyRegressor(density=5, **RIDGE).fit(X, y).effects(n_pairs=3)
    assert few["selection_frequency"].sum() == pytest.approx(5)
    assert "selection_frequency" not in StretchyRegressor(**RIDGE).fit(X, y).effects(n_pairs=2)


def test_units_and_the_order_of_features_do_not_matter():
    X, y = sample(2)
    plain = StretchyRegressor(**RIDGE).fit(X, y).effects(n_pairs=3)
    order, scale = np.random.default_rng(0).permutation(20), 10.0 ** np.arange(-10, 10)
    other = StretchyRegressor(**RIDGE).fit((X * scale)[:, order], y).effects(n_pairs=3)
    for name in ("effect_per_sd", "standard_error", "sign_stability"):
        np.testing.assert_allclose(other[name], plain[name].to_numpy()[order], rtol=1e-6)
    expected = (plain["effect_per_unit"] / scale).to_numpy()[order]
    np.testing.assert_allclose(other["effect_per_unit"], expected, rtol=1e-6)


def test_bands_add_up_their_features():
    X, y = sample(3)
    frame = pd.DataFrame(X, columns=[f"{900 + j}" for j in range(20)])
    model = StretchyRegressor(**RIDGE).fit(frame, y)
    single, bands = model.effects(n_pairs=3), model.effects(n_pairs=3, bands=4)
    assert bands["feature"].tolist()[0] == "900 .. 904"
    expected = single["effect_per_sd"].to_numpy().reshape(4, 5).sum(axis=1)
    np.testing.assert_allclose(bands["effect_per_sd"], expected, rtol=1e-10)
    named = {"low": ["900", "901", "902", "903", "904"], "all": range(20)}
    low, everything = model.effects(n_pairs=3, bands=named)["effect_per_sd"]
    assert low == pytest.approx(expected[0])
    assert everything == pytest.approx(expected.sum())
    # features that share factors vary together: the error of a band is not that of independent ones
    each = np.sqrt((single["standard_error"].to_numpy().reshape(4, 5) ** 2).sum(axis=1))
    assert not np.allclose(bands["standard_error"], each, rtol=0.05)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"bands": {"a": ["no such"]}}, ValueError, "no feature"),
        ({"bands": {"a": []}}, ValueError, "without features"),
        ({"bands": 21}, ValueError, "between 1 and the 20"),
        ({"bands": "auto"}, TypeError, "must be None"),
        ({"n_pairs": 1}, ValueError, "from 2 on"),
        ({"groups": np.arange(50) // 10}, ValueError, "at least six"),
    ],
)
def test_mistakes_are_named(wrong, error, message):
    X, y = sample(4)
    with pytest.raises(error, match=message):
        StretchyRegressor(**RIDGE).fit(X, y).effects(**wrong)


def test_a_loaded_model_takes_its_training_data(tmp_path):
    X, y = sample(5)
    factors = np.where(np.arange(20) == 3, 0.0, 1.0)
    model = StretchyRegressorCV(k_grid=(2.0,), penalty_factor=factors).fit(X, y)
    skstretch.save(model, tmp_path / "model.stretchy")
    again = skstretch.load(tmp_path / "model.stretchy").effects(X, y, n_pairs=3)
    pd.testing.assert_frame_equal(again, model.effects(n_pairs=3), rtol=1e-6, atol=1e-9)


def test_samples_of_weight_zero_take_no_part():
    X, y = sample(5)
    w = np.arange(len(X)) % 3 > 0
    model = StretchyRegressorCV(k_grid=(2.0,)).fit(X, y, sample_weight=w)
    groups = np.arange(len(X)) // 2
    want = model.effects(n_pairs=3, groups=groups)
    again = model.effects(X, y, sample_weight=w, n_pairs=3, groups=groups)
    pd.testing.assert_frame_equal(again, want, rtol=1e-6, atol=1e-9)


def test_classes_have_effects_too():
    X, y = sample(6)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.6, 0.6])]
    model = StretchyClassifierCV(k_grid=(2.0,)).fit(X, labels)
    table = model.effects(n_pairs=2)
    assert len(table) == 60
    assert set(table["target"]) == {"low", "middle", "high"}


def test_without_pandas_it_is_a_dict(monkeypatch):
    X, y = sample(7)
    model = StretchyRegressor(**RIDGE).fit(X, y)
    frame = model.effects(n_pairs=2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    plain = model.effects(n_pairs=2)
    assert isinstance(plain, dict)
    np.testing.assert_array_equal(plain["standard_error"], frame["standard_error"])


def against_fresh_samples(n, p, n_sets, n_pairs, **letters):
    """The mean square error told over the variance seen, and the share of sure signs that err."""
    mean, spread = spread_of_fresh_samples(n, p, **letters)
    squares, wrong, sure = [], 0, 0
    for seed in range(n_sets):
        X, y = sample(seed, n, p)
        table = StretchyRegressor(**letters).fit(X, y).effects(n_pairs=n_pairs)
        squares.append(np.mean(table["standard_error"] ** 2))
        stable = (table["sign_stability"] > 0.95).to_numpy()
        sure += stable.sum()
        wrong += (np.sign(table["effect_per_sd"])[stable] != np.sign(mean)[stable]).sum()
    return np.sqrt(np.mean(squares) / np.mean(spread**2)), wrong / max(sure, 1), sure


def test_errors_are_about_the_spread_of_fresh_samples():
    ratio, wrong, sure = against_fresh_samples(60, 20, 4, 20, **RIDGE)
    assert 0.8 < ratio < 1.2
    assert sure > 0
    assert wrong <= 0.05


NEAR_ONE = {"a": 0.0, "k": 1.05, "c": 0.02}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "letters"),
    [
        (20, RIDGE),
        (200, RIDGE),
        (20, {"a": 0.0, "k": 1.25, "c": 0.02}),
        (200, {"a": 0.0, "k": 1.25, "c": 0.02}),
        (20, NEAR_ONE),
    ],
    ids=str,
)
def test_errors_are_within_a_fifth_of_the_spread_of_fresh_samples(p, letters):
    ratio, wrong, sure = against_fresh_samples(60, p, 15, 50, **letters)
    assert 0.8 < ratio < 1.2
    assert sure > 0
    assert wrong <= 0.05


@pytest.mark.slow
def test_errors_of_wide_data_at_k_near_one_are_too_large_by_less_than_half():
    """As docs/guide/trust.md says: at most half more, and never too small."""
    ratio, wrong, sure = against_fresh_samples(60, 200, 15, 50, **NEAR_ONE)
    assert 1.0 < ratio < 1.5
    assert sure > 0
    assert wrong <= 0.05


def test_features_that_are_not_used_have_no_stable_sign():
    X, y = sample(0)
    table = StretchyRegressorCV(3, a_grid=(0,), k_grid=(2,)).fit(X, y).effects(n_pairs=4)
    unused = (table["effect_per_sd"] == 0).to_numpy()
    assert unused.sum() >= X.shape[1] - 3
    assert (table["sign_stability"][unused] == 0).all()


def test_summary_says_whose_signs_are_stable():
    X, y = sample(0)
    model = StretchyRegressor(**RIDGE).fit(X, y)
    assert "pairs of halves" not in str(model.summary())
    table = model.effects(n_pairs=5)
    stable = table[table["sign_stability"] >= 0.95]
    strongest = stable.loc[stable["effect_per_sd"].abs().idxmax(), "feature"]
    text = " ".join(str(model.summary()).split())
    assert f"Signs that 95 % of pairs of halves agree on: {len(stable)} of 20 ({strongest}" in text
