"""``stretchy reproduce``: the real program in a temporary folder."""

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


def test_typing_error(tmp_path):
    done = run("reproduce", "fig1", "--datasets", "madelone", "--out", "out", cwd=tmp_path)
    assert done.code == 2
    assert "Did you mean 'madelon'?" in done.err
    assert not (tmp_path / "out").exists()
