"""The page of a mixture: its candidates and shares, ridge beside it, and what chance would do."""

import copy
import pickle
import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import KFold

from skstretch import StretchyRegressorCV, load, save
from skstretch.core.crossfit import residual_width
from skstretch.estimators.summary import mixture_members
from skstretch.report.candidates import (
    MIXTURE,
    chosen_outputs,
    fitted_candidates,
    known_of,
    surface_of,
)
from skstretch.report.quality import COVERAGE, LEVELS, bars_of
from skstretch.report.subject import checked_subject
from skstretch.report.text import contents_of
from skstretch.style import number, share
from tests.report.samples import (
    data_of,
    mixed_classes,
    mixed_targets,
    mixture,
    nested,
    page,
    quietly,
    text_of,
    visible,
)

SAMPLES = [mixture, mixed_classes, mixed_targets]


def subject_of(sample):
    return checked_subject(*sample, None, None)


def words_of(text):
    """What a reader sees, in plain spaces."""
    return " ".join(re.sub(r"<[^>]*>", " ", visible(text)).replace("\u00a0", " ").split())


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_the_mixture_is_shown_beside_its_candidates(sample):
    model, X, _ = sample()
    subject = subject_of(sample())
    candidates = fitted_candidates(subject, surface_of(subject))
    assert candidates.known.verified
    assert candidates.chosen == MIXTURE
    # the candidates of the mixture come first among the others
    n = len(subject.members)
    assert n == len(mixture_members(model)) > 1
    assert set(list(candidates.fitted)[1 : n + 1]) == set(subject.members)
    own = candidates.fitted[MIXTURE]
    np.testing.assert_array_equal(own.pictures[0].slopes, subject.slope[0][own.pictures[0].top])
    shares = model._members["weight"]
    outputs = np.zeros_like(own.outputs)
    for i, row in enumerate(model._members["row"]):
        serves = np.broadcast_to(shares[i], outputs.shape[1:]) > 0  # other targets have no outputs
        outputs[:, serves] += (shares[i] * candidates.fitted[row].outputs)[:, serves]
    np.testing.assert_allclose(own.outputs, outputs)
    slopes = np.zeros_like(subject.slope)
    for row, slope in model._outcomes.slopes(subject.members, X.shape[1]):
        slopes += np.reshape(shares[subject.members.index(row)], (-1, 1)) * slope
    np.testing.assert_allclose(subject.slope, slopes, rtol=1e-4, atol=1e-6 * np.abs(slopes).max())


def test_a_pickled_mixture_is_shown_alone(tmp_path):
    model, X, y = mixture()
    again = pickle.loads(pickle.dumps(model))
    assert not hasattr(again, "_outcomes")
    text = page((again, X, y), tmp_path)
    assert list(data_of(text)["fits"]) == [str(MIXTURE)]
    assert "Only the average is shown in full: the other models were not kept" in words_of(text)


def test_other_data_are_noticed():
    model, X, y = mixture()
    other = X.copy()
    other["f0"] = np.asarray(X["f0"])[::-1]
    for one in (model, pickle.loads(pickle.dumps(model))):
        known = known_of(subject_of((one, other, y)))
        assert known.outcomes is None
        assert "not, value by value, those that it was fitted on" in known.why


def test_the_page_names_the_mixture_and_its_candidates():
    model, _, _ = mixture()
    text = text_of(mixture)
    words = words_of(text)
    assert f"The average of {len(mixture_members(model))} models, mostly " in words
    assert "has seen the choice among models" in words
    assert "Better than ridge regression in that cross-validation (error " in words
    assert re.search(r"With [\d, ]+(or \d+ )?features it is \w+", words)
    rows = re.findall(
        r"<tr><th scope=\"row\">(.*?)</th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td></tr>",
        text.partition('id="averaged-table"')[2].partition("</table>")[0],
    )
    assert rows == [
        (part.name, share(part.share), number(part.c), number(np.sqrt(-part.score)))
        for part in mixture_members(model)
    ]
    assert f"of the average it is {number(np.sqrt(-model.best_score_))}." in words
    assert "Back to the average" in words
    assert "chosen model" not in words.lower()
    assert "Every target has weights of its own" in words_of(text_of(mixed_targets))
    assert "The average uses its own threshold" in words_of(text_of(mixed_classes))
    assert "compares models by the log loss, so others" in words_of(text_of(mixed_classes))
    assert "so others than the darkest" not in words


def test_rows_have_short_names_that_differ():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 60))
    grid = {"a_grid": (-0.2, 0.0), "k_grid": (2.0,), "n_features_to_select": [5, 40]}
    y = X[:, 0] + rng.normal(size=20)
    model = quietly(StretchyRegressorCV(**grid), X, y)
    surface = surface_of(subject_of((model, X, y)))
    most = round(model.cv_results_["n_features"].max())
    assert most < 40
    names = {
        f"{kind}, {n} features" for kind in ("ridge", "curved, a = −0.2, k = 2") for n in (5, most)
    }
    assert set(surface.rows) == names
    assert any("(40 asked for)" in candidate.name for candidate in surface.candidates)


