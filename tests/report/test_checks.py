"""How sure effects are, and which samples are unlike the others, on a page."""

import numpy as np

from skstretch import StretchyRegressorCV
from skstretch.estimators.samples import reference_of
from tests.report.samples import (
    data_of,
    page,
    quietly,
    spectra,
    tall,
    text_of,
    three_targets,
    visible,
)

ONE = {"a_grid": (0.0,), "k_grid": (2.0,), "c_grid": (1.0,), "combine": "best"}


def test_effects_are_shown_where_they_were_asked_for(tmp_path):
    _, X, y = spectra()
    model = quietly(StretchyRegressorCV(**ONE, n_features_to_select=5), X, y)
    assert "How sure are the effects?" not in page((model, X, y), tmp_path)
    table = model.effects(n_pairs=4)
    found = data_of(page((model, X, y), tmp_path))["effects"]
    assert [one["at"] for one in found] == [float(name) for name in X.columns]
    effect, error = np.asarray(table["effect_per_sd"]), np.asarray(table["standard_error"])
    assert np.allclose([one["effect"] for one in found], effect, rtol=1e-3)
    assert np.allclose([one["high"] for one in found], effect + 2 * error, rtol=1e-3)
    sure = (np.asarray(table["sign_stability"]) >= 0.95) & (effect != 0)
    assert [one["sure"] for one in found] == sure.tolist()


def test_effects_of_few_features_and_of_bands_have_a_line_each(tmp_path):
    _, X, Y = three_targets()
    model = quietly(StretchyRegressorCV(**ONE), X, Y)
    table = model.effects(n_pairs=2)
    first = np.asarray(table["effect_per_sd"])[:10]
    found = data_of(page((model, X, Y), tmp_path))["effects"]
    assert [one["name"] for one in found] == [f"x{j}" for j in np.argsort(-np.abs(first))]
    model.effects(n_pairs=2, bands={"first": ["x0", "x1"], "rest": [f"x{j}" for j in range(2, 10)]})
    found = data_of(page((model, X, Y), tmp_path))["effects"]
    assert sorted(one["name"] for one in found) == ["first", "rest"]


def test_strange_samples_are_those_of_the_left_out_reference():
    model, X, _ = spectra()
    reference, found = reference_of(model._state), data_of(text_of(spectra))["novelty"]
    assert np.allclose([one["leverage"] for one in found], reference.leverage, rtol=1e-3)
    n = len(X)
    shares = [
        [np.mean(side >= side[i]) for side in (reference.leverage, reference.distance)]
        for i in range(n)
    ]
    lesser = np.min(shares, axis=1)
    p = [np.mean(lesser <= lesser[i]) for i in range(n)]
    assert np.allclose([one["p"] for one in found], p, rtol=1e-3)
    assert [one["strange"] for one in found] == [value <= 0.05 for value in p]
    assert "Samples unlike the others" in visible(text_of(spectra))
    assert "all distances are 0" not in text_of(spectra)
    assert not any(one["distance"] for one in data_of(text_of(tall))["novelty"])
    assert "So few features leave nothing unexplained: all distances are 0." in text_of(tall)
