"""StretchySurvivalCV: the definition of Cox's model, invariances, forms of y, errors."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstretch import StretchySurvivalCV
from skstretch.core.survival import concordance
from skstretch.exceptions import GridEdgeWarning
from tests.estimators.samples import problem, survival_of
from tests.literal_losses import cox_terms

pytestmark = pytest.mark.filterwarnings(f"ignore::{GridEdgeWarning.__module__}.GridEdgeWarning")
FEW = {"k_grid": (1.25, 2.0), "c_grid": (0.03, 0.3)}
SHAPES = ("wide", "tall")


def data(shape="wide"):
    X, y = problem((24, 40) if shape == "wide" else (40, 6))
    return X, survival_of(y)


def objective(alpha, Z, y, k, c, ties):
    """λ Σ|α|^k and Cox's likelihood as they stand in a book, with the gradient."""
    eta, time, event = Z @ alpha, y["time"], y["event"]
    value, g = -eta[event].sum(), -1.0 * event
    named = {"entry": "entry", "strata": "stratum"}
    beside = {to: y[name] for to, name in named.items() if name in y.dtype.names}
    for a in cox_terms(time, event, **beside, ties=ties):
        x = a * np.exp(eta)
        value, g = value + np.log(x.sum()), g + x / x.sum()
    lam = 0.25 / c
    size = np.abs(alpha)
    slope = lam * k * np.sign(alpha) * size ** (k - 1)
    return value + lam * np.sum(size**k), Z.T @ g + slope


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("k", [1.5, 2.0])
def test_against_a_plain_minimum(shape, ties, k):
    """An independent, slow minimum of the definition."""
    X, y = data(shape)
    y["time"] = np.ceil(4 * y["time"])  # heavy ties
    model = StretchySurvivalCV(ties=ties, k_grid=[k], c_grid=[0.1], cv=3).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    start = np.full(Z.shape[1], 0.01)
    how = {"gtol": 1e-10, "maxiter": 20_000, "maxfun": 100_000, "ftol": 0, "maxcor": 50}
    given = Z, y, k, 0.1, ties
    found = scipy.optimize.minimize(objective, start, given, "L-BFGS-B", True, options=how)
    np.testing.assert_allclose(model.effect_, found.x, atol=2e-6)
    assert objective(model.effect_, *given)[0] <= found.fun * (1 + 1e-14)
    np.testing.assert_allclose(model.predict(X), Z @ model.effect_, atol=1e-10)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, atol=1e-10)
    assert model.dual_gap_ <= 1e-10


def entered(y, *beside, seed=0):
    """The same with times of entry, or strata."""
    rng = np.random.default_rng(seed)
    own = {
        "entry": y["time"] - rng.uniform(0.01, 1.0, len(y)),
        "stratum": rng.integers(0, 2, len(y)),
    }
    out = np.empty(len(y), dtype=[*y.dtype.descr, *((name, own[name].dtype) for name in beside)])
    for name in out.dtype.names:
        out[name] = own[name] if name in own else y[name]
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("beside", [("entry",), ("stratum",), ("entry", "stratum")])
def test_entries_and_strata(shape, beside):
    """By the definition; hazards are sums over those who are watched; only risks with strata."""
    X, y = data(shape)
    y = entered(y, *beside)
    model = StretchySurvivalCV(k_grid=[2.0], c_grid=[0.1], cv=3, nested_cv=2).fit(X, y)
    given = StandardScaler().fit_transform(X), y, 2.0, 0.1, "breslow"
    how = {"gtol": 1e-10, "maxiter": 20_000, "ftol": 0, "maxcor": 50}
    start = np.zeros(X.shape[1])
    found = scipy.optimize.minimize(objective, start, given, "L-BFGS-B", True, options=how)
    np.testing.assert_allclose(model.effect_, found.x, atol=2e-6)
    frame = pytest.importorskip("pandas").DataFrame({name: y[name] for name in y.dtype.names})
    np.testing.assert_array_equal(clone(model).fit(X, frame).coef_, model.coef_)
    plain = clone(model).fit(X, y[["event", "time"]])
    assert np.abs(plain.coef_ - model.coef_).max() > 1e-3
    if "stratum" in beside:
        with pytest.raises(ValueError, match="the model has strata, each with a hazard of its own"):
            model.predict_median(X)
        return
    x = np.exp(model.predict(X))
    steps = [
        np.sum(y["event"] & (y["time"] == t)) / x[(y["entry"] < t) & (t <= y["time"])].sum()
        for t in model.unique_times_
    ]
    np.testing.assert_allclose(model.cum_baseline_hazard_, np.cumsum(steps), rtol=1e-9)
    y["entry"][3] = y["time"][3]
    with pytest.raises(ValueError, match=r"sample 3 enters at .*: entry must be before time"):
        model.fit(X, y)


