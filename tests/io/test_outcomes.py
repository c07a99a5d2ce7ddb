"""A file holds what its search found out: with the data of the fit the model is whole again."""

import functools
import os
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skstretch
from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.estimators.state import twin
from skstretch.exceptions import GridEdgeWarning
from skstretch.io import ModelFileError, outcomes
from skstretch.report import write_report
from skstretch.report.subject import checked_subject
from tests.io.samples import CODES, WEIGHTS, WIDE, X, Y, with_array, with_header
from tests.report.samples import mixed_classes, mixture, spectra, without_origin

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
SMALL = {"k_grid": (1.25, 2.0), "c_grid": (0.1, 10.0)}
THREE = np.array(["x", "y", "z"])[CODES]
FACTORS = np.where(np.arange(WIDE.shape[1]) == 3, 0.0, 1.0)
FACTORS[5], FACTORS[7] = 2.0, np.inf


@functools.cache
def case(name):
    """Model, X, y and weights, fitted; each brings another kind of unknowns or of data."""
    one, folds = {"combine": "best", **SMALL}, {"cv": 4, "n_features_to_select": [1.0, 5]}
    weights = None
    if name == "mixture":
        return *mixture(), None
    if name == "selected":
        return *spectra(), None
    if name == "classes":
        return *mixed_classes(), None
    if name == "three classes":
        model, A, y = StretchyClassifierCV(**one, class_weight="balanced"), WIDE, THREE
    elif name == "weights":
        model, A, y, weights = StretchyRegressorCV(**SMALL), WIDE, Y, WEIGHTS
    elif name == "tall":
        model, A, y = StretchyRegressorCV(**SMALL, **folds), X, Y[:, 0]
    elif name == "sparse":
        kept = np.where(np.abs(WIDE) > 1.0, WIDE, 0.0)
        model, A, y = StretchyRegressorCV(**SMALL, **folds), sparse.csr_array(kept), Y[:, 0]
    elif name == "float32":
        model, A, y = StretchyRegressorCV(**SMALL), WIDE.astype("f4"), Y[:, 0]
    elif name == "factors":
        model, A, y = StretchyRegressorCV(**SMALL, penalty_factor=FACTORS), WIDE, Y[:, 0]
    elif name == "scaled rows":
        model = StretchyRegressorCV(a_grid=(-7.0, 4.0), k_grid=(1.02, 1.1))
        A, y = WIDE, Y[:, 0]
    elif name == "column":
        model, A, y = StretchyRegressorCV(**one, fit_intercept="column"), WIDE, Y[:, 0]
    else:
        model, A, y = StretchyRegressorCV(**one, fit_intercept=False), np.abs(WIDE), Y[:, 0]
        model.set_params(quadrant="identity")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        return model.fit(A, y, sample_weight=weights), A, y, weights


CASES = (
    "mixture", "selected", "classes", "three classes", "weights", "tall", "sparse", "float32",
    "factors", "scaled rows", "column", "identity",
)  # fmt: skip


def both_pages(model, A, y, folder):
    """Pages of a model and of itself from a file, each without the line that tells them apart."""
    skstretch.save(model, folder / "model.stretchy")
    again, found = skstretch.load(folder / "model.stretchy"), []
    for one in (model, again):
        text = write_report(one, folder / "page.html", X=A, y=y).read_text("utf-8")
        line = re.findall(r"<dt>other models</dt><dd>(.*?)</dd>", text)
        found.append((without_origin(text), line))
    return found


@pytest.mark.parametrize("name", ["mixture", "selected", "three classes", "weights"])
def test_page_from_a_file_is_that_from_memory(name, tmp_path):
    model, A, y, _ = case(name)
    (first, memory), (second, file) = both_pages(model, A, y, tmp_path)
    assert memory == ["kept by the search"]
    assert file == ["from the model file; the data passed are those of the fit, value by value"]
    assert first == second


@pytest.mark.parametrize("name", CASES)
def test_everything_a_search_kept_comes_back(name, tmp_path):
    model, A, y, _ = case(name)
    again = reunited(model, A, y, tmp_path)
    ours, theirs = model._outcomes, again._outcomes
    for field in ("outputs", "Y", "weights", "sample_weights"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))
    assert ours.grouped == theirs.grouped
    assert [vars(candidate) for candidate in ours.candidates] == [
        vars(candidate) for candidate in theirs.candidates
    ]
    rows = [row for row, parts in enumerate(ours.unknowns) if parts]
    assert rows == [row for row, parts in enumerate(theirs.unknowns) if parts]
    D = A.shape[1]
    for (row, slope), (other, same) in zip(
        ours.slopes(rows, D), theirs.slopes(rows, D), strict=True
    ):
        assert row == other
        np.testing.assert_array_equal(slope, same)
    np.testing.assert_array_equal(again._state.fitted, model._state.fitted)


