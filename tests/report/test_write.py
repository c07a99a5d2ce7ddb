"""A report has what it should have, appears whole or not at all, and stays small."""

import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold

import skstretch
from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)  # fmt: skip
from skstretch.exceptions import GridEdgeWarning
from skstretch.report import write_report
from skstretch.style import number
from tests.report.samples import (
    GRID,
    data_of,
    page,
    quietly,
    regression,
    spectra,
    tall,
    text_of,
    three_classes,
    three_targets,
    two_classes,
    visible,
    without_origin,
)  # fmt: skip


def test_regression_has_everything(tmp_path):
    text = page(spectra(), tmp_path, source="spectra.csv", seconds=1.25)
    data = data_of(text)
    assert set(data["specs"]) == {
        "surface", "density", "fit", "profile", "top",
        "sample0", "sample1", "sample2", "novelty",
    }  # fmt: skip
    model, X, y = spectra()
    assert data["chosen"] == model.best_index_
    assert len(data["density"]) == 2
    assert data["along"] == [1100.0 + 2 * j for j in range(80)]
    assert data["samples"] == [str(i) for i in range(30)]
    own = data["fits"][str(model.best_index_)]
    np.testing.assert_allclose(own["predicted"][0], model.cv_predictions_, rtol=1e-3)
    picture = own["pictures"][0]
    np.testing.assert_allclose(picture["profile"], model.coef_, rtol=1e-3)
    order = np.argsort(-np.abs(model.coef_ * X.std(ddof=0).to_numpy()))
    used = [data["places"][i] for i in picture["top"]]
    assert used == order[: len(used)].tolist()
    words = visible(text)
    for part in ("spectra.csv", "1.25 s", "Python 3", "scikit-learn", "condition number", "solver"):
        assert part in words, part
    error = np.sqrt(np.mean((y - model.cv_predictions_) ** 2))
    assert f"is {error:.3g} (standard error " in words
    assert "has seen the choice among models" in words
    assert "intervals reach about" not in words


def test_classes_have_everything():
    for sample, n_curves in ((two_classes, 1), (three_classes, 3)):
        model, _, y = sample()
        data = data_of(text_of(sample))
        expected = {"surface", "roc", "confusion", "top", "calibration", "novelty"}
        expected |= {f"sample{i}" for i in range(len(data["explained"]))}
        assert set(data["specs"]) - {"profile"} == expected
        own = data["fits"][str(data["chosen"])]
        assert len(own["curves"]) == n_curves
        assert np.sum(own["confusion"]) == len(y)
        scores = model.cv_predictions_.reshape(len(y), -1) - np.atleast_1d(model.threshold_)
        codes = (scores[:, 0] > 0).astype(int) if n_curves == 1 else scores.argmax(axis=1)
        right = np.sum(model.classes_[codes] == np.asarray(y))
        assert np.trace(own["confusion"]) == right
        assert len(own["pictures"]) == n_curves


def test_several_targets_can_be_picked():
    text = text_of(three_targets)
    data = data_of(text)
    assert data["outputs"] == ["target 1", "target 2", "target 3"]
    model, _, _ = three_targets()
    own = data["fits"][str(data["chosen"])]
    for j in range(3):
        np.testing.assert_allclose(own["predicted"][j], model.cv_predictions_[:, j], rtol=1e-3)
    assert "all 3 targets are better than their means" in visible(text)
    assert 'id="pick-output"' in text


def test_loaded_model_without_data_says_what_is_missing(tmp_path):
    model, X, y = regression()
    skstretch.save(model, tmp_path / "m.stretchy")
    again = skstretch.load(tmp_path / "m.stretchy")
    bare = write_report(again, tmp_path / "bare.html").read_text("utf-8")
    data = data_of(bare)
    assert set(data["specs"]) == {"surface", "top", "profile"}
    assert list(data["fits"]) == [str(model.best_index_)]
    assert "write_report(model, path, X=X, y=y)" in visible(bare)
    whole = write_report(again, tmp_path / "whole.html", X=X, y=y).read_text("utf-8")
    assert without_origin(whole) == without_origin(text_of(regression))


def test_y_alone_shows_the_chosen_candidate(tmp_path):
    model, _, y = regression()
    text = write_report(model, tmp_path / "r.html", y=y).read_text("utf-8")
    assert set(data_of(text)["specs"]) == {"surface", "fit", "top", "profile"}
    assert "only the chosen model is shown in full" in visible(text)
    assert "Bars reach as far as 90\u00a0% of these errors" in visible(text)


