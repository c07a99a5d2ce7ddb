"""`skstretch fit` against the Python API, and its words for every mistake."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, cross_val_predict

import skstretch
from skstretch.cli.models import read_model
from skstretch.estimators.summary import fewer_features
from skstretch.io import about
from tests.cli.program import environment, run
from tests.cli.samples import NAMES, diabetes, tumours, write_csv

SAVED = ("-o", "m.stretchy")


def fitted(X, y, **keywords):
    return skstretch.StretchyRegressorCV(**keywords).fit(X, y)


def same_model(ours, theirs, X):
    assert ours._leader == theirs._leader
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_real_program_regression(folder):
    done = run("fit", "diabetes.csv", "--target", "progression", *SAVED, cwd=folder)
    assert done.code == 0, done.err
    X, y = diabetes()
    model, loaded = fitted(X, y), skstretch.load(folder / "m.stretchy")
    assert list(loaded.feature_names_in_) == NAMES
    same_model(loaded, model, X)
    assert done.err == "wrote m.stretchy\n"
    words = " ".join(done.out.split())
    assert f"(the target has {len(set(y.tolist()))} different numbers)" in words
    assert "regression of 'progression'" in words
    assert "120 rows, 10 features" in words
    root = np.sqrt(-model.best_score_)
    assert words.startswith("found How well it does on new samples is not known yet. In a cross-")
    assert f"the typical error of progression is {root:.1f} (standard error " in words
    assert "Leave out --no-nested for an error that has not seen the choice." in words
    assert "models, exact leave-one-out" in words
    assert model.solver_ in words
    assert f"rcond {model.rcond_:.1e}" in words
    assert sorted(os.listdir(folder)) == ["diabetes.csv", "m.stretchy", "tumours.csv"]


def test_the_search_is_repeated_by_default(folder, call):
    """The figure to trust leads, in words, in JSON, in the file and in inspect."""
    grid = ("--k", "2", "--a", "0", "--c", "0.01,1")
    X, y = diabetes(120)
    write_csv(folder / "d.csv", X, {"progression": y.tolist()}, names=NAMES)
    program = [sys.executable, "-m", "skstretch.cli", "fit", "d.csv", "-t", "progression"]
    done = subprocess.run(
        [*program, *SAVED, *grid], cwd=folder, capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stderr
    loaded = skstretch.load(folder / "m.stretchy")
    own = skstretch.StretchyRegressorCV(k_grid=(2.0,), a_grid=(0.0,), c_grid=(0.01, 1.0))
    literal = cross_val_predict(own, X, y, cv=KFold(10, shuffle=True, random_state=0))
    np.testing.assert_allclose(loaded.nested_predictions_, literal, rtol=1e-10)
    root = np.sqrt(np.mean((y - literal) ** 2))
    words = " ".join(done.stdout.split())
    assert words.startswith(f"found Predicts progression: typical error {root:.1f} (standard error")
    seen = np.sqrt(-loaded.best_score_)
    assert f"The plain cross-validation has seen the choice: typical error {seen:.1f} ± " in words
    assert "use --groups where some belong together" in words
    again = call("inspect", "m.stretchy")
    assert " ".join(again.out.split()).startswith(
        f"found Predicts progression: typical error {root:.1f}"
    )
    found = json.loads(call("inspect", "m.stretchy", "--json").out)
    assert next(iter(found)) == "verdict"
    assert found["nested"]["error"] == pytest.approx(root**2)


def test_too_few_rows_to_repeat(call, folder):
    (folder / "few.csv").write_text("a,b,y\n1,2,3\n2,1,4\n3,5,5\n4,3,6.5\n")
    done = call("fit", "few.csv", "-t", "y", *SAVED, "--nested", "--c", "1")
    assert done.code == 0, done.err
    assert "note: 4 rows: too few to repeat the search without some of them." in done.err
    words = " ".join(done.out.split())
    assert words.startswith("found Too few samples to say how well y is predicted: there are 4")
    assert "R²" not in words


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_real_program_classification_as_json(folder):
    done = run("fit", "tumours.csv", "-t", "kind", *SAVED, "--json", "--quiet", cwd=folder)
    assert done.code == 0
    assert done.err == ""
    X, y = tumours()
    model = skstretch.StretchyClassifierCV().fit(X, y)
    same_model(skstretch.load(folder / "m.stretchy"), model, X)
    found = json.loads(done.out)
    assert found["task"] == "classification"
    assert found["task_reason"] == "the target holds text"
    assert found["classes"] == ["bad", "good"]
    balanced, plain = found["errors"]
    assert balanced["error"] == pytest.approx(1 - model.best_score_, rel=1e-12)
    wrong = np.array(["bad", "good"])[(model.cv_predictions_ > 0).astype(int)] != y
    assert plain["error"] == pytest.approx(wrong.mean())
    assert plain["standard_error"] == pytest.approx(wrong.std() / np.sqrt(150))
    assert plain["baseline"] == pytest.approx(min(np.mean(y == "bad"), np.mean(y == "good")))
    assert balanced["baseline"] == pytest.approx(0.5)
    assert found["rcond"] == pytest.approx(model.rcond_)


def test_a_mixture_is_listed(call):
    grid = ("--k", "1.5,2", "--c", "0.01,1")
    done = call("fit", "diabetes.csv", "-t", "progression", *SAVED, *grid)
    assert done.code == 0, done.err
    X, y = diabetes()
    model = fitted(X, y, k_grid=(1.5, 2.0), c_grid=(0.01, 1.0))
    table = model.weights_
    assert len(table["row"]) > 1
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert any(f"The average of {len(table['row'])} models, " in line for line in lines)
    assert "uses 10 features" in lines
    shares = [line for line in lines if re.match(r"\d+\.\d % ", line)]
    assert [float(line.split()[0]) for line in shares] == [
        round(100 * weight, 1) for weight in table["weight"].tolist()
    ]
    assert f"{100 * table['weight'][0]:.1f} % " in shares[0]
    assert any(line.split(" % ")[1].startswith("ridge, c = ") for line in shares)
    assert any("sparse linear, k = 1.5, c = " in line for line in shares)
    assert any("curved, a = −0.2, k = 1.5, c = " in line for line in shares)
    words = " ".join(lines)
    assert "than ridge regression" in words
    assert " ".join(fewer_features(model).split()) in words
    assert "\\u" not in done.out
    found = json.loads(
        call("fit", "diabetes.csv", "-t", "progression", *SAVED, *grid, "--json").out
    )
    assert [one["weight"] for one in found["mixture"]] == pytest.approx(table["weight"].tolist())
    assert [one["c"] for one in found["mixture"]] == table["c"].tolist()
    one = call("fit", "diabetes.csv", "-t", "progression", *SAVED, *grid, "--combine", "best")
    assert "models that were tried." in " ".join(one.out.split())
    assert "average" not in one.out


def test_options_of_the_search(call, folder):
    done = call(
        *(
            "fit",
            "diabetes.csv",
            "-t",
            "progression",
            *SAVED,
            "--json",
            "--cv",
            "5",
            "--k",
            "1.5,2",
        ),
        *("--a", "-0.1", "--c", "0.1,1,10", "--select", "4,1.0", "--combine", "best"),
    )
    assert done.code == 0, done.err
    X, y = diabetes()
    model = fitted(
        X,
        y,
        k_grid=(1.5, 2.0),
        a_grid=(-0.1,),
        c_grid=(0.1, 1.0, 10.0),
        n_features_to_select=[1.0, 4],
        cv=KFold(5, shuffle=True, random_state=0),
        combine="best",
    )
    found = json.loads(done.out)
    assert [found[name] for name in ("a", "k", "c", "density")] == [
        model.a_,
        model.k_,
        model.c_,
        model.density_,
    ]
    assert found["candidates"] == 12
    assert found["cv"] == "5 folds"
    assert found["errors"][0]["error"] == pytest.approx(-model.best_score_, rel=1e-12)


def test_exact_minimiser(call, folder):
    options = ("--a", "0", "--k", "1.25", "--c", "0.001,0.01", "--json")
    done = call("fit", "diabetes.csv", "-t", "progression", *SAVED, *options)
    assert done.code == 0, done.err
    X, y = diabetes()
    model = fitted(X, y, a_grid=(0.0,), k_grid=(1.25,), c_grid=(0.001, 0.01))
    found = json.loads(done.out)
    assert (found["a"], found["k"], found["c"]) == (0.0, 1.25, model.c_)
    assert found["solver"] == "newton"
    assert found["errors"][0]["error"] == pytest.approx(-model.best_score_, rel=1e-9)
    again = skstretch.load(folder / "m.stretchy")
    np.testing.assert_allclose(again.alpha_, model.alpha_, rtol=1e-9)
    assert again.dual_gap_ <= 1e-10


def test_weights_groups_and_dropped_columns(call, folder):
    X, y = diabetes()
    rng = np.random.default_rng(0)
    weights, groups = rng.integers(0, 4, len(y)), rng.integers(0, 12, len(y))
    words = [f"clinic {group}" for group in groups]
    columns = {"w": weights, "clinic": words, "note": ["free text"] * len(y), "y": y}
    write_csv(folder / "more.csv", X, columns, names=NAMES)
    done = call(
        *("fit", "more.csv", "-t", "y", *SAVED, "--json", "--weights", "w", "--groups", "clinic"),
        *("--drop", "note", "--drop", "s6", "--cv", "4"),
    )
    assert done.code == 0, done.err
    codes = np.unique(words, return_inverse=True)[1]
    model = skstretch.StretchyRegressorCV(cv=GroupKFold(4))
    model.fit(X[:, :-1], y, sample_weight=weights, groups=codes)
    found = json.loads(done.out)
    assert found["features"] == 9
    assert [found[name] for name in "akc"] == [model._leader[name] for name in "akc"]
    error = found["errors"][0]
    assert error["error"] == pytest.approx(-model.best_score_, rel=1e-12)
    losses = (y - model.cv_predictions_) ** 2
    sums = np.bincount(codes, weights=weights * (losses + model.best_score_))
    assert error["standard_error"] == pytest.approx(np.sqrt((sums**2).sum()) / weights.sum())


@pytest.mark.parametrize(
    ("options", "folds"),
    [
        ((), "ten folds"),
        (("--cv", "loo"), "exact leave-one-out"),
        (("--cv", "3"), "3 folds"),
    ],
)
def test_folds_where_features_are_selected(call, options, folds):
    grid = ("--k", "2", "--a", "0", "--c", "0.001,0.1,10", "--select", "3")
    done = call("fit", "diabetes.csv", "-t", "progression", *SAVED, "--json", *grid, *options)
    assert done.code == 0, done.err
    X, y = diabetes()
    cv = {"ten folds": None, "exact leave-one-out": LeaveOneOut()}.get(
        folds, KFold(3, shuffle=True, random_state=0)
    )
    model = fitted(
        X, y, k_grid=(2.0,), a_grid=(0.0,), c_grid=(0.001, 0.1, 10.0), n_features_to_select=3, cv=cv
    )
    found = json.loads(done.out)
    assert found["cv"] == folds
    assert found["errors"][0]["error"] == pytest.approx(-model.best_score_, rel=1e-12)
    assert found["features_used"] == 3


def test_nested(call):
    grid = ("--k", "2", "--a", "0", "--c", "0.001,0.1,10", "--select", "1.0")
    done = call("fit", "diabetes.csv", "-t", "progression", *SAVED, "--json", "--nested", *grid)
    assert done.code == 0, done.err
    X, y = diabetes()
    how = {"k_grid": (2.0,), "a_grid": (0.0,), "c_grid": (0.001, 0.1, 10.0)}
    model = fitted(X, y, **how, n_features_to_select=1.0, nested_cv=10)
    found = json.loads(done.out)["nested"]["error"]
    assert found == pytest.approx(-model.nested_score_, rel=1e-9)
    done = call("fit", "diabetes.csv", "-t", "progression", *SAVED, "--json", "--no-nested", *grid)
    assert "nested" not in json.loads(done.out)


def test_standard_input_and_compressed_files_give_the_same_model(folder):
    plain = (folder / "diabetes.csv").read_bytes()
    how = ("-t", "progression", "--k", "2", "--a", "0", "--c", "0.1,1")
    done = run("fit", "-", *how, "-o", "a.stretchy", cwd=folder, stdin=plain)
    assert done.code == 0, done.err
    (folder / "d.csv.gz").write_bytes(gzip.compress(plain))
    done = run("fit", "d.csv.gz", *how, "-o", "b.stretchy", cwd=folder)
    assert done.code == 0, done.err
    first, second = (read_model(folder / name).header for name in ("a.stretchy", "b.stretchy"))
    for header in (first, second):
        assert header["about"].pop("seconds") > 0
    assert first == second  # with the checksums of all arrays


def test_intervals_are_stored_on_request(call, folder):
    assert call("fit", "diabetes.csv", "-t", "progression", *SAVED, "--intervals").code == 0
    X, y = diabetes()
    loaded, model = skstretch.load("m.stretchy"), fitted(X, y)
    loaded.__dict__.pop("feature_names_in_")
    ours, theirs = loaded.predict_interval(X[:9]), model.predict_interval(X[:9])
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_quiet_says_nothing(call):
    done = call("fit", "diabetes.csv", "-t", "progression", *SAVED, "-q")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_the_page_keeps_to_80_columns_and_escapes_nothing_as_markup(call, folder):
    X, y = diabetes()
    names = ["<script>alert(1)</script>", "[red]x[/red]", "\x1b[2Jz", *NAMES[3:]]
    write_csv(folder / "odd.csv", X, {"[bold]y": y}, names=names)
    done = call("fit", "odd.csv", "-t", "[bold]y", *SAVED)
    assert done.code == 0, done.err
    assert "regression of '[bold]y'" in done.out
    assert list(skstretch.load("m.stretchy").feature_names_in_) == names


MISTAKES = {
    "typo": (
        ("--target", "progresion"),
        "--target: there is no column 'progresion'; did you mean 'progression'?",
    ),
    "case": (
        ("-t", "Progression"),
        "--target: there is no column 'Progression'; did you mean 'progression'?",
    ),
    "no target": (
        (),
        "say which column to predict with --target; the columns are 'age', 'sex', 'bmi', 'bp', "
        "'s1', 's2', 's3', 's4' and 3 more.",
    ),
    "far off": (
        ("-t", "zzz"),
        "--target: there is no column 'zzz'; the columns are 'age', 'sex', 'bmi', 'bp', 's1', "
        "'s2', 's3', 's4' and 3 more.",
    ),
    "drop": (
        ("-t", "progression", "--drop", "bmj"),
        "--drop: there is no column 'bmj'; the columns are 'age', 'sex', 'bmi', 'bp', 's1', 's2', "
        "'s3', 's4' and 3 more.",
    ),
    "drop target": (
        ("-t", "progression", "--drop", "progression"),
        "--drop names the target 'progression'.",
    ),
    "k": (
        ("-t", "progression", "--k", "1.1;2"),
        "--k '1.1;2' is not a list of numbers such as 1.1,1.5,2.",
    ),
    "k range": (
        ("-t", "progression", "--k", "0.5"),
        "--k 0.5 must be a number above 1: values up to 2 compress the coefficients, 2 is ridge "
        "regression.",
    ),
    "k nan": (
        ("-t", "progression", "--k", "2,nan"),
        "--k nan must be a number above 1: values up to 2 compress the coefficients, 2 is ridge "
        "regression.",
    ),
    "c": (
        ("-t", "progression", "--c", "-1"),
        "--c -1 must be a number above 0: a large one regularises little, inf not at all.",
    ),
    "c tiny": (
        ("-t", "progression", "--c", "1e-300"),
        "--c 1e-300 must be a number above 0: a large one regularises little, inf not at all.",
    ),
    "a": (
        ("-t", "progression", "--a", "inf"),
        "--a inf must be a finite number: the paper's is -0.2, 0 is plain ridge.",
    ),
    "a range": (
        ("-t", "progression", "--a", "5000"),
        "exp(a z + b) reaches exp(17245) in column 's3' at a=5000, beyond the range of float64. "
        "Use an --a nearer to 0, or look at the outlying values of that column.",
    ),
    "an option of the past": (
        ("-t", "progression", "--keep", "5"),
        "there is no --keep any more: use --select 10,30.",
    ),
    "another": (
        ("-t", "progression", "--density", "0.1"),
        "there is no --density any more: use --select 0.1,1.0 (shares have a point).",
    ),
    "a third": (
        ("-t", "progression", "--rule", "mix"),
        "there is no --rule any more: use --combine average, best or 1se.",
    ),
    "select nothing": (
        ("-t", "progression", "--select", ","),
        "--select ',' is not a list of numbers such as 10,30.",
    ),
    "density": (
        ("-t", "progression", "--select", "20.0"),
        "--select 20 must be a number of features from 1, or a share such as 0.1; 1.0 is all of "
        "them.",
    ),
    "keep": (
        ("-t", "progression", "--select", "-3"),
        "--select -3 must be a number of features from 1, or a share such as 0.1; 1.0 is all of "
        "them.",
    ),
    "keep many": (
        ("-t", "progression", "--select", "100"),
        "--select 100: the file has 10 features; to keep all of them as one of the choices use "
        "--select 1.0.",
    ),
    "cv": (
        ("-t", "progression", "--cv", "one"),
        "--cv 'one' is not known: use loo, or a number of folds from 2.",
    ),
    "cv 1": (
        ("-t", "progression", "--cv", "1"),
        "--cv '1' is not known: use loo, or a number of folds from 2.",
    ),
    "cv empty": (
        ("-t", "progression", "--cv", ""),
        "--cv '' is not known: use loo, or a number of folds from 2.",
    ),
    "cv many": (
        ("-t", "progression", "--cv", "100000"),
        "--cv 100000: there are only 120 rows; use at most 120, or loo.",
    ),
    "cv groups": (
        ("-t", "progression", "--cv", "10", "--groups", "sex"),
        "--cv 10: there are only 2 groups; use at most 2, or loo.",
    ),
}


@pytest.mark.parametrize("options", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_options(call, folder, options):
    words, message = options
    done = call("fit", "diabetes.csv", *words, *SAVED)
    assert done.err == f"error: {message}\n"
    assert (done.code, done.out) == (2, "")
    assert not (folder / "m.stretchy").exists()


def test_one_group_or_one_row(call, folder):
    X, y = diabetes(30)
    write_csv(folder / "g.csv", X, {"g": ["all"] * 30, "y": y})
    done = call("fit", "g.csv", "-t", "y", "--groups", "g", *SAVED)
    assert done.err == (
        "error: --groups: all rows are of one group; at least two groups are needed.\n"
    )
    (folder / "one.csv").write_text("a,y\n1,2\n")
    done = call("fit", "one.csv", "-t", "y", *SAVED)
    assert done.err == "error: there is one row to learn from: at least two are needed.\n"
    assert done.code == 2


def test_classes_smaller_than_the_folds(call, folder):
    X, _ = diabetes(30)
    write_csv(folder / "t.csv", X, {"y": ["rare"] * 3 + ["common"] * 27})
    words = ("fit", "t.csv", "-t", "y", "--k", "2", "--c", "0.1,1,10", *SAVED, "--cv")
    done = call(*words, "10")
    assert (
        "note: --cv 10: the class 'rare' has 3 rows, so some folds have none of it.\n" in done.err
    )
    assert "least populated" not in done.err
    assert done.code == 0
    done = call(*words, "28")
    assert done.err == "error: --cv 28: the class 'rare' has 3 rows, fewer than there are folds.\n"
    assert done.code == 2


PYTHON = re.compile(r"_grid|n_splits|n_samples|sample_weight|np\.|density=|cv=|fit\(|X=|Traceback")


def test_warnings_speak_of_options(call):
    grid = ("--k", "2", "--c", "1e-9,1e-8", "--combine", "best")
    done = call("fit", "diabetes.csv", "-t", "progression", *grid, *SAVED)
    assert done.code == 0
    assert "warning: the chosen c=1e-08 is the largest that was tried, and the loss" in done.err
    assert "by more than its standard error: extend --c with larger values." in done.err
    done = call("fit", "diabetes.csv", "-t", "progression", "--c", "1e300", "--a=-3", *SAVED)
    assert done.code in (0, 2)
    assert not PYTHON.search(done.err), done.err


def test_the_name_of_the_target_and_the_time_are_stored(call, folder):
    X, y = diabetes(60)
    np.savez(folder / "d.npz", X=X, y=y)
    done = call("fit", "d.npz", *SAVED, "--json", "--cv", "5")
    assert json.loads(done.out)["target"] == "y"
    facts = about("m.stretchy")
    assert facts == {"target": "y", "cv": "5", "seconds": json.loads(done.out)["seconds_fitting"]}
    dump_svmlight_file(X, y, str(folder / "d.svm"), zero_based=False)
    assert "regression of 'label'" in call("fit", "d.svm", *SAVED).out
    assert about("m.stretchy")["target"] == "label"


def changed(folder, change):
    """A CSV of strings with some of them changed."""
    X, y = diabetes()
    rows = [
        [repr(value) for value in [*row.tolist(), target]]
        for row, target in zip(X, y.tolist(), strict=True)
    ]
    header = [*NAMES, "y"]
    header, rows = change(header, rows) or (header, rows)
    text = "".join(",".join(row) + "\n" for row in [header, *rows])
    (folder / "bad.csv").write_text(text, encoding="utf-8")


def with_text(header, rows):
    return ["city", *header], [[["Oslo", "Rome"][i % 2], *row] for i, row in enumerate(rows)]


def with_two_texts(header, rows):
    return ["city", "my name", *header], [["Oslo", "Ann", *row] for row in rows]


def with_word(header, rows):
    rows[3][2] = "none"


def with_missing(header, rows):
    for row in rows[:12]:
        row[2] = ""
    rows[20][3] = "NA"


def with_missing_target(header, rows):
    rows[5][-1] = ""


def with_constant_target(header, rows):
    for row in rows:
        row[-1] = "3"


def with_text_target(header, rows):
    for i, row in enumerate(rows):
        row[-1] = f"name {i}"


def with_infinity(header, rows):
    rows[0][0] = "-inf"


def with_duplicates(header, rows):
    header[1] = "age"


def with_ragged_line(header, rows):
    rows[6].append("7")


def with_decimal_commas(header, rows):
    return header, [[f'"{value.replace(".", ",")}"' for value in row] for row in rows]


BAD_DATA = {
    with_text: "column 'city' holds text ('Oslo' in line 2). Leave it out with --drop city, or "
    "encode it as numbers.",
    with_two_texts: "column 'city' holds text ('Oslo' in line 2); column 'my name' holds text "
    "('Ann' in line 2). Leave them out with --drop city --drop 'my name', or encode them as "
    "numbers.",
    with_word: "column 'bmi' holds text in 1 of 120 rows ('none' in line 5). Correct these cells, "
    "or leave it out with --drop bmi.",
    with_missing: "missing values in 13 of 120 rows: 'bmi' 12, 'bp' 1. Fill the cells, or have "
    "them filled with --impute mean or --impute median, or leave out these rows with "
    "--drop-missing, or the columns with --drop bmi --drop bp.",
    with_missing_target: "missing values in 1 of 120 rows: 'y' 1. Fill the cells, or leave out "
    "these rows with --drop-missing.",
    with_constant_target: "the target 'y' is 3 in all 120 rows: there is nothing to predict.",
    with_text_target: "the target 'y' has 120 different values in 120 rows, too many for classes.",
    with_infinity: "column 'age' has infinite values: correct them, or leave it out with --drop "
    "age.",
    with_duplicates: "the name 'age' occurs 2 times (columns 1, 2): rename one in the header, or "
    "leave them all out with --drop age.",
    with_ragged_line: "line 8 of 'bad.csv' has 12 fields, and the header has 11: mend the line, or "
    "name the separator with --sep.",
    with_decimal_commas: "column 'age' holds text ('59,0' in line 2); column 'sex' holds text "
    "('2,0' in line 2); column 'bmi' holds text ('32,1' in line 2); column 'bp' holds text "
    "('101,0' in line 2); and 6 more columns. If the comma is a decimal mark, pass --decimal ,",
}


@pytest.mark.parametrize("change", BAD_DATA, ids=lambda change: change.__name__)
def test_mistakes_in_data(call, folder, change):
    changed(folder, change)
    done = call("fit", "bad.csv", "-t", "y", *SAVED)
    assert done.err == f"error: {BAD_DATA[change]}\n"
    assert (done.code, done.out) == (2, "")
    assert not (folder / "m.stretchy").exists()


def test_text_target_for_regression(call):
    done = call("fit", "tumours.csv", "-t", "kind", "--task", "regression", *SAVED)
    assert done.err == (
        "error: the target 'kind' holds text ('bad'), which regression cannot predict: use --task "
        "classification, or encode it as numbers.\n"
    )
    assert done.code == 2


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_ways_out_work(call, folder):
    X, y = diabetes()
    changed(folder, with_missing)
    assert call("fit", "bad.csv", "-t", "y", *SAVED, "--drop-missing").code == 0
    rows = np.setdiff1d(np.arange(120), [*range(12), 20])
    same_model(skstretch.load("m.stretchy"), fitted(X[rows], y[rows]), X)
    changed(folder, with_text)
    assert call("fit", "bad.csv", "-t", "y", *SAVED, "--drop", "city").code == 0
    same_model(skstretch.load("m.stretchy"), fitted(X, y), X)
    changed(folder, with_decimal_commas)
    assert call("fit", "bad.csv", "-t", "y", *SAVED, "--decimal", ",").code == 0
    same_model(skstretch.load("m.stretchy"), fitted(X, y), X)


@pytest.mark.parametrize(
    ("values", "task", "reason"),
    [
        ([0, 1], "classification", "the target has two different values"),
        ([1.5, 2.5], "classification", "the target has two different values"),
        (["a", "b", "c"], "classification", "the target holds text"),
        (
            [1, 2, 3],
            "regression",
            "the target has 3 different numbers; if they are classes, pass --task classification",
        ),
        ([1.5, 2, 3], "regression", "the target has 3 different numbers"),
        (
            list(range(30)),
            "regression",
            "the target has 30 different numbers; if they are classes, pass --task classification",
        ),
        ([*range(20), 25], "regression", "the target has 21 different numbers"),
    ],
)
def test_the_rule_for_the_task(call, folder, values, task, reason):
    X, _ = diabetes(60)
    write_csv(folder / "t.csv", X, {"y": [values[i % len(values)] for i in range(60)]})
    done = call("fit", "t.csv", "-t", "y", *SAVED, "--json", "--k", "2", "--c", "1")
    found = json.loads(done.out)
    assert (found["task"], found["task_reason"]) == (task, reason)


def test_classes_of_whole_numbers_stay_numbers(call, folder):
    X, _ = diabetes(60)
    write_csv(folder / "t.csv", X, {"y": np.arange(60) % 3})
    done = call("fit", "t.csv", "-t", "y", *SAVED, "--task", "classification", "--c", "1")
    assert done.code == 0, done.err
    assert skstretch.load("m.stretchy").classes_.tolist() == [0, 1, 2]


def test_columns_that_count_rows(call, folder):
    X, y = diabetes()
    number = np.arange(120)[:, None]
    write_csv(folder / "i.csv", np.hstack([number, X]), {"y": y}, names=["", *NAMES])
    done = call("fit", "i.csv", "-t", "y", *SAVED)
    assert (
        "note: left out the unnamed column 1, which labels the rows; --keep-index takes it.\n"
        in done.err
    )
    assert list(skstretch.load("m.stretchy").feature_names_in_) == NAMES
    huge = [90071992547409930 + 7 * i for i in range(120)]
    write_csv(folder / "i.csv", X, {"sample_id": huge, "y": y}, names=NAMES)
    done = call("fit", "i.csv", "-t", "y", *SAVED)
    assert done.code == 0
    assert (
        "note: column 'sample_id' looks like an identifier and is used as a feature: --drop "
        "sample_id leaves it out.\n"
    ) in done.err


@pytest.mark.parametrize("value", ["3", "9007199254740994000", "6.02e23"])
def test_a_constant_column_is_no_identifier(call, folder, value):
    X, y = diabetes(30)
    write_csv(folder / "i.csv", X, {"id": [value] * 30, "y": y}, names=NAMES)
    assert "identifier" not in call("fit", "i.csv", "-t", "y", *SAVED, "--c", "0.1,1").err


def test_large_measurements_are_no_identifiers(call, folder):
    X, y = diabetes(30)
    write_csv(folder / "i.csv", X, {"photons": 1e22 * X[:, 2], "y": y}, names=NAMES)
    assert "identifier" not in call("fit", "i.csv", "-t", "y", *SAVED, "--c", "0.1,1").err


def test_one_of_a_kind(call, folder):
    (folder / "one.csv").write_text("a,y\n" + "".join(f"{i},{3 * i % 7}\n" for i in range(12)))
    done = call("fit", "one.csv", "-t", "y", *SAVED, "--k", "2", "--a", "0", "--c", "1")
    assert "12 rows, 1 feature\n" in done.out
    assert "1 model, exact leave-one-out" in done.out
    words = " ".join(call("inspect", "m.stretchy").out.split())
    assert "12 rows, 1 feature " in words
    done = call("fit", "one.csv", "-t", "y", *SAVED, "--select", "2")
    assert "the file has 1 feature; to keep" in done.err


def with_thousands(header, rows):
    for i, row in enumerate(rows):
        row[0] = f'"1,234,{i:03d}"'


def with_thousands_or_decimals(header, rows):
    for i, row in enumerate(rows):
        row[0] = f'"1,{i:03d}"'


def test_commas_between_thousands(call, folder):
    changed(folder, with_thousands)
    done = call("fit", "bad.csv", "-t", "y", *SAVED)
    assert done.err == (
        "error: column 'age' holds text ('1,234,000' in line 2). If the comma parts thousands, "
        "write the numbers without it, 1234000 in place of '1,234,000'.\n"
    )
    changed(folder, with_thousands_or_decimals)
    done = call("fit", "bad.csv", "-t", "y", *SAVED)
    assert done.err == (
        "error: column 'age' holds text ('1,000' in line 2). If the comma is a decimal mark, pass "
        "--decimal , and if it parts thousands, write the numbers without it, 1000 in place of "
        "'1,000'.\n"
    )


def test_places_that_cannot_be_written(call, folder):
    done = call("fit", "diabetes.csv", "-t", "progression", "-o", ".")
    assert (done.code, done.err) == (2, "error: -o '.' is a folder: add the name of a file.\n")
    done = call("fit", "diabetes.csv", "-t", "progression", "-o", "no/m.stretchy")
    assert (done.code, done.err) == (2, "error: -o 'no/m.stretchy': there is no folder 'no'.\n")


def test_folder_without_permission(call, folder, monkeypatch):
    (folder / "locked").mkdir(mode=0o500)
    if os.geteuid() == 0:  # root may write everywhere
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    done = call("fit", "diabetes.csv", "-t", "progression", "-o", "locked/m.stretchy")
    assert done.err == "error: 'locked': no permission to write in this folder.\n"
    assert done.code == 1


def test_files_that_are_none(call, folder):
    done = call("fit", ".", "-t", "y", *SAVED)
    assert (done.code, done.err) == (2, "error: '.' is a folder: name a file in it.\n")
    done = call("fit", "diabets.csv", "-t", "y", *SAVED)
    assert done.err == "error: there is no file 'diabets.csv'; did you mean 'diabetes.csv'?\n"
    assert done.code == 2
    done = call("fit", "nowhere/at_all.csv", "-t", "y", *SAVED)
    assert (done.code, done.err) == (2, "error: there is no file 'nowhere/at_all.csv'.\n")


def test_an_older_model_survives_a_failure_and_is_replaced_by_success(call, folder):
    (folder / "m.stretchy").write_bytes(b"old")
    assert call("fit", "diabetes.csv", "-t", "zzz", *SAVED).code == 2
    assert (folder / "m.stretchy").read_bytes() == b"old"
    assert call("fit", "diabetes.csv", "-t", "progression", *SAVED).code == 0
    assert skstretch.load("m.stretchy").n_features_in_ == 10


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(folder, number, code):
    """Stopped in the middle of reading: no file, no traceback."""
    process = subprocess.Popen(
        [sys.executable, "-m", "skstretch.cli", "fit", "-", "-t", "y", *SAVED],
        cwd=folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    process.stdin.write(b"a,y\n" + b"1,2\n" * 50_000)  # returns when the program reads
    process.stdin.flush()
    time.sleep(0.5)
    process.send_signal(number)
    _, err = process.communicate(timeout=600)
    assert process.returncode == code
    assert err.decode() in ("error: interrupted.\n", "")
    assert sorted(os.listdir(folder)) == ["diabetes.csv", "tumours.csv"]


@pytest.mark.slow
def test_a_large_file_shows_progress_on_a_terminal(folder):
    pty = pytest.importorskip("pty", reason="needs a system with pseudo-terminals")
    X = np.random.default_rng(0).normal(size=(10, 60_000))
    write_csv(folder / "wide.csv", X, {"y": range(10)})
    ours, theirs = pty.openpty()
    words = ("fit", "wide.csv", "-t", "y", "--k", "2", "--c", "1", *SAVED)
    process = subprocess.Popen(
        [sys.executable, "-m", "skstretch.cli", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(TERM="xterm", COLUMNS="80"),
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # Linux says so when the other end is closed
        pass
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert b"reading" in shown
    assert b"reading" not in out
    assert b"10 rows, 60,000 features" in out


def test_a_report_beside_the_model(call, folder):
    done = call("fit", "diabetes.csv", "-t", "progression", *SAVED, "--report", "r.html")
    assert done.code == 0, done.err
    assert done.err.endswith("wrote m.stretchy and r.html\n")
    assert "<html" in (folder / "r.html").read_text(encoding="utf-8")


def test_tight_groups_are_told_whatever_the_folds(call, folder):
    rng = np.random.default_rng(0)
    X, y = (np.repeat(each, 4, axis=0) for each in (rng.normal(size=(15, 6)), rng.normal(size=15)))
    X += 0.05 * rng.normal(size=X.shape)
    lines = [",".join([*"abcdef", "y"]), *(",".join(map(str, row)) for row in np.c_[X, y])]
    (folder / "copies.csv").write_text("\n".join(lines), "utf-8")
    for words in ((), ("--cv", "5")):
        done = call("fit", "copies.csv", "-t", "y", "--k", "2", "--a", "0", *words, *SAVED)
        assert done.code == 0, done.err
        assert "60 samples lie in tight groups" in " ".join(done.err.split())
