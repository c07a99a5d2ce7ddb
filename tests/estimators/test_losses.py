"""Counts and log loss: scikit-learn at k = 2, the definition elsewhere, invariances, errors."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.metrics import (
    balanced_accuracy_score,
    d2_tweedie_score,
    log_loss,
    mean_poisson_deviance,
)
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from skstretch import (
    RecipeRegressorCV,
    SpectralFilter,
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from tests.estimators.samples import problem
from tests.literal_losses import value_and_gradient

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
FEW = {"k_grid": (1.25, 2.0), "c_grid": (0.02, 0.2)}
SHAPES = {"wide": (26, 45), "tall": (60, 6)}
KINDS = ("poisson", "log", "softmax")
OWN = {"poisson": {}, "log": {"threshold": "auto"}, "softmax": {"threshold": "auto"}}


def data(kind, shape="wide"):
    X, y = problem(SHAPES[shape])
    z = (y - y.mean()) / y.std()
    rng = np.random.default_rng(3)
    if kind == "poisson":
        return X, rng.poisson(np.exp(z + 0.3)) * 1.0
    noisy = z + 0.5 * rng.standard_normal(len(z))
    return X, np.digitize(noisy, [0.2] if kind == "log" else [-0.5, 0.6])


def model(kind, **given):
    given = {**FEW, "cv": 3, **given}
    if kind == "poisson":
        return StretchyRegressorCV(loss="poisson", **given)
    return StretchyClassifierCV(loss="log", **{"class_weight": None, "threshold": "zero", **given})


def scores(fitted, X):
    """Linear scores: logarithms of rates, or log-odds."""
    if isinstance(fitted, StretchyRegressorCV | StretchyRegressor):
        return np.log(fitted.predict(X))
    return fitted.decision_function(X)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learn_at_two(kind, shape):
    """λ Σα² + L of ours is the objective of scikit-learn's: C = 2c, alpha = 1/(2cn)."""
    X, y = data(kind, shape)
    w, c = np.random.default_rng(0).uniform(0.5, 2.0, len(X)), 0.05
    ours = model(kind, k_grid=[2.0], c_grid=[c]).fit(X, y, sample_weight=w)
    Z = StandardScaler().fit_transform(X, sample_weight=w)
    if kind == "poisson":
        how = {"solver": "newton-cholesky", "tol": 1e-13, "max_iter": 1000}
        other = PoissonRegressor(alpha=0.5 / c / w.sum(), **how).fit(Z, y, sample_weight=w)
        np.testing.assert_allclose(ours.predict(X), other.predict(Z), rtol=1e-8)
        assert ours.score(X, y, w) == pytest.approx(other.score(Z, y, w), abs=1e-9)
    else:
        how = {"tol": 1e-12, "max_iter": 100_000}
        other = LogisticRegression(C=2 * c, **how).fit(Z, y, sample_weight=w)
        np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(Z), atol=1e-6)
        assert (ours.predict(X) == other.predict(Z)).all()
    level = other.coef_.mean(axis=0) if kind == "softmax" else 0.0
    np.testing.assert_allclose(ours.effect_, np.squeeze(other.coef_ - level), atol=1e-6)
    assert ours.is_linear_


