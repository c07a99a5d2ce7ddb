"""ROC, confusion and reliability of out-of-fold scores."""

import numpy as np
import pytest
from sklearn.metrics import auc, confusion_matrix, roc_auc_score

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core.classes import decided
from skstretch.report.quality import (
    CURVE_POINTS,
    class_note,
    confusion,
    crossfit_probabilities,
    number_note,
    reliability,
    roc,
    wilson,
)  # fmt: skip
from skstretch.style import near_one, share
from tests.report.samples import data_of, page


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, size=800)
    return (2 * codes - 1 + 1.5 * rng.normal(size=800))[:, None], codes


def test_roc_of_two(scores):
    outputs, codes = scores
    (curve,) = roc(outputs, codes)
    assert curve["label"] == 1
    assert curve["area"] == roc_auc_score(codes, outputs[:, 0])
    assert curve["x"].size <= CURVE_POINTS
    assert (curve["x"][0], curve["y"][0], curve["x"][-1], curve["y"][-1]) == (0, 0, 1, 1)
    assert abs(auc(curve["x"], curve["y"]) - curve["area"]) < 0.01  # thinned


def test_confusion_and_quality(scores):
    outputs, codes = scores
    np.testing.assert_array_equal(
        confusion(outputs, codes, 2), confusion_matrix(codes, outputs[:, 0] > 0)
    )
    right = decided(outputs) == codes
    by_class = [right[codes == c].mean() for c in (0, 1)]
    area = roc_auc_score(codes, outputs[:, 0])
    table = np.pad(confusion(outputs, codes, 2), (0, 1))  # and a class that no fold has tested
    assert class_note(table, roc(outputs, codes)) == (
        f"{100 * right.mean():.1f}\u00a0% right, balanced error rate "
        f"{100 - 100 * np.mean(by_class):.1f}\u00a0%, area under the ROC curve {area:.3f}"
    )


def test_probabilities_are_calibrated_on_scores_of_a_logistic_model():
    rng = np.random.default_rng(1)
    score = rng.normal(size=(4000, 1))
    codes = (rng.random(4000) < 1 / (1 + np.exp(-3 * score[:, 0]))).astype(int)
    probability = crossfit_probabilities(score, codes, 2)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    points = reliability(probability[:, 1], codes == 1)
    assert sum(point["n"] for point in points) == 4000
    assert max(abs(point["said"] - point["seen"]) for point in points) < 0.05


def test_too_few_samples_for_a_curve():
    assert crossfit_probabilities(np.zeros((12, 1)), np.arange(12) % 2, 2) is None


def test_wilson_interval_stays_in_range():
    low, high = wilson(1.0, 20)
    assert 0.85 < low < 1
    assert high == 1
    low, high = wilson(0.5, 100)
    assert low + high == pytest.approx(1)
    assert high - low == pytest.approx(2 * 1.645 * np.sqrt(0.25 / 102.706), rel=1e-3)


def test_regression_beside_the_mean():
    y, weights = np.array([1.0, 2.0, 3.0, 6.0]), np.array([1.0, 1.0, 1.0, 3.0])
    assert number_note(y, y, weights, 4.0) == "typical error 0, out-of-fold R² 1.0000"
    # squares 0, 0, 0 and 4, the last of them three times
    assert number_note(y, np.array([1.0, 2.0, 3.0, 4.0]), weights, 4.0) == (
        "typical error 1.41, out-of-fold R² 0.500"
    )
    some = np.append(y, 9.0), np.append(y, np.nan), np.ones(5)
    assert number_note(*some, 4.0).startswith("typical error 0,")
    assert number_note(y, np.full(4, np.nan), weights, 4.0) == ""


@pytest.mark.parametrize("nested", [None, 4])
@pytest.mark.parametrize("given", ["sample_weight", "groups"])
def test_figures_of_a_page_are_those_of_the_summary(given, nested, tmp_path):
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((48, 40)), np.repeat(np.arange(12), 4)
    y = 2 * X[:, 0] + 1.5 * rng.standard_normal(12)[groups] + 0.5 * rng.standard_normal(48)
    asked = {"sample_weight": rng.integers(1, 9, 48).astype(float), "groups": groups}[given]
    quick = {"a_grid": (0.0,), "k_grid": (2.0,)}
    model = StretchyRegressorCV(**quick, nested_cv=nested).fit(X, y, **{given: asked})
    (found,) = model.summary().evidence
    data = data_of(page((model, X, y), tmp_path))
    assert data["fits"][str(data["chosen"])]["notes"] == [
        f"typical error {found.write(found.loss)}, out-of-fold R² {near_one(found.r2)}"
    ]
    if nested is None:  # labels of a repeated search have no scores to cut
        model = StretchyClassifierCV(**quick).fit(X, y > 0, **{given: asked})
        (found,) = model.summary().evidence
        data = data_of(page((model, X, y > 0), tmp_path))
        (note,) = data["fits"][str(data["chosen"])]["notes"]
        words = f"{share(found.right)} right, balanced error rate {found.write(found.loss)}, "
        assert note.startswith(words)
