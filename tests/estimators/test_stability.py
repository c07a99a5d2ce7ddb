"""`StabilitySelector`: few false features, and what must not change them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from skstretch import StabilitySelector
from skstretch.core.stability import false_selections


def sample(seed, n=60, p=60, n_true=3, rho=0.0, heavy=False, snr=5.0):
    """Autoregressive columns, some of them true; normal, or t with three degrees of freedom."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, (n, p)) if heavy else rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    true = rng.choice(p, n_true, replace=False)
    signal = X[:, true] @ rng.choice([-1.0, 1.0], n_true)
    noise = rng.standard_t(3, n) / np.sqrt(3) if heavy else rng.standard_normal(n)
    return X, signal + (signal.std() or 1.0) / np.sqrt(snr) * noise, set(true.tolist())


def false_ones(n_sets, seed, n_pairs=50, **kind):
    """Numbers of false features in many sets, and the largest bound."""
    found, bounds = [], []
    for i in range(n_sets):
        X, y, true = sample(seed + i, **kind)
        selector = StabilitySelector(n_pairs=n_pairs, random_state=i).fit(X, y)
        found.append(len(set(selector.get_support(indices=True).tolist()) - true))
        bounds.append(selector.expected_false_)
    return np.array(found), max(bounds)


KINDS = {
    "independent": {"rho": 0.0},
    "correlated": {"rho": 0.8},
    "heavy": {"heavy": True},
    "correlated, heavy": {"rho": 0.8, "heavy": True},
    "nothing to find": {"n_true": 0, "rho": 0.5},
}


@pytest.mark.parametrize("kind", KINDS)
def test_few_features_are_false(kind):
    found, bound = false_ones(5, 100, 10, **KINDS[kind])
    assert bound <= 1.0
    assert found.mean() <= bound + 3 * np.sqrt(bound / found.size)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_more_features_are_false_than_stated(kind):
    found, bound = false_ones(60, 1000, **{"n": 80, "p": 300, "n_true": 5, **KINDS[kind]})
    error = found.std() / np.sqrt(found.size)
    assert found.mean() <= bound + 2 * error


def test_true_features_are_found():
    X, y, true = sample(0)
    selector = StabilitySelector(random_state=0).fit(X, y)
    assert set(selector.get_support(indices=True).tolist()) == true
    settled = selector.n_per_half_, 60, 50
    expected = false_selections(selector.threshold_, *settled)
    assert selector.expected_false_ == expected <= 1.0
    assert selector.frequency_.sum() <= selector.n_per_half_ + 1e-9


