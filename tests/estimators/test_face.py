"""The public face of the estimators: every parameter, method and fitted attribute, by name.

A change of these lists is a change that users notice: make it here first.
"""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone

import skstretch
from skstretch import (
    RecipeClassifierCV,
    RecipeRegressorCV,
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
    StretchySurvivalCV,
)
from tests.estimators.samples import problem, survival_of

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")

SINGLE = {
    "k": 1.5, "c": "auto", "loss": "squared", "a": -0.2, "b": 0.0, "quadrant": "exp",
    "density": 1.0, "fit_intercept": True, "penalty_factor": None, "solver": "auto",
}  # fmt: skip
CLASSES = {"class_weight": None, "threshold": "auto", "calibration": "auto"}
SEARCH = {
    "n_features_to_select": None, "loss": "squared", "combine": "average", "cv": None,
    "scoring": None, "nested_cv": None, "penalty_factor": None,
}  # fmt: skip
EXPERTS = {
    "n_jobs": None, "verbose": 0, "random_state": None, "a_grid": "auto", "k_grid": "auto",
    "c_grid": "auto", "b": 0.0, "quadrant": "exp", "fit_intercept": True,
}  # fmt: skip
PARAMETERS = {
    StretchyRegressor: {**SINGLE, "n_jobs": None},
    StretchyClassifier: {**SINGLE, **CLASSES, "cv": None, "n_jobs": None},
    StretchyRegressorCV: {**SEARCH, **EXPERTS},
    StretchyClassifierCV: {**SEARCH, **CLASSES, "class_weight": "balanced", **EXPERTS},
    StretchySurvivalCV: {
        "n_features_to_select": None,
        "combine": "average",
        "ties": "breslow",
        "cv": None,
        "nested_cv": None,
        "penalty_factor": None,
        "n_jobs": None,
        "verbose": 0,
        "random_state": None,
        "k_grid": "auto",
        "c_grid": "auto",
    },
    RecipeRegressorCV: {"estimator": None, "recipes": "spectra", "combine": "average"},
    RecipeClassifierCV: {"estimator": None, "recipes": "spectra", "combine": "average"},
}
# what may be given without its name
POSITIONAL = {
    StretchyRegressor: ["k", "c"],
    StretchyClassifier: ["k", "c"],
    StretchyRegressorCV: ["n_features_to_select"],
    StretchyClassifierCV: ["n_features_to_select"],
    StretchySurvivalCV: ["n_features_to_select"],
    RecipeRegressorCV: ["estimator", "recipes"],
    RecipeClassifierCV: ["estimator", "recipes"],
}
ALL = {
    "coef_std", "contributions", "effect_path", "effects", "explanation", "fit", "lazy_coef",
    "novelty", "predict", "score", "summary",
}  # fmt: skip
OF_NUMBERS = {"coef_covariance", "predict_interval"}
OF_CLASSES = {"decision_function", "predict_proba"}
OF_TIMES = {
    "predict_cumulative_hazard", "predict_cumulative_hazard_function", "predict_median",
    "predict_restricted_mean", "predict_survival_function", "score_uno",
}  # fmt: skip
OF_SEARCHES = {"influence", "permutation_test"}
METHODS = {
    StretchyRegressor: ALL | OF_NUMBERS | {"partial_fit"},
    StretchyClassifier: ALL | OF_CLASSES | {"partial_fit"},
    StretchyRegressorCV: ALL | OF_NUMBERS | OF_SEARCHES,
    StretchyClassifierCV: ALL | OF_CLASSES | OF_SEARCHES,
    StretchySurvivalCV: ALL | OF_SEARCHES | OF_TIMES,
}
FITTED = {
    "coef_", "contributions_base_", "dof_", "dual_gap_", "effect_", "intercept_", "is_linear_",
    "n_features_in_", "n_iter_", "plan_", "rcond_", "solver_", "support_",
}  # fmt: skip
ONE = {"alpha_", "dual_coef_", "c_"}
SEARCHED = {
    "best_index_", "best_score_", "best_score_se_", "cv_predictions_", "cv_results_", "weights_",
}  # fmt: skip
NESTED = {"nested_predictions_", "nested_results_", "nested_score_", "nested_score_se_"}
ATTRIBUTES = {
    StretchyRegressor: FITTED | ONE,
    StretchyClassifier: FITTED | ONE | {"classes_", "threshold_"},
    StretchyRegressorCV: FITTED | SEARCHED | NESTED,
    StretchyClassifierCV: FITTED | SEARCHED | NESTED | {"classes_", "threshold_"},
    StretchySurvivalCV: FITTED | SEARCHED | NESTED | {"cum_baseline_hazard_", "unique_times_"},
}
FEW = {"k_grid": (1.5, 2.0), "c_grid": (0.1, 1.0)}


