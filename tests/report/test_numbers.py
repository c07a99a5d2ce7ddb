"""The box of numbers: error with its standard error, folds in words, the name of the target."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, RepeatedKFold, StratifiedKFold

import skstretch
from skstretch.exceptions import GridEdgeWarning
from skstretch.report import write_report
from skstretch.report.quality import contents_of
from skstretch.report.subject import checked_subject
from skstretch.report.surface import best_error
from skstretch.report.text import numbers_of
from skstretch.style import number, share
from tests.report.samples import EVIL, GRID, page, quietly, regression, two_classes, visible

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((24, 5)), RNG.standard_normal(24)


def box(model):
    return dict(numbers_of(contents_of(checked_subject(model, None, None))))


def test_standard_error_of_the_root():
    model = regression()[0]
    losses = (regression()[2].to_numpy() - model.cv_predictions_) ** 2
    error = np.sqrt(losses.mean())
    spread = losses.std() / np.sqrt(losses.size) / (2 * error)
    assert box(model)["cross-validated"] == (
        f"typical error (root mean square) {number(error)}, standard error {number(spread)}"
    )


def test_standard_error_of_a_rate():
    model = two_classes()[0]
    assert best_error(checked_subject(model, None, None)) == (
        f"balanced error rate {share(-model.best_score_)}, "
        f"standard error {share(model.best_score_se_)}"
    )


def test_scores_without_a_standard_error():
    model = quietly(skstretch.StretchyRegressorCV(**GRID, scoring="r2"), X, Y)
    assert box(model)["cross-validated"] == f"score (r2) {number(model.best_score_)}"


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        (None, "exact leave-one-out"),
        (3, "exact 3 folds"),
        (KFold(4, shuffle=True, random_state=0), "exact 4 folds"),
        (StratifiedKFold(3), "exact 3 folds, by class"),
        (GroupKFold(3), "exact 3 folds of whole groups"),
        (LeaveOneOut(), "exact leave-one-out"),
        (RepeatedKFold(n_splits=3, n_repeats=2), "RepeatedKFold(n_repeats=2, n_splits=3, "),
    ],
)
def test_folds_in_words_also_from_a_file(cv, words, tmp_path):
    model = skstretch.StretchyClassifierCV(**GRID, cv=cv)
    groups = {"groups": np.arange(24) % 4} if isinstance(cv, GroupKFold) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        fitted = model.fit(X, Y > 0, **groups)
    skstretch.save(fitted, tmp_path / "m.stretchy")
    for one in (fitted, skstretch.load(tmp_path / "m.stretchy")):
        assert box(one)["cross-validation"].startswith(words)


def closeness(model, X, y):
    return -float(np.abs(model.predict(X) - y).mean())


def test_a_scorer_that_a_file_cannot_hold(tmp_path):
    model = quietly(skstretch.StretchyRegressorCV(**GRID, scoring=closeness), X, Y)
    skstretch.save(model, tmp_path / "m.stretchy")
    assert "closeness" in box(skstretch.load(tmp_path / "m.stretchy"))["scoring"]


def test_the_target_is_named_and_escaped(tmp_path):
    model, frame, y = regression()
    text = page((model, frame, y.to_numpy()), tmp_path, target=EVIL)
    assert "<h1>Regression of &lt;script&gt;alert(1)&lt;/script&gt;</h1>" in text
    assert EVIL not in text
    assert "Regression report" in visible(page((model, frame, y.to_numpy()), tmp_path))


def test_hints_speak_of_the_command_line_too(tmp_path):
    model = regression()[0]
    write_report(model, tmp_path / "r.html")
    words = visible((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "skstretch report MODEL --data FILE" in words
    assert "skstretch fit --density 1,0.5,0.1" in words
    assert "to read its numbers below" in words
    assert "to see its model below" in visible(page(regression(), tmp_path))