def test_units_and_the_order_of_columns_do_not_matter():
    X, y, _ = sample(1, rho=0.8)
    plain = StabilitySelector(n_pairs=20, random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    order = rng.permutation(X.shape[1])
    scales = 10.0 ** rng.integers(-6, 6, X.shape[1])
    other = StabilitySelector(n_pairs=20, random_state=0)
    other.fit((X * scales + 3 * scales)[:, order], 7 - 1e5 * y)
    np.testing.assert_array_equal(other.get_support(), plain.get_support()[order])
    # knots of a path that coincide but for rounding may change places in one half of forty
    assert abs(other.frequency_ - plain.frequency_[order]).max() <= 1 / 40
    two = np.ldexp(1.0, rng.integers(-20, 20, X.shape[1]))
    exact = StabilitySelector(n_pairs=20, random_state=0).fit(X * two, 8.0 * y)
    np.testing.assert_array_equal(exact.frequency_, plain.frequency_)


def test_storage_and_threads_do_not_matter():
    X, y, _ = sample(2)
    X[np.abs(X) < 1] = 0
    plain = StabilitySelector(n_pairs=3, random_state=0).fit(X, y).frequency_
    for stored in (
        sparse.csr_matrix(X),
        sparse.csc_array(X),
        pd.DataFrame(X),
        np.asfortranarray(X),
    ):
        again = StabilitySelector(n_pairs=3, random_state=0, n_jobs=2).fit(stored, y)
        np.testing.assert_array_equal(again.frequency_, plain)


def test_the_halves_are_literal_fits_of_a_lasso_path():
    """Every half standardises its own samples and follows its path: counted by hand."""
    from sklearn.linear_model import lars_path

    X, y, _ = sample(3, n=40, p=30)
    selector = StabilitySelector(n_pairs=5, n_features_to_select=4, random_state=0).fit(X, y)
    rng, counts = np.random.RandomState(0), np.zeros(30)
    for _ in range(5):
        order, first = rng.permutation(40), rng.randint(0, 2, 20)
        side = np.empty(40, dtype=int)
        side[order] = np.column_stack([first, 1 - first]).ravel()
        for half in (side == 0, side == 1):
            Z = (X[half] - X[half].mean(0)) / X[half].std(0)
            active = lars_path(Z, y[half] - y[half].mean(), method="lasso")[2].T
            sizes = (active != 0).sum(axis=1)
            few = np.flatnonzero(sizes > 4)[0] - 1 if (sizes > 4).any() else -1
            counts += active[few] != 0
    np.testing.assert_array_equal(selector.frequency_, counts / 10)


def test_targets_that_do_not_vary_select_nothing():
    X, _, _ = sample(4)
    with pytest.raises(ValueError, match="y does not vary"):
        StabilitySelector().fit(X, np.ones(len(X)))
    y = np.zeros(len(X))
    y[0], y[1] = 1.0, 3.0  # in many a half neither of them is
    found = StabilitySelector(n_pairs=10, random_state=0, classes=False).fit(X, y)
    halves = 0.05 * np.round(20 * found.frequency_.sum() / found.n_per_half_)
    assert 0.0 < halves < 1.0


def test_classes_and_their_names():
    X, y, true = sample(4)
    labels = np.where(y > 0, "yes", "no")
    found = StabilitySelector(n_pairs=10, random_state=0).fit(X, labels).frequency_
    again = StabilitySelector(n_pairs=10, random_state=0).fit(X, y > 0).frequency_
    np.testing.assert_array_equal(again, found)
    assert set(np.argsort(-found)[:3].tolist()) == true
    three = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    many = StabilitySelector(classes=True, n_pairs=10, random_state=0).fit(X, three)
    assert many.get_support().any()
    numbers = StabilitySelector(n_pairs=10, random_state=0).fit(X, three)
    assert not np.array_equal(many.frequency_, numbers.frequency_)


def test_groups_stay_together():
    """Copies of a sample in both halves make chance look stable; groups keep them together."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((15, 100)), rng.standard_normal(15)
    X, y, groups = np.repeat(X, 6, axis=0), np.repeat(y, 6), np.repeat(np.arange(15), 6)
    careless = StabilitySelector(n_pairs=20, random_state=0).fit(X, y)
    careful = StabilitySelector(n_pairs=20, random_state=0).fit(X, y, groups=groups)
    assert careful.frequency_.max() < 0.7 < careless.frequency_.max()


def test_it_works_in_pipelines_with_names():
    X, y, true = sample(5)
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(X.shape[1])])
    selector = StabilitySelector(random_state=0).set_output(transform="pandas")
    names = [f"gene{j}" for j in sorted(true)]
    assert [*selector.fit_transform(frame, y).columns] == names
    assert [*selector.get_feature_names_out()] == names
    model = make_pipeline(StabilitySelector(random_state=0), Ridge()).fit(frame, y)
    assert model.score(frame, y) > 0.7


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"expected_false": 0}, "positive"),
        ({"threshold": 0.5}, "above 0.5"),
        ({"n_pairs": 1}, "from 2 on"),
        ({"bound": "best"}, "use one of"),
        ({"n_features_to_select": 0.5}, "whole number"),
        ({"n_features_to_select": 100, "expected_false": 0.01}, "Select fewer"),
    ],
)
def test_mistakes_are_named(wrong, message):
    X, y, _ = sample(6, n=20)
    with pytest.raises(ValueError, match=message):
        StabilitySelector(**wrong).fit(X, y)
