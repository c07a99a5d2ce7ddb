"""Our searches in pipelines and forecasters of sktime, beside ridge, on sets that sktime brings."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyClassifierCV, StretchyRegressorCV

pytest.importorskip("sktime", reason="needs sktime: make test-clients installs it")

from sktime.datasets import (
    load_airline,
    load_arrow_head,
    load_gunpoint,
    load_italy_power_demand,
    load_unit_test,
)
from sktime.forecasting.compose import make_reduction
from sktime.pipeline import make_pipeline
from sktime.transformations.panel.rocket import MiniRocket

pytestmark = pytest.mark.filterwarnings("ignore")
SETS = (load_unit_test, load_gunpoint, load_italy_power_demand, load_arrow_head)


def head():
    """The search that answers soonest: closed forms alone, without the nested score."""
    return StretchyClassifierCV(
        a_grid=(0.0,), k_grid=(2.0,), n_features_to_select=1.0, class_weight=None
    )


def piped(classifier):
    """sktime makes a classifier of series from its transform and one of scikit-learn's kind."""
    return make_pipeline(MiniRocket(random_state=0), StandardScaler(with_mean=False), classifier)


def read(load, split):
    return load(split=split, return_X_y=True, return_type="numpy3D")


@pytest.fixture(scope="module")
def outcomes():
    """Accuracies of both heads on every set, and log losses of ours and of the class shares."""
    rows = []
    for load in SETS:
        X, y = read(load, "train")
        new, true = read(load, "test")
        ours = piped(head()).fit(X, y)
        ridge = piped(RidgeClassifierCV(np.logspace(-3, 3, 10))).fit(X, y)
        labels, counts = np.unique(y, return_counts=True)
        shares = np.tile(counts / counts.sum(), (len(true), 1))
        rows.append(
            {
                "set": load.__name__[5:],
                "ours accuracy": float(np.mean(ours.predict(new) == true)),
                "ridge accuracy": float(np.mean(ridge.predict(new) == true)),
                "ours log loss": log_loss(true, ours.predict_proba(new), labels=labels),
                "shares log loss": log_loss(true, shares, labels=labels),
            }
        )
        print(rows[-1])
    return rows


def test_as_right_as_ridge(outcomes):
    ours, ridge = (
        np.mean([row[f"{name} accuracy"] for row in outcomes]) for name in ("ours", "ridge")
    )
    assert ours >= ridge - 0.005


def test_probabilities_tell_more_than_the_shares(outcomes):
    for row in outcomes:
        assert row["ours log loss"] < 0.8 * row["shares log loss"], row["set"]


def test_a_forecaster():
    """Twelve months of passengers from the 24 before, one step after the other: six years, since
    one alone says little of which forecaster is better."""
    series = np.log(load_airline())
    errors = {"ours": [], "ridge": [], "the year before": []}
    for end in range(len(series) - 12, len(series) - 84, -12):
        past, true = series[:end], series[end : end + 12].to_numpy()

        def share(predicted, true=true):
            return float(np.mean(np.abs(np.expm1(np.asarray(predicted) - true))))

        for name, regressor in (
            ("ours", StretchyRegressorCV()),
            ("ridge", RidgeCV(np.logspace(-3, 3, 10))),
        ):
            forecaster = make_reduction(regressor, window_length=24, strategy="recursive")
            errors[name].append(share(forecaster.fit(past).predict(fh=np.arange(1, 13))))
        errors["the year before"].append(share(past[-12:]))
    print({name: np.round(each, 4) for name, each in errors.items()})
    assert np.mean(errors["ours"]) < 1.1 * np.mean(errors["ridge"])
    assert errors["ours"][0] < 0.5 * errors["the year before"][0]
