"""Searches without single samples: the same as literal ones, and honest on noise."""

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import mean_squared_error, median_absolute_error, r2_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core.classes import signed_targets
from skstretch.search import RULES
from skstretch.search.mix import HANDICAP, regression_weights
from skstretch.search.nested import log_losses, outer_samples
from skstretch.search.scoring import LogLoss
from tests import literal

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
GRID = {"a_grid": (-0.2, 0.1), "k_grid": (1.5, 2.0), "c_grid": (0.01, 0.3, 10.0)}


def noise(n, p, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal(n)


def literal_nested(X, y, a_grid, k_grid, c_grid):
    """Every sample by a search over refits that leave it out, pair by pair."""
    n = len(y)
    families = [(a, k) for a in a_grid for k in k_grid]
    P = {a: literal.features(X, a) for a in a_grid}
    predicted = np.empty(n)

    def output(a, k, c, rows, at):
        coef, constant = literal.fit(P[a][rows], y[rows, None], k, c)
        return float((P[a][at] @ coef + constant)[0])

    for i in range(n):
        others = np.delete(np.arange(n), i)
        residuals, own = [], []
        for a, k in families:
            tried = []
            for c in c_grid:
                r = np.array([y[j] - output(a, k, c, others[others != j], j) for j in others])
                tried.append((np.mean(r**2), c, r))
            _, c, r = min(tried, key=lambda one: one[0])
            residuals.append(r * np.sqrt(1.0 + HANDICAP / (n - 1)))
            own.append(output(a, k, c, others, i))
        R = np.array(residuals)
        predicted[i] = regression_weights(R @ R.T / (n - 1), float(n - 1)) @ own
    return -np.mean((y - predicted) ** 2)


@pytest.mark.parametrize("shape", [(9, 14), (12, 4)], ids=["wide", "tall"])
def test_equal_to_literal_searches(shape):
    X, y = noise(*shape, seed=4)
    y = y + X[:, 0]
    model = StretchyRegressorCV(**GRID).fit(X, y)
    expected = literal_nested(X, y, *GRID.values())
    assert model.nested_score_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
def test_exact_cells_are_near_literal_searches():
    X, y = noise(24, 60, seed=1)
    y = y + 2.0 * X[:, 0]
    model = StretchyRegressorCV(a_grid=(0.0,), density_grid=(1.0,)).fit(X, y)
    n, losses = len(y), []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        part = StretchyRegressorCV(a_grid=(0.0,), density_grid=(1.0,), nested=False)
        losses.append((y[i] - part.fit(X[rest], y[rest]).predict(X[[i]])[0]) ** 2)
    # z-scores of all samples, and pairs to first order
    assert -model.nested_score_ == pytest.approx(np.mean(losses), rel=0.25)
    assert -model.nested_score_ > -model.best_score_


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("apart", [0.0, 1.0, 6.0])
def test_log_losses_of_many_at_once(n_classes, scale, apart):
    rng = np.random.default_rng(5)
    codes = rng.permutation(np.arange(40) % n_classes)
    Y = signed_targets(codes, n_classes)
    outputs = scale * (apart * Y + rng.standard_normal((6, *Y.shape)))
    weights = rng.integers(0, 3, (6, 40)).astype(float)
    expected = [
        -LogLoss(codes[w > 0], n_classes, Y[w > 0], w[w > 0])(one[w > 0]).score
        for one, w in zip(outputs, weights, strict=True)
    ]
    np.testing.assert_allclose(log_losses(outputs, codes, weights), expected, rtol=1e-6)


def test_classes_are_searched_again_too():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 40))
    model = StretchyClassifierCV().fit(X, np.arange(30) % 2)
    assert -1.0 <= model.nested_score_ <= 0.0
    assert model.nested_score_se_ > 0.0


def literal_parts(make, X, y, parts, **given):
    """Outputs of every sample by a search without its part; `parts` are (rest, part, cv)."""
    outputs = np.full(len(y), np.nan)
    for rest, part, cv in parts:
        model = make(nested=False, cv=cv)
        model.fit(X[rest], y[rest], **{name: v[rest] for name, v in given.items()})
        outputs[part] = model._linear(X[part])[:, 0]
    return outputs


def pairs_of_folds(splits, n):
    """(rest, part, splits of the rest) with the other folds of every fold."""
    found = []
    for _, part in splits:
        rest = np.setdiff1d(np.arange(n), part)
        inner = []
        for train, test in splits:
            if not np.array_equal(test, part):
                inner.append((np.searchsorted(rest, np.setdiff1d(train, part)),
                              np.searchsorted(rest, test)))  # fmt: skip
        found.append((rest, part, inner))
    return found


