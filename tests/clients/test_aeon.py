"""Our searches as heads of aeon's MiniRocket, on the sets that aeon brings along."""

import time

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import RidgeClassifierCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyClassifierCV, StretchyRegressorCV

pytest.importorskip("aeon", reason="needs aeon: make test-clients installs it")

from aeon.classification.convolution_based import MiniRocketClassifier
from aeon.datasets import (
    load_arrow_head,
    load_basic_motions,
    load_gunpoint,
    load_italy_power_demand,
    load_osuleaf,
    load_unit_test,
)
from aeon.regression.convolution_based import RocketRegressor

pytestmark = pytest.mark.filterwarnings("ignore")
SETS = (
    load_unit_test,
    load_gunpoint,
    load_italy_power_demand,
    load_arrow_head,
    load_basic_motions,
    load_osuleaf,
)


def head():
    """The search that answers soonest: closed forms alone, without the nested score."""
    return StretchyClassifierCV(
        a_grid=(0.0,), k_grid=(2.0,), n_features_to_select=1.0, class_weight=None
    )


def ridge():
    return make_pipeline(StandardScaler(with_mean=False), RidgeClassifierCV(np.logspace(-3, 3, 10)))


def fastest(model, X, y):
    """Seconds of the quickest of three fits: a busy machine makes any of them long."""
    spent = []
    for _ in range(3):
        start = time.perf_counter()
        model.fit(X, y)
        spent.append(time.perf_counter() - start)
    return min(spent)


@pytest.fixture(scope="module")
def outcomes():
    """Accuracy, seconds and log loss of both heads on every set."""
    rows = []
    for load in (load_unit_test, load_basic_motions):  # compiled once for one channel and several
        MiniRocketClassifier(estimator=ridge(), random_state=0).fit(*load(split="train"))
    for load in SETS:
        X, y = load(split="train")
        new, true = load(split="test")
        row = {"set": load.__name__[5:]}
        for name, estimator in (("ours", head()), ("ridge", ridge())):
            model = MiniRocketClassifier(estimator=estimator, random_state=0)
            row[f"{name} seconds"] = fastest(model, X, y)
            row[f"{name} accuracy"] = float(np.mean(model.predict(new) == true))
            if name == "ours":
                p = model.predict_proba(new)
                row["ours log loss"] = log_loss(true, p, labels=model.classes_)
        filters = model.pipeline_[:-1]
        sigmoid = CalibratedClassifierCV(ridge(), cv=3).fit(filters.transform(X), y)
        p = sigmoid.predict_proba(filters.transform(new))
        row["ridge log loss"] = log_loss(true, p, labels=sigmoid.classes_)
        rows.append(row)
    seconds = [row["ours seconds"] / row["ridge seconds"] for row in rows]
    print(f"seconds over those of RidgeClassifierCV: {np.round(seconds, 2).tolist()}, "
          f"{np.exp(np.mean(np.log(seconds))):.2f} in the geometric mean")  # fmt: skip
    for row in rows:
        print({name: value if isinstance(value, str) else round(value, 3)
               for name, value in row.items()})  # fmt: skip
    return rows


def mean(rows, name):
    return float(np.mean([row[name] for row in rows]))


def test_as_right_as_ridge(outcomes):
    assert mean(outcomes, "ours accuracy") >= mean(outcomes, "ridge accuracy") - 0.005


def test_probabilities_tell_more(outcomes):
    assert mean(outcomes, "ours log loss") < mean(outcomes, "ridge log loss")


def test_a_head_for_numbers():
    X, _ = load_gunpoint(split="train")
    levels = X[:, 0].max(axis=1)
    model = RocketRegressor(n_kernels=200, estimator=StretchyRegressorCV(), random_state=0)
    predicted = model.fit(X[::2], levels[::2]).predict(X[1::2])
    errors = np.mean((predicted - levels[1::2]) ** 2), np.var(levels[1::2])
    assert errors[0] < 0.7 * errors[1]