def reunited(model, A, y, folder):
    """The model of a file with the data of the fit."""
    skstretch.save(model, folder / "model.stretchy")
    again = skstretch.load(folder / "model.stretchy")
    subject = checked_subject(again, A, y)
    assert subject.from_file
    assert subject.model is not again
    assert not hasattr(again, "_outcomes")  # what the caller has stays as it was
    return subject.model


def test_kinds_of_unknowns_are_all_tried(tmp_path):
    kinds = set()
    for name in CASES:
        kinds |= set(outcomes.kept_of(case(name)[0], 0).parts[:, 1].tolist())
    assert kinds == {outcomes.COEF, outcomes.DUAL, outcomes.MINIMISER}


def test_rows_with_scales_of_their_own(tmp_path):
    """Few searches have such candidates that are usable too: one is made of another candidate."""
    model, A, y, _ = case("scaled rows")
    model, found = twin(model), list(model._outcomes.unknowns)
    row = next(row for row, parts in enumerate(found) if parts)
    [part] = found[row]
    frame = replace(part.frame, log_rows=np.linspace(-1.0, 1.0, 36))
    found[row] = (replace(part, frame=frame),)
    model._outcomes = replace(model._outcomes, unknowns=found)
    again = reunited(model, A, y, tmp_path)
    [(_, ours)] = model._outcomes.slopes([row], A.shape[1])
    [(_, theirs)] = again._outcomes.slopes([row], A.shape[1])
    np.testing.assert_array_equal(ours, theirs)


def nudged(A, y):
    A = np.array(A)
    A[3, 1] = np.nextafter(A[3, 1], np.inf)
    return A, y


OTHERS = {
    "another value": nudged,
    "another order": lambda A, y: (np.array(A)[::-1], y[::-1]),
    "another target": lambda A, y: (A, np.concatenate([y[:-1], y[-1:] + 1e-9])),
    "another column": lambda A, y: (np.hstack([A[:, 1:], A[:, :1]]), y),
}


@pytest.mark.parametrize("change", OTHERS)
def test_of_other_data_the_page_says_that_no_candidates_are_shown(change, tmp_path):
    model = StretchyRegressorCV(**SMALL).fit(WIDE, Y[:, 0])
    skstretch.save(model, tmp_path / "model.stretchy")
    again = skstretch.load(tmp_path / "model.stretchy")
    A, y = OTHERS[change](WIDE, Y[:, 0])
    text = write_report(again, tmp_path / "page.html", X=A, y=y).read_text("utf-8")
    [line] = re.findall(r"<dt>other models</dt><dd>(.*?)</dd>", text)
    assert line.startswith("not shown: the data that were passed are not, value by value, those")


def test_files_without_outcomes_show_no_candidates(tmp_path):
    model = StretchyRegressorCV(**SMALL).fit(WIDE, Y[:, 0])
    skstretch.save(model, tmp_path / "model.stretchy", outcomes=False)
    again = skstretch.load(tmp_path / "model.stretchy")
    text = write_report(again, tmp_path / "page.html", X=WIDE, y=Y[:, 0]).read_text("utf-8")
    [line] = re.findall(r"<dt>other models</dt><dd>(.*?)</dd>", text)
    assert line.startswith("not shown: the other models were not kept with it; fit with --report")


