"""Reports of pipelines show what their last step sees."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import skstretch
from skstretch import SpectralFilter, StretchyRegressorCV
from skstretch.report import write_report
from tests.report.samples import GRID, data_of, quietly, visible


def sample():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 40)).cumsum(axis=1)
    frame = pd.DataFrame(X, columns=[str(1100 + 2 * j) for j in range(40)])
    y = X[:, 20] - X[:, 18] + 0.1 * rng.standard_normal(30)
    flt = SpectralFilter(derivative=1, window=5, keep=(1110, 1170))
    return quietly(make_pipeline(flt, StretchyRegressorCV(**GRID)), frame, y), frame, y


def text_of(model, folder, **options):
    return write_report(model, folder / "page.html", **options).read_text("utf-8")


def test_the_same_as_of_the_last_step(tmp_path):
    model, X, y = sample()
    text = text_of(model, tmp_path, X=X, y=y)
    data = data_of(text)
    assert data["along"] == [1110.0 + 2 * j for j in range(31)]
    seen = pd.DataFrame(model[:-1].transform(X), columns=model[:-1].get_feature_names_out())
    inner = quietly(StretchyRegressorCV(**GRID), seen, y)
    expected = data_of(text_of(inner, tmp_path, X=seen, y=y))
    assert data["fits"] == expected["fits"]
    assert re.search(r"SpectralFilter\(derivative=1, keep=\(1110, 1170\)", visible(text))


def test_loaded(tmp_path):
    model, X, y = sample()
    skstretch.save(model, tmp_path / "m.stretchy")
    again = skstretch.load(tmp_path / "m.stretchy")
    options = {"X": X, "y": y}
    before, after = (data_of(text_of(one, tmp_path, **options)) for one in (model, again))
    assert before["along"] == after["along"]
    assert before["fits"].keys() == after["fits"].keys()


def test_refused(tmp_path):
    X = np.eye(4)
    with pytest.raises(
        TypeError, match=r"a Ridge has no report: .* or a Pipeline that ends in one"
    ):
        write_report(make_pipeline(SpectralFilter(), Ridge()).fit(X, X[0]), tmp_path / "p.html")
