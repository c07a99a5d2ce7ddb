"""Hostile files are refused, with a reason, and without taking memory."""

import functools
import subprocess
import sys
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import skstretch
from skstretch.io import ModelFileError
from tests.io import forged, hostile
from tests.io.samples import (
    CLASSIFIERS,
    MIXTURES,
    REGRESSORS,
    fitted,
    saved_bytes,
    with_array,
    with_header,
)

LIMIT = 100 * 2**20
FORGED_LIMIT = 150 * 2**20


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
import resource, sys, time, zipfile
from skstretch.exceptions import ModelFileError
from skstretch.io.model import load
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = peak()
# a bomb that goes off shall not take the machine with it
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
with zipfile.ZipFile(sys.argv[1]) as files:
    for name in files.namelist():
        with open(sys.argv[2], "wb") as file:
            file.write(files.read(name))
        began = time.process_time()
        try:
            load(sys.argv[2])
            refused = False
        except ModelFileError:
            refused = True
        print(int(refused), peak() - start, time.process_time() - began, name, sep="\\t")
"""


def measured(files, folder):
    """Load files in a process of its own: (name, refused, bytes, seconds) of each.

    Bytes are what the process has grown by at its largest until then: the first file that takes
    much is the one to blame.
    """
    with zipfile.ZipFile(folder / "files.zip", "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(folder / "files.zip"), str(folder / "m.stretchy")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    unit = 1 if sys.platform == "darwin" else 1024
    assert len(rows) == len(files)
    return [(name, kept == "1", int(size) * unit, float(t)) for kept, size, t, name in rows]


UNIX = pytest.mark.skipif(
    sys.platform == "win32", reason="needs the module resource, a Unix system"
)


@UNIX
def test_memory_of_the_process(tmp_path):
    found = measured([(name, data) for name, data, _ in cases()], tmp_path)
    assert all(refused for _, refused, _, _ in found)
    assert found[-1][2] < LIMIT
    assert max(seconds for _, _, _, seconds in found) < 5.0


FORGED = {
    "search": (REGRESSORS["search two"], {"intervals": True}),
    "classes": (CLASSIFIERS["bool"], {}),
    "mixture": (MIXTURES["some selected"], {"intervals": True}),
}


@UNIX
@pytest.mark.slow
@pytest.mark.parametrize("name", FORGED)
def test_every_field_and_array_forged(name, tmp_path):
    """A few kilobytes take at most 150 MB above the baseline, whatever they claim."""
    case, options = FORGED[name]
    model, _ = fitted(case)
    good = saved_bytes(model, tmp_path, **options)
    files = [*forged.headers(good), *forged.arrays(good)]
    assert len(files) > 1000
    found = measured(files, tmp_path)
    blamed = next((row for row in found if row[2] > FORGED_LIMIT), None)
    assert blamed is None, blamed
    assert max(row[3] for row in found) < 5.0, max(found, key=lambda row: row[3])
    # a change of another meaning may make a model; most make none
    assert sum(refused for _, refused, _, _ in found) > 0.6 * len(files)


@pytest.mark.parametrize("value", [["x" * 40_000, *[""] * 10_000], "ones", 2.0, [[1.0]]])
def test_penalty_factors_that_are_no_array(value, tmp_path):
    """Of one long text among many short ones numpy would make 1.6 GB."""
    path = tmp_path / "hostile.stretchy"
    path.write_bytes(with_header(good(), parameters={"penalty_factor": value}))
    with pytest.raises(ModelFileError, match="its penalty factors are not numbers"):
        skstretch.load(path)


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
    yield "words", lambda g: with_header(g, biases=[1.0, 2.0]), "no bias for every class"
    yield "words", lambda g: with_header(g, biases=[0, 0, 0]), "no sound list 'biases'"
    yield "words", lambda g: with_header(g, biases=None), "no sound field 'biases'"
    yield "search", lambda g: with_header(g, chosen={}), "no sound field .best_index_."
    yield "search", lambda g: with_header(g, best_score_se="1"), "field 'best_score_se'"
    yield "search", lambda g: with_header(g, best_score_se=-1.0), "standard errors that none has"
    candidates = [[f"param_{name}", "array"] for name in ("a", "k", "c", "density")]
    yield (
        "search",
        lambda g: with_header(g, results=[*candidates, ["mean_test_score", "array"]]),
        "which candidates they are of",
    )
    yield (
        "search",
        lambda g: with_header(g, results=candidates[:1]),
        "which candidates they are of",
    )
    yield "search", lambda g: with_header(g, results=[["params", "params"]]), "which candidates"
    yield "search", lambda g: with_array(g, "result_param_k", np.ones(2)), "not fit the others"


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
    yield "weights", -np.ones(36), "'weights' has entries that are not positive"
    yield "residuals", np.ones((5, 1)), "'residuals' is float64"
    yield "residuals", np.full((36, 1), np.nan), "'residuals' has entries that are NaN"
    yield "intercept", np.full(1, np.nan), "'intercept' has entries that are NaN"
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
