"""`skstretch inspect` against the model that it shows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

import skstretch
from tests.cli.program import run
from tests.cli.samples import NAMES, diabetes, tumours


def saved(names=NAMES, **keywords):
    X, y = diabetes()
    model = skstretch.StretchyRegressorCV().fit(pd.DataFrame(X, columns=names), y)
    skstretch.save(model, "m.stretchy", **keywords)
    return model, X


def test_real_program(folder):
    model, X = saved()
    done = run("inspect", "m.stretchy", "--json", cwd=folder)
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    for name in ("a", "k", "c", "density"):
        assert found[name] == model._leader[name]
    assert found["class"] == "StretchyRegressorCV"
    assert found["score"] == model.best_score_
    assert found["plan"] == str(model.plan_) == skstretch.load("m.stretchy").plan_
    assert found["bytes"] == (folder / "m.stretchy").stat().st_size
    assert found["versions"]["skstretch"] == skstretch.__version__
    effects = model.coef_ * X.std(axis=0)
    order = np.argsort(-abs(effects))
    assert [row["feature"] for row in found["top"]] == [NAMES[j] for j in order]
    np.testing.assert_allclose([row["effect"] for row in found["top"]], effects[order], rtol=1e-9)
    np.testing.assert_allclose([row["slope"] for row in found["top"]], model.coef_[order])


def test_page(call):
    model, _ = saved(intervals=True)
    done = call("inspect", "m.stretchy", "--top", "3")
    assert (done.code, done.err) == (0, "")
    words = " ".join(done.out.split())
    assert "StretchyRegressorCV (regression)" in words
    assert "120 rows, 10 features" in words
    assert "intervals exact jackknife+" in words
    assert f"computed {model.plan_}" in words
    assert f"typical error {np.sqrt(-model.best_score_):.1f} ± " in words
    assert max(map(len, done.out.splitlines())) <= 120
    listed = done.out.split("strongest features")[1].splitlines()[2:]
    assert len(listed) == 3


def test_errors_of_repeated_searches_and_of_other_scorings(call):
    X, y = diabetes(60)
    grid = {"k_grid": (2.0,), "a_grid": (0.0,), "c_grid": (0.01, 1.0)}
    model = skstretch.StretchyRegressorCV(**grid, nested_cv=3).fit(X, y)
    skstretch.save(model, "m.stretchy")
    found = json.loads(call("inspect", "m.stretchy", "--json").out)
    assert found["nested"]["error"] == -model.nested_score_
    assert found["nested"]["standard_error"] == model.nested_score_se_
    words = " ".join(call("inspect", "m.stretchy").out.split())
    assert f"Predicts the target: typical error {np.sqrt(-model.nested_score_):.1f} (" in words
    model = skstretch.StretchyRegressorCV(**grid, scoring="r2", cv=5).fit(X, y)
    skstretch.save(model, "m.stretchy")
    words = " ".join(call("inspect", "m.stretchy").out.split())
    assert f"choice among models: score (r2) {model.best_score_:.3f}" in words


def test_candidates_of_a_mixture(call):
    X, y = diabetes()
    grid = {"k_grid": (1.5, 2.0), "c_grid": (0.01, 1.0)}
    model = skstretch.StretchyRegressorCV(**grid).fit(pd.DataFrame(X, columns=NAMES), y)
    skstretch.save(model, "m.stretchy")
    done = call("inspect", "m.stretchy")
    words = " ".join(done.out.split())
    weights = model.weights_["weight"]
    assert f"The average of {len(weights)} models, " in words
    found = json.loads(call("inspect", "m.stretchy", "--json").out)
    np.testing.assert_allclose([one["weight"] for one in found["mixture"]], weights)


def test_what_a_file_says_of_its_fit(call):
    words = ("fit", "diabetes.csv", "-t", "progression", "--cv", "5", "-o", "m.stretchy", "-q")
    assert call(*words).code == 0
    model = skstretch.load("m.stretchy")
    found = json.loads(call("inspect", "m.stretchy", "--json").out)
    assert found["target"] == "progression"
    assert found["seconds_fitting"] > 0
    assert found["standard_error"] == model.best_score_se_
    words = " ".join(call("inspect", "m.stretchy").out.split())
    assert "StretchyRegressorCV (regression of 'progression')" in words
    assert f"typical error {np.sqrt(-model.best_score_):.1f} ± " in words
    assert "folds --cv 5" in words
    assert f"{found['seconds_fitting']:.2f} s to fit" in words
    assert "could not be stored" not in words


def test_a_file_of_an_earlier_version(call):
    fixture = Path(__file__).parents[1] / "io" / "fixtures" / "version1.stretchy"
    found = json.loads(call("inspect", fixture, "--json").out)
    assert (found["target"], found["seconds_fitting"], found["standard_error"]) == (None,) * 3
    assert "±" not in call("inspect", fixture).out


def test_facts_of_another_kind_are_looked_past(call):
    saved(about={"target": 3, "seconds": "long", "cv": True})
    done = call("inspect", "m.stretchy", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert (found["target"], found["seconds_fitting"], found["cv"]) == (None,) * 3
    assert call("report", "m.stretchy", "-o", "r.html").code == 0


def test_intervals_that_a_file_can_give(call):
    saved()
    assert "from leave-one-out residuals" in call("inspect", "m.stretchy").out


def test_two_classes_say_which_an_effect_speaks_for(call):
    X, y = tumours()
    skstretch.save(skstretch.StretchyClassifier().fit(X, y), "c.stretchy")
    found = json.loads(call("inspect", "c.stretchy", "--json").out)
    assert {row["of"] for row in found["top"]} == {"good"}
    assert found["classes"] == ["bad", "good"]
    assert found["top"][0]["feature"].isdigit()


def test_names_are_shown_as_they_are_and_cannot_act_on_the_terminal(call):
    saved(["<script>", "[red]x[/red]", "\x1b[2Jz", *NAMES[3:]])
    out = call("inspect", "m.stretchy").out
    assert "<script>" in out
    assert "[red]x[/red]" in out
    assert "\\x1b[2Jz" in out
    assert "\x1b" not in out


def test_mistakes(call, folder):
    done = call("inspect", "diabetes.csv")
    assert done.code == 2
    assert done.err.startswith("error: 'diabetes.csv' is not a sound model file: ")
    assert call("inspect", "none.stretchy").err == "error: there is no file 'none.stretchy'.\n"
