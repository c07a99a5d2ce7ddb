"""The display of contributions: bars are the model's numbers, and nothing of the sum is lost."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from scipy import sparse

from skstretch import StretchyClassifier, StretchyRegressor, StretchyRegressorCV
from skstretch.plots import ContributionsDisplay
from tests.estimators.samples import problem


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    pyplot.close("all")


def lengths(display):
    return [bar.get_width() for bar in display.ax_.patches]


def test_bars_add_up_to_the_prediction():
    X, y = problem("wide")
    model = StretchyRegressor().fit(X, y)
    for sample in (0, 5, -1):
        display = ContributionsDisplay.from_estimator(model, X, sample=sample, top=4)
        shares = model.contributions(X)[sample]
        assert len(lengths(display)) == 5
        own = np.sort(np.abs(shares))[::-1][:4]
        np.testing.assert_allclose(np.abs(lengths(display)[:4]), own)
        total = display.base + np.sum(lengths(display))
        np.testing.assert_allclose(
            [total, display.prediction], model.predict(X)[sample], rtol=1e-12
        )
        assert display.ax_.get_yticklabels()[-1].get_text() == "26 others"


def test_names_and_values_stand_beside_the_bars():
    X, y = problem("tall")
    frame = pd.DataFrame(X, columns=[f"size {j}" for j in range(X.shape[1])])
    model = StretchyRegressor().fit(frame, y)
    display = ContributionsDisplay.from_estimator(model, frame, sample=2, top=20)
    texts = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert len(texts) == X.shape[1]
    first = display.strongest[0]
    assert texts[0].startswith(f"size {first} = ")
    # right raises, left lowers, told apart by colour too
    colours = {np.sign(bar.get_width()): bar.get_facecolor() for bar in display.ax_.patches}
    assert len(set(colours.values())) == 2


def test_numbers_below_the_bars_do_not_touch():
    X, y = problem("wide")
    model = StretchyRegressor()
    most = np.abs(model.fit(X, y).contributions(X[:1])).max()
    display = ContributionsDisplay.from_estimator(model.fit(X, 0.0082 * y / most), X)
    display.figure_.canvas.draw()
    labels = [label for label in display.ax_.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    assert len(boxes) > 2
    assert all(one.x1 + 10 < two.x0 for one, two in itertools.pairwise(boxes))


def test_dropped_features_have_no_bar():
    X, y = problem("wide")
    model = StretchyRegressor(density=3).fit(X, y)
    assert len(lengths(ContributionsDisplay.from_estimator(model, X))) == 3


def test_targets_and_classes():
    X, Y = problem("tall", n_targets=2)
    model = StretchyRegressor().fit(X, Y)
    display = ContributionsDisplay.from_estimator(model, X, sample=3, target=1)
    np.testing.assert_allclose(display.prediction, model.predict(X)[3, 1])
    labels = np.array(["low", "mid", "high"])[
        np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.7]))
    ]
    classes = StretchyClassifier().fit(X, labels)
    display = ContributionsDisplay.from_estimator(classes, X, target=2)
    np.testing.assert_allclose(display.prediction, classes.decision_function(X)[0, 2])
    assert display.output == "score of mid"
    two = StretchyClassifier().fit(X, labels == "low")
    display = ContributionsDisplay.from_estimator(two, X)
    np.testing.assert_allclose(display.prediction, two.decision_function(X)[0])
    assert display.output == "score of True"


def test_mixtures_and_sparse_rows():
    X, y = problem("wide")
    model = StretchyRegressorCV(c_grid=(0.1, 1.0)).fit(X, y)
    dense = ContributionsDisplay.from_estimator(model, X, sample=1)
    thin = ContributionsDisplay.from_estimator(model, sparse.csr_array(X), sample=1)
    np.testing.assert_allclose(thin.contributions, dense.contributions, rtol=1e-12)
    np.testing.assert_array_equal(thin.values, X[1])


@pytest.mark.parametrize("sample", [14, -15, 1.5, "first"])
def test_a_row_that_is_not_there_is_named(sample):
    X, y = problem("wide")
    with pytest.raises(ValueError, match="rows 0 to 13"):
        ContributionsDisplay.from_estimator(StretchyRegressor().fit(X, y), X, sample=sample)
