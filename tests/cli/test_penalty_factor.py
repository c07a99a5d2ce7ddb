"""`skstretch fit --penalty-factor`: columns by name, and words for every mistake."""

import numpy as np
import pytest

import skstretch
from tests.cli.samples import NAMES, diabetes, write_csv

SMALL = ("--k", "1.5", "--c", "10", "--a", "-0.2", "--combine", "best", "-o", "m.stretchy")


def test_columns_by_name(call, folder):
    factors = (
        "--penalty-factor",
        "age=0",
        "--penalty-factor",
        "sex=0",
        "--penalty-factor",
        "s6=inf",
    )
    done = call("fit", "diabetes.csv", "-t", "progression", *SMALL, *factors)
    assert done.code == 0, done.err
    X, y = diabetes()
    p = np.ones(10)
    p[[NAMES.index("age"), NAMES.index("sex")]], p[NAMES.index("s6")] = 0.0, np.inf
    model = skstretch.StretchyRegressorCV(
        a_grid=[-0.2], k_grid=[1.5], c_grid=[10.0], combine="best", penalty_factor=p
    )
    loaded = skstretch.load(folder / "m.stretchy")
    np.testing.assert_array_equal(loaded.alpha_, model.fit(X, y).alpha_)
    np.testing.assert_array_equal(loaded.penalty_factor, p)
    done = call("inspect", "m.stretchy")
    assert done.code == 0, done.err
    done = call("predict", "m.stretchy", "diabetes.csv", "-o", "p.csv")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["age"], "--penalty-factor 'age' is not a column and a number from 0, such as age=0."),
        (["age=-1"], "--penalty-factor 'age=-1' is not a column and a number from 0"),
        (["age=nan"], "--penalty-factor 'age=nan' is not a column and a number from 0"),
        (["age=0", "age=2"], "--penalty-factor names 'age' twice, with 0 and 2."),
        (["Age=0"], "--penalty-factor: there is no column 'Age'; did you mean 'age'?"),
        (["progression=0"], "--penalty-factor names the target 'progression'."),
        (["age=1e-40"], "--penalty-factor[0]=1e-40 is"),
    ],
)
def test_mistakes(call, folder, words, said):
    options = [part for word in words for part in ("--penalty-factor", word)]
    done = call("fit", "diabetes.csv", "-t", "progression", *SMALL, *options)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_twins_are_named(call, folder):
    X, y = diabetes()
    names = [*NAMES, "twin"]
    write_csv(folder / "twins.csv", np.column_stack([X, X[:, 2]]), {"y": y}, names=names)
    options = ("--penalty-factor", "bmi=0", "--penalty-factor", "twin=0")
    done = call("fit", "twins.csv", "-t", "y", *SMALL, *options)
    assert done.code == 2
    words = " ".join(done.err.split())
    assert "--penalty-factor is 0 for column 'bmi', column 'twin', which determine" in words


def test_beside_other_steps(call, folder):
    """Filled columns keep their factors; spectra have no column that stands for itself."""
    X, y = diabetes()
    X[3, 4] = np.nan
    write_csv(folder / "gaps.csv", X, {"y": y.tolist()}, names=NAMES)
    options = ("-t", "y", *SMALL, "--penalty-factor", "age=0")
    done = call("fit", "gaps.csv", *options, "--impute", "mean")
    assert done.code == 0, done.err
    np.testing.assert_array_equal(skstretch.load("m.stretchy")[-1].penalty_factor, [0, *[1] * 9])
    done = call("fit", "gaps.csv", *options, "--impute", "mean", "--snv")
    assert done.code == 2
    assert "--penalty-factor with --snv" in done.err
