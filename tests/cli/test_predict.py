"""`skstretch predict` against the Python API, and its words for every mistake."""

import json
from pathlib import Path

import numpy as np
import pytest

import skstretch
from tests.cli.program import run
from tests.cli.samples import NAMES, diabetes, floats, read_csv, tumours, write_csv


@pytest.fixture
def regressor(folder):
    """A model of the diabetes data, fitted by the API, in m.stretchy."""
    import pandas as pd

    X, y = diabetes()
    model = skstretch.StretchyRegressorCV(combine="best").fit(pd.DataFrame(X, columns=NAMES), y)
    skstretch.save(model, "m.stretchy")
    skstretch.save(model, "plus.stretchy", intervals=True)
    return model


@pytest.fixture
def frame():
    import pandas as pd

    return pd.DataFrame(diabetes(200)[0][120:], columns=NAMES)


@pytest.fixture
def new(folder, frame):
    """New rows in new.csv."""
    return write_csv(folder / "new.csv", frame.to_numpy(), names=NAMES)


def test_real_program(folder, regressor, frame, new):
    done = run("predict", "m.stretchy", "new.csv", cwd=folder)
    assert (done.code, done.err) == (0, "")
    columns = read_csv(done.out)
    assert list(columns) == ["prediction"]
    np.testing.assert_array_equal(floats(columns["prediction"]), regressor.predict(frame))


def test_predictions_and_intervals_of_a_mixture(call, frame, new):
    import pandas as pd

    X, y = diabetes()
    grid = {"k_grid": (1.5, 2.0), "c_grid": (0.01, 1.0)}
    model = skstretch.StretchyRegressorCV(**grid).fit(pd.DataFrame(X, columns=NAMES), y)
    assert len(model.weights_["row"]) > 1
    skstretch.save(model, "mix.stretchy", intervals=True)
    done = call("predict", "mix.stretchy", "new.csv", "--interval", "0.9", "--json")
    assert (done.code, done.err) == (0, "")
    found, (lower, upper) = json.loads(done.out), model.predict_interval(frame, 0.9)
    np.testing.assert_allclose(found["prediction"], model.predict(frame), rtol=1e-13)
    np.testing.assert_allclose(found["lower"], lower, rtol=1e-10)
    np.testing.assert_allclose(found["upper"], upper, rtol=1e-10)


def test_real_program_intervals_from_standard_input_to_a_file(folder, regressor, frame, new):
    done = run(
        *("predict", "m.stretchy", "-", "--interval", "0.8", "-o", "out.csv"),
        cwd=folder,
        stdin=new.read_bytes(),
    )
    assert (done.code, done.out) == (0, "")
    assert done.err == (
        "note: intervals from the leave-one-out residuals; for exact jackknife+ fit with "
        "--intervals.\nwrote 80 predictions to out.csv\n"
    )
    columns = read_csv((folder / "out.csv").read_text())
    lower, upper = regressor.predict_interval(frame, 0.8, method="residual")
    np.testing.assert_array_equal(floats(columns["lower"]), lower)
    np.testing.assert_array_equal(floats(columns["upper"]), upper)


def test_exact_intervals_where_the_file_has_them(call, regressor, frame, new):
    done = call("predict", "plus.stretchy", "new.csv", "--interval", "0.9", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    lower, upper = regressor.predict_interval(frame, 0.9)
    np.testing.assert_allclose(found["lower"], lower, rtol=1e-10)
    np.testing.assert_allclose(found["upper"], upper, rtol=1e-10)


def test_infinite_bounds_are_said(call, folder):
    X, y = diabetes(8)
    skstretch.save(skstretch.StretchyRegressor().fit(X, y), "few.stretchy")
    write_csv(folder / "few.csv", X)
    done = call("predict", "few.stretchy", "few.csv", "--interval", "0.9")
    assert "note: some bounds are infinite: there are too few rows for this coverage." in done.err
    assert set(read_csv(done.out)["upper"]) == {"inf"}


def test_classes_and_probabilities(call, folder):
    X, y = tumours()
    model = skstretch.StretchyClassifierCV().fit(X, y)
    skstretch.save(model, "c.stretchy")
    done = call("predict", "c.stretchy", "tumours.csv", "--proba", "--drop", "kind")
    assert (done.code, done.err) == (0, "")
    columns = read_csv(done.out)
    assert list(columns) == ["prediction", "probability bad", "probability good"]
    assert columns["prediction"] == model.predict(X).tolist()
    shares = np.column_stack([floats(columns[f"probability {c}"]) for c in ("bad", "good")])
    np.testing.assert_array_equal(shares, model.predict_proba(X))


def test_columns_are_found_by_name_and_unknown_ones_ignored(call, folder, regressor, frame):
    order = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7]
    write_csv(
        folder / "mixed.csv",
        frame.to_numpy()[:, order],
        {"patient": [f"p{i}" for i in range(80)], "comment": ["some text"] * 80},
        names=[NAMES[j] for j in order],
    )
    done = call("predict", "m.stretchy", "mixed.csv", "--id", "patient")
    assert done.err == "note: ignored 1 column that the model does not know: 'comment'.\n"
    columns = read_csv(done.out)
    assert list(columns) == ["patient", "prediction"]
    assert columns["patient"] == [f"p{i}" for i in range(80)]
    np.testing.assert_array_equal(floats(columns["prediction"]), regressor.predict(frame))
    assert call("predict", "m.stretchy", "mixed.csv", "--quiet").err == ""


