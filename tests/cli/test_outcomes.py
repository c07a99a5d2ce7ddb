"""Survival, counts and log loss on the command line, against the Python API."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import skstretch
from tests.estimators.samples import problem, survival_of
from tests.report.samples import data_of

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
FEW = ("--k", "1.25,2", "--c", "0.02,0.2", "--cv", "3")


@pytest.fixture
def data(folder):
    """A file of everything."""
    X, z = problem((40, 5))
    y, rng = survival_of(z), np.random.default_rng(0)
    years = rng.uniform(0.5, 3.0, len(X))
    counts = rng.poisson(years * np.exp((z - z.mean()) / z.std()))
    kind = np.where(z > np.median(z), "high", "low")
    names, short = [f"g{j}" for j in range(5)], [1, -3, *[2] * 38]
    lines = [",".join([*names, "months", "died", "claims", "years", "kind", "short"])]
    for row in zip(X.tolist(), y["time"], y["event"], counts, years, kind, short, strict=True):
        lines.append(",".join([*map(repr, row[0]), repr(float(row[1])), str(row[2]),
                               str(row[3]), repr(float(row[4])), row[5], str(row[6])]))  # fmt: skip
    (folder / "d.csv").write_text("\n".join(lines) + "\n")
    return folder


def fit(call, *words):
    done = call("fit", "d.csv", *words, *FEW, "--features", "g*", "-o", "m.stretchy")
    assert done.code == 0, done.err
    return done


def test_events_may_be_written_with_a_point(data, call):
    """As pandas writes a column that had missing values."""
    words = "--time", "months", "--event", "died", "--no-nested"
    scores = []
    text = (data / "d.csv").read_text()
    for event, censored in (("True", "False"), ("1.0", "0.0")):
        written = text.replace("True", event).replace("False", censored)
        (data / "d.csv").write_text(written)
        fit(call, *words)
        scores.append(skstretch.load(data / "m.stretchy").best_score_)
    assert scores[0] == scores[1]


def test_survival(data, call):
    words = "--time", "months", "--event", "died", "--penalty-factor", "g1=0", "--nested", "--json"
    found = json.loads(fit(call, *words).out)
    assert found["task"] == "survival"
    assert found["nested"]["measure"] == "concordance"
    assert "concordance" in found["verdict"]
    model = skstretch.load(data / "m.stretchy")
    assert isinstance(model, skstretch.StretchySurvivalCV)
    assert model.penalty_factor[1] == 0
    done = call("predict", "m.stretchy", "d.csv")
    header, *rows = done.out.splitlines()
    assert header == "prediction,median time"
    X, _ = problem((40, 5))
    values = np.array([row.split(",") for row in rows], dtype=float)
    np.testing.assert_allclose(values[:, 0], model.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(values[:, 1], model.predict_median(X))
    shown = call("inspect", "m.stretchy")
    assert shown.code == 0
    assert "StretchySurvivalCV (survival of 'months')" in shown.out
    assert "nan" not in shown.out
    done = call("report", "m.stretchy", "--data", "d.csv", "--at", "1.5", "-o", "r.html")
    assert done.code == 0
    page = (data / "r.html").read_text("utf-8")
    assert "Log-rank test of the curves" in page
    assert "without it at 1.50" in page
    refused = call("report", "m.stretchy", "--data", "d.csv", "--exposure", "years")
    assert "--exposure is for models of counts, and this is none" in refused.err
    refused = call("report", "m.stretchy", "--data", "d.csv", "--event", "dead")
    assert "--event: there is no column 'dead'" in refused.err
    refused = call("report", "m.stretchy", "--data", "d.csv", "--at", "1e9")
    assert "error: --at 1e+09 must be above 0 and at most" in " ".join(refused.err.split())
    refused = call("report", "m.stretchy", "--event", "died")
    assert "--event goes with --data" in refused.err
    skstretch.save(model, "old.stretchy")
    refused = call("report", "old.stretchy", "--data", "d.csv", "--time", "months")
    assert "say with --event which column" in refused.err
    refused = call("report", "old.stretchy", "--data", "d.csv", "--event", "died")
    assert "say with --time which column" in refused.err
    refused = call("predict", "m.stretchy", "d.csv", "--interval", "0.9")
    assert "--interval is not known for survival" in refused.err
    told = json.loads(call("effects", "m.stretchy", "d.csv", "--pairs", "2", "--json").out)
    np.testing.assert_allclose(told["effect_per_sd"], model.effect_, rtol=1e-7, atol=1e-9)


def test_only_errors_of_at_are_named_so(folder, call):
    X, z = problem((40, 5))
    y = pd.DataFrame(survival_of(z)).assign(stratum=np.arange(40) % 2)
    grid = {"k_grid": (2.0,), "c_grid": (0.1,), "cv": 3}
    skstretch.save(skstretch.StretchySurvivalCV(**grid).fit(X, y), "strata.stretchy")
    refused = call("report", "strata.stretchy", "--at", "1")
    assert refused.code == 2
    assert "error: a model with strata has no curves" in " ".join(refused.err.split())


def test_counts_with_exposure(data, call):
    words = "-t", "claims", "--loss", "poisson", "--exposure", "years", "--json"
    found = json.loads(fit(call, *words, "--report", "f.html").out)
    assert found["errors"][0]["measure"] == "mean deviance"
    assert found["d2"] == 1 - found["errors"][0]["error"] / found["errors"][0]["baseline"]
    model = skstretch.load(data / "m.stretchy")
    rows = np.genfromtxt(data / "d.csv", delimiter=",", skip_header=1, usecols=range(9))
    X, claims, years = rows[:, :5], rows[:, 7], rows[:, 8]
    splitter = KFold(3, shuffle=True, random_state=0)
    grid = {"k_grid": (1.25, 2.0), "c_grid": (0.02, 0.2)}
    want = skstretch.StretchyRegressorCV(loss="poisson", cv=splitter, **grid).fit(
        X, claims / years, sample_weight=years
    )
    np.testing.assert_allclose(model.predict(X), want.predict(X), rtol=1e-12)
    done = call("predict", "m.stretchy", "d.csv")
    np.testing.assert_allclose([float(v) for v in done.out.split()[1:]], want.predict(X))
    assert "--effects goes with --data" in call("report", "m.stretchy", "--effects").err
    assert call("report", "m.stretchy", "--data", "d.csv", "-o", "r.html").code == 0
    at_once, later = ((data / name).read_text("utf-8") for name in ("f.html", "r.html"))
    assert "does not hold exposures" not in later
    groups = data_of(later)["calibration"]
    assert groups == data_of(at_once)["calibration"] != []
    assert "Fit without --no-nested, or in Python with nested_cv=10, for a " in later
    told = json.loads(call("effects", "m.stretchy", "d.csv", "--pairs", "3", "--json").out)
    expected = want.effects(n_pairs=3)
    for name in ("effect_per_sd", "standard_error", "sign_stability"):
        np.testing.assert_allclose(told[name], expected[name], rtol=1e-7, atol=1e-9)
    done = call("report", "m.stretchy", "--data", "d.csv", "--effects", "-o", "e.html")
    assert done.code == 0, done.err
    assert "two standard errors to either side" in (data / "e.html").read_text("utf-8")


def test_log_loss(data, call):
    found = json.loads(fit(call, "-t", "kind", "--loss", "log", "--json").out)
    assert found["task"] == "classification"
    model = skstretch.load(data / "m.stretchy")
    assert model.loss == "log"
    done = call("predict", "m.stretchy", "d.csv", "--proba")
    header, first, *_ = done.out.splitlines()
    assert header == "prediction,probability high,probability low"
    want = model.predict_proba(problem((40, 5))[0])[0]
    np.testing.assert_allclose([float(v) for v in first.split(",")[1:]], want, rtol=1e-12)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--time", "months"), "--time and --event go together"),
        (("--time", "months", "--event", "died", "-t", "claims"), "take the place of --target"),
        (("--time", "monthss", "--event", "died"), "--time: there is no column 'monthss'"),
        (("--time", "months", "--event", "alive"), "--event: there is no column 'alive'"),
        (("--time", "kind", "--event", "died"), "--time 'kind' holds text ('high')"),
        (("--time", "months", "--event", "claims"), "--event 'claims' holds '"),
        (("--time", "g1", "--event", "died"), "times start at 0"),
        (("--task", "survival"), "--task survival needs --time COL and --event COL"),
        (("-t", "claims", "--exposure", "years"), "--exposure goes with --loss poisson"),
        (("-t", "claims", "--loss", "poisson", "--exposure", "g1"), "pass numbers above 0"),
        (("-t", "g1", "--loss", "poisson"), "check the target, or use --loss squared"),
        (("-t", "short", "--loss", "poisson", "--exposure", "years"), "the target has -3 (row 2)"),
        (("-t", "kind", "--loss", "poisson"), "holds text"),
        (("-t", "claims", "--loss", "log", "--task", "regression"), "--loss log is for classes"),
        (("-t", "claims", "--loss", "poisson", "--intervals"), "--intervals is not for --loss po"),
        (("--time", "months", "--event", "died", "--a", "0.2"), "--a is not for survival"),
        (("-t", "claims", "--loss", "poisson", "--a", "-0.2"), "models are linear"),
    ],
)
def test_mistakes(data, call, words, said):
    done = call("fit", "d.csv", *words, "--features", "g*", "-o", "m.stretchy")
    assert done.code != 0
    assert said in done.err


def test_methods_are_not_compared_on_survival(data, call):
    refused = call("compare", "d.csv", "-t", "claims", "--task", "survival")
    assert refused.code != 0
    assert "'survival' is not one of" in refused.err
    assert "survival" not in call("compare", "--help").out
