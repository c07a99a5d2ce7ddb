"""The plan says how often the data is read, and it is read so often."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.solve import choose as fit_module
from tests.estimators.plans import DATA, GRID, SHAPES, SHUFFLED, Counting, printed

pytestmark = pytest.mark.filterwarnings(
    "ignore::skstretch.exceptions.GridEdgeWarning", "ignore::UserWarning"
)


def fitted(model, X, capfd, y=None, weights=None, **params):
    """The model, how often every number was read, and the plan as printed."""
    source = Counting(X)
    if y is None:
        y = X[:, :4].sum(axis=1) + 0.3 * np.random.default_rng(1).standard_normal(len(X))
    if "Classifier" in type(model).__name__ and y.ndim == 1:
        y = y > np.median(y)
    model.set_params(verbose=1).fit(source, y, sample_weight=weights, **params)
    return model, source.reads, printed(capfd.readouterr().err)


EXACT = {
    "fit": lambda: StretchyRegressor(c=1.0),
    "column": lambda: StretchyRegressor(c=1.0, fit_intercept="column"),
    "no intercept": lambda: StretchyRegressor(c=1.0, fit_intercept=False),
    "linear": lambda: StretchyRegressor(c=1.0, a=0.0),
    "little penalty": lambda: StretchyRegressor(c=1e14),
    "dual": lambda: StretchyRegressor(c=1.0, solver="dual"),
    "primal": lambda: StretchyRegressor(c=1.0, solver="primal"),
    "qr": lambda: StretchyRegressor(c=1.0, solver="qr"),
    "classifier by qr": lambda: StretchyClassifier(c=1.0, solver="qr"),
    "classifier by primal": lambda: StretchyClassifier(c=1.0, solver="primal"),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", EXACT)
def test_a_fit_reads_as_planned(shape, name, capfd):
    model, reads, plan = fitted(EXACT[name](), DATA[shape], capfd)
    assert plan.exact
    assert reads.min() == reads.max() == plan.walks
    assert plan.space == model.space_
    assert model.solver_ in plan.solvers


KNOWN = {
    "classifier": lambda: StretchyClassifier(c=1.0),
    "search": lambda: StretchyRegressorCV(**GRID),
    "defaults": StretchyRegressorCV,
    "three a": lambda: StretchyRegressorCV(a_grid=(-0.2, 0.0, -0.5), **GRID),
    "one cell": lambda: StretchyRegressorCV(a_grid=(-0.2,), k_grid=(1.5,), c_grid=(1.0,)),
    "folds": lambda: StretchyRegressorCV(cv=4, **GRID),
    "classes": lambda: StretchyClassifierCV(**GRID),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", KNOWN)
def test_a_search_reads_as_planned(shape, name, capfd):
    """Only where LU loses digits a primal model is fitted again, and the plan says so."""
    model, reads, plan = fitted(KNOWN[name](), DATA[shape], capfd)
    assert "at most" not in plan.sentence
    assert "about" not in plan.sentence
    assert reads.min() == reads.max()
    assert reads.max() in ({plan.walks} if model.solver_ != "qr" else {plan.walks + plan.more})
    assert plan.more == ("if LU loses digits" in plan.sentence) * 2
    assert plan.space == model.space_
    assert model.solver_ in plan.solvers


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["fit", *KNOWN])
def test_samples_of_weight_zero_are_no_samples(shape, name, capfd):
    """A search predicts them at its end."""
    X = DATA[shape]
    weights = np.where(np.arange(len(X)) % 4 == 1, 0.0, 1.5)
    model, reads, plan = fitted({**EXACT, **KNOWN}[name](), X, capfd, weights=weights)
    assert f" ({np.count_nonzero(weights)} of positive weight)" in plan.text
    assert reads.max() == plan.walks
    assert plan.space == model.space_


@pytest.mark.parametrize("shape", SHAPES)
def test_powers_that_need_scaled_rows_are_a_proviso(shape, capfd):
    model, reads, plan = fitted(StretchyRegressor(c=1.0, k=1.02, a=-6.0), DATA[shape], capfd)
    dual = plan.space == "dual"
    assert dual == ("up to 2 more if powers need scaled rows" in plan.sentence)
    assert reads.max() == plan.walks + 2 * dual
    assert model.solver_ in plan.solvers


def test_a_proviso_is_only_made_where_data_could_need_it(capfd):
    X = DATA["wide"]
    for k, certain in ((1.5, True), (1.05, True), (1.002, False)):
        plan = fitted(StretchyRegressor(c=1.0, k=k), X, capfd)[2]
        assert plan.exact == certain
    assert not fitted(StretchyRegressor(quadrant="identity"), np.abs(X), capfd)[2].exact
    spike = np.zeros(X.shape)
    spike[0], spike[1, :35] = 1.0, 1e-3
    # one sample far from all others: z as large as it can be
    assert fitted(StretchyRegressor(c=1.0, k=1.05), spike, capfd)[2].exact


SELECTING = {
    "density": lambda: StretchyRegressor(c=1.0, density=0.3),
    "large density": lambda: StretchyRegressor(c=1.0, density=0.8),
    "classifier": lambda: StretchyClassifier(c=1.0, density=0.3),
    "densities": lambda: StretchyRegressorCV(cv=4, density_grid=(1.0, 0.3), **GRID),
    "all small": lambda: StretchyRegressorCV(cv=SHUFFLED, density_grid=(0.3,), **GRID),
    "large": lambda: StretchyRegressorCV(cv=4, density_grid=(0.8,), **GRID),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", SELECTING)
def test_selections_read_no_more_than_planned(shape, name, capfd):
    _, reads, plan = fitted(SELECTING[name](), DATA[shape], capfd)
    assert f"at most {plan.walks} walks" in plan.sentence
    assert plan.walks / 3 < reads.max() <= plan.walks + plan.more


def test_targets_select_each_for_itself(capfd):
    X = DATA["wide"]
    _, reads, plan = fitted(StretchyRegressor(density=0.3), X, capfd, y=X[:, :3])
    assert 2 < reads.max() <= plan.walks == 2 + 3 * 2
    plans = []
    for y in (X[:, :3], X[:, 0]):
        model = StretchyRegressorCV(cv=4, density_grid=(1.0, 0.3), **GRID)
        _, reads, plan = fitted(model, X, capfd, y=y)
        assert reads.max() <= plan.walks
        plans.append(plan.walks)
    assert plans[0] - 2 == 3 * (plans[1] - 2)


def test_folds_of_scattered_rows_are_bounded(capfd):
    X, groups = DATA["tall"], np.arange(70) % 5
    for cv, params, word in (
        (KFold(5, shuffle=True, random_state=0), {}, "at most"),
        ([*KFold(5, shuffle=True, random_state=0).split(X)], {}, "at most"),
        (GroupKFold(5), {"groups": groups}, "at most"),
        (LeaveOneGroupOut(), {"groups": groups}, "about"),
    ):
        model = StretchyRegressorCV(cv=cv, **GRID)
        _, reads, plan = fitted(model, X, capfd, **params)
        assert word in plan.sentence
        assert reads.max() <= plan.walks + plan.more
    model = StretchyRegressorCV(cv=KFold(5), **GRID)
    _, reads, plan = fitted(model, X, capfd)
    assert reads.min() == reads.max() == plan.walks


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("make", [StretchyRegressor, StretchyClassifier])
def test_iterations_are_estimated(shape, make, capfd, monkeypatch):
    for model in (make(c=1.0, solver="krylov"), make(c=1.0)):
        monkeypatch.setattr(fit_module, "COSTLY_SIDE", 5)
        fit, reads, plan = fitted(model, DATA[shape], capfd)
        assert fit.solver_ == "krylov"
        assert plan.solvers == {"krylov"}
        assert f"about {plan.walks} walks" in plan.sentence
        assert plan.walks / 2.5 < reads.max() < 2.5 * plan.walks
