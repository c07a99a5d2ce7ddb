"""`stretchy compare` against the same folds done by hand."""

import json

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import stretchy
from stretchy.cli import rivals
from tests.cli.program import run
from tests.cli.samples import diabetes, tumours


def out_of_fold(model, X, y, splitter):
    predictions = np.empty_like(y)
    used = []
    for train, test in splitter.split(X, y):
        predictions[test] = model.fit(X[train], y[train]).predict(X[test])
        used.append(rivals.features_used(model))
    return predictions, np.mean(used)


def test_real_program(folder):
    done = run(
        *("compare", "diabetes.csv", "-t", "progression", "--folds", "3", "--seed", "7", "--json"),
        cwd=folder,
    )
    assert done.code == 0, done.err
    found = json.loads(done.out)
    X, y = diabetes()
    folds = KFold(3, shuffle=True, random_state=7)
    rows = {row["method"]: row for row in found["methods"]}
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-6, 6, 100)))
    for name, model in (("stretchy", stretchy.StretchyRegressorCV()), ("RidgeCV", ridge)):
        predictions, used = out_of_fold(model, X, y, folds)
        losses = (y - predictions) ** 2
        assert rows[name]["error"] == pytest.approx(losses.mean(), rel=1e-9)
        assert rows[name]["standard_error"] == pytest.approx(losses.std() / np.sqrt(120), rel=1e-9)
        assert rows[name]["features_used"] == used
        assert rows[name]["seconds"] > 0
    assert {"PLS", "predicting the mean"} <= set(rows)
    errors = [row["error"] for row in found["methods"]]
    assert errors == sorted(errors)


def test_glmnet_takes_part_where_it_is_installed(call, monkeypatch):
    words = ("compare", "diabetes.csv", "-t", "progression", "--folds", "2", "--json")
    monkeypatch.setattr(rivals, "find_spec", lambda name: None)
    done = call(*words)
    assert done.err == "note: glmnet is not installed: pip install python-glmnet\n"
    assert len(json.loads(done.out)["methods"]) == 4
    monkeypatch.undo()


@pytest.mark.parametrize("name", ["diabetes", "tumours"])
def test_glmnet(call, folder, name):
    pytest.importorskip("glmnet", reason="pip install python-glmnet")
    target = {"diabetes": "progression", "tumours": "kind"}[name]
    done = call("compare", folder / f"{name}.csv", "-t", target, "--folds", "2", "--json")
    assert done.code == 0, done.err
    rows = {row["method"]: row for row in json.loads(done.out)["methods"]}
    baseline = {"diabetes": "predicting the mean", "tumours": "the largest class"}[name]
    for method in ("glmnet lasso", "glmnet elastic net"):
        assert rows[method]["error"] < rows[baseline]["error"]
        assert 0 < rows[method]["features_used"] <= 12


def test_classes(call):
    done = call("compare", "tumours.csv", "-t", "kind", "--json")
    rows = {row["method"]: row for row in json.loads(done.out)["methods"]}
    X, y = tumours()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    predictions, _ = out_of_fold(stretchy.StretchyClassifierCV(), X, y, folds)
    expected = 1 - balanced_accuracy_score(y, predictions)
    assert rows["stretchy"]["error"] == pytest.approx(expected, rel=1e-9)
    assert rows["the largest class"]["error"] == pytest.approx(0.5)
    assert {"RidgeClassifierCV", "LinearSVC"} <= set(rows)


def test_table(call):
    done = call("compare", "diabetes.csv", "-t", "progression", "--folds", "2")
    assert done.code == 0, done.err
    first, second, *table = done.out.splitlines()
    assert first.startswith("regression of 'progression' (the target has ")
    assert second == "120 rows, 10 features, 2 outer folds"
    assert "mean squared error" in table[1]
    assert max(map(len, table)) <= 80


def test_mistakes(call):
    done = call("compare", "diabetes.csv", "-t", "progression", "--folds", "500")
    assert done.code == 2
    assert done.err == (
        "error: --folds 500: Cannot have number of splits n_splits=500 greater than the number of "
        "samples: n_samples=120.\n"
    )