def test_files_without_outcomes_count_groups_too(tmp_path):
    model = StretchyRegressorCV(**SMALL).fit(WIDE, Y[:, 0], groups=np.arange(36) // 3)
    skstretch.save(model, tmp_path / "model.stretchy", outcomes=False)
    again = skstretch.load(tmp_path / "model.stretchy")
    text = write_report(again, tmp_path / "page.html", X=WIDE, y=Y[:, 0]).read_text("utf-8")
    (found,) = model.summary().evidence
    assert f"(standard error {found.spread})" in text


def test_pipeline(tmp_path):
    frame = pd.DataFrame(WIDE, columns=[f"f{j}" for j in range(WIDE.shape[1])])
    model = make_pipeline(StandardScaler(), StretchyRegressorCV(**SMALL)).fit(frame, Y[:, 0])
    (first, _), (second, file) = both_pages(model, frame, Y[:, 0], tmp_path)
    assert first == second
    assert file[0].startswith("from the model file")


@pytest.mark.parametrize("search", [StretchyRegressorCV, StretchyClassifierCV])
def test_groups(search, tmp_path):
    y = Y[:, 0] if search is StretchyRegressorCV else Y[:, 0] > np.median(Y[:, 0])
    model = search(**SMALL).fit(WIDE, y, groups=np.arange(36) // 3)
    (first, _), (second, file) = both_pages(model, WIDE, y, tmp_path)
    assert first == second
    assert file[0].startswith("from the model file")


def test_saved_again_and_fitted_again(tmp_path):
    model = StretchyRegressorCV(**SMALL).fit(WIDE, Y[:, 0])
    first, second = tmp_path / "first.stretchy", tmp_path / "second.stretchy"
    skstretch.save(model, first)
    again = skstretch.load(first)
    skstretch.save(again, second)
    assert first.read_bytes() == second.read_bytes()
    again.fit(WIDE, Y[:, 1])
    assert not hasattr(again, "_kept")


def test_size(tmp_path):
    """About 16 bytes a candidate, sample and target; and in proportion to model and data."""
    rng = np.random.default_rng(0)
    wide, y = rng.standard_normal((40, 3000)), rng.standard_normal(40)
    model = StretchyRegressorCV().fit(wide, y)
    sizes = []
    for stored in (True, False):
        path = tmp_path / f"{stored}.stretchy"
        skstretch.save(model, path, outcomes=stored)
        sizes.append(os.path.getsize(path))
    n_candidates = len(model.cv_results_["param_a"])
    assert 0.5 * 16 * n_candidates * 40 < sizes[0] - sizes[1] < 1.5 * 16 * n_candidates * 40
    assert sizes[0] - sizes[1] < wide.nbytes / 4


def test_what_is_out_of_proportion_is_not_stored(tmp_path, monkeypatch):
    model = StretchyRegressorCV(**SMALL).fit(X, Y[:, 0])
    monkeypatch.setattr(outcomes, "FREE_BYTES", 0)
    assert outcomes.kept_of(model, 0) is None
    assert outcomes.kept_of(model, 1 << 20) is not None
    skstretch.save(model, tmp_path / "model.stretchy")
    assert not hasattr(skstretch.load(tmp_path / "model.stretchy"), "_kept")


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.SmallerSearchWarning")
def test_data_read_in_blocks_are_not_read_for_a_digest(tmp_path):
    np.save(tmp_path / "x.npy", WIDE)
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    with config_context(working_memory=0.001):
        model = StretchyRegressorCV(**SMALL).fit(X, Y[:, 0])
    assert model._outcomes is not None
    assert outcomes.kept_of(model, 1 << 20) is None


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "model.stretchy"
    grids = {**SMALL, "cv": 4, "n_features_to_select": [1.0, 5]}
    skstretch.save(StretchyRegressorCV(**grids).fit(WIDE, Y), path)
    return path.read_bytes()


FAULTS = {
    "cell": 10**6, "kind": 7, "rows": 2**40, "width": 0, "by_columns": 2, "scaled": 3, "target": 9,
    "n_columns": 10**6,
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_forged_passes(fault, good, tmp_path):
    kept = skstretch.load(write(good, tmp_path))._kept
    parts = kept.parts.copy()
    parts[0, outcomes.FIELDS.index(fault)] = FAULTS[fault]
    refused(with_array(good, "outcome_parts", parts), tmp_path)


def test_forged_arrays(good, tmp_path):
    kept = skstretch.load(write(good, tmp_path))._kept
    assert kept.columns.size
    refused(with_array(good, "outcome_columns", kept.columns[::-1].copy()), tmp_path)
    refused(with_array(good, "outcome_columns", kept.columns + 1000), tmp_path)
    refused(with_array(good, "outcome_values", kept.values[:-1]), tmp_path)
    refused(with_array(good, "outcome_weights", -kept.weights), tmp_path)
    refused(with_array(good, "outcome_outputs", np.full_like(kept.outputs, np.inf)), tmp_path)
    refused(with_array(good, "outcome_parts", kept.parts[:, :7].copy()), tmp_path)
    refused(with_header(good, outcomes={"data": 5, "grouped": False}), tmp_path)
    refused(with_header(good, outcomes=None), tmp_path)


def write(data, folder):
    path = folder / "x.stretchy"
    path.write_bytes(data)
    return path


def refused(data, folder):
    with pytest.raises(ModelFileError):
        skstretch.load(write(data, folder))