def single(kind, k, c, **given):
    """A model of one k and c."""
    if kind == "poisson":
        return StretchyRegressor(k, c, loss="poisson", a=0, **given)
    return StretchyClassifier(k, c, loss="log", a=0, cv=3, **given)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_single_models_at_two(kind, shape):
    """As scikit-learn's, with weights and with columns that are never penalised."""
    X, y = data(kind, shape)
    w, c = np.random.default_rng(0).uniform(0.5, 2.0, len(X)), 0.05
    ours = single(kind, 2.0, c).fit(X, y, sample_weight=w)
    Z = StandardScaler().fit_transform(X, sample_weight=w)
    if kind == "poisson":
        how = {"solver": "newton-cholesky", "tol": 1e-13, "max_iter": 1000}
        other = PoissonRegressor(alpha=0.5 / c / w.sum(), **how).fit(Z, y, sample_weight=w)
        np.testing.assert_allclose(ours.predict(X), other.predict(Z), rtol=1e-6)
        np.testing.assert_allclose(ours.effect_, other.coef_, atol=1e-6)
    else:
        other = LogisticRegression(C=2 * c, tol=1e-12, max_iter=100_000)
        other.fit(Z, y, sample_weight=w)
        np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(Z), atol=1e-6)
    assert ours.c_ == c
    assert ours.is_linear_
    assert ours.dual_gap_ <= 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_single_models_are_candidates(kind):
    """The same model as a search of one k and c, penalty factors and all."""
    X, y = data(kind)
    factor = np.where(np.arange(X.shape[1]) == 3, 0.0, 1.0)
    for k in (1.1, 1.5):
        one = single(kind, k, 0.1, penalty_factor=factor).fit(X, y)
        own = model(kind, k_grid=[k], c_grid=[0.1], penalty_factor=factor, **OWN[kind]).fit(X, y)
        np.testing.assert_allclose(one.coef_, own.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(one.predict(X), own.predict(X))
        assert one.dof_ == pytest.approx(own.dof_)
    # automatic strengths follow the data, in any units of X and of weights
    plain = {} if kind == "poisson" else {"threshold": "zero"}
    found = single(kind, 1.25, "auto", **plain).fit(X, y)
    other = clone(found).fit(7.0 * X - 3.0, y, sample_weight=np.full(len(X), 5.0))
    np.testing.assert_allclose(scores(other, 7.0 * X - 3.0), scores(found, X), atol=1e-6)
    assert 1.5 < found.dof_ < 3 * len(X)


def test_what_single_models_refuse():
    X, y = data("log")
    wrong = {"a": -0.2, "density": 0.5, "solver": "qr", "fit_intercept": "column", "c": np.inf,
             "quadrant": "identity", "loss": "hinge", "k": 3.0}  # fmt: skip
    for name, value in wrong.items():
        for kind in ("log", "poisson"):
            with pytest.raises(ValueError, match=rf"^{name}="):
                single(kind, 2.0, 1.0).set_params(**{name: value}).fit(X, y)
    fitted = single("poisson", 2.0, 1.0).fit(X, y)
    for name in ("coef_std", "effect_path"):
        with pytest.raises(ValueError, match="is for squared error, and not for loss='poisson'"):
            getattr(fitted, name)()
    with pytest.raises(ValueError, match="partial_fit is for squared error"):
        fitted.partial_fit(X, y)
    assert "not known" in str(fitted.summary())  # nothing was left out


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_minimum_between(kind):
    """k = 1.5, by an independent minimiser of the definition."""
    X, y = data(kind)
    Z, k, c = StandardScaler().fit_transform(X), 1.5, 0.05
    ours = model(kind, k_grid=[k], c_grid=[c]).fit(X, y)
    C, D = (3 if kind == "softmax" else 1), Z.shape[1]
    what = {"y": y, "offset": 0.0} if kind == "poisson" else y
    name = {"log": "logistic"}.get(kind, kind)

    def objective(x):
        alpha, b = x[: C * D].reshape(C, D), x[C * D :]
        eta = (Z @ alpha.T + b).T
        value, g = value_and_gradient(name, what, np.ones(len(Z)), eta.ravel())
        g, lam = np.asarray(g, float).reshape(C, -1), 0.25 / c
        slope = g @ Z + lam * k * np.sign(alpha) * np.abs(alpha) ** (k - 1)
        total = float(value) + lam * np.sum(np.abs(alpha) ** k)
        return total, np.concatenate([slope.ravel(), g.sum(axis=1)])

    how = {"gtol": 1e-10, "maxiter": 20_000, "maxfun": 100_000, "ftol": 0, "maxcor": 50}
    start = np.full(C * D + C, 0.01)
    found = scipy.optimize.minimize(objective, start, (), "L-BFGS-B", True, options=how)
    want = found.x[: C * D].reshape(C, D)
    np.testing.assert_allclose(ours.effect_, np.squeeze(want), atol=5e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_invariances(kind, shape):
    X, y = data(kind, shape)
    rows = np.arange(len(X))
    folds = [(np.flatnonzero(rows % 3 != i), np.flatnonzero(rows % 3 == i)) for i in range(3)]
    one = model(kind, cv=folds).fit(X, y)
    size = np.abs(scores(one, X)).max()

    def close(other, data):
        np.testing.assert_allclose(scores(other, data), scores(one, X), atol=1e-8 * size)
        assert other.best_score_ == pytest.approx(one.best_score_, rel=1e-8)

    scale = np.linspace(0.1, 50.0, X.shape[1])
    close(clone(one).fit(X * scale - 7.0, y), X * scale - 7.0)
    order = np.random.default_rng(0).permutation(len(X))
    moved = [tuple(np.argsort(order)[part] for part in fold) for fold in folds]
    close(model(kind, cv=moved).fit(X[order], y[order]), X)
    w = np.random.default_rng(1).integers(1, 3, len(X))
    rows = np.repeat(np.arange(len(X)), w)
    again = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in folds]
    weighed = model(kind, cv=folds).fit(X, y, sample_weight=w)
    repeated = model(kind, cv=again).fit(X[rows], y[rows])
    np.testing.assert_allclose(scores(weighed, X), scores(repeated, X), atol=1e-8 * size)
    assert weighed.best_score_ == pytest.approx(repeated.best_score_, rel=1e-8)


@pytest.mark.parametrize("kind", ["log", "softmax"])
def test_the_unit_of_weights_does_not_matter(kind):
    """Neither for the shares of the average nor for errors; only c has it."""
    X, y = data(kind, "tall")
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    one = model(kind, c_grid="auto", class_weight="balanced").fit(X, y, sample_weight=w)
    other = clone(one).fit(X, y, sample_weight=1e3 * w)
    assert len(one.weights_) > 1
    np.testing.assert_allclose(other.weights_["weight"], one.weights_["weight"], rtol=1e-6)
    np.testing.assert_allclose(1e3 * other.weights_["c"], one.weights_["c"], rtol=1e-6)
    np.testing.assert_allclose(scores(other, X), scores(one, X), atol=1e-6)
    assert other.best_score_se_ == pytest.approx(one.best_score_se_, rel=1e-6)


@pytest.mark.parametrize("kind", ["log", "softmax"])
def test_names_of_classes_do_not_matter(kind):
    X, y = data(kind)
    one = model(kind).fit(X, y)
    n = y.max() + 1
    names = np.array(["z", "y", "x"])[:n]  # the other way round
    other = clone(one).fit(X, names[y])
    np.testing.assert_allclose(other.predict_proba(X)[:, ::-1], one.predict_proba(X), atol=1e-8)
    assert (other.predict(X) == names[one.predict(X)]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_storages(kind):
    X, y = data(kind)
    X = X.round()
    one = model(kind).fit(X, y)
    da = pytest.importorskip("dask.array")
    others = scipy.sparse.csr_array(X), X.astype(np.float32), da.from_array(X, chunks=(-1, 10))
    for other in others:
        found = clone(one).fit(other, y)
        digits = 1e-4 if other.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(found.coef_, one.coef_, atol=digits)
        assert found.coef_.dtype == (np.float32 if other.dtype == np.float32 else np.float64)


@pytest.mark.parametrize("balance", ["balanced", {0: 1.0, 1: 7.0}])
def test_weights_of_classes_are_taken_out_of_probabilities(balance):
    """Weighted log-odds are shifted by the logarithm of the weights, and probabilities are not."""
    X, y = data("log", "tall")
    found = model("log", class_weight=balance, k_grid=[1.5], c_grid=[0.1]).fit(X, y)
    ratio = 7.0 if isinstance(balance, dict) else (y == 0).sum() / (y == 1).sum()
    odds = found.decision_function(X) - np.log(ratio)
    want = 1.0 / (1.0 + np.exp(-odds))
    np.testing.assert_allclose(found.predict_proba(X)[:, 1], want, atol=1e-12)
    assert (found.predict(X) == (found.decision_function(X) > 0)).all()
    cut = clone(found).set_params(threshold=0.7).fit(X, y)
    np.testing.assert_allclose(cut.predict_proba(X), found.predict_proba(X), atol=1e-12)


def test_splitting_an_exposure_changes_nothing():
    """Five counts in two years are two and three in one year each: the same rate."""
    X, counts = data("poisson", "tall")
    exposure = np.random.default_rng(0).uniform(0.5, 3.0, len(X))
    folds = [(np.arange(i % 2, len(X), 2), np.arange(1 - i % 2, len(X), 2)) for i in range(2)]
    one = model("poisson", cv=folds).fit(X, counts / exposure, sample_weight=exposure)
    twice = np.concatenate([X, X])
    part = np.concatenate([np.floor(counts / 2), np.ceil(counts / 2)])
    times = np.concatenate([exposure, exposure]) / 2
    again = [tuple(np.concatenate([p, p + len(X)]) for p in fold) for fold in folds]
    two = model("poisson", cv=again).fit(twice, part / times, sample_weight=times)
    np.testing.assert_allclose(two.predict(X), one.predict(X), rtol=1e-7)
    days = model("poisson", cv=folds)
    days.fit(X, counts / exposure / 365.0, sample_weight=365.0 * exposure)
    np.testing.assert_allclose(365.0 * days.predict(X), one.predict(X), rtol=1e-8)
    gain = days.best_score_se_ / days.best_score_
    assert gain == pytest.approx(one.best_score_se_ / one.best_score_, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_told(kind):
    """Scores are those of the out-of-fold predictions, and of repeated searches."""
    X, y = data(kind, "tall")
    if kind == "poisson":
        splitter = KFold(3, shuffle=True, random_state=0)
    else:
        splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    found = model(kind, nested_cv=splitter).fit(X, y)
    inner = model(kind)
    want = cross_val_predict(inner, X, y, cv=splitter)
    np.testing.assert_array_equal(found.nested_predictions_, want)
    if kind == "poisson":
        held = found.cv_predictions_
        assert found.best_score_ == pytest.approx(-mean_poisson_deviance(y, held))
        assert found.nested_score_ == pytest.approx(-mean_poisson_deviance(y, want))
        assert found.score(X, y) == d2_tweedie_score(y, found.predict(X), power=1)
    else:
        assert found.nested_score_ == pytest.approx(balanced_accuracy_score(y, want))
        assert log_loss(y, found.predict_proba(X)) < np.log(1 + y.max())  # of knowing nothing
    text = str(found.summary())
    assert "repeated on other samples" in text
    assert ("logarithm of the rate" in text) == (kind == "poisson")


@pytest.mark.parametrize("shape", SHAPES)
def test_predictions_of_counts_are_rates_everywhere(shape):
    """Those of left-out samples too, and of samples of weight zero, which no fold leaves out."""
    X, y = data("poisson", shape)
    w, folds = (np.arange(len(y)) > 2) * 1.0, KFold(3, shuffle=True, random_state=0)
    found = model("poisson", nested_cv=folds).fit(X, y, w)
    for held in (found.cv_predictions_, found.nested_predictions_):
        assert held.min() > 0.0
        assert held[3:].mean() == pytest.approx(y[3:].mean(), rel=0.3)
    np.testing.assert_allclose(found.cv_predictions_[:3], found.predict(X[:3]), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_penalised(kind):
    """Of few features the minimum is that of maximum likelihood, whatever c is."""
    X, y = data(kind, "tall")
    free = {"k_grid": (1.25, 2.0), "c_grid": "auto", "penalty_factor": np.zeros(X.shape[1])}
    found = model(kind, **free).fit(X, y)
    if kind == "poisson":
        other = PoissonRegressor(alpha=0.0, solver="newton-cholesky", tol=1e-13).fit(X, y)
        np.testing.assert_allclose(found.coef_, other.coef_, rtol=1e-7)
        assert found.dof_ == pytest.approx(X.shape[1] + 1.0)
    else:
        other = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-12, max_iter=100_000)
        want = other.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(found.predict_proba(X), want, atol=1e-9)


@pytest.mark.parametrize("unit", [1e6, 1e15])
def test_large_counts(unit):
    """A first step from a rate of 1 overflows, which is nobody's business."""
    X, y = data("poisson", "tall")
    one, other = (
        model("poisson", combine="best", c_grid=[0.02 / u]).fit(X, u * y) for u in (1.0, unit)
    )
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-7)
    assert other.best_score_ == pytest.approx(unit * one.best_score_, rel=1e-6)
    with pytest.raises(ValueError, match=r"counts up to 1\.\de\+201, .*Divide the counts"):
        model("poisson").fit(X, 1e200 * y)


def test_scores_of_equal_counts_are_zero():
    X, y = data("poisson", "tall")
    found = model("poisson").fit(X, y)
    assert found.score(X, np.zeros(len(X))) == found.score(X, np.full(len(X), 3)) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_contributions_add_up_to_scores(kind):
    X, y = data(kind)
    found = model(kind).fit(X, y)
    total = found.contributions(X).sum(axis=1) + found.contributions_base_
    np.testing.assert_allclose(total, scores(found, X), atol=1e-9)


def test_a_scorer_of_ones_own():
    X, y = data("poisson", "tall")
    found = model("poisson", scoring="neg_mean_absolute_error", combine="best").fit(X, y)
    errors = np.abs(found.cv_predictions_ - y)
    assert found.best_score_ == pytest.approx(-errors.mean())
    assert found.best_index_ == np.argmax(found.cv_results_["mean_test_score"])


@pytest.mark.parametrize("kind", ["log", "softmax"])
def test_a_scorer_of_probabilities(kind):
    """Probabilities of left-out samples are known, class weights taken out of them."""
    X, y = data(kind)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    for balance in (None, "balanced"):
        given = {"class_weight": balance, "scoring": "neg_log_loss", "combine": "best"}
        found = model(kind, **given).fit(X, y, w)
        want = []
        for k, c in zip(found.cv_results_["param_k"], found.cv_results_["param_c"], strict=True):
            one = model(kind, **given, k_grid=[k], c_grid=[c]).fit(X, y, w)
            out = one.cv_predictions_.reshape(len(y), -1)
            out = np.column_stack([0 * out, out]) if kind == "log" else out
            totals = np.bincount(y, w)
            p = softmax(out + (0.0 if balance is None else np.log(totals)), axis=1)
            want.append(-log_loss(y, p, sample_weight=w))
            assert one.best_score_ == pytest.approx(want[-1], rel=1e-9)
        np.testing.assert_allclose(found.cv_results_["mean_test_score"], want, rtol=1e-7)
        assert found.best_index_ == np.argmax(want)
    if kind == "log":
        assert -0.25 < model(kind, scoring="neg_brier_score").fit(X, y).best_score_ < 0.0
    else:
        assert 0.5 < model(kind, scoring="roc_auc_ovr").fit(X, y).best_score_ <= 1.0


def test_recipes():
    X, y = data("poisson", "tall")
    own = model("poisson", combine="best")
    recipes = {"raw": SpectralFilter(derivative=0, window=1, polyorder=0), "snv": SpectralFilter()}
    found = RecipeRegressorCV(own, recipes, combine="best").fit(X, y)
    alone = clone(own).fit(recipes["raw"].fit_transform(X), y)
    other = clone(own).fit(recipes["snv"].fit_transform(X), y)
    best = max(alone, other, key=lambda one: one.best_score_)
    assert found.best_score_ == pytest.approx(best.best_score_, rel=1e-9)
    np.testing.assert_allclose(found.cv_predictions_, best.cv_predictions_, rtol=1e-9)
    assert found.cv_predictions_.min() > 0.0


def test_what_is_refused():
    X, y = data("poisson", "tall")
    counts, classes = model("poisson"), model("log")
    for name in ("predict_interval", "coef_covariance", "coef_std", "influence"):
        with pytest.raises(ValueError, match=r"is for squared error, and not for loss='poisson': "):
            getattr(clone(counts).fit(X, y), name)(*[X] * (name == "predict_interval"))
    wrong = {"a_grid": (-0.2, 0), "quadrant": "identity", "fit_intercept": "column",
             "n_features_to_select": 0, "k_grid": (1.0,), "loss": "huber"}  # fmt: skip
    for name, value in wrong.items():
        for one, target in ((counts, y), (classes, y > 0)):
            with pytest.raises(ValueError, match=rf"^{name}="):
                clone(one).set_params(**{name: value}).fit(X, target)
    clone(counts).set_params(a_grid=[0.0], n_features_to_select=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"y has -1 \(sample 2\), and counts are not negative"):
        counts.fit(X, np.where(np.arange(len(y)) == 2, -1.0, y))
    with pytest.raises(ValueError, match="all counts are zero"):
        counts.fit(X, 0 * y)
    with pytest.raises(ValueError, match="1d array"):
        counts.fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("combine", ["average", "best"])
def test_numbers_of_features(kind, combine):
    X, y = data(kind)
    for asked, most in ((3, 3), (0.1, 5), ([2, 4], 4)):
        found = model(kind, n_features_to_select=asked, combine=combine).fit(X, y)
        assert 0 < np.atleast_2d(found.support_).any(axis=0).sum() <= most
        assert np.atleast_2d(found.coef_).any(axis=0).sum() <= most
    factors = np.where(np.arange(X.shape[1]) == 7, 0.0, 1.0)
    found.set_params(n_features_to_select=3, penalty_factor=factors).fit(X, y)
    assert np.atleast_2d(found.coef_)[:, 7].all()  # what is never penalised is kept
    X[:, :5] = 1.0  # columns that do not vary
    found.set_params(n_features_to_select=X.shape[1], penalty_factor=None).fit(X, y)
    assert np.atleast_2d(found.support_).any(axis=0).sum() == X.shape[1] - 5
