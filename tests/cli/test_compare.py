"""`skstretch compare` against the same folds done by hand."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import RidgeCV
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skstretch
from skstretch.cli import methods as rivals
from tests.cli.program import run
from tests.cli.samples import diabetes, tumours, write_csv


def out_of_fold(model, X, y, splitter):
    predictions = np.empty_like(y)
    used = []
    for train, test in splitter.split(X, y):
        predictions[test] = model.fit(X[train], y[train]).predict(X[test])
        used.append(rivals._features_used(model))
    return predictions, np.mean(used)


@pytest.mark.slow
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
    for name, model in (("skstretch", skstretch.StretchyRegressorCV()), ("RidgeCV", ridge)):
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
    pytest.importorskip("glmnet", reason="needs python-glmnet: pip install python-glmnet")
    target = {"diabetes": "progression", "tumours": "kind"}[name]
    done = call("compare", folder / f"{name}.csv", "-t", target, "--folds", "2", "--json")
    assert done.code == 0, done.err
    rows = {row["method"]: row for row in json.loads(done.out)["methods"]}
    baseline = {"diabetes": "predicting the mean", "tumours": "the largest class"}[name]
    for method in ("glmnet lasso", "glmnet elastic net"):
        assert rows[method]["error"] < rows[baseline]["error"]
        assert 0 < rows[method]["features_used"] <= 12


def test_guessing_is_wrong_half_of_the_time(call):
    """Also where whole groups are left out, which differ in their shares of the classes."""
    rng = np.random.default_rng(2)
    patients, kinds = np.repeat(np.arange(20), 3), rng.permutation(np.repeat(["a", "b"], 10))
    columns = {"kind": kinds[patients].tolist(), "patient": patients.tolist()}
    write_csv(Path("noise.csv"), rng.standard_normal((60, 5)), columns)
    done = call("compare", "noise.csv", "-t", "kind", "--groups", "patient", "--json")
    assert done.code == 0, done.err
    rows = {row["method"]: row for row in json.loads(done.out)["methods"]}
    assert rows["the largest class"]["error"] == pytest.approx(0.5, rel=1e-12)


@pytest.mark.slow
def test_classes(call):
    done = call("compare", "tumours.csv", "-t", "kind", "--json")
    rows = {row["method"]: row for row in json.loads(done.out)["methods"]}
    X, y = tumours()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    predictions, _ = out_of_fold(skstretch.StretchyClassifierCV(), X, y, folds)
    expected = 1 - balanced_accuracy_score(y, predictions)
    assert rows["skstretch"]["error"] == pytest.approx(expected, rel=1e-9)
    assert rows["the largest class"]["error"] == pytest.approx(0.5)
    assert {"RidgeClassifierCV", "LinearSVC"} <= set(rows)


def test_table(call):
    asked = ("diabetes.csv", "-t", "progression", "--folds", "2")
    done = call("compare", *asked)
    assert done.code == 0, done.err
    first, second, *table = done.out.splitlines()
    assert first.startswith("regression of 'progression' (the target has ")
    assert second == "120 rows, 10 features, 2 outer folds"
    assert "typical error" in table[1]
    found = json.loads(call("compare", *asked, "--json").out)["methods"]
    by_name = {row["method"]: row for row in found}
    [line] = [line.split() for line in table if "skstretch" in line]
    own = by_name["skstretch"]
    root = np.sqrt(own["error"])
    assert float(line[1]) == pytest.approx(root, rel=5e-3)
    assert float(line[3]) == pytest.approx(own["standard_error"] / (2 * root), rel=0.06)
    assert max(map(len, table)) <= 80


def test_mistakes(call):
    done = call("compare", "diabetes.csv", "-t", "progression", "--folds", "500")
    assert done.code == 2
    assert done.err == ("error: --folds 500: there are only 120 rows; use at most 120.\n")


def test_too_few_groups_or_rows_of_a_class(call, folder):
    X, y = diabetes(30)
    kinds = ["rare"] * 2 + ["common"] * 28
    write_csv(folder / "g.csv", X, {"g": np.arange(30) % 3, "kind": kinds, "y": y})
    done = call("compare", "g.csv", "-t", "y", "--drop", "kind", "--groups", "g")
    assert done.err == "error: --folds 5: there are only 3 groups; use at most 3.\n"
    done = call("compare", "g.csv", "-t", "kind", "--drop", "y")
    assert (
        done.err == "error: --folds 5: the class 'rare' has 2 rows, fewer than there are folds.\n"
    )
    assert done.code == 2


def test_sparse_files_are_compared(call, folder):
    X, y = diabetes(60)
    X = np.where(np.median(X, axis=0) < X, X, 0.0)
    dump_svmlight_file(X, y, str(folder / "s.svm"), zero_based=False)
    write_csv(folder / "s.csv", X, {"y": y})
    words = ("--folds", "2", "--json", "--quiet")
    sparse = json.loads(call("compare", "s.svm", *words).out)["methods"]
    dense = json.loads(call("compare", "s.csv", "-t", "y", *words).out)["methods"]
    errors = [{row["method"]: row["error"] for row in rows} for rows in (sparse, dense)]
    assert set(errors[0]) == set(errors[1])
    assert errors[0]["PLS"] == pytest.approx(errors[1]["PLS"], rel=1e-6)
    assert errors[0]["skstretch"] == pytest.approx(errors[1]["skstretch"], rel=1e-6)


def test_a_method_that_cannot_take_part_is_named(call, folder, monkeypatch):
    X, y = diabetes(40)
    dump_svmlight_file(X, y, str(folder / "s.svm"), zero_based=False)
    monkeypatch.setattr(rivals, "MAX_DENSE_BYTES", 100)
    done = call("compare", "s.svm", "--folds", "2")
    assert (
        "note: PLS is left out: it needs dense data, and these would not fit into memory\n"
    ) in done.err
    assert done.code == 0