def ten(n):
    folds = KFold(10, shuffle=True, random_state=0).split(np.zeros(n))
    return [(rest, part, None) for rest, part in folds]


SHORT = {"k_grid": (1.5, 2.0), "c_grid": (0.01, 0.1, 1.0)}
EXACT = {"a_grid": (0.0,), "k_grid": (1.2, 2.0), "c_grid": (0.01, 0.1, 1.0)}


@pytest.mark.parametrize(
    ("rule", "grid"), [*((rule, {"a_grid": (-0.2,)}) for rule in RULES), ("mix", EXACT)]
)
def test_folds_are_searched_again(rule, grid):
    X, y = noise(21, 8, seed=7)
    y = y + X[:, 0]
    splits = list(KFold(3, shuffle=True, random_state=1).split(X))
    make = partial(StretchyRegressorCV, rule=rule, **grid)
    model = make(cv=splits, nested="refit").fit(X, y)
    losses = (y - literal_parts(make, X, y, pairs_of_folds(splits, 21))) ** 2
    assert model.nested_score_ == pytest.approx(-losses.mean(), rel=1e-8)
    assert model.nested_score_se_ == pytest.approx(losses.std() / np.sqrt(21), rel=1e-8)
    assert "parts of the samples" in str(model.summary())


@pytest.mark.parametrize("rule", ["best", "guarded", "1se", "mix"])
def test_rules_are_searched_again(rule):
    X, y = noise(20, 6, seed=8)
    make = partial(StretchyRegressorCV, rule=rule, a_grid=(-0.2, 0.0), **SHORT)
    model = make(nested="refit").fit(X, y)
    losses = (y - literal_parts(make, X, y, ten(20))) ** 2
    assert model.nested_score_ == pytest.approx(-losses.mean(), rel=1e-8)


@pytest.mark.parametrize("name", ["r2", "neg_median_absolute_error", "neg_mean_squared_error"])
def test_scorers_are_asked_again(name):
    X, y = noise(20, 6, seed=9)
    y = y + X[:, 0]
    make = partial(StretchyRegressorCV, scoring=name, **GRID)
    model = make(nested="refit").fit(X, y)
    outputs = literal_parts(make, X, y, ten(20))
    score = {"r2": r2_score, "neg_median_absolute_error": median_absolute_error,
             "neg_mean_squared_error": mean_squared_error}[name](y, outputs)  # fmt: skip
    sign = -1.0 if name.startswith("neg") else 1.0
    assert model.nested_score_ == pytest.approx(sign * score, rel=1e-8)


