"""Groups find their way to the splitter, with metadata routing and without."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from tests.estimators.samples import problem

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
FEW = {"k_grid": (1.25,), "c_grid": (0.1, 10.0, 1e3), "combine": "best"}
searches = pytest.mark.parametrize("search", [StretchyRegressorCV, StretchyClassifierCV])


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def grouped(search):
    X, y = problem((48, 5))
    groups = np.array(list("abcdef"))[np.random.default_rng(0).integers(0, 6, len(y))]
    return X, y > np.median(y) if search is StretchyClassifierCV else y, groups


def by_list(search, X, y, groups, **params):
    """The same search with the splits of the groups given as a list."""
    splits = list(GroupKFold(3).split(X, y, groups))
    return search(cv=splits, **FEW, **params).fit(X, y)


@searches
def test_groups_without_routing(search):
    X, y, groups = grouped(search)
    model = search(cv=GroupKFold(3), **FEW).fit(X, y, groups=groups)
    expected = by_list(search, X, y, groups)
    np.testing.assert_array_equal(model.cv_predictions_, expected.cv_predictions_)
    np.testing.assert_array_equal(model.alpha_, expected.alpha_)


@searches
@pytest.mark.usefixtures("routing")
def test_groups_with_routing(search):
    X, y, groups = grouped(search)
    model = search(cv=GroupKFold(3), **FEW).fit(X, y, groups=groups)
    expected = by_list(search, X, y, groups)
    np.testing.assert_array_equal(model.cv_predictions_, expected.cv_predictions_)


@searches
@pytest.mark.parametrize("enabled", [False, True])
def test_weights_and_groups(search, enabled):
    X, y, groups = grouped(search)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(groups))
    splits = list(GroupKFold(3).split(X, y, groups))
    expected = search(cv=splits, **FEW).fit(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=enabled):
        model = search(cv=GroupKFold(3), **FEW)
        model.fit(X, y, sample_weight=weights, groups=groups)
    np.testing.assert_array_equal(model.cv_predictions_, expected.cv_predictions_)


@searches
def test_groups_are_the_units_of_the_standard_error(search):
    """With the same splits, groups change which candidates are within one standard error."""
    X, y, groups = grouped(search)
    params = {"combine": "1se", "a_grid": (-0.2, 0.1), "k_grid": (1.1, 1.5, 2.0), "c_grid": "auto"}
    known = search(cv=LeaveOneGroupOut(), **params).fit(X, y, groups=groups)
    splits = list(LeaveOneGroupOut().split(X, y, groups))
    unknown = search(cv=splits, **params).fit(X, y)
    np.testing.assert_array_equal(
        known.cv_results_["mean_test_score"], unknown.cv_results_["mean_test_score"]
    )
    assert (known.cv_results_["within_1se"] != unknown.cv_results_["within_1se"]).any()


@searches
@pytest.mark.parametrize("enabled", [False, True])
def test_missing_groups(search, enabled):
    X, y, _ = grouped(search)
    with (
        sklearn.config_context(enable_metadata_routing=enabled),
        pytest.raises(ValueError, match="The 'groups' parameter should not be None"),
    ):
        search(cv=GroupKFold(3), **FEW).fit(X, y)


@searches
def test_unknown_keyword(search):
    X, y, groups = grouped(search)
    with pytest.raises(TypeError, match=r"unexpected keyword 'group'; groups is the only one"):
        search(cv=GroupKFold(3), **FEW).fit(X, y, group=groups)


@searches
@pytest.mark.usefixtures("routing")
def test_unknown_keyword_with_routing(search):
    X, y, groups = grouped(search)
    with pytest.raises(TypeError, match="unexpected argument"):
        search(cv=GroupKFold(3), **FEW).fit(X, y, clusters=groups)
    with pytest.raises(TypeError, match="unexpected argument"):
        search(cv=KFold(3), **FEW).fit(X, y, groups=groups)


@searches
def test_in_a_pipeline_without_routing(search):
    X, y, groups = grouped(search)
    model = Pipeline([("scale", StandardScaler()), ("search", search(cv=GroupKFold(3), **FEW))])
    model.fit(X, y, search__groups=groups)
    expected = by_list(search, X, y, groups)
    np.testing.assert_allclose(model[-1].cv_predictions_, expected.cv_predictions_, rtol=1e-9)


@searches
@pytest.mark.usefixtures("routing")
def test_in_a_pipeline_with_routing(search):
    X, y, groups = grouped(search)
    inner = search(cv=GroupKFold(3), **FEW).set_fit_request(sample_weight=True)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(groups))
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    model = make_pipeline(scaler, inner).fit(X, y, groups=groups, sample_weight=weights)
    splits = list(GroupKFold(3).split(X, y, groups))
    expected = search(cv=splits, **FEW).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model[-1].cv_predictions_, expected.cv_predictions_, rtol=1e-9)


@searches
@pytest.mark.usefixtures("routing")
def test_in_cross_validation(search):
    X, y, groups = grouped(search)
    outer = GroupKFold(2)
    found = cross_validate(
        search(cv=GroupKFold(3), **FEW),
        X,
        y,
        cv=outer,
        params={"groups": groups},
        return_estimator=True,
    )
    parts = outer.split(X, y, groups)
    for model, (train, _) in zip(found["estimator"], parts, strict=True):
        expected = by_list(search, X[train], y[train], groups[train])
        np.testing.assert_array_equal(model.cv_predictions_, expected.cv_predictions_)


@searches
@pytest.mark.parametrize("cv", [None, 3, "list"])
@pytest.mark.usefixtures("routing")
def test_routing_of_other_splitters(search, cv):
    X, y, groups = grouped(search)
    cv = list(GroupKFold(3).split(X, y, groups)) if cv == "list" else cv
    model = search(cv=cv, **FEW)
    with sklearn.config_context(enable_metadata_routing=False):
        expected = search(cv=cv, **FEW).fit(X, y)
    np.testing.assert_array_equal(model.fit(X, y).cv_predictions_, expected.cv_predictions_)


@searches
@pytest.mark.parametrize("enabled", [False, True])
def test_a_generator_is_looked_at_once(search, enabled):
    X, y, groups = grouped(search)
    expected = by_list(search, X, y, groups)
    with sklearn.config_context(enable_metadata_routing=enabled):
        model = search(cv=GroupKFold(3).split(X, y, groups), **FEW).fit(X, y)
        np.testing.assert_array_equal(model.cv_predictions_, expected.cv_predictions_)
        with pytest.raises(ValueError, match=r"no split; a generator.*pass a list"):
            model.fit(X, y)


@searches
@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize(("cv", "splitter"), [(None, LeaveOneGroupOut()), (3, GroupKFold(3))])
def test_groups_without_a_splitter(search, enabled, cv, splitter):
    """``cv=None`` leaves one group out, a number makes folds of whole groups."""
    X, y, groups = grouped(search)
    expected = search(cv=list(splitter.split(X, y, groups)), **FEW).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=enabled):
        model = search(cv=cv, **FEW).fit(X, y, groups=groups)
    np.testing.assert_array_equal(model.cv_predictions_, expected.cv_predictions_)
    plain = search(cv=cv, **FEW).fit(X, y)
    assert np.abs(model.cv_predictions_ - plain.cv_predictions_).max() > 1e-3


@searches
def test_groups_where_features_are_selected(search):
    X, y, groups = grouped(search)
    weights = (np.arange(len(y)) % 5 > 0).astype(float)
    used = np.flatnonzero(weights)
    model = search(n_features_to_select=0.5, **FEW).fit(X, y, sample_weight=weights, groups=groups)
    n_groups = np.unique(groups[used]).size
    parts = GroupKFold(n_groups).split(used, groups=groups[used])
    splits = [(used[train], used[test]) for train, test in parts]
    expected = search(n_features_to_select=0.5, cv=splits, **FEW).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.cv_predictions_, expected.cv_predictions_)
