"""The candidates of a page hold what literal fits of them give."""

import pickle
import warnings

import numpy as np
import pytest

import skstretch
from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.estimators.quality import Measure
from skstretch.exceptions import GridEdgeWarning
from skstretch.report import candidates as surface
from skstretch.report.candidates import (
    GROUPS,
    POINTS,
    TOP,
    fitted_candidates,
    known_of,
    n_shown,
    picture,
    scattered,
    starts,
    surface_of,
)
from skstretch.report.subject import checked_subject
from skstretch.style import SHADES, share
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
)  # fmt: skip


def subject_of(sample):
    return checked_subject(*sample, None, None)


@pytest.mark.parametrize(
    "sample",
    [regression, spectra, two_classes, three_classes, three_targets],
    ids=lambda sample: sample.__name__,
)
def test_out_of_fold_outputs_of_every_candidate(sample):
    model, X, y = sample()
    known = known_of(subject_of(sample()))
    assert known.why == ""
    assert known.outcomes is model._outcomes
    results = model.cv_results_
    usable = np.flatnonzero(results["usable"])
    np.testing.assert_array_equal(
        np.flatnonzero(np.isfinite(known.outcomes.outputs).all(axis=(1, 2))), usable
    )
    cls = StretchyClassifierCV if hasattr(model, "classes_") else StretchyRegressorCV
    for row in usable[::3]:
        given = results["params"][row]
        grids = {f"{name}_grid": [given[name]] for name in ("a", "k", "c")}
        grids["n_features_to_select"] = given["density"]
        if results["loo"][row] == "approximate":
            continue  # a search of this candidate alone makes its exact residuals
        literal = quietly(cls(**grids, cv=model.cv), X, y)
        if model.n_features_to_select == (1.0,) or results["params"][row]["density"] < 1:
            np.testing.assert_allclose(
                scattered(known.outcomes, row, model._state.used),
                literal.cv_predictions_.reshape(len(X), -1),
                rtol=1e-6,
                atol=1e-8,
            )


@pytest.mark.parametrize(
    "sample",
    [regression, spectra, tall, three_targets],
    ids=["wide", "selected", "tall", "targets"],
)
def test_slopes_of_every_candidate(sample):
    model, X, y = sample()
    subject = subject_of(sample())
    candidates = fitted_candidates(subject, surface_of(subject))
    assert candidates.known.verified
    results = model.cv_results_
    shown = results["usable"] & (results["param_density"] == model.density_)
    assert set(candidates.fitted) == set(np.flatnonzero(shown).tolist())
    for row, fitted in candidates.fitted.items():
        params, kept = model.cv_results_["params"][row], np.arange(X.shape[1])
        if model.density_ < 1:  # on the support that the search has chosen
            params = {**params, "density": 1.0}
            kept = candidates.known.outcomes.unknowns[row][0].columns
        literal = StretchyRegressor(**params).fit(np.asarray(X)[:, kept], y)
        slopes = np.zeros((len(fitted.pictures), X.shape[1]))
        slopes[:, kept] = np.atleast_2d(literal.coef_)
        for one, slope in zip(fitted.pictures, slopes, strict=True):
            np.testing.assert_allclose(one.slopes, slope[one.top], rtol=1e-4)
            np.testing.assert_allclose(one.profile, slope, rtol=1e-4, atol=1e-6)


@pytest.fixture
def counted(monkeypatch):
    """Numbers of searches and of plain fits, by the methods that everybody calls."""
    counts = {"searches": 0, "fits": 0}

    def counting(what, function):
        def wrapped(*args, **keywords):
            counts[what] += 1
            return function(*args, **keywords)

        return wrapped

    for what, owner in (
        ("searches", StretchyRegressorCV),
        ("searches", StretchyClassifierCV),
        ("fits", StretchyRegressor),
        ("fits", StretchyClassifier),
    ):
        monkeypatch.setattr(owner, "fit", counting(what, owner.fit))
    return counts