@pytest.mark.parametrize("cv", [None, 3], ids=["none", "folds"])
def test_groups_are_left_out_whole(cv):
    """Copies of a sample in one group: a search that sees one of them knows the others."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(12), 3)
    X, y = rng.standard_normal((12, 15))[groups], rng.standard_normal(12)[groups]
    X += 0.01 * rng.standard_normal(X.shape)
    make = partial(StretchyRegressorCV, **EXACT)
    model = make(cv=cv, nested="refit").fit(X, y, groups=groups)
    if cv is None:
        splits = GroupKFold(10).split(X, y, groups)
        parts = [(rest, part, None) for rest, part in splits]
    else:
        parts = pairs_of_folds(list(GroupKFold(3).split(X, y, groups)), 36)
    losses = (y - literal_parts(make, X, y, parts, groups=groups)) ** 2
    assert model.nested_score_ == pytest.approx(-losses.mean(), rel=1e-8)
    # as if nothing were known, while single samples are told by their copies
    assert -model.nested_score_ > 0.7 * y.var()
    assert -make(nested="refit").fit(X, y).nested_score_ < 0.2 * y.var()


def test_weights_and_classes_are_searched_again():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((36, 5)), np.arange(36) % 2
    X[:, 0] += y
    weights = rng.permuted(np.repeat([0.0, 1.0, 2.0], 6)).repeat(2)  # both classes alike
    make = partial(StretchyClassifierCV, a_grid=(-0.2,), rule="best")
    model = make(nested="refit").fit(X, y, sample_weight=weights)
    used = np.flatnonzero(weights > 0)
    folds = StratifiedKFold(10, shuffle=True, random_state=0).split(used, y[used])
    parts = [(used[rest], used[part], None) for rest, part in folds]
    outputs = literal_parts(make, X, y, parts, sample_weight=weights)
    wrong = (outputs[used] > 0) != y[used]
    rates = [np.average(wrong[y[used] == c], weights=weights[used][y[used] == c]) for c in (0, 1)]
    assert model.nested_score_ == pytest.approx(-np.mean(rates), rel=1e-8)


def test_what_is_left_out(monkeypatch):
    """Single samples where all are closed forms or samples are many, else parts."""
    X, y = noise(20, 6, seed=8)
    grid = {"a_grid": (0.0,), "k_grid": (1.2,), "c_grid": (0.01, 0.1, 1.0)}
    parts = StretchyRegressorCV(**grid).fit(X, y)
    refit = StretchyRegressorCV(**grid, nested="refit").fit(X, y)
    assert parts.nested_of_ == refit.nested_of_ == "parts"
    assert parts.nested_score_ != refit.nested_score_
    assert StretchyRegressorCV(**GRID).fit(X, y).nested_of_ == "samples"
    monkeypatch.setattr("skstretch.estimators.outer.MANY", 19)
    assert StretchyRegressorCV(**grid).fit(X, y).nested_of_ == "samples"


def test_where_it_is_not_known():
    X, y = noise(20, 10, seed=0)
    # long searches are not repeated unless that is asked for (here: all of them)
    assert np.isnan(StretchyRegressorCV(**GRID, cv=5).fit(X, y).nested_score_)
    assert np.isnan(StretchyRegressorCV(**GRID, rule="best").fit(X, y).nested_score_)
    # without one of two folds none is left
    assert np.isnan(StretchyRegressorCV(**GRID, cv=2, nested="refit").fit(X, y).nested_score_)
    assert not hasattr(StretchyRegressorCV(**GRID, nested=False).fit(X, y), "nested_score_")
    with pytest.raises(ValueError, match="nested='all' is not known: use True, False or \"refit\""):
        StretchyRegressorCV(nested="all").fit(X, y)


def test_many_samples_are_drawn():
    assert outer_samples(50, 1, classes=False).tolist() == list(range(50))
    drawn = outer_samples(5000, 1, classes=False)
    assert drawn.size == np.unique(drawn).size == 30
    assert outer_samples(400, 1, classes=False).size == 150
    assert (drawn == outer_samples(5000, 1, classes=False)).all()
    # none where memory has no room for as many as say anything
    assert outer_samples(12_000, 5, classes=True).size == 30
    assert outer_samples(12_000, 20, classes=True).size == 0


@pytest.mark.parametrize("k", [1.5, 2.0])
def test_more_samples_than_are_drawn(k, monkeypatch):
    """Some samples need some rows of an inverse, and give the residuals that all rows give."""
    X, y = noise(40, 60, seed=6)
    grid = {"a_grid": (-0.2, 0.1), "k_grid": (k,), "c_grid": (0.01, 0.1, 1.0, 10.0)}
    model = StretchyRegressorCV(**grid).fit(X, y)
    monkeypatch.setattr("skstretch.search.nested.MOST", 30)
    some = StretchyRegressorCV(**grid).fit(X, y)
    assert some.nested_score_ != model.nested_score_
    # what is drawn tells the difference to the plain score, which is known of all samples
    flattery = model.best_score_ - model.nested_score_
    assert some.best_score_ - some.nested_score_ == pytest.approx(flattery, rel=0.5)
    assert some.nested_score_se_ == pytest.approx(model.nested_score_se_, rel=0.2)


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_units_of_y(unit):
    X, y = noise(12, 8, seed=3)
    first, second = (StretchyRegressorCV(**GRID).fit(X, unit_y) for unit_y in (y, unit * y))
    assert second.nested_score_ / unit / unit == pytest.approx(first.nested_score_, rel=1e-9)


@pytest.mark.slow
def test_no_bias_on_noise():
    """The plain score of pure noise flatters, the nested one does not."""
    nested, plain, fresh = [], [], []
    for seed in range(200):
        X, y = noise(25, 40, seed)
        model = StretchyRegressorCV().fit(X, y)
        level = y.var() * (25 / 24) ** 2  # what answering the mean of the others costs
        nested.append(-model.nested_score_ / level)
        plain.append(-model.best_score_ / level)
        new, truth = noise(2000, 40, seed + 10**6)
        errors = np.square(truth - model.predict(new)), np.square(truth - y.mean())
        fresh.append(errors[0].mean() / errors[1].mean())
    bias, flattery = (np.array(one) - fresh for one in (nested, plain))
    error = np.std(bias) / np.sqrt(len(bias))
    assert abs(bias.mean()) < 2 * error
    assert flattery.mean() < -4 * error