@pytest.mark.parametrize("sample", [regression, two_classes])
def test_plain_estimators(sample, tmp_path):
    model, X, y = sample()
    cls = StretchyClassifier if hasattr(model, "classes_") else StretchyRegressor
    plain = cls(k=1.5, c=1.0).fit(X, y)
    data = data_of(write_report(plain, tmp_path / "r.html", X=X, y=y).read_text("utf-8"))
    assert {"fit", "roc"} & set(data["specs"])
    assert "surface" not in data["specs"]
    bare = write_report(plain, tmp_path / "bare.html").read_text("utf-8")
    assert set(data_of(bare)["specs"]) <= {"top", "profile"}
    assert f"{cls.__name__}CV finds" in visible(bare)


def test_groups_and_random_folds(tmp_path):
    _, X, y = regression()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        grouped = StretchyRegressorCV(**GRID, cv=GroupKFold(5)).fit(
            X, y, groups=np.arange(len(y)) // 4
        )
        random = StretchyRegressorCV(**GRID, cv=KFold(5, shuffle=True)).fit(X, y)
    for model, folds in ((grouped, "5 folds of whole groups"), (random, "5 folds")):
        text = write_report(model, tmp_path / "r.html", X=X, y=y).read_text("utf-8")
        assert len(data_of(text)["fits"]) == model.cv_results_["usable"].sum()
        assert folds in visible(text)


def test_own_folds_and_scoring(tmp_path):
    _, X, y = regression()
    model = quietly(StretchyRegressorCV(**GRID, cv=5, scoring="r2"), X, y)
    text = write_report(model, tmp_path / "r.html", X=X, y=y).read_text("utf-8")
    assert len(data_of(text)["fits"]) > 1
    assert "score (r2)" in visible(text)
    assert "5 folds" in visible(text)


def test_sparse_data(tmp_path):
    rng = np.random.default_rng(5)
    dense = rng.poisson(0.3, size=(50, 200)).astype(float)
    y = dense[:, 0] + 0.1 * rng.normal(size=50)
    X = sparse.csr_array(dense)
    model = quietly(StretchyRegressorCV(**GRID), X, y)
    data = data_of(write_report(model, tmp_path / "r.html", X=X, y=y).read_text("utf-8"))
    assert len(data["fits"]) > 1
    assert data["lower"]


def test_containers_give_the_same_report(tmp_path):
    model, X, y = spectra()
    for other in (X.to_numpy().tolist(), pl.from_pandas(X), X.astype(object), X.to_numpy()):
        text = page((model, other, y), tmp_path)
        assert text == text_of(spectra)


def test_ten_thousand_features_stay_within_three_megabytes(tmp_path):
    rng = np.random.default_rng(6)
    X = pd.DataFrame(
        rng.normal(size=(40, 10_000)), columns=[f"{j} {'long name ' * 12}" for j in range(10_000)]
    )
    y = X.to_numpy()[:, :20].sum(axis=1)
    grid = {"k_grid": (1.25, 2.0), "c_grid": np.logspace(-6, 2, 50), "a_grid": (-0.2, 0.0)}
    model = quietly(StretchyRegressorCV(**grid), X, y)
    path = write_report(model, tmp_path / "r.html", X=X, y=y)
    data = data_of(path.read_text("utf-8"))
    assert len(data["fits"]) > 50
    pictures = [fit["pictures"][0] for fit in data["fits"].values()]
    assert max(len(picture["top"]) for picture in pictures) == 50
    assert {len(picture[name]) for picture in pictures for name in ("profile", "low", "high")} == {
        295
    }
    words = "the line is the mean of 34 neighbouring features, the band their range."
    assert words in path.read_text("utf-8")
    few = quietly(StretchyRegressorCV(**grid, n_features_to_select=10), X, y)
    words = "a needle is the range of 34 neighbouring features."
    text = write_report(few, path, X=X, y=y).read_text("utf-8")
    assert words in text
    assert "One number of features was tried. With <code>skstretch fit --select 1.0,30,10<" in text
    assert path.stat().st_size < 3_000_000


