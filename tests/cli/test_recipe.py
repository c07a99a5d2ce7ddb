"""Steps before the model on the command line: the model file has them, and predict applies them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skstretch
from skstretch import (
    RecipeClassifierCV,
    RecipeRegressorCV,
    SpectralFilter,
    StretchyClassifierCV,
    StretchyRegressorCV,
)
from skstretch.datasets import make_spectra
from skstretch.io.header import SCHEMA
from tests.cli.program import run
from tests.cli.samples import NAMES, diabetes, floats, read_csv, tumours, write_csv

SMALL = ("--a", "-0.2,0", "--k", "1.5,2", "--c", "1,100", "--select", "1.0", "--combine", "best")
GRID = {
    "a_grid": (-0.2, 0.0),
    "k_grid": (1.5, 2.0),
    "c_grid": (1.0, 100.0),
    "n_features_to_select": 1.0,
    "combine": "best",
}


def gaps():
    X, y = diabetes()
    X[3:15, 2], X[7, 3] = np.nan, np.nan
    write_csv(Path("gaps.csv"), X, {"y": y.tolist()}, names=NAMES)
    return X, y


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("fill", ["mean", "median"])
def test_filled(call, fill):
    X, y = gaps()
    done = call("fit", "gaps.csv", "-t", "y", "--impute", fill, *SMALL, "-o", "m.stretchy")
    assert done.code == 0, done.err
    assert (
        f"filled 13 missing values in 2 columns with the {fill} of the column: 'bmi' 12, 'bp' 1."
        in done.err
    )
    assert f"SimpleImputer(strategy='{fill}')" in done.out or fill == "mean"
    expected = make_pipeline(SimpleImputer(strategy=fill), StretchyRegressorCV(**GRID)).fit(X, y)
    done = call("predict", "m.stretchy", "gaps.csv")
    assert (done.code, read_csv(done.out)["prediction"]) == (
        0,
        [repr(value) for value in expected.predict(X).tolist()],
    )
    assert f"filled 13 missing values in 2 columns with the {fill} of the fit" in done.err
    loaded = skstretch.load("m.stretchy")
    assert loaded.feature_names_in_.tolist() == NAMES
    frame = pd.DataFrame(X, columns=NAMES)
    # scikit-learn keeps the layout of a frame, and with it the order of sums
    np.testing.assert_array_equal(loaded.predict(frame), expected.predict(frame.to_numpy()))


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_spectra(call):
    X, y = make_spectra(40, return_X_y=True)
    names = [str(1100 + 2 * j) for j in range(X.shape[1])]
    write_csv(Path("nir.csv"), X, {"y": y.tolist()}, names=names)
    options = ("--snv", "--detrend", "--derivative", "1", "--window", "15", "--polyorder", "3")
    done = call(
        "fit", "nir.csv", "-t", "y", *options, *SMALL, "-o", "m.stretchy", "--json",
        "--report", "m.html",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "SpectralFilter(derivative=1, detrend=2, polyorder=3" in json.loads(done.out)["steps"]
    flt = SpectralFilter(snv=True, detrend=2, derivative=1, window=15, polyorder=3)
    expected = make_pipeline(flt, StretchyRegressorCV(**GRID)).fit(X, y)
    done = call("predict", "m.stretchy", "nir.csv", "--interval", "0.9")
    found = read_csv(done.out)
    np.testing.assert_array_equal(floats(found["prediction"]), expected.predict(X))
    bounds = expected[-1].predict_interval(flt.transform(X), 0.9, method="residual")
    np.testing.assert_array_equal(floats(found["lower"]), bounds[0])
    done = call("inspect", "m.stretchy", "--json")
    facts = json.loads(done.out)
    assert facts["top"][0]["feature"] in names
    assert facts["schema"] == SCHEMA
    assert "snv=True" in " ".join(call("inspect", "m.stretchy").out.split())
    done = call("report", "m.stretchy", "--data", "nir.csv", "-o", "again.html")
    assert done.code == 0, done.err
    for page in ("m.html", "again.html"):
        text = Path(page).read_text()
        assert "steps before it" in text
        assert "SpectralFilter(" in text


def test_real_program(folder):
    X, y = tumours()
    X[4, 5] = np.nan
    write_csv(folder / "t.csv", X, {"kind": y.tolist()})
    done = run(
        "fit", "t.csv", "-t", "kind", "--impute", "mean", *SMALL, "-o", "m.stretchy", cwd=folder
    )
    assert done.code == 0, done.err
    assert "filled 1 missing value in 1 column with the mean of the column: 'x5' 1." in done.err
    done = run("predict", "m.stretchy", "t.csv", "--proba", cwd=folder)
    shares = read_csv(done.out)
    np.testing.assert_allclose(
        floats(shares["probability bad"]) + floats(shares["probability good"]), 1.0
    )


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_pipelines_of_python(call):
    """Columns that are chosen by name, whatever their order in the file."""
    X, y = diabetes()
    frame = pd.DataFrame(X, columns=NAMES)
    parts = ColumnTransformer([("s", StandardScaler(), ["bmi", "bp"])], remainder="passthrough")
    model = make_pipeline(parts, StretchyRegressorCV(**GRID)).fit(frame, y)
    skstretch.save(model, "m.stretchy")
    write_csv(Path("turned.csv"), X[:, ::-1], names=NAMES[::-1])
    done = call("predict", "m.stretchy", "turned.csv")
    assert done.code == 0, done.err
    np.testing.assert_array_equal(floats(read_csv(done.out)["prediction"]), model.predict(frame))


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_rows_without_a_target_are_left_out_beside_filling(call):
    X, y = gaps()
    words = ["" if i == 50 else repr(value) for i, value in enumerate(y.tolist())]
    write_csv(Path("gaps.csv"), X, {"y": words}, names=NAMES)
    base = ("fit", "gaps.csv", "-t", "y", "--impute", "mean", *SMALL, "-o", "m.stretchy")
    done = call(*base)
    assert "missing values in 1 of 120 rows: 'y' 1. Fill the cells, or leave out" in done.err
    done = call(*base, "--drop-missing")
    assert "119 rows, 10 features" in " ".join(done.out.split())
    assert "filled 13 missing values" in done.err


WINDOW = ("--derivative", "1", "--window")
REFUSED = {
    ("--window", "11"): "--window 11 goes with --derivative; --derivative 0 smooths.",
    ("--polyorder", "1"): "--polyorder 1 goes with --derivative; --derivative 0 smooths.",
    (*WINDOW, "4"): "--window 4 must be odd: 5, for example.",
    (*WINDOW, "15"): "--window 15 must be a whole number from 1 to the 10 features of the file.",
    (*WINDOW, "5", "--polyorder", "5"): "--polyorder 5 must be a whole number from 0 to --window 5",
    ("--derivative", "3", "--window", "5"): "--derivative 3 must be a whole number from 0 to --po",
}


@pytest.mark.parametrize("options", REFUSED, ids=" ".join)
def test_refused(options, call):
    X, y = diabetes()
    write_csv(Path("d.csv"), X, {"y": y.tolist()}, names=NAMES)
    done = call("fit", "d.csv", "-t", "y", *options, "-o", "m.stretchy")
    assert done.code != 0
    assert REFUSED[options] in done.err
    assert not Path("m.stretchy").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--window", "4"), "--window 4 must be odd: 5, for example."),
        (("--window", "0"), "--window 0 must be a whole number from 1 to the number of columns."),
        (("--polyorder", "21"), "--polyorder 21 must be a whole number from 0 to --window 11 less"),
        (("--derivative", "3"), "--derivative 3 must be a whole number from 0 to --polyorder 2."),
    ],
)
def test_windows_that_no_data_have_are_refused_before_the_file_is_read(options, said, call):
    done = call("fit", "absent.csv", "-t", "y", "--derivative", "1", *options, "-o", "m.stretchy")
    assert done.code == 2
    assert said in done.err
    assert "absent.csv" not in done.err


def test_nothing_to_fill_with(call):
    X, y = gaps()
    X[:, 4] = np.nan
    write_csv(Path("gaps.csv"), X, {"y": y.tolist()}, names=NAMES)
    done = call("fit", "gaps.csv", "-t", "y", "--impute", "mean", "-o", "m.stretchy")
    assert (
        "column 's1' has no value at all to fill it with: leave it out with --drop s1." in done.err
    )


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("classes", [False, True])
def test_recipes(call, classes):
    """All of the usual are searched and mixed; the file is a model like any other."""
    X, y = make_spectra(40, return_X_y=True)
    X, y = X[:, ::4], np.where(y > np.median(y), "wet", "dry") if classes else y
    names = [str(1100 + 8 * j) for j in range(X.shape[1])]
    write_csv(Path("nir.csv"), X, {"y": y.tolist()}, names=names)
    grid = SMALL[:-2]
    done = call(
        "fit", "nir.csv", "-t", "y", "--recipes", *grid, "-o", "m.stretchy", "--json",
        "--report", "m.html",
    )  # fmt: skip
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert "snv, first derivative" in found["steps"]
    own = {k: v for k, v in GRID.items() if k != "combine"} | {}
    if classes:
        expected = RecipeClassifierCV(StretchyClassifierCV(**own)).fit(X, y)
        assert any("(" in candidate["name"] for candidate in found["mixture"])
    else:
        expected = RecipeRegressorCV(StretchyRegressorCV(**own)).fit(X, y)
    done = call("predict", "m.stretchy", "nir.csv", *(() if classes else ("--interval", "0.9")))
    assert done.code == 0, done.err
    table = read_csv(done.out)
    if classes:
        assert table["prediction"] == expected.predict(X).tolist()
    else:
        np.testing.assert_array_equal(floats(table["prediction"]), expected.predict(X))
        bounds = expected.predict_interval(X, 0.9, method="residual")
        np.testing.assert_array_equal(floats(table["lower"]), bounds[0])
    assert "as measured" in call("inspect", "m.stretchy").out
    done = call("report", "m.stretchy", "--data", "nir.csv", "-t", "y", "-o", "again.html")
    assert done.code == 0, done.err
    for option in (("--snv",), ("--derivative", "1")):
        done = call("fit", "nir.csv", "-t", "y", "--recipes", *option, "-o", "n.stretchy")
        assert done.code != 0
        assert "--recipes tries these by itself" in done.err


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_recipes_after_filling(call):
    X, y = make_spectra(40, return_X_y=True)
    X = X[:, ::8].copy()
    X[3, 2], X[8, 5] = np.nan, np.nan
    write_csv(Path("nir.csv"), X, {"y": y.tolist()}, names=[f"w{j}" for j in range(X.shape[1])])
    done = call(
        "fit", "nir.csv", "-t", "y", "--recipes", "--impute", "median", *SMALL, "-o", "m.stretchy"
    )
    assert done.code == 0, done.err
    model = skstretch.load("m.stretchy")
    assert [type(step).__name__ for _, step in model.steps] == [
        "SimpleImputer", "ColumnTransformer", "StretchyRegressorCV"
    ]  # fmt: skip
    used, seen = np.count_nonzero(model[-1].coef_), model[-1].n_features_in_
    for told in (done.out, call("inspect", "m.stretchy").out):  # features are columns of the file
        told = " ".join(told.split())
        assert f"data 40 rows, {X.shape[1]} features" in told
        assert f"uses {used} of the {seen} features that the steps before make" in told
    done = call("predict", "m.stretchy", "nir.csv")
    assert np.isfinite(floats(read_csv(done.out)["prediction"])).all()
