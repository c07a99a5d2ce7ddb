"""`skstretch report`: the page of the API, written where it was asked for."""

from pathlib import Path

import numpy as np
import pytest

import skstretch
from skstretch.cli.data.files import Form
from skstretch.io import about
from skstretch.report import write_report
from tests.cli.program import run
from tests.cli.samples import diabetes, tumours


@pytest.fixture
def fitted(call):
    for name, target in (("diabetes", "progression"), ("tumours", "kind")):
        done = call("fit", f"{name}.csv", "-t", target, "-o", f"{name}.stretchy", "-q")
        assert done.code == 0, done.err


def test_real_program(folder, fitted):
    done = run("report", "diabetes.stretchy", cwd=folder)
    assert (done.code, done.out, done.err) == (0, "", "wrote diabetes.html\n")
    page = (folder / "diabetes.html").read_text(encoding="utf-8")
    write_report(skstretch.load("diabetes.stretchy"), "api.html", source="diabetes.stretchy")
    api = (folder / "api.html").read_text(encoding="utf-8")
    assert len(page) == pytest.approx(len(api), abs=200)
    assert "diabetes.stretchy" in page


def test_with_the_training_data(call, folder, fitted):
    words = ("report", "diabetes.stretchy", "--data", "diabetes.csv", "-t", "progression")
    done = call(*words, "-o", "full.html")
    assert (done.code, done.err) == (0, "wrote full.html\n")
    assert call("report", "diabetes.stretchy", "-o", "bare.html", "-q").err == ""
    assert (folder / "full.html").stat().st_size > (folder / "bare.html").stat().st_size


def page_of(folder, name):
    return (folder / name).read_text(encoding="utf-8")


def test_the_target_and_the_time_come_from_the_file(call, folder, fitted):
    seconds = about("diabetes.stretchy")["seconds"]
    done = call("report", "diabetes.stretchy", "--data", "diabetes.csv")
    assert (done.code, done.err) == (0, "wrote diabetes.html\n")
    for words in ((), ("--data", "diabetes.csv")):
        assert call("report", "diabetes.stretchy", *words, "-o", "r.html").code == 0
        page = page_of(folder, "r.html")
        assert "<h1>Regression of progression</h1>" in page
        assert f"{seconds:.3g}"[:4] in page.split("time of the fit")[1][:80]


def test_folds_of_the_fit_are_used_again(call, folder):
    words = ("fit", "diabetes.csv", "-t", "progression", "--cv", "5", "--k", "1.5,2", "-q")
    assert call(*words, "-o", "m.stretchy", "--report", "fit.html").code == 0
    words = ("report", "m.stretchy", "--data", "diabetes.csv", "-o", "later.html")
    assert call(*words).code == 0
    assert "How sure are the effects?" not in page_of(folder, "later.html")
    assert call(*words, "--effects").code == 0
    assert "How sure are the effects?" in page_of(folder, "later.html")
    for name in ("fit.html", "later.html"):
        page = page_of(folder, name)
        assert "5 folds" in page
        assert "Only the chosen candidate is shown in full" not in page
    assert call("report", "m.stretchy", "-o", "bare.html").code == 0
    assert "5 folds" in page_of(folder, "bare.html")
    assert "skstretch report MODEL --data FILE" in page_of(folder, "bare.html")


def test_a_target_in_a_file_of_its_own(call, folder):
    X, y = diabetes(60)
    np.savez(folder / "d.npz", X=X)
    np.save(folder / "y.npy", y)
    assert call("fit", "d.npz", "-t", "y.npy", "-o", "m.stretchy", "-q").code == 0
    done = call("report", "m.stretchy", "--data", "d.npz", "-o", "r.html")
    assert (done.code, done.err) == (0, "wrote r.html\n")
    assert "Regression of y.npy" in page_of(folder, "r.html")
    assert "were not at hand" not in page_of(folder, "r.html")


def test_a_column_comes_before_a_file_of_its_name(call, folder, fitted):
    (folder / "progression").write_text("not a target")
    done = call("report", "diabetes.stretchy", "--data", "diabetes.csv", "-o", "r.html")
    assert (done.code, done.err) == (0, "wrote r.html\n")


def test_data_are_handed_over_as_they_were_fitted(folder, fitted):
    from skstretch.cli.console import Talk
    from skstretch.cli.models import read_model, training_data

    for name, made in (("diabetes", diabetes()), ("tumours", tumours())):
        found = read_model(Path(f"{name}.stretchy"))
        rows = training_data(found, f"{name}.csv", Form(), Talk(quiet=True))
        assert (made[0] == rows.X).all()
        assert (made[1] == rows.y).all()


def test_mistakes(call, folder, fitted):
    model = skstretch.load("diabetes.stretchy")
    skstretch.save(model, "nameless.stretchy")
    done = call("report", "nameless.stretchy", "--data", "diabetes.csv")
    assert done.err == "error: say with --target which column of --data the model predicts.\n"
    done = call("report", "diabetes.stretchy", "--data", "diabetes.csv", "-t", "progresion")
    assert done.err == (
        "error: --target: there is no column 'progresion'; did you mean 'progression'?\n"
    )
    done = call("report", "diabetes.stretchy", "-t", "progression")
    assert done.err == (
        "error: --target goes with --data, the file that the model was fitted to.\n"
    )
    done = call("report", "diabetes.stretchy", "--data", "tumours.csv", "-t", "kind")
    assert done.err.startswith("error: the file lacks 10 columns that the model needs: 'age'")
    head = (folder / "diabetes.csv").read_text().splitlines(keepends=True)[:51]
    (folder / "less.csv").write_text("".join(head))
    done = call("report", "diabetes.stretchy", "--data", "less.csv", "-t", "progression")
    assert done.err == (
        "error: the model was fitted to 120 rows, and 'less.csv' has 50: pass the data that it was "
        "fitted to.\n"
    )
    assert done.code == 2
    assert not (folder / "diabetes.html").exists()


def test_rows_have_the_names_of_a_column(call, folder, fitted):
    """Samples that are shown are named as in the file; a name that is not there is an error."""
    lines = (folder / "diabetes.csv").read_text("utf-8").splitlines()
    named = [f"{'patient' if i == 0 else f'P-{i:03}'},{line}" for i, line in enumerate(lines)]
    (folder / "named.csv").write_text("\n".join(named) + "\n", "utf-8")
    words = ("report", "diabetes.stretchy", "--data", "named.csv", "-o", "named.html")
    assert call(*words, "--id", "patient", "-q").code == 0
    page = page_of(folder, "named.html")
    assert "P-0" in page or "P-1" in page
    assert call(*words[:-2], "-o", "plain.html", "-q").code == 0
    assert "P-0" not in page_of(folder, "plain.html")
    wrong = call(*words, "--id", "pateint")
    assert wrong.code == 2
    assert "--id" in wrong.err
    assert "'patient'" in wrong.err
    alone = call("report", "diabetes.stretchy", "--id", "patient")
    assert alone.code == 2
    assert "--id goes with --data" in alone.err