def test_the_target_of_the_model_is_no_unknown_column(call, folder):
    assert call("fit", "diabetes.csv", "-t", "progression", "-o", "m.stretchy", "-q").code == 0
    done = call("predict", "m.stretchy", "diabetes.csv", "-o", "p.csv", "--json")
    assert done.err == (
        "note: left out 'progression', which is what the model predicts.\n"
        "wrote 120 predictions to p.csv\n"
    )
    assert json.loads(done.out)["target"] == "progression"
    done = call("predict", "m.stretchy", "diabetes.csv", "--id", "progression")
    assert done.err == ""
    assert list(read_csv(done.out)) == ["progression", "prediction"]


def test_missing_columns_are_named(call, folder, regressor, frame):
    names = ["AGE", *NAMES[1:-1], "other"]
    write_csv(folder / "less.csv", frame.to_numpy(), names=names)
    done = call("predict", "m.stretchy", "less.csv")
    assert done.err == (
        "error: the file lacks 2 columns that the model needs: 'age', 's6'. Is 'age' called 'AGE' "
        "there?\n"
    )
    assert (done.code, done.out) == (2, "")


def test_columns_without_weight_may_be_missing(call, folder, frame):
    X, y = diabetes()
    import pandas as pd

    model = skstretch.StretchyRegressor(density=3).fit(pd.DataFrame(X, columns=NAMES), y)
    skstretch.save(model, "m.stretchy", intervals=True)
    kept = [name for name, keep in zip(NAMES, model.support_, strict=True) if keep]
    write_csv(folder / "kept.csv", frame[kept].to_numpy(), names=kept)
    done = call("predict", "m.stretchy", "kept.csv", "--interval", "0.9")
    assert done.code == 0
    assert done.err == "note: 7 columns that the model gives no weight are not in the file.\n"
    columns = read_csv(done.out)
    np.testing.assert_array_equal(floats(columns["prediction"]), model.predict(frame))
    np.testing.assert_allclose(
        [floats(columns["lower"]), floats(columns["upper"])],
        model.predict_interval(frame, 0.9),
        rtol=1e-10,
    )


def test_models_and_data_without_names_go_by_order(call, folder, regressor, frame):
    np.savez(folder / "new.npz", X=frame.to_numpy())
    done = call("predict", "m.stretchy", "new.npz")
    assert (done.code, done.err) == (0, "")
    np.testing.assert_array_equal(
        floats(read_csv(done.out)["prediction"]), regressor.predict(frame)
    )
    np.savez(folder / "new.npz", X=frame.to_numpy()[:, :-1])
    done = call("predict", "m.stretchy", "new.npz")
    assert done.err == (
        "error: the model takes 10 columns, and the file has 9: all of them are needed, in the "
        "order of the fit.\n"
    )
    X, y = diabetes()
    skstretch.save(skstretch.StretchyRegressor().fit(X, y), "plain.stretchy")
    done = call("predict", "plain.stretchy", "diabetes.csv")
    assert done.err == (
        "error: the model takes 10 columns, and the file has 11: leave others out with --drop.\n"
    )
    assert call("predict", "plain.stretchy", "diabetes.csv", "--drop", "progression").code == 0


def test_tab_separated_output(call, folder, regressor, new):
    assert call("predict", "m.stretchy", "new.csv", "--interval", "0.9", "-o", "p.tsv").code == 0
    assert (folder / "p.tsv").read_text().splitlines()[0] == "prediction\tlower\tupper"


def test_candidates_that_a_spreadsheet_would_run(call, folder, regressor, frame):
    who = ["=1+1", "+1", "-2", "@sum", "a=b", "", "-x", "\tx", "plain", "1e5"]
    write_csv(folder / "who.csv", frame.to_numpy()[:10], {"=id": who}, names=NAMES)
    words = ("predict", "m.stretchy", "who.csv", "--id", "=id")
    columns = read_csv(call(*words).out)
    assert columns["=id"][:9] == ["=1+1", "+1", "-2", "@sum", "a=b", "", "-x", "x", "plain"]
    safe = read_csv(call(*words, "--excel-safe").out)
    assert list(safe) == ["'=id", "prediction"]
    assert safe["'=id"] == ["'=1+1", "+1", "-2", "'@sum", "a=b", "", "'-x", "x", "plain", "1e5"]
    assert safe["prediction"] == columns["prediction"]


