"""Single samples on the page: contributions that add up, samples and labels to look at."""

import re

import numpy as np
import pytest
from sklearn import config_context

import skstretch
from skstretch import StretchyClassifierCV
from skstretch.report.quality import (
    MOST_ROWS,
    MOST_SHARES,
    explained_samples,
    striking_samples,
)
from skstretch.report.subject import checked_subject
from skstretch.report.text import contents_of
from skstretch.style import number, share
from tests.report.samples import (
    EVIL,
    data_of,
    mixed_classes,
    mixed_targets,
    mixture,
    page,
    regression,
    spectra,
    text_of,
    three_classes,
    two_classes,
    visible,
)

SAMPLES = [regression, spectra, two_classes, three_classes, mixture, mixed_classes, mixed_targets]
each = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)


def contents(sample):
    found = contents_of(checked_subject(*sample, None, None))
    return found.subject, found.scores


@each
def test_bars_are_the_contributions_of_the_model(sample):
    model, X, _ = sample()
    shares, base = model.contributions(X), model.contributions_base_
    outputs = (model.decision_function if hasattr(model, "classes_") else model.predict)(X)
    found = explained_samples(*contents(sample()))
    assert 2 <= len(found) <= 3
    for one in found:
        own, at = shares[one.sample], base
        if own.ndim == 2:
            target = int(np.argmax(outputs[one.sample])) if hasattr(model, "classes_") else 0
            own, at = own[:, target], base[target]
        np.testing.assert_allclose(one.shares.sum(), own.sum(), rtol=1e-9, atol=1e-12)
        assert len(one.names) <= MOST_SHARES + 1
        assert len(set(one.names)) == len(one.names)
        np.testing.assert_allclose(abs(one.shares[0]), np.abs(own).max())
        dust = abs(at) < 1e-12 * np.abs(own).sum()
        assert one.facts.endswith(f"on average {number(0.0 if dust else at)}.")
    data = data_of(text_of(sample))
    assert [one["sample"] for one in data["explained"]] == [one.sample for one in found]
    assert {f"sample{i}" for i in range(len(found))} < set(data["specs"])
    np.testing.assert_allclose(
        [bar["effect"] for bar in data["explained"][0]["bars"]], found[0].shares, rtol=1e-3
    )


def test_the_telling_samples_of_numbers():
    model, _, y = mixture()
    found = {one.why: one.sample for one in explained_samples(*contents(mixture()))}
    outside = model.cv_predictions_
    assert found["highest prediction"] == np.argmax(outside)
    assert found["lowest prediction"] == np.argmin(outside)
    if "largest error" in found:
        assert found["largest error"] == np.argmax(np.abs(np.asarray(y) - outside))


def test_the_telling_samples_of_classes():
    model, _, y = mixed_classes()
    found = {one.why: one.sample for one in explained_samples(*contents(mixed_classes()))}
    scores = model.cv_predictions_ - model.threshold_
    assert found["surest prediction"] == np.argmax(np.abs(scores))
    assert found["least sure prediction"] == np.argmin(np.abs(scores))
    doubt = np.where(np.asarray(y) == model.classes_[1], -scores, scores)
    assert found.get("label most in doubt", np.argmax(doubt)) == np.argmax(doubt)


@pytest.mark.parametrize("sample", [regression, mixture], ids=lambda sample: sample.__name__)
def test_influential_samples_are_those_of_the_model(sample):
    found = striking_samples(*contents(sample()))
    true = sample()[0].influence()
    assert len(found.rows) == MOST_ROWS
    for row, i in zip(found.rows, true.order, strict=False):
        values = true.observed[i], true.predicted[i], true.without[i], true.distance[i]
        assert row == (str(true.samples[i]), *map(number, values))
    assert ">Samples to look at<" in text_of(sample)


@pytest.mark.parametrize("sample", [two_classes, three_classes, mixed_classes])
def test_doubtful_labels_come_first(sample):
    model, _, y = sample()
    found, true = striking_samples(*contents(sample())), model.influence()
    for row, i in zip(found.rows, true.order, strict=False):
        assert row[0] == str(true.samples[i])
        assert row[3] == share(true.probability[i])
    rows = re.findall(
        r"<tr><th scope=\"row\">(\d+)</th>", text_of(sample).partition("striking-table")[2]
    )
    assert rows[:MOST_ROWS] == [row[0] for row in found.rows]
    assert EVIL not in visible(text_of(sample))
    assert len(y) >= MOST_ROWS


def test_labels_are_predicted_as_the_model_does():
    """By scores, where a rare class counts as much as a frequent one, and not by probabilities."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 10)), np.array(["a", "b", "c"])[rng.integers(0, 8, 60).clip(max=2)]
    model = StretchyClassifierCV(loss="log", k_grid=(2.0,)).fit(X, y)
    rows = striking_samples(*contents((model, X, y))).rows
    places = np.array([int(row[0]) for row in rows])
    scores = model.cv_predictions_[places] - model.threshold_
    assert [row[2] for row in rows] == model.classes_[scores.argmax(axis=1)].tolist()
    likely = model._probable(scores).argmax(axis=1)
    assert (likely != scores.argmax(axis=1)).any()


def test_without_data_there_are_none(tmp_path):
    model, _, _ = mixture()
    text = page((model, None, None), tmp_path)
    assert data_of(text)["explained"] == []
    assert "Single predictions" not in visible(text)


def test_a_model_from_a_file_is_explained_with_the_data_that_are_passed(tmp_path):
    model, X, y = mixture()
    skstretch.save(model, tmp_path / "model.stretchy")
    loaded = skstretch.load(tmp_path / "model.stretchy")
    again, own = (contents((one, X, y)) for one in (loaded, model))
    assert striking_samples(*again) == striking_samples(*own)
    for one, two in zip(explained_samples(*again), explained_samples(*own), strict=True):
        assert (one.sample, one.why, one.facts, one.names) == (
            two.sample,
            two.why,
            two.facts,
            two.names,
        )
        np.testing.assert_allclose(one.shares, two.shares, rtol=1e-6, atol=1e-9)
    # data of others are not taken for its own
    other = X.copy()
    other["f0"] = np.asarray(X["f0"])[::-1]
    assert striking_samples(*contents((loaded, other, y))) is None


def test_large_data_keep_their_samples_to_themselves(monkeypatch, tmp_path):
    monkeypatch.setattr("skstretch.report.quality.INFLUENCE_WORK", 1.0)
    assert "Samples to look at" not in visible(page(mixture(), tmp_path))
    with config_context(working_memory=8 * 63 / 2**20):
        assert data_of(page(mixture(), tmp_path))["explained"] == []