@pytest.mark.parametrize(
    "sample", [regression, tall, two_classes, three_classes, three_targets],
    ids=lambda sample: sample.__name__,
)  # fmt: skip
def test_nothing_is_searched_again(sample, counted, tmp_path):
    model, X, y = sample()
    counted |= dict.fromkeys(counted, 0)  # the sample may have been fitted just now
    data = data_of(page((model, X, y), tmp_path))
    assert len(data["fits"]) == model.cv_results_["usable"].sum()
    assert counted["searches"] == 0
    assert counted["fits"] == 0


@pytest.mark.parametrize("sample", [regression, two_classes], ids=["numbers", "classes"])
def test_a_model_without_outcomes_is_shown_alone(sample, counted, tmp_path):
    model, X, y = sample()
    skstretch.save(model, tmp_path / "m.stretchy", outcomes=False)
    whole = data_of(text_of(sample))
    for again in (skstretch.load(tmp_path / "m.stretchy"), pickle.loads(pickle.dumps(model))):
        counted |= dict.fromkeys(counted, 0)
        assert not hasattr(again, "_outcomes")
        text = page((again, X, y), tmp_path)
        said = "Only the chosen model is shown in full: the other models were not kept"
        assert said in visible(text)
        data = data_of(text)
        assert list(data["fits"]) == [str(model.best_index_)]
        ours, theirs = (one["fits"][str(model.best_index_)] for one in (data, whole))
        for one, two in zip(ours["pictures"], theirs["pictures"], strict=True):
            assert one["slopes"] == two["slopes"]
        assert ours["notes"] == theirs["notes"]
        assert data["candidates"] == whole["candidates"]
        assert counted == {"searches": 0, "fits": 0}


def test_a_plain_model_is_fitted_once(counted, tmp_path):
    _, X, y = regression()
    model = StretchyRegressor(k=1.5, c=1.0).fit(X, y)
    counted |= dict.fromkeys(counted, 0)
    page((model, X, y), tmp_path)
    assert counted["searches"] == 1


def test_outcomes_that_would_take_too_much_memory_are_not_kept(monkeypatch, tmp_path):
    _, X, y = regression()
    monkeypatch.setattr("skstretch.search.candidates.MOST_BYTES", 1000)
    model = quietly(StretchyRegressorCV(**GRID), X, y)
    assert model._outcomes is None
    text = page((model, X, y), tmp_path)
    assert list(data_of(text)["fits"]) == [str(model.best_index_)]
    assert "too large to keep what its other models gave" in visible(text)