@pytest.mark.parametrize("shape", SHAPES)
def test_invariances(shape):
    X, y = data(shape)
    folds = [(rows % 3 != i, rows % 3 == i) for rows in [np.arange(len(X))] for i in range(3)]
    folds = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in folds]
    one = StretchySurvivalCV(cv=folds, **FEW).fit(X, y)

    def close(other, risk):
        size = np.abs(one.predict(X)).max()
        np.testing.assert_allclose(risk, one.predict(X), atol=1e-8 * size)
        assert other.best_score_ == pytest.approx(one.best_score_, abs=1e-8)

    scale = np.linspace(0.1, 50.0, X.shape[1])
    other = clone(one).fit(X * scale - 7.0, y)
    close(other, other.predict(X * scale - 7.0))
    np.testing.assert_allclose(other.coef_ * scale, one.coef_, atol=1e-8)
    later = y.copy()
    later["time"] = np.exp(y["time"] / 3.0)
    other = clone(one).fit(X, later)
    np.testing.assert_array_equal(other.coef_, one.coef_)  # only the order of times counts
    later["time"] = 1e-200 * y["time"]
    np.testing.assert_array_equal(clone(one).fit(X, later).coef_, one.coef_)
    order = np.random.default_rng(0).permutation(len(X))
    back = np.argsort(order)
    moved = [tuple(back[part] for part in fold) for fold in folds]
    other = StretchySurvivalCV(cv=moved, **FEW).fit(X[order], y[order])
    close(other, other.predict(X))
    w = np.random.default_rng(1).integers(1, 3, len(X))
    rows = np.repeat(np.arange(len(X)), w)
    again = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in folds]
    weighed = StretchySurvivalCV(cv=folds, **FEW).fit(X, y, sample_weight=w)
    repeated = StretchySurvivalCV(cv=again, **FEW).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-8)
    assert weighed.best_score_ == pytest.approx(repeated.best_score_, abs=1e-8)
    assert weighed.best_score_se_ == pytest.approx(repeated.best_score_se_, rel=1e-6)
    hazards = [m.predict_cumulative_hazard_function(X) for m in (weighed, repeated)]
    np.testing.assert_allclose(*hazards, rtol=1e-7)
    one, shares = (
        StretchySurvivalCV(cv=folds, k_grid=FEW["k_grid"]).fit(X, y, sample_weight=own)
        for own in (w, w / w.sum())
    )
    np.testing.assert_allclose(shares.coef_, one.coef_, atol=1e-8)
    assert shares.best_score_se_ == pytest.approx(one.best_score_se_, rel=1e-6)


def test_storages_and_types():
    X, y = data()
    X = X.round()
    one = StretchySurvivalCV(cv=3, **FEW).fit(X, y)
    for other in (scipy.sparse.csr_array(X), scipy.sparse.csc_matrix(X), X.astype(int)):
        model = clone(one).fit(other, y)
        np.testing.assert_allclose(model.coef_, one.coef_, atol=1e-9)
        np.testing.assert_allclose(model.predict(other), one.predict(X), atol=1e-8)
    single = clone(one).fit(X.astype(np.float32), y)
    assert single.predict(X.astype(np.float32)).dtype == single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, one.coef_, atol=1e-5)


