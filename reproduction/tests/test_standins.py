"""Stand-ins through the whole command, on small ones that the test puts in their place."""

from dataclasses import replace

import numpy as np
import pytest

from reproduction import sets, standins
from reproduction.command import main
from reproduction.files import read_results
from reproduction.sets import SETS, STANDINS, load_set, loaded_sizes, scratch_folder
from reproduction.standins import make_gaze_standin, make_gisette_standin, make_tfidf_standin
from skstretch.datasets import list_datasets


def small_gaze():
    with scratch_folder() as folder:
        return make_gaze_standin(f"{folder}/gaze.npy", 140, 3000)


@pytest.fixture
def small(monkeypatch):
    """The three stand-ins, small."""
    makers = {
        "tfidf-standin": lambda: make_tfidf_standin(120, 2000),
        "gaze-standin": small_gaze,
        "gisette-standin": lambda: make_gisette_standin(100, 80),
    }
    for name, load in makers.items():
        monkeypatch.setitem(SETS, name, replace(SETS[name], load=load))
    load_set.cache_clear()
    yield
    load_set.cache_clear()


def test_the_piece_runs_and_is_on_the_page_alone(tmp_path, small, capsys):
    pytest.importorskip("glmnet", reason="needs python-glmnet: pip install python-glmnet")
    assert main(["standins", "--quick", "--out", str(tmp_path), "--jobs", "1"]) == 0
    table = read_results(tmp_path / "results.csv")
    assert set(table["dataset"]) == set(STANDINS)
    assert set(table["piece"]) == {"standin"}
    assert set(table["trial"]) == {0}
    assert set(table.loc[table["dataset"] == "gaze-standin", "method"]) == {"SR"}
    assert {"LASSO1", "LASSO2", "LASSO100", "LASSOCV"} <= set(table["method"])
    page = (tmp_path / "reproduction.md").read_text("utf-8")
    section = page.partition("## Stand-ins")[2].partition("\n## ")[0]
    assert "| Gaze (stand-in) | 140 × 3,000 | 100 % | all LASSO: glmnet holds" in section
    assert section.count("| Gaze (stand-in) | SR1.0 |") == 2
    assert "reproduced** |" not in page
    assert not (tmp_path / "figures").exists()
    before = (tmp_path / "results.csv").read_bytes()
    assert main(["standins", "--quick", "--out", str(tmp_path), "--jobs", "1"]) == 0
    assert (tmp_path / "results.csv").read_bytes() == before


def test_a_map_is_never_loaded_whole(small, monkeypatch):
    from reproduction import study
    from reproduction.settings import FULL

    half = study.halves("gaze-standin", 0, 0, FULL, sparse=True)
    for X in (half.X, half.X_test):
        assert isinstance(X, np.memmap)
        assert X.dtype == np.uint8
        assert X.shape == (70, 3000)


def test_sizes_are_counted(small):
    sizes = loaded_sizes("tfidf-standin").set_index("series")["y"]
    X = load_set("tfidf-standin", True).X
    assert sizes.to_dict() == {
        "samples": 120, "features": 2000, "nonzero share": pytest.approx(X.nnz / 240_000)
    }  # fmt: skip
    classes = loaded_sizes("gisette-standin").set_index("series")["y"]
    assert (classes["class -1"], classes["class +1"]) == (50, 50)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fig9", "--datasets", "tfidf-standin"], "ask for the piece 'standins'"),
        (["standins", "--datasets", "corn"], "needs one of the data sets tfidf-standin"),
    ],
)
def test_stand_ins_by_name(tmp_path, capsys, words, message):
    assert main([*words, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_usual_stand_ins_have_the_shape_of_the_sets():
    """By their defaults, without making them: the sizes of Tables 2 and 3."""
    import inspect

    known = {row["name"]: row for row in list_datasets()}
    for name in ("tfidf", "gaze", "gisette"):
        defaults = inspect.signature(getattr(standins, f"make_{name}_standin")).parameters
        shape = (defaults["n_samples"].default, defaults["n_features"].default)
        assert shape == (known[name]["samples"], known[name]["features"])
    assert SETS["tfidf-standin"].load is make_tfidf_standin
    assert SETS["gisette-standin"].load is make_gisette_standin
    assert SETS["gaze-standin"].load is sets._gaze_standin
