"""``skstretch reproduce``: the real program in a temporary folder."""

import pytest

from skstretch.experiments import command
from tests.cli.program import run


def test_table_one(tmp_path):
    done = run("reproduce", "table1", "--quick", cwd=tmp_path)
    assert done.code == 0, done.err
    page = (tmp_path / "out" / "quick" / "reproduction.md").read_text("utf-8")
    assert "# The paper, reproduced" in page
    assert "**A quick run**" in page


def test_quick_and_full_keep_apart(tmp_path):
    assert run("reproduce", "fig1", "--quick", "--out", "here", cwd=tmp_path).code == 0
    done = run("reproduce", "fig1", "--out", "here", cwd=tmp_path)
    assert done.code == 2
    assert "quick and full runs do not mix" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--datasets", "corn", "prostate"),
            "--datasets takes one word, and 'prostate' stands apart: write --datasets "
            "corn,prostate, or repeat the option for each set.",
        ),
        (
            ("fig9", "--datasets", "corn", "madelon"),
            "--datasets takes one word, and 'madelon' stands apart: write --datasets "
            "corn,madelon, or repeat the option for each set. For the piece 'madelon' write it "
            "first.",
        ),
    ],
)
def test_data_sets_apart(call, folder, words, message):
    done = call("reproduce", *words, "--quick")
    assert (done.code, done.err) == (2, f"error: {message}\n")
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "words",
    [("--datasets", "corn,prostate"), ("--datasets", "corn", "--datasets", "prostate")],
)
def test_data_sets_by_commas_and_repeated(call, monkeypatch, words):
    seen = []
    monkeypatch.setattr(command, "execute", lambda request: seen.append(request) or 0)
    assert call("reproduce", "fig9", *words).code == 0
    assert seen[0].datasets == ["corn", "prostate"]
    assert list(seen[0].pieces) == ["fig9"]


def test_typing_error(tmp_path):
    done = run("reproduce", "fig1", "--datasets", "madelone", "--out", "out", cwd=tmp_path)
    assert done.code == 2
    assert "Did you mean 'madelon'?" in done.err
    assert not (tmp_path / "out").exists()