def fitted(cls, **params):
    X, y = problem("tall")
    y = y > np.median(y) if "Classifier" in cls.__name__ else y
    if cls is StretchySurvivalCV:
        y = survival_of(y)
    return cls(**(FEW | params if "CV" in cls.__name__ else params)).fit(X, y)


@pytest.mark.parametrize("cls", PARAMETERS)
def test_parameters(cls):
    found = inspect.signature(cls).parameters
    assert {name: one.default for name, one in found.items()} == PARAMETERS[cls]
    assert list(found) == list(PARAMETERS[cls])
    open_ = [n for n, one in found.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert open_ == POSITIONAL[cls]
    assert cls().get_params(deep=False) == PARAMETERS[cls]
    assert len(PARAMETERS[StretchyRegressorCV]) <= 16


@pytest.mark.parametrize("cls", METHODS)
def test_methods(cls):
    listed = {name for name in dir(cls) if callable(getattr(cls, name)) and name[0] != "_"}
    ours = {
        name for name in listed
        if getattr(cls, name).__module__.startswith("skstretch") or name in ("score",)
    }  # fmt: skip
    assert ours - {"get_metadata_routing"} == METHODS[cls]


@pytest.mark.parametrize("cls", ATTRIBUTES)
def test_attributes(cls):
    model = fitted(cls, **({"nested_cv": 2} if "CV" in cls.__name__ else {}))
    names = [name for name in dir(model) if re.fullmatch(r"[a-z]\w*_", name)]
    assert {name for name in names if hasattr(model, name)} == ATTRIBUTES[cls]


def test_a_search_that_chose_has_the_candidate():
    chosen = fitted(StretchyRegressorCV, combine="best")
    row = chosen.cv_results_["params"][chosen.best_index_]
    assert row == {name: getattr(chosen, f"{name}_") for name in ("a", "k", "c", "density")}
    average = fitted(StretchyRegressorCV)
    for name in ("a_", "k_", "c_", "density_"):
        assert not hasattr(average, name)
        with pytest.raises(AttributeError, match=rf"'{name}': weights_ lists the candidates"):
            getattr(average, name)


@pytest.mark.parametrize("cls", [StretchyRegressorCV, StretchyClassifierCV, StretchySurvivalCV])
def test_what_a_user_reads_fits_on_a_screen(cls):
    text = inspect.getdoc(cls)
    start, end = text.index("Parameters\n"), text.index("See Also\n")
    assert len(text[start:end].strip().splitlines()) <= 60


SEARCHES = (StretchyRegressorCV, StretchyClassifierCV)
OLD = [
    *((cls, "density_grid", "n_features_to_select") for cls in SEARCHES),
    *((cls, "rule", "combine") for cls in PARAMETERS if re.search("(ier|sor)CV", cls.__name__)),
    *((cls, "nested", "nested_cv") for cls in SEARCHES),
    *((cls, "verbose", "plan_") for cls in (StretchyRegressor, StretchyClassifier)),
]  # fmt: skip


@pytest.mark.parametrize(("cls", "old", "new"), OLD)
def test_names_of_the_past_name_the_new_ones(cls, old, new):
    with pytest.raises(TypeError, match=rf"{cls.__name__}\(\) has no parameter '{old}' .*{new}"):
        cls(**{old: "mix"})
    assert old not in clone(cls()).get_params()
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        cls(nothing=1)


@pytest.mark.parametrize(
    ("old", "new"),
    [("slope_", "coef_"), ("space_", "plan_.space"), ("residual_", "plan_.residual"),
     ("held_out_", "plan_.held_out"), ("rule_loss_", "scoring"), ("nested_of_", "nested_cv")],
)  # fmt: skip
@pytest.mark.parametrize("cls", METHODS)
def test_attributes_of_the_past_name_the_new_ones(cls, old, new):
    model = fitted(cls)
    assert not hasattr(model, old)
    with pytest.raises(AttributeError, match=rf"'{old}': .*{new}"):
        getattr(model, old)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing_'$"):
        _ = model.nothing_


def test_weights_are_a_frame_or_a_dict(monkeypatch):
    pd = pytest.importorskip("pandas")
    X, y = problem("tall")
    model = StretchyRegressorCV(**FEW).fit(X, np.column_stack([y, X[:, 0]]))
    table = model.weights_
    assert isinstance(table, pd.DataFrame)
    columns = ["a", "k", "c", "density", "weight", "score", "row", "weight_0", "weight_1"]
    assert table.columns.tolist() == columns
    np.testing.assert_allclose(table[["weight_0", "weight_1"]].sum(), 1.0)
    np.testing.assert_allclose(table["weight"], table[["weight_0", "weight_1"]].mean(axis=1))
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    plain = model.weights_
    assert isinstance(plain, dict)
    for name in columns:
        np.testing.assert_array_equal(plain[name], table[name].to_numpy())


def test_plan_tells_what_was_held_out():
    assert fitted(StretchyClassifier).plan_.held_out == "leave one out"
    assert fitted(StretchyClassifier, cv=4).plan_.held_out == "folds"
    assert fitted(StretchyRegressor).plan_.held_out is None
    assert fitted(StretchyRegressor, solver="krylov").plan_.residual <= 1e-6
    assert fitted(StretchyRegressor).plan_.residual is None
    assert skstretch.StretchyRegressor().fit(*problem("wide")).plan_.space == "dual"


@pytest.mark.parametrize("cls", [StretchyClassifier, StretchyClassifierCV])
def test_a_threshold_of_ones_own(cls):
    zero, own = fitted(cls, threshold="zero"), fitted(cls, threshold=0.3)
    X, y = problem("tall")
    assert own.threshold_ == 0.3
    np.testing.assert_allclose(own.decision_function(X), zero.decision_function(X) - 0.3)
    with pytest.raises(ValueError, match="cuts the score of two classes, and y has 3"):
        clone(own).fit(X, np.digitize(y, np.quantile(y, [0.3, 0.6])))
    for odd in ("half", np.nan, True, None):
        with pytest.raises(ValueError, match="is not known: use one of zero, balanced, auto, or a"):
            clone(own).set_params(threshold=odd).fit(X, y > 0)


def test_random_state():
    """Folds that are drawn: None is always alike, numbers differ, a RandomState goes on."""
    X, y = problem("wide")
    grid = {**FEW, "a_grid": (0.0,), "n_features_to_select": 5, "combine": "best"}

    def scores(random_state):
        model = StretchyRegressorCV(**grid, random_state=random_state).fit(X, y)
        return model.cv_predictions_.tolist()

    assert scores(None) == scores(None) == scores(0)
    assert scores(1) != scores(0)
    rng = np.random.RandomState(5)
    assert scores(rng) != scores(rng)
    assert scores(np.random.RandomState(5)) == scores(np.random.RandomState(5))


def test_numbers_of_features():
    X, y = problem("wide")
    for asked, most in ((3, 3), (0.2, np.ceil(0.2 * X.shape[1])), ([2, 4], 4)):
        for combine in ("average", "best"):
            model = StretchyRegressorCV(asked, combine=combine, **FEW).fit(X, y)
            assert 0 < model.support_.sum() <= most
    densities = StretchyRegressorCV(1.0, **FEW).fit(X, y).cv_results_["param_density"]
    assert set(densities) == {1.0}
    with pytest.raises(TypeError, match="n_features_to_select='auto' is no number"):
        StretchyRegressorCV("auto").fit(X, y)


@pytest.mark.parametrize("cls", [StretchyClassifier, StretchyClassifierCV])
def test_calibration(cls):
    """By a sigmoid, or not at all; scores and labels are the same."""
    auto, sigmoid, none = (fitted(cls, calibration=how) for how in ("auto", "sigmoid", None))
    X = problem("tall")[0]
    np.testing.assert_array_equal(auto.predict_proba(X), sigmoid.predict_proba(X))
    np.testing.assert_array_equal(auto.decision_function(X), none.decision_function(X))
    np.testing.assert_array_equal(auto.predict(X), none.predict(X))
    with pytest.raises(ValueError, match="calibration=None and has no probabilities"):
        none.predict_proba(X)
    for odd in ("isotonic", "platt", 1):
        with pytest.raises(ValueError, match=f"calibration={odd!r} is not known"):
            clone(auto).set_params(calibration=odd).fit(X, X[:, 0] > 0)


def test_calibration_of_log_loss():
    """The model's own probabilities, or those of a sigmoid of its left-out scores."""
    X, y = problem("tall")
    y = y > np.median(y)
    own, none, sigmoid = (
        StretchyClassifierCV(loss="log", k_grid=(2.0,), calibration=how).fit(X, y)
        for how in ("auto", None, "sigmoid")
    )
    np.testing.assert_array_equal(own.predict_proba(X), none.predict_proba(X))
    np.testing.assert_array_equal(own.decision_function(X), sigmoid.decision_function(X))
    assert not np.allclose(own.predict_proba(X), sigmoid.predict_proba(X))
