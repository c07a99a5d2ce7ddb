"""Files of older versions keep loading; those of newer ones say what to install."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skstretch
from skstretch.io import ModelFileError, about
from skstretch.io.header import SCHEMA
from tests.io.samples import X, Y, saved_bytes, with_array, with_header

FIXTURES = Path(__file__).parent / "fixtures"
# what the models in the fixtures predicted when they were written, for this row and its double
ROW = np.array([[0.5, -1.0, 2.0]])
PREDICTED = [4.3771752559651915, 5.959441159362193]
LOWER_RESIDUAL = [4.125616595126365, 5.707882498523366]
LOWER_PLUS = [3.9687785741518895, 5.455941510120941]
PROBABILITY = 0.8341515085057054


def test_version_1_regressor():
    model = skstretch.load(FIXTURES / "version1.stretchy")
    assert type(model) is skstretch.StretchyRegressorCV
    assert model.feature_names_in_.tolist() == ["größe", "b", "c"]
    new = as_frame(np.vstack([ROW, 2 * ROW]))
    np.testing.assert_allclose(model.predict(new), PREDICTED, rtol=1e-13)
    lower, _ = model.predict_interval(new, 0.8, method="residual")
    np.testing.assert_allclose(lower, LOWER_RESIDUAL, rtol=1e-13)
    lower, _ = model.predict_interval(new, 0.8)
    np.testing.assert_allclose(lower, LOWER_PLUS, rtol=1e-12)
    assert model.cv_results_["param_k"].tolist() == [1.5, 2.0]
    assert model.combine == "1se"  # was a rule that is gone
    assert model.weights_["weight"].tolist() == [1.0]
    assert model.weights_["k"].tolist() == [model.k_]
    assert np.isnan(model.best_score_se_)
    assert about(FIXTURES / "version1.stretchy") == {}


def test_version_1_is_saved_again(tmp_path):
    model = skstretch.load(FIXTURES / "version1.stretchy")
    skstretch.save(model, tmp_path / "again.stretchy", intervals=True)
    again = skstretch.load(tmp_path / "again.stretchy")
    new = as_frame(ROW)
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


def test_version_1_classifier():
    model = skstretch.load(FIXTURES / "version1-classes.stretchy")
    assert type(model) is skstretch.StretchyClassifier
    assert model.classes_.tolist() == ["ja", "nein"]
    assert model.predict(np.vstack([ROW, -ROW])).tolist() == ["nein", "ja"]
    np.testing.assert_allclose(model.predict_proba(ROW)[0, 1], PROBABILITY, rtol=1e-13)


def test_version_1_isotonic(tmp_path):
    """Curves are no longer fitted; those of older files are kept, and written again."""
    model = skstretch.load(FIXTURES / "version1-isotonic.stretchy")
    skstretch.save(model, tmp_path / "again.stretchy")
    for one in (model, skstretch.load(tmp_path / "again.stretchy")):
        found = one.predict_proba(np.vstack([ROW, -ROW, 0 * ROW]))[:, 1]
        expected = [0.6646634900846787, 0.4444444444444444, 0.5205372728265367]
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        assert one.predict(np.vstack([ROW, -ROW])).tolist() == ["nein", "ja"]
    data = (FIXTURES / "version1-isotonic.stretchy").read_bytes()
    path = tmp_path / "falling.stretchy"
    path.write_bytes(with_array(data, "isotonic_y", np.linspace(1, 0, 10)))
    with pytest.raises(ModelFileError, match="does not rise from 0 to 1"):
        skstretch.load(path)


def test_version_1_with_shifts():
    """Level and stored features had b in them."""
    model = skstretch.load(FIXTURES / "version1-shifts.stretchy")
    new = np.random.default_rng(5).standard_normal((8, 5))[:3]
    predicted = [3.782657021820598, 3.640655592158738, 3.9005118450182668]
    lower = [1.7282515859019947, 1.7885628833809335, 1.7753058058212483]
    np.testing.assert_allclose(model.predict(new), predicted, rtol=1e-13)
    np.testing.assert_allclose(model.predict_interval(new, 0.7)[0], lower, rtol=1e-12)


def test_version_3_mixture(tmp_path):
    model = skstretch.load(FIXTURES / "version3.stretchy")
    assert type(model) is skstretch.StretchyRegressorCV
    assert model.weights_["row"].tolist() == [8, 11, 4, 1]
    new = np.array([[0.5, -1.0, 2.0, 0.0], [1.0, 1.0, -1.0, 0.3]])
    predicted, lower = [-0.23980153138709137, 1.668143260986465], model.predict_interval(
        new, 0.8, method="residual"
    )[0]  # fmt: skip
    np.testing.assert_allclose(model.predict(new), predicted, rtol=1e-13)
    np.testing.assert_allclose(lower, [-0.5413398430095029, 1.3666049493640535], rtol=1e-13)
    assert model.nested_score_ == -0.0786026105269863
    assert not hasattr(model, "_kept")
    assert about(FIXTURES / "version3.stretchy") == {"target": "y"}
    skstretch.save(model, tmp_path / "again.stretchy")
    again = skstretch.load(tmp_path / "again.stretchy")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


def test_version_1_has_names_of_the_past():
    """A single model had the parameter verbose."""
    model = skstretch.load(FIXTURES / "version1-single.stretchy")
    assert (model.k, model.c) == (1.5, 2.0)
    new = np.random.default_rng(11).standard_normal((30, 6))[:2]
    predicted = [-1.0494763948832246, 0.5355170068123111]
    np.testing.assert_allclose(model.predict(new), predicted, rtol=1e-13)


def test_version_5_classes(tmp_path):
    """density_grid, rule="mix", and scores that were minus the balanced error rate."""
    model = skstretch.load(FIXTURES / "version5-classes.stretchy")
    assert model.n_features_to_select == (2, 1.0)
    assert model.combine == "average"
    assert model.weights_["row"].tolist() == [14, 12, 4, 7, 8, 10, 0, 3]
    assert model.best_score_ == model.nested_score_ == 1.0 - 0.05555555555555556
    assert model.cv_results_["mean_test_score"][0] == 1.0 - 0.11111111111111112
    new = np.random.default_rng(11).standard_normal((30, 6))[:2]
    shares = [0.050301623584875346, 0.9015369545059639]
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], shares, rtol=1e-12)
    skstretch.save(model, tmp_path / "again.stretchy")
    again = skstretch.load(tmp_path / "again.stretchy")
    assert again.best_score_ == model.best_score_
    assert again.get_params() == model.get_params()


def as_frame(data):
    return pd.DataFrame(data, columns=["größe", "b", "c"])


def newer(tmp_path, **changes):
    model = skstretch.StretchyRegressor().fit(X, Y[:, 0])
    path = tmp_path / "new.stretchy"
    path.write_bytes(with_header(saved_bytes(model, tmp_path), **changes))
    return path


def test_newer_schema(tmp_path):
    path = newer(tmp_path, schema=SCHEMA + 1, versions={"skstretch": "3.1.4"})
    with pytest.raises(ModelFileError) as caught:
        skstretch.load(path)
    assert str(caught.value) == (
        f"{str(path)!r} is not a sound model file: it has schema version {SCHEMA + 1} and "
        f"was written by skstretch 3.1.4; this is skstretch {skstretch.__version__}, which reads "
        f"up to {SCHEMA}. "
        "Upgrade to skstretch 3.1.4 or later."
    )


@pytest.mark.parametrize("versions", [None, [], {"skstretch": 5}, {"skstretch": "x" * 9999}])
def test_newer_schema_of_an_odd_writer(versions, tmp_path):
    with pytest.raises(ModelFileError, match=r"schema version 99 .* Upgrade") as caught:
        skstretch.load(newer(tmp_path, schema=99, versions=versions))
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "changes", [{"schema": 99, "versions": {"skstretch": "\x1b[2J1.0"}}, {"schema": "\x1b[2J\r"}]
)
def test_errors_do_not_act_upon_a_terminal(changes, tmp_path):
    for read in (skstretch.load, about):
        with pytest.raises(ModelFileError, match=r"\\x1b\[2J") as caught:
            read(newer(tmp_path, **changes))
        assert str(caught.value).isprintable()


def test_parameters_that_came_later_have_their_default(tmp_path):
    model = skstretch.load(newer(tmp_path, parameters={"k": 1.5}))
    assert model.get_params() == skstretch.StretchyRegressor().get_params()
