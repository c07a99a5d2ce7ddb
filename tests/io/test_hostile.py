"""Hostile files are refused, with a reason, and without taking memory."""

import functools
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import skstretch
from skstretch.io import ModelFileError
from tests.io import hostile
from tests.io.samples import CLASSIFIERS, REGRESSORS, fitted, saved_bytes, with_array, with_header

LIMIT = 100 * 2**20


@functools.cache
def good():
    model, _ = fitted(REGRESSORS["tall"])
    with tempfile.TemporaryDirectory() as folder:
        return saved_bytes(model, Path(folder))


@functools.cache
def cases():
    makers = (hostile.containers, hostile.headers, hostile.arrays)
    return [case for maker in makers for case in maker(good())]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case[0])
def test_refused(case, tmp_path):
    _, data, message = case
    path = tmp_path / "hostile.stretchy"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message) as caught:
            skstretch.load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LIMIT
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(path))


MEASURE = """
import resource, sys, time, pathlib
import skstretch
from skstretch.io import ModelFileError
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start, slowest = peak(), 0.0
for path in pathlib.Path(sys.argv[1]).iterdir():
    began = time.perf_counter()
    try:
        skstretch.load(path)
    except ModelFileError:
        slowest = max(slowest, time.perf_counter() - began)
    else:
        raise SystemExit(f"{path} was loaded")
print(peak() - start, slowest)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs the module resource, a Unix system")
def test_memory_of_the_process(tmp_path):
    for number, (_, data, _) in enumerate(cases()):
        (tmp_path / f"{number}.stretchy").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    grown, slowest = done.stdout.split()
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(grown) * unit < LIMIT
    assert float(slowest) < 5.0


def test_memory_is_in_proportion_to_the_file(tmp_path):
    """A sound file of 12 MB takes a few times its size."""
    path = tmp_path / "large.stretchy"
    rng = np.random.default_rng(0)
    model = skstretch.StretchyRegressor().fit(rng.standard_normal((10, 200_000)), np.arange(10.0))
    skstretch.save(model, path)
    tracemalloc.start()
    skstretch.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * path.stat().st_size


def classifier_cases():
    cuts = np.array([np.nan, 0.0, 0.0])
    points = np.full((3, 5), 0x110000, "u4").view("<U5")[:, 0]
    yield "words", lambda g: with_array(g, "cuts", cuts), "'cuts' has entries"
    yield "words", lambda g: with_array(g, "classes", np.arange(5)), "5 classes and 3 scores"
    yield "words", lambda g: with_array(g, "classes", points), "are not text"
    yield "words", lambda g: with_header(g, factor=-1.0), "no sound temperature"
    yield "words", lambda g: with_header(g, factor="1"), "no sound temperature"
    yield "words", lambda g: with_header(g, single=True), "says that there is one"
    yield "words", lambda g: with_header(g, classes=["O", [1]]), "1 classes and 3 scores"
    yield "isotonic", lambda g: with_array(g, "isotonic_x", np.array([2.0, 1.0])), None
    yield "search", lambda g: with_header(g, chosen={}), "which cell was chosen"
    yield "search", lambda g: with_header(g, best_score_se="1"), "field 'best_score_se'"
    yield "search", lambda g: with_header(g, best_score_se=-1.0), "field 'best_score_se'"
    yield "search", lambda g: with_header(g, rule_loss=[1]), "field 'rule_loss'"
    yield "search", lambda g: with_header(g, results=[["param_a", "array"]]), "no known use"
    yield "search", lambda g: with_header(g, results=[["params", "params"]]), "which cells"
    yield "search", lambda g: with_array(g, "result_param_k", np.ones(2)), "differ in length"


@pytest.mark.parametrize(("name", "change", "message"), [*classifier_cases()])
def test_refused_classifiers(name, change, message, tmp_path):
    model, _ = fitted(CLASSIFIERS[name])
    path = tmp_path / "hostile.stretchy"
    path.write_bytes(change(saved_bytes(model, tmp_path)))
    with pytest.raises(ModelFileError, match=message):
        skstretch.load(path)


def interval_cases():
    yield "features", np.full((36, 8), np.inf), "'features' has entries"
    yield "features", np.ones((36, 9)), "'features' is float64"
    yield "targets", np.full((36, 1), np.nan), "'targets' has entries"
    yield "weights", -np.ones(36), "weights are not positive"
    yield "residuals", np.ones((5, 1)), "'residuals' is float64"
    yield "support", np.ones((1, 9), bool), "contradict each other"


@pytest.mark.parametrize(("name", "array", "message"), [*interval_cases()])
def test_refused_intervals(name, array, message, tmp_path):
    model, _ = fitted(REGRESSORS["tall"])
    path = tmp_path / "hostile.stretchy"
    path.write_bytes(with_array(saved_bytes(model, tmp_path, intervals=True), name, array))
    with pytest.raises(ModelFileError, match=message):
        skstretch.load(path)


def test_the_good_file_is_good(tmp_path):
    path = tmp_path / "good.stretchy"
    path.write_bytes(with_header(good()))
    skstretch.load(path)