def test_frames():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = data()
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])])
    one = StretchySurvivalCV(cv=3, **FEW).fit(X, y)
    for event in (y["event"], y["event"].astype(int), y["event"].astype(object)):
        for made in (pd.DataFrame, pl.DataFrame):
            columns = {"dead": event, "months": y["time"]}
            kinds = {"strict": False} if made is pl.DataFrame else {}
            model = clone(one).fit(frame, made(columns, **kinds))
            # frames hold columns, arrays rows: sums are rounded otherwise
            np.testing.assert_allclose(model.coef_, one.coef_, rtol=1e-8)
    assert model.feature_names_in_[1] == "gene 1"
    assert "gene" in str(model.summary())


def test_among_scikit_learn():
    X, y = data("tall")
    model = make_pipeline(StandardScaler(), StretchySurvivalCV(cv=3, **FEW))
    scores = cross_val_score(clone(model), X, y, cv=KFold(3))
    assert np.isfinite(scores).all()
    model.fit(X, y)
    assert model.score(X, y) == concordance(y["event"], y["time"], model.predict(X))
    assert 0.5 < model[-1].score_uno(model[:-1].transform(X), y) <= 1.0
    assert clone(model[-1]).get_params() == model[-1].get_params()


def test_repeated_searches_are_those_of_scikit_learn():
    X, y = data("tall")
    inner = StretchySurvivalCV(cv=3, **FEW)
    splitter = KFold(3, shuffle=True, random_state=0)
    model = clone(inner).set_params(nested_cv=splitter).fit(X, y)
    want = cross_val_predict(inner, X, y, cv=splitter)
    np.testing.assert_array_equal(model.nested_predictions_, want)
    assert model.nested_score_ == pytest.approx(concordance(y["event"], y["time"], want))
    first = str(model.summary()).split("concordance ", 1)[1]
    assert first.startswith(f"{model.nested_score_:.3f}")
    assert model.nested_score_se_ > 0


def test_what_is_never_penalised():
    """Its derivative is zero at the minimum; a large factor leaves nothing of a feature."""
    X, y = data()
    factors = np.ones(X.shape[1])
    factors[0], factors[1] = 0.0, np.inf
    model = StretchySurvivalCV(penalty_factor=factors, k_grid=[1.5], c_grid=[0.05], cv=3).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    _, slope = objective(model.effect_, Z, y, 1.5, 1e12, "breslow")
    assert abs(slope[0]) <= 1e-6 * np.abs(slope).max()
    assert model.effect_[1] == 0.0
    assert abs(model.effect_[0]) > 0.0


def test_groups_stay_together():
    X, y = data("tall")
    groups = np.arange(len(X)) // 4
    rows = np.repeat(np.arange(len(X)), 1)
    model = StretchySurvivalCV(**FEW).fit(X, y, groups=groups)
    splits = [(rows[groups != g], rows[groups == g]) for g in range(10)]
    want = StretchySurvivalCV(cv=splits, **FEW).fit(X, y)
    np.testing.assert_allclose(model.cv_predictions_, want.cv_predictions_, atol=1e-12)


@pytest.mark.parametrize("combine", ["average", "best", "1se"])
def test_ways_to_combine(combine):
    X, y = data("tall")
    model = StretchySurvivalCV(combine=combine, cv=3, k_grid=(1.1, 1.5, 2.0)).fit(X, y)
    shares = np.asarray(model.weights_["weight"])
    assert shares.sum() == pytest.approx(1.0)
    assert (len(shares) > 1) == (combine == "average")
    if combine == "best":
        assert hasattr(model, "k_")
        beta = model.dual_coef_
        Z = StandardScaler().fit_transform(X)
        v = Z.T @ beta
        np.testing.assert_allclose(np.sign(v) * np.abs(v) ** (1 / (model.k_ - 1)), model.effect_)


def test_contributions_add_up_to_the_risk():
    X, y = data()
    model = StretchySurvivalCV(cv=3, **FEW).fit(X, y)
    total = model.contributions(X).sum(axis=1) + model.contributions_base_
    np.testing.assert_allclose(total, model.predict(X), atol=1e-10)


def fitted():
    X, y = data("tall")
    return StretchySurvivalCV(cv=3, **FEW).fit(X, y), X, y


