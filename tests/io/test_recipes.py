"""Files of recipes: all of them in one pipeline, and refused where their parts contradict."""

import io
import json

import numpy as np
import pytest

import skstretch
from skstretch import RecipeRegressorCV, SpectralFilter, StretchyRegressorCV
from skstretch.io import ModelFileError
from tests.io import forged
from tests.io.samples import members, saved_bytes, with_array, with_header
from tests.io.test_hostile import LIMIT, measured
from tests.io.test_pipelines import places, put, with_pipeline

GRID = {"a_grid": (-0.2, 0.0), "k_grid": (1.5, 2.0), "c_grid": (0.1, 10.0)}
FILTERS = {"raw": SpectralFilter(), "slope": SpectralFilter(derivative=1, window=3)}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 7)).cumsum(axis=1)
    y = np.diff(X, axis=1)[:, 2] + 0.2 * X[:, 3] + 0.1 * rng.standard_normal(24)
    own = StretchyRegressorCV(**GRID, n_features_to_select=1.0)
    model = RecipeRegressorCV(own, FILTERS).fit(X, y)
    assert set(model.pipeline_[-1].weights_["recipe"]) == {"raw", "slope"}
    return saved_bytes(model, tmp_path_factory.mktemp("good"))


def array(data, name):
    return np.load(io.BytesIO(members(data)[f"{name}.npy"]))


def load(data, folder):
    (folder / "m.stretchy").write_bytes(data)
    return skstretch.load(folder / "m.stretchy")


def test_contradictions(good, tmp_path):
    kept, names = array(good, "kept"), array(good, "result_param_recipe")
    columns, member = array(good, "step_2_columns"), array(good, "kept_member")
    assert load(good, tmp_path).n_features_in_ == 7
    assert (np.unique(member).size, kept.max()) == (member.size, 13)
    files = {
        "columns beyond the last": with_array(good, "kept", kept + 1),
        "a column before the first": with_array(good, "kept", kept - 1),
        "a row less": with_array(good, "result_param_recipe", names[1:]),
        "columns of another spectrum": with_array(good, "step_2_columns", columns + 1),
        "no names": with_array(good, "result_param_recipe", np.zeros(names.size, complex)),
        "a recipe more": with_pipeline(
            good, lambda f: f["steps"][0][1]["parts"].append(f["steps"][0][1]["parts"][0])
        ),
        "a slice of other columns": with_pipeline(
            good, lambda f: put(f, ("steps", 0, 1, "parts", 0, 3), [1, 7, None])
        ),
        "a huge slice": with_pipeline(
            good, lambda f: put(f, ("steps", 0, 1, "parts", 0, 3), [0, 10**15, None])
        ),
        "a wider filter": with_pipeline(
            good, lambda f: put(f, ("steps", 0, 1, "parts", 1, 1, "width"), 8)
        ),
        "one term": with_header(good, terms=[["linear", 0.0, 0.0]]),
    }
    for name, data in files.items():
        if name == "a huge slice":  # which is all of the columns, as Python has it
            assert load(data, tmp_path).n_features_in_ == 7
            continue
        with pytest.raises(ModelFileError):
            load(data, tmp_path)


@pytest.mark.slow
def test_every_place_forged(good, tmp_path):
    """A few kilobytes take at most 100 MB above the baseline, whatever they claim."""
    tree = json.loads(members(good)["header.json"])["pipeline"]
    files = [
        (f"{place}: {kind}", with_pipeline(good, lambda f, p=place, v=value: put(f, p, v)))
        for place in places(tree)
        if place
        for kind, value in forged.BOMBS.items()
    ]
    found = measured(files, tmp_path)
    blamed = next((row for row in found if row[2] > LIMIT), None)
    assert blamed is None, blamed
    assert np.mean([refused for _, refused, _, _ in found]) > 0.9