def test_mistakes(call, folder, regressor, frame, new):
    def words(*line):
        done = call("predict", *line)
        assert (done.code, done.out) == (2, "")
        return done.err

    assert words("m.stretchy", "new.csv", "--interval", "90") == (
        "error: --interval 90 must lie between 0 and 1, say 0.9.\n"
    )
    assert words("m.stretchy", "new.csv", "--proba") == (
        "error: --proba is for classification; this model predicts numbers: use --interval.\n"
    )
    assert words("new.csv", "new.csv") == (
        "error: 'new.csv' is not a sound model file: it does not end like a zip file: it is "
        "another file, or cut short. Models are made by skstretch fit.\n"
    )
    assert words("new.csv", "m.stretchy") == (
        "error: the model comes first: skstretch predict m.stretchy new.csv\n"
    )
    assert words("m.stretchi", "new.csv") == (
        "error: there is no file 'm.stretchi'; did you mean 'm.stretchy'?\n"
    )
    assert words("m.stretchy", "m.stretchy") == (
        "error: 'm.stretchy' is a model file: data are asked for here.\n"
    )
    assert words("m.stretchy", "new.csv", "-o", "p.xlsx") == (
        "error: -o 'p.xlsx': predictions are written as .csv or .tsv.\n"
    )
    X = frame.to_numpy().copy()
    X[3:7, 2] = np.nan
    write_csv(folder / "new.csv", X, names=NAMES)
    assert words("m.stretchy", "new.csv") == (
        "error: missing values in 4 of 80 rows: 'bmi' 4. Fill these cells first, or fit the model "
        "with --impute.\n"
    )


def test_a_reader_that_stops_early(folder, regressor):
    """`skstretch predict ... | head` ends without a traceback."""
    import subprocess
    import sys

    from tests.cli.program import environment

    X = np.tile(diabetes()[0], (200, 1))
    write_csv(folder / "long.csv", X, names=NAMES)
    process = subprocess.Popen(
        [sys.executable, "-m", "skstretch.cli", "predict", "m.stretchy", "long.csv"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout.readline() == b"prediction\n"
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=600)
    assert err == b""


def test_check_says_what_is_unlike_the_training_data(call, regressor, frame):
    strange = frame.to_numpy().copy()
    strange[0] += 100.0
    write_csv(Path("strange.csv"), strange, names=NAMES)
    done = call("predict", "m.stretchy", "strange.csv", "--check", "--json")
    assert done.code == 0
    found, expected = (
        json.loads(done.out),
        regressor.novelty(frame.assign(**dict(zip(NAMES, strange.T, strict=True)))),
    )
    assert list(found) == ["prediction", "leverage", "distance", "p_value"]
    np.testing.assert_allclose(found["p_value"], expected["p_value"], rtol=1e-12)
    odd = int((expected["p_value"] <= 0.05).sum())
    assert odd >= 1
    assert f"{odd} of 80 rows" in done.err
    assert "unlike the training data" in done.err


def test_check_of_the_rows_of_the_fit_says_that_they_may_be_these(call, folder):
    rng = np.random.default_rng(5)
    X, names = rng.normal(size=(60, 400)), [f"x{j}" for j in range(400)]
    model = skstretch.StretchyRegressor().fit(X[:40], X[:40, 0])
    skstretch.save(model, "wide.stretchy")
    for rows, words in ((X[:40], "or the model was fitted to them"), (X[40:], "no more than")):
        write_csv(folder / "wide.csv", rows, names=names)
        done = call("predict", "wide.stretchy", "wide.csv", "--check", "--json")
        assert words in " ".join(done.err.split())


def test_adaptive_intervals_where_the_file_has_them(call, regressor, frame, new):
    refused = call("predict", "m.stretchy", "new.csv", "--adaptive")
    assert "--adaptive goes with --interval" in refused.err
    words = "new.csv", "--interval", "0.9", "--adaptive"
    refused = call("predict", "m.stretchy", *words)
    assert "leave it out, or fit with --intervals" in " ".join(refused.err.split())
    found = json.loads(call("predict", "plus.stretchy", *words, "--json").out)
    lower, upper = regressor.predict_interval(frame, 0.9, adaptive=True)
    np.testing.assert_allclose(found["lower"], lower, rtol=1e-10)
    np.testing.assert_allclose(found["upper"], upper, rtol=1e-10)