def test_outcomes_are_few_bytes_and_forgotten_with_the_fit():
    model, X, y = regression()
    held = model._outcomes
    assert held.outputs.nbytes == 8 * len(held.candidates) * len(y)
    assert len(pickle.dumps(model)) < 3 * X.to_numpy().nbytes
    again = quietly(StretchyRegressorCV(**GRID), X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        again.fit(X, y[:-1])
    assert not hasattr(again, "_outcomes")


def test_classes_have_the_slopes_of_the_model():
    model, _, _ = two_classes()
    subject = subject_of(two_classes())
    candidates = fitted_candidates(subject, surface_of(subject))
    own = candidates.fitted[candidates.chosen].pictures[0]
    np.testing.assert_array_equal(own.slopes, model.coef_[own.top])


def test_weighted_fit_is_shown():
    _, X, y = regression()
    weights = np.linspace(0.1, 3, len(y))
    weights[5] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        model = StretchyRegressorCV(**GRID).fit(X, y, sample_weight=weights)
    subject = checked_subject(model, X, y, None, None)
    candidates = fitted_candidates(subject, surface_of(subject))
    assert len(candidates.fitted) == model.cv_results_["usable"].sum()
    other = next(row for row in candidates.fitted if row != candidates.chosen)
    literal = StretchyRegressor(**model.cv_results_["params"][other])
    slope = literal.fit(X, y, sample_weight=weights).coef_
    np.testing.assert_allclose(candidates.fitted[other].pictures[0].profile, slope, rtol=1e-4)
    assert np.flatnonzero(np.isnan(candidates.fitted[other].outputs[:, 0])).tolist() == [5]


def test_large_problems_show_the_chosen_candidate_alone(monkeypatch):
    subject = subject_of(regression())
    rows = list(range(len(subject.model.cv_results_["usable"])))
    assert n_shown(subject, rows) == len(rows)
    monkeypatch.setattr(surface, "MOST_PICTURES", 5)
    assert n_shown(subject, rows) == 5
    monkeypatch.setattr(surface, "PAGE_WORK", 1.0)
    assert n_shown(subject, rows) == 1


def test_picture_of_many_features_has_means_and_ranges():
    slope = np.zeros(10_000)
    slope[[17, 9_998]] = [-5.0, 3.0]
    found = picture(slope, np.ones(10_000))
    assert found.top.tolist() == [17, 9_998]
    assert found.profile.size == found.low.size == found.high.size == starts(10_000).size <= GROUPS
    assert found.low.min() == -5.0
    assert found.high.max() == 3.0
    wide = picture(np.arange(1.0, 10_001.0), 1 / np.arange(1.0, 10_001.0) ** 2)
    assert wide.top.tolist() == list(range(TOP))  # by slope times scale, not by slope
    assert starts(700).size == 234
    assert starts(POINTS).size == POINTS


def test_profile_has_no_oscillation_that_is_not_there():
    """Neighbours of either sign about a smooth curve: the largest of a group flips its sign."""
    rng = np.random.default_rng(0)
    smooth = np.sin(np.linspace(0, 3, 10_000))
    slope = smooth + 3 * rng.choice([-1.0, 1.0], 10_000)
    found = picture(slope, np.ones(10_000))
    assert np.abs(found.profile - picture(smooth, np.ones(10_000)).profile).max() < 2.1
    turns = np.diff(np.sign(found.profile[np.abs(found.profile) > 2.5])) != 0
    assert turns.sum() == 0
    assert (found.low < found.profile).all()
    assert (found.high > found.profile).all()


def test_groups_of_unequal_size_have_their_own_means():
    slope = np.arange(1_001.0)
    begin = starts(1_001)
    parts = np.split(slope, begin[1:])
    found = picture(slope, np.ones(1_001))
    np.testing.assert_allclose(found.profile, [part.mean() for part in parts])
    np.testing.assert_array_equal(found.low, [part.min() for part in parts])


@pytest.mark.parametrize(
    ("errors", "poor", "best"),
    [
        ([0.0] * 8 + [0.03, 0.88], "11.5 % or worse (up to 88.0 %)", "0.0 %, the best"),
        ([0.0] * 99 + [0.88], "88.0 %, the worst", "0.0 %, the best"),
        ([0.1] * 10, "", "10.0 %, all of them"),
        ([0.1, 0.2, 0.2, 0.2], "20.0 %, the worst", "10.0 %, the best"),
    ],
)  # fmt: skip
def test_legend_says_what_the_colours_are(errors, poor, best):
    errors = np.array(errors)
    measure = Measure("balanced error rate", True, share)
    levels, from_here = surface._levels(errors, np.ones(errors.size, dtype=bool), measure)
    found = surface._legend(errors, from_here, errors.min(), measure)
    assert [text.replace("\u00a0", " ") for text in found] == [poor, best]
    assert levels.max() == SHADES - 1
    assert levels.min() == (0 if np.ptp(errors) else SHADES - 1)


def test_surface_has_a_level_and_a_place_for_every_candidate():
    model, _, _ = regression()
    surface = surface_of(subject_of(regression()))
    assert len(surface.candidates) == len(model.cv_results_["usable"])
    assert len({c.at for c in surface.candidates}) == len(surface.candidates)
    best = int(np.nanargmax(model.cv_results_["mean_test_score"]))
    assert next(c for c in surface.candidates if c.index == best).level == SHADES - 1
    errors = np.sqrt(-model.cv_results_["mean_test_score"])
    np.testing.assert_allclose([c.error for c in surface.candidates], errors)
    assert surface.rows == [
        "curved, a = −0.2, k = 1.25", "curved, a = −0.2, k = 2", "sparse linear, k = 1.25", "ridge"
    ]  # fmt: skip