def test_all_families_are_on_the_surface():
    model, _, _ = mixture()
    surface = surface_of(subject_of(mixture()))
    assert len(surface.candidates) == len(model.cv_results_["usable"])
    assert len({c.at for c in surface.candidates}) == len(surface.candidates)
    assert {"ridge", "ridge, 10 features", "sparse, k = 1.05"} < set(surface.rows)
    assert not any("nan" in name for name in surface.columns)
    strong, others = surface.column_title.split("\n")
    assert (strong, others[:13]) == ("strength s of the penalty, weak to strong", "sparse models")
    # sparse models from weak to strong
    at = surface.rows.index("sparse, k = 1.25")
    path = sorted(
        (c for c in surface.candidates if c.at[0] == at), key=lambda candidate: candidate.at[1]
    )
    c = model.cv_results_["param_c"][[candidate.index for candidate in path]]
    assert (np.diff(c) < 0).all()
    data = data_of(text_of(mixture))
    assert data["framed"] == model.weights_["row"].tolist()
    assert data["own"][0] == "The average"
    assert {point["density"]: point["chosen"] for point in data["density"]}["1"]


def test_bars_hold_what_nine_tenths_of_the_residuals_say():
    plain, X, y = mixture()
    subject = subject_of((plain, X, y))
    assert bars_of(subject, chosen_outputs(subject), known_of(subject)).levels == ()
    model, X, y = nested()
    subject = subject_of((model, X, y))
    bars = bars_of(subject, chosen_outputs(subject), known_of(subject))
    residuals = np.asarray(y) - model.nested_predictions_
    half = residual_width(residuals, COVERAGE)
    np.testing.assert_allclose(bars.upper[:, 0] - model.nested_predictions_, half)
    assert bars.levels == LEVELS
    for i, level in enumerate(LEVELS):
        inside = np.zeros(len(y), dtype=bool)
        for train, test in KFold(10, shuffle=True, random_state=0).split(residuals):
            size = np.sort(np.abs(residuals[train]))
            width = size[int(np.ceil(round(level * (train.size + 1), 9))) - 1]
            inside[test] = np.abs(residuals[test]) <= width
        assert bars.seen[0, i] == inside.mean()
    held = share(bars.seen[0, LEVELS.index(COVERAGE)], 0).replace("\u00a0", " ")
    assert f"of the samples they held {held} of the observations in it" in words_of(text_of(nested))
    assert "they held" not in words_of(text_of(mixture))


def test_scores_of_classes_are_cut_as_the_mixture_cuts_them():
    model, _, y = mixed_classes()
    contents = contents_of(subject_of(mixed_classes()))
    scores = model.cv_predictions_ - model.threshold_
    right = np.mean(model.classes_[(scores > 0).astype(int)] == y)
    assert contents.quality[0].right == pytest.approx(right)


def test_the_search_repeated_leads(tmp_path):
    model, _, _ = nested()
    words = words_of(text_of(nested))
    error, spread = np.sqrt(-model.nested_score_), model.nested_score_se_
    figures = f"{number(error)} (standard error {number(0.5 * spread / error, 2)})"
    first = words.index(f"Predicts yield: typical error {figures}")
    seen = words.index("The plain cross-validation has seen the choice: typical error")
    assert words.index("skstretch report") < first < seen
    assert f"typical error {number(error)} search repeated on other samples" in words
    assert "than ridge regression" in words
    assert "if samples are independent of each other" in words
    shown = data_of(text_of(nested))
    np.testing.assert_allclose(
        shown["fits"][str(shown["chosen"])]["predicted"][0], model.nested_predictions_, rtol=1e-3
    )
    save(model, tmp_path / "m.stretchy")
    again = words_of(page((load(tmp_path / "m.stretchy"), None, None), tmp_path))
    assert figures in again


def test_noise_leads_with_nothing(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 50)), rng.normal(size=30)
    words = words_of(page((quietly(StretchyRegressorCV(nested_cv=5), X, y), X, y), tmp_path))
    assert "Nothing was found: the target is not predicted better than by always" in words
    assert "Predicts" not in words


def test_null_distribution_where_there_is_one(tmp_path):
    model, X, y = mixture()
    plain = words_of(text_of(mixture))
    assert "Could it be chance?" not in plain
    model = copy.copy(model)
    null = np.random.default_rng(0).normal(-3, 0.2, 500)
    model.permutation_ = SimpleNamespace(
        pvalue=1 / 501, statistic=model.best_score_, null_distribution=null
    )
    text = page((model, X, y), tmp_path)
    words, data = words_of(text), data_of(text)
    assert "the search does as well with probability 0.002 (500 random orders" in words
    assert "Could it be chance?" in words
    assert sum(bar["n"] for bar in data["null"]) == 500
    np.testing.assert_allclose(data["statistic"][0]["at"], model.best_score_, rtol=1e-3)
    assert "null" in data["specs"]


def test_without_data_the_page_still_tells_the_mixture(tmp_path):
    model, _, _ = mixture()
    words = words_of(page((model, None, None), tmp_path))
    assert "The average of" in words
    assert "The averaged models" in words


def test_one_family_is_no_mixture(tmp_path):
    model, X, y = mixture()
    one = type(model)(1.0, a_grid=(0.0,), k_grid=(2.0,), c_grid=(0.1, 1.0))
    words = words_of(page((quietly(one, X, y), X, y), tmp_path))
    assert "Ridge regression, c = " in words
    assert "The average" not in words