@pytest.mark.parametrize("name", ["coef_std", "effect_path", "influence", "permutation_test"])
def test_what_only_squared_error_has(name):
    with pytest.raises(ValueError, match="is for squared error, and not for StretchySurvivalCV"):
        getattr(fitted()[0], name)()


def test_targets_that_are_none():
    X, y = data("tall")
    model, n = StretchySurvivalCV(), len(X)

    def refused(y, match):
        with pytest.raises(ValueError, match=match):
            model.fit(X, y)

    refused(None, "requires y to be passed")
    refused(y["time"], "y has type ndarray, and survival needs an event and a time")
    pd = pytest.importorskip("pandas")
    refused(pd.DataFrame({"time": y["time"]}), "y has 1 columns")
    swapped = pd.DataFrame({"time": 0.5 + y["time"], "event": y["event"]})
    refused(swapped, r"the first column of y, 'time', holds .* and an event is True or False")
    words = pd.DataFrame({"event": y["event"], "time": ["soon"] * n})
    refused(words, "the second column of y, 'time', holds what is no number")
    for odd in (-1.0, np.nan, np.inf):
        wrong = y.copy()
        wrong["time"][3] = odd
        refused(wrong, rf"the time of sample 3 is {odd:g}: times must be finite and not negative")
    pd_y = pd.DataFrame(y)
    refused(pd_y.astype({"event": "boolean"}).assign(event=[pd.NA] * n), "holds <NA>, and an event")
    for when in (pd.to_timedelta(y["time"], unit="D"), pd.to_datetime(y["time"], unit="D")):
        refused(pd_y.assign(time=when), "'time', holds what is no number")
    for labels in (["a", None], [1.0, np.nan]):
        refused(pd_y.assign(stratum=(labels * n)[:n]), "the column stratum of y misses labels")
    refused(y[:, None], r"the column 'event' of y has shape")
    never = y.copy()
    never["event"] = False
    refused(never, "no sample has an event")
    refused(y[:-1], "inconsistent numbers of samples")


def test_nothing_is_compared():
    pd = pytest.importorskip("pandas")
    X, y = data("tall")
    y = pd.DataFrame(y)
    with pytest.raises(ValueError, match="no event leaves another sample behind"):
        StretchySurvivalCV().fit(X, y.assign(stratum=np.arange(len(X))))
    last = y["time"] == y["time"].max()
    with pytest.raises(ValueError, match="no event leaves another sample behind"):
        StretchySurvivalCV().fit(X, y.assign(event=last))
    with pytest.raises(ValueError, match="without the samples of one fold no sample has an event"):
        StretchySurvivalCV().fit(X, y.assign(event=np.arange(len(X)) == y["time"].argmin()))


def test_parameters_and_times_that_are_none():
    model, X, y = fitted()
    wrong = {
        "ties": "exact", "combine": "median", "k_grid": (2.5,), "c_grid": (0.0,),
        "penalty_factor": [-1.0] * X.shape[1],
    }  # fmt: skip
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=name):
            clone(model).set_params(**{name: value}).fit(X, y)
    with pytest.raises(TypeError, match=r"k_grid=2\.0 is not a grid"):
        clone(model).set_params(k_grid=2.0).fit(X, y)
    with pytest.raises(ValueError, match="the last of the training data"):
        model.predict_survival_function(X, [1e9])
    assert (model.predict_survival_function(X, [-np.inf, -1.0]) == 1.0).all()
    with pytest.raises(ValueError, match="until=-1 must be above 0"):
        model.predict_restricted_mean(X, -1.0)
    with pytest.raises(ValueError, match="until=nan is not a number"):
        model.score_uno(X, y, np.nan)
    with pytest.raises(ValueError, match="sample_weight has a negative entry"):
        model.score(X, y, -np.ones(len(X)))
    da = pytest.importorskip("dask.array")
    with (
        config_context(working_memory=0),
        pytest.raises(TypeError, match="is not searched on a Dask array beyond working_memory"),
    ):
        clone(model).fit(da.from_array(X), y)