def test_many_samples_and_classes_stay_small(tmp_path):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3000, 8))
    y = rng.integers(0, 40, size=3000)
    model = quietly(StretchyClassifierCV(k_grid=(2.0,), c_grid=(1.0,), a_grid=(0.0,)), X, y)
    text = page((model, X, y), tmp_path)
    data = data_of(text)
    assert len(data["classes"]) == 20
    assert len(data["outputs"]) == 30
    assert "first 30 of 40 outputs" in visible(text)
    assert (
        "Nothing was found: the 40 classes are not told apart better than by guessing"
        in visible(text)
    )
    number = quietly(StretchyRegressorCV(k_grid=(2.0,), c_grid=(1.0,)), X, X[:, 0])
    data = data_of(page((number, X, X[:, 0]), tmp_path))
    assert len(data["samples"]) == 500


def test_useless_model_is_called_so(tmp_path):
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    model = quietly(StretchyRegressorCV(c_grid=(1e6,), k_grid=(1.5,), a_grid=(-0.2,)), X, y)
    assert "Nothing was found: the target is not predicted better than" in visible(
        page((model, X, y), tmp_path)
    )


def test_equal_input_gives_equal_files(tmp_path):
    assert page(spectra(), tmp_path) == text_of(spectra)


def test_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    model, X, y = regression()

    def broken(*_):
        raise OSError("disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="disk is full"):
            write_report(model, path, X=X, y=y)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]
    assert write_report(model, str(path), X=X, y=y) == path
    assert path.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert os.listdir(tmp_path) == ["report.html"]


def test_mistakes_are_named(tmp_path):
    model, X, y = regression()
    path = tmp_path / "r.html"
    with pytest.raises(TypeError, match="a Ridge has no report: pass a fitted StretchyRegressor"):
        write_report(Ridge().fit(X.to_numpy(), y), path)
    with pytest.raises(NotFittedError):
        write_report(StretchyRegressor(), path)
    with pytest.raises(ValueError, match="X was passed without y"):
        write_report(model, path, X=X)
    with pytest.raises(ValueError, match=r"X has shape \(39, 60\), and the model was fitted on"):
        write_report(model, path, X=X[:39], y=y[:39])
    with pytest.raises(ValueError, match=r"y has shape \(39,\), and the model was fitted on"):
        write_report(model, path, y=y[:39])
    with pytest.raises(ValueError, match=r"columns of X are not those .* their order differs"):
        write_report(model, path, X=X[X.columns[::-1]], y=y)
    with pytest.raises(ValueError, match="'new' is only in one of them"):
        write_report(model, path, X=X.rename(columns={"f3": "new"}), y=y)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing"):
        write_report(model, tmp_path / "missing" / "r.html")
    classifier, X, y = two_classes()
    with pytest.raises(ValueError, match="y has the label 'maybe', and the model knows"):
        write_report(classifier, path, X=X, y=["maybe", *y[1:]])
    assert not path.exists()


def test_other_data_are_noticed(tmp_path):
    model, X, y = regression()
    text = write_report(model, tmp_path / "r.html", X=X + 1, y=y[::-1]).read_text("utf-8")
    assert list(data_of(text)["fits"]) == [str(model.best_index_)]
    assert "those that it was fitted on" in visible(text)


def test_every_chart_has_a_text_alternative():
    for sample in (spectra, three_classes):
        text = text_of(sample)
        for name in data_of(text)["specs"]:
            box = re.search(rf'<div class="chart" id="chart-{name}"[^>]*>', text)[0]
            assert len(re.search(r'aria-label="([^"]*)"', box)[1]) > 20, name
        assert visible(text).count("<figcaption>") == len(data_of(text)["specs"])


def test_missing_extra_is_named():
    code = "import sys; sys.modules['altair'] = None; import skstretch.report"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "a report needs altair" in done.stderr
    assert "pip install 'skstretch[report]'" in done.stderr


@pytest.mark.parametrize("name", ["StretchyClassifier", "StretchyRegressor"])
def test_automatic_c_is_a_number_on_the_page(name, tmp_path):
    """The default of the classifier."""
    _, X, y = two_classes() if name == "StretchyClassifier" else regression()
    model = getattr(skstretch, name)(c="auto").fit(X, y)
    for data in ({}, {"X": X, "y": y}):
        text = write_report(model, tmp_path / "r.html", **data).read_text("utf-8")
        assert f"<dt>c</dt><dd>{number(model.c_, 4)}</dd>" in text
    assert data_of(text)["fits"]["0"]["notes"][0]


def test_no_more_features_are_suggested_than_there_are(tmp_path):
    """Of five columns two would have to be left to choose three: no number is named then."""
    assert "One number of features was tried" not in text_of(tall)
