"""`stretchy report`: the page of the API, written where it was asked for."""

import pytest

import stretchy
from stretchy.cli.data.form import Form
from tests.cli.program import run
from tests.cli.samples import diabetes, tumours

write_report = pytest.importorskip("stretchy.report").write_report


@pytest.fixture
def fitted(call):
    for name, target in (("diabetes", "progression"), ("tumours", "kind")):
        done = call("fit", f"{name}.csv", "-t", target, "-o", f"{name}.stretchy", "-q")
        assert done.code == 0, done.err


def test_real_program(folder, fitted):
    done = run("report", "diabetes.stretchy", cwd=folder)
    assert (done.code, done.out, done.err) == (0, "", "wrote diabetes.html\n")
    page = (folder / "diabetes.html").read_text(encoding="utf-8")
    write_report(stretchy.load("diabetes.stretchy"), "api.html", source="diabetes.stretchy")
    api = (folder / "api.html").read_text(encoding="utf-8")
    assert len(page) == pytest.approx(len(api), abs=200)
    assert "diabetes.stretchy" in page


def test_with_the_training_data(call, folder, fitted):
    words = ("report", "diabetes.stretchy", "--data", "diabetes.csv", "-t", "progression")
    done = call(*words, "-o", "full.html")
    assert (done.code, done.err) == (0, "wrote full.html\n")
    assert call("report", "diabetes.stretchy", "-o", "bare.html", "-q").err == ""
    assert (folder / "full.html").stat().st_size > (folder / "bare.html").stat().st_size


def test_data_are_handed_over_as_they_were_fitted(folder, fitted):
    from stretchy.cli.console import Talk
    from stretchy.cli.training import training_data

    model = stretchy.load("diabetes.stretchy")
    X, y = training_data(model, "diabetes.csv", "progression", Form(), Talk(quiet=True))
    ours = diabetes()
    assert (ours[0] == X).all()
    assert (y == ours[1]).all()
    model = stretchy.load("tumours.stretchy")
    X, y = training_data(model, "tumours.csv", "kind", Form(), Talk(quiet=True))
    ours = tumours()
    assert (ours[0] == X).all()
    assert (y == ours[1]).all()


def test_mistakes(call, folder, fitted):
    done = call("report", "diabetes.stretchy", "--data", "diabetes.csv")
    assert done.err == "error: say with --target which column of --data the model predicts.\n"
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
