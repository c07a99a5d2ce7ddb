"""Survival and counts on a page: curves by risk, and groups beside what was seen."""

import numpy as np
import pytest
from sklearn.base import clone

from skstretch import StretchyRegressorCV, load, save
from skstretch.core.survival import kaplan_meier, log_rank
from skstretch.report import write_report
from tests.report.samples import counts, data_of, page, survival, text_of, visible


def thirds(risk):
    """Groups of 30 of 90 different risks."""
    return np.argsort(np.argsort(risk)) // 30


def test_curves_are_those_of_thirds_of_left_out_risks():
    model, _, y = survival()
    event, time = y["died"].to_numpy(), y["months"].to_numpy()
    groups, text = thirds(model.nested_predictions_), text_of(survival)
    found = data_of(text)["survival"]
    for g, name in enumerate(["low risk", "middle risk", "high risk"]):
        own = groups == g
        times, left, _ = kaplan_meier(event[own], time[own], np.ones(30))
        drawn = [(one["time"], one["left"]) for one in found if one["label"] == name]
        assert np.allclose([x for x, _ in drawn], [0, *times, time[own].max()], rtol=1e-3)
        assert np.allclose([s for _, s in drawn], [1, *left, left[-1]], rtol=1e-3)
    chi2, _, _ = log_rank(event, time, groups, np.ones(90))
    assert f"chi² {chi2:.1f}, 2 degrees of freedom" in text
    assert "the whole search was repeated without it" in text


def test_survival_is_calibrated_at_the_time_that_was_asked_for(tmp_path):
    model, at = survival()[0], 0.5
    points = data_of(page(survival(), tmp_path, at=at))["calibration"][0]
    risk = model.nested_predictions_
    said = np.exp(-model._baseline.hazards(risk, np.array([at]))[:, 0])
    assert sum(point["n"] for point in points) == 90
    assert np.isclose(
        np.average([p["said"] for p in points], weights=[p["n"] for p in points]),
        said.mean(),
        rtol=1e-3,
    )
    assert all(p["low"] <= p["seen"] <= p["high"] for p in points)
    for wrong in (0.0, 1e9):
        with pytest.raises(ValueError, match=r"at=.* must be above 0 and at most"):
            page(survival(), tmp_path, at=wrong)


def test_the_concordance_that_leads_is_the_nested_one():
    model, text = survival()[0], visible(text_of(survival))
    assert f"<dt>concordance</dt><dd>{model.nested_score_:.3f}</dd>" in text
    assert f"<dt>plain concordance</dt><dd>{model.best_score_:.3f}</dd>" in text
    assert "The search compares models by the partial likelihood, so others than the" in text
    assert "Samples to look at" not in text  # leaving a sample out has no closed form here


def test_a_page_without_data_and_one_of_equal_risks(tmp_path):
    model, X, y = survival()
    path = write_report(model, tmp_path / "r.html")
    assert "Survival by risk" not in path.read_text("utf-8")
    alike = clone(model).set_params(k_grid=(2.0,), c_grid=(1e-12,), nested_cv=None)
    alike.fit(X, y)
    alike.cv_predictions_ = np.zeros(90)
    text = write_report(alike, tmp_path / "r.html", X=X, y=y).read_text("utf-8")
    assert "All samples have the same risk" in text


def test_observed_and_predicted_rates_of_counts():
    model, _, y = counts()
    rates, data = model.cv_predictions_, data_of(text_of(counts))
    assert np.allclose(data["fits"][str(data["chosen"])]["predicted"][0], rates, rtol=1e-3)
    groups = np.argsort(np.argsort(rates)) // 20
    for g, point in enumerate(data["calibration"][0]):
        own = groups == g
        assert np.isclose(point["said"], rates[own].mean(), rtol=1e-3)
        assert np.isclose(point["seen"], y[own].mean(), rtol=1e-3)
        assert point["low"] < point["seen"] < point["high"]
    assert "mean deviance" in visible(text_of(counts))


def test_a_rate_is_judged_by_its_exposure(tmp_path):
    rng = np.random.default_rng(9)
    X, years = rng.normal(size=(60, 5)), rng.uniform(1, 9, 60)
    y = rng.poisson(years * np.exp(X[:, 0])) / years
    model = StretchyRegressorCV(loss="poisson", k_grid=(2.0,), cv=4).fit(X, y, sample_weight=years)
    points = data_of(page((model, X, y), tmp_path))["calibration"][0]
    assert np.isclose(np.mean([p["seen"] for p in points]), (years @ y) / years.sum(), rtol=0.2)
    assert sum(p["n"] for p in points) == 60
    save(model, tmp_path / "m.stretchy")
    found = load(tmp_path / "m.stretchy"), X, y
    bare = page(found, tmp_path)
    assert data_of(bare)["calibration"] == []
    assert "Tell them with skstretch report --exposure COL" in visible(bare)
    assert data_of(page(found, tmp_path, sample_weight=years))["calibration"] == [points]
    with pytest.raises(ValueError, match=r"sample_weight has shape \(59,\), and there are 60"):
        page(found, tmp_path, sample_weight=years[1:])


def test_a_page_from_a_file_says_why_other_models_are_not_shown(tmp_path):
    model, X, y = survival()
    save(model, tmp_path / "m.stretchy")
    text = page((load(tmp_path / "m.stretchy"), X, y), tmp_path)
    assert "of other losses than squared error the search keeps no other models" in text
    assert data_of(text)["survival"] == data_of(text_of(survival))["survival"]
