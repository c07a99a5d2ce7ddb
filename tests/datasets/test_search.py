"""Where a set is looked for, and what happens when a file is wrong or missing."""

import doctest
import hashlib
import inspect
import pickle
import re
import socket
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import sklearn.datasets
from scipy import sparse

from skstretch import datasets
from skstretch.datasets import (
    ChecksumError,
    DatasetNotFoundError,
    fetch_diabetes,
    fetch_gisette,
    fetch_prostate,
    fetch_tfidf,
    list_datasets,
    loaders,
)
from skstretch.datasets import find as download
from skstretch.datasets.find import content_digest, data_home, load
from skstretch.datasets.registry import DATASETS, PARTS, Dataset, File, Form
from tests.datasets.server import serving

TEXT = (
    b"\tlcavol\tage\tlpsa\ttrain\n1\t-0.5\t50\t-0.43\tT\n2\t1.25\t58\t2.5\tF\n3\t0.75\t61\t1.5\tT\n"
)
X = np.array([[-0.5, 50], [1.25, 58], [0.75, 61]])
Y = np.array([-0.43, 2.5, 1.5])


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """No SKSTRETCH_DATA and an empty home, so that a test finds only what it made itself."""
    monkeypatch.delenv("SKSTRETCH_DATA", raising=False)
    monkeypatch.delenv("STRETCHY_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))


@pytest.fixture
def closed_port():
    """The address of a server that is not there."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    return f"http://127.0.0.1:{port}"


def small_set(url=None, *, known=True, content=None):
    """Three patients, in the format of the prostate set."""
    sha256 = hashlib.sha256(TEXT).hexdigest() if known else None
    file = File("small.data", url, sha256, len(TEXT) if known else None)
    return Dataset(
        "small", "Small", "Medical", "regression", "dense", 2, 3, (Form("prostate_text", (file,)),),
        source="here", terms="none", content=content,
    )  # fmt: skip


def put(folder, data=TEXT):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.data").write_bytes(data)
    return folder


def test_environment_comes_first_then_the_cache(tmp_path, monkeypatch):
    named, cache = put(tmp_path / "named"), put(tmp_path / "cache", b"not the file")
    monkeypatch.setenv("SKSTRETCH_DATA", str(named))
    np.testing.assert_array_equal(load(small_set(), cache).X, X)
    put(cache)
    (named / "small.data").unlink()
    np.testing.assert_array_equal(load(small_set(), cache).y, Y)


def test_default_cache(tmp_path):
    assert data_home() == tmp_path / "home" / "skstretch_data"
    put(data_home())
    np.testing.assert_array_equal(load(small_set()).X, X)


def test_names_of_version_0_1_are_still_read(tmp_path, monkeypatch):
    old = put(tmp_path / "home" / "stretchy_data")
    assert data_home() == old
    np.testing.assert_array_equal(load(small_set()).X, X)
    put(tmp_path / "home" / "skstretch_data", b"the new one is there, and wins")
    with pytest.raises(ChecksumError):
        load(small_set())
    monkeypatch.setenv("STRETCHY_DATA", str(old))
    np.testing.assert_array_equal(load(small_set()).X, X)
    monkeypatch.setenv("SKSTRETCH_DATA", str(put(tmp_path / "named", b"not the file")))
    with pytest.raises(ChecksumError):
        load(small_set())


def test_truncated_file(tmp_path):
    with pytest.raises(ChecksumError, match=r"small\.data is truncated: 20 bytes, expected"):
        load(small_set(), put(tmp_path, TEXT[:20]))


def test_tampered_file(tmp_path):
    with pytest.raises(ChecksumError, match=r"small\.data was changed: its sha256 is"):
        load(small_set(), put(tmp_path, TEXT.replace(b"50", b"51")))


def test_truncated_file_of_unknown_checksum(tmp_path):
    short = TEXT[: TEXT.rindex(b"3\t")]
    with pytest.raises(ChecksumError, match="holds 2 x 2 values and 2 targets, but Small has 3"):
        load(small_set(known=False), put(tmp_path, short))
    with pytest.raises(ChecksumError, match="cannot be read as Small"):
        load(small_set(known=False), put(tmp_path, TEXT[:-8]))


def test_tampered_file_of_known_content(tmp_path):
    dataset = small_set(known=False, content=content_digest(X, Y))
    np.testing.assert_array_equal(load(dataset, put(tmp_path)).X, X)
    with pytest.raises(ChecksumError, match="are not those of Small"):
        load(dataset, put(tmp_path, TEXT.replace(b"50", b"51")))


def test_digest_is_that_of_the_values():
    S = np.array([[0, 2, 0], [0, 0, 0], [1, 0, 3]])
    as_stored = sparse.csr_array(S.astype(np.uint8))
    explicit = sparse.coo_array(([2.0, 1, 3, 0], ([0, 2, 2, 1], [1, 0, 2, 1])), shape=(3, 3))
    y = np.array([1, -1, 1], dtype=np.int8)
    assert content_digest(as_stored, y) == content_digest(explicit, y.astype(float))
    assert content_digest(S, y) == content_digest(np.asfortranarray(S, dtype=float), y)
    assert content_digest(S, y) != content_digest(S.T, y)
    assert content_digest(S, y) != content_digest(S, -y)


def test_download(tmp_path):
    with serving({"small.data": TEXT}) as url:
        dataset = small_set(f"{url}/small.data")
        np.testing.assert_array_equal(load(dataset, tmp_path).X, X)
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["small.data"]
    # the server is gone, the cache is not
    np.testing.assert_array_equal(load(dataset, tmp_path).X, X)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("fault", ["truncated", "tampered", "missing"])
def test_bad_download(tmp_path, known, fault):
    files = {"small.data": TEXT.replace(b"50", b"51") if fault == "tampered" else TEXT}
    cut = frozenset(files if fault == "truncated" else ())
    message = {
        "truncated": "IncompleteRead|cut short",
        "tampered": "was changed" if known else "are not those of Small",
        "missing": "404",
    }
    with serving({} if fault == "missing" else files, cut) as url:
        dataset = small_set(f"{url}/small.data", known=known, content=content_digest(X, Y))
        with pytest.raises(DatasetNotFoundError, match=message[fault]):
            load(dataset, tmp_path / "cache")
    left = list((tmp_path / "cache").glob("*")) if (tmp_path / "cache").exists() else []
    assert left == [], "nothing of a bad download is kept"


@pytest.mark.parametrize("known", [True, False])
def test_a_download_without_end_is_given_up(tmp_path, monkeypatch, known):
    with serving({"small.data": TEXT}, endless=frozenset(["small.data"])) as url:
        dataset = small_set(f"{url}/small.data", known=known)
        (form,) = dataset.forms
        form = replace(form, files=(replace(form.files[0], most=1000),))
        with pytest.raises(DatasetNotFoundError, match=r"more than [0-9,]+ bytes came"):
            load(replace(dataset, forms=(form,)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_drips_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 1.0)
    monkeypatch.setattr(download, "SLOWEST", 1 << 40)
    with serving({"small.data": TEXT * 1000}, dripping=frozenset(["small.data"])) as url:
        dataset = small_set(f"{url}/small.data", known=False)
        with pytest.raises(DatasetNotFoundError, match="bytes came in 1 seconds: too slow"):
            load(dataset, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import time; time.sleep(60)", "it took more than 2 seconds"),
        ("x = bytearray(8 << 30)", "MemoryError"),
        ("raise OSError('no such set')", "OSError: no such set"),
    ],
)
def test_a_process_with_bounds(code, message):
    with pytest.raises(OSError, match=message):
        download.run_bounded(code, (), 2.0 if "sleep" in code else 60.0, 2 << 30)


def test_openml_is_asked_by_another_process(tmp_path, monkeypatch):
    """Without a network it fails there, and the error comes back."""
    asked = []

    def run(code, words, seconds, memory):
        asked.append((words, seconds, memory))
        compile(code, "code", "exec")
        raise OSError("no network")

    monkeypatch.setattr(download, "run_bounded", run)
    with pytest.raises(DatasetNotFoundError, match="OpenML data set 4136: no network"):
        load(replace(DATASETS["dexter"], forms=DATASETS["dexter"].forms[1:2]), tmp_path)
    path = str(tmp_path / "dexter_openml.npz")
    assert asked == [(("4136", path, "sparse"), 3600.0, 16 << 30)]


def test_next_source_is_asked(tmp_path, closed_port):
    with serving({"small.data": TEXT}) as url:
        first, second = (small_set(f"{at}/small.data").forms[0] for at in (closed_port, url))
        dataset = replace(small_set(), forms=(first, second))
        np.testing.assert_array_equal(load(dataset, tmp_path).X, X)


def test_no_network(tmp_path, monkeypatch, closed_port):
    (tmp_path / "named").mkdir()
    monkeypatch.setenv("SKSTRETCH_DATA", str(tmp_path / "named"))
    with pytest.raises(DatasetNotFoundError) as caught:
        load(small_set(f"{closed_port}/small.data"), tmp_path / "cache")
    text = str(caught.value)
    assert "the data set Small was not found. Tried:" in text
    assert f"SKSTRETCH_DATA: {tmp_path / 'named'} lacks its files" in text
    assert f"cache: {tmp_path / 'cache'} lacks its files" in text
    assert f"{closed_port}/small.data: " in text
    assert "refused" in text
    assert f"small.data from {closed_port}/small.data\ninto {tmp_path / 'cache'}" in text


def test_incomplete_set_names_what_it_lacks(tmp_path):
    for name in ("dexter_train.data", "dexter_train.labels"):
        (tmp_path / name).write_text("")
    lacking = "lacks dexter_valid.data, dexter_valid.labels"
    with pytest.raises(DatasetNotFoundError, match=lacking):
        load(DATASETS["dexter"], tmp_path, download_if_missing=False)


def test_import_needs_no_optional_package():
    names = ["PIL", "pandas", "matplotlib"]
    code = f"import sys; sys.modules.update(dict.fromkeys({names})); import skstretch.datasets"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("fetch", [fetch_prostate, fetch_tfidf, fetch_gisette])
def test_no_download_wanted(fetch, tmp_path):
    with pytest.raises(DatasetNotFoundError, match="download_if_missing=False"):
        fetch(data_home=tmp_path / "cache", download_if_missing=False)
    assert not (tmp_path / "cache").exists()


def test_diabetes_needs_no_file(tmp_path):
    bunch = fetch_diabetes(data_home=tmp_path, download_if_missing=False)
    assert bunch.data.shape == (442, 10)
    assert list(bunch.feature_names[:3]) == ["age", "sex", "bmi"]
    assert content_digest(bunch.data, bunch.target) == DATASETS["diabetes"].content


@pytest.fixture
def openml(monkeypatch):
    """A set of 6 x 4 that OpenML would give as sparse text with its own labels."""
    S = np.random.default_rng(0).integers(0, 3, (6, 4)) * 300
    answers = []

    def fetch_openml(**kwargs):
        answers.append(kwargs["data_id"])
        return sparse.csr_array(S), np.array(["1", "2", "1", "2", "2", "1"], dtype=object)

    def here(code, words, seconds, memory):
        number, path, kind = words
        download.keep_openml(int(number), path, kind == "dense")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    monkeypatch.setattr(download, "run_bounded", here)
    return S, answers


def small_gisette(monkeypatch, **changes):
    entry = DATASETS["gisette"]
    entry = replace(entry, samples=6, features=4, classes=(3, 3), forms=entry.forms[:1], **changes)
    monkeypatch.setitem(DATASETS, "gisette", entry)


def test_openml_is_kept_in_the_cache(openml, tmp_path, monkeypatch):
    S, answers = openml
    small_gisette(monkeypatch)
    for _ in range(2):
        bunch = fetch_gisette(data_home=tmp_path)
        np.testing.assert_array_equal(bunch.data, S)
        assert bunch.data.dtype == np.float64
        np.testing.assert_array_equal(bunch.target, [-1, 1, -1, 1, 1, -1])
    assert answers == [41026], "the second time, the cache answers"
    assert [file.name for file in tmp_path.iterdir()] == ["gisette_openml.npz"]


def test_truncated_store(openml, tmp_path, monkeypatch):
    small_gisette(monkeypatch)
    fetch_gisette(data_home=tmp_path)
    path = tmp_path / "gisette_openml.npz"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ChecksumError, match=r"gisette_openml\.npz cannot be read as Gisette"):
        fetch_gisette(data_home=tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"levels": (0, 100)}, "whole numbers from 0 to 100"), ({"content": "0" * 64}, "not those")],
)
def test_openml_of_other_values(openml, tmp_path, monkeypatch, changes, message):
    small_gisette(monkeypatch, **changes)
    with pytest.raises(DatasetNotFoundError, match=message):
        fetch_gisette(data_home=tmp_path)
    assert list(tmp_path.glob("*")) == []


def test_openml_sparse(openml, tmp_path):
    S, _ = openml
    dataset = replace(
        DATASETS["dexter"], samples=6, features=4, content=None, forms=DATASETS["dexter"].forms[1:2]
    )
    for _ in range(2):
        sample = load(dataset, tmp_path)
        assert sample.X.format == "csr"
        np.testing.assert_array_equal(sample.X.toarray(), S)


@pytest.mark.parametrize(
    ("loader", "kwargs"),
    [("fetch_corn", {"instrument": "m6"}), ("fetch_tfidf", {"subset": "all"})],
)
def test_unknown_part(loader, kwargs):
    with pytest.raises(ValueError, match="is unknown; choose from"):
        getattr(datasets, loader)(**kwargs)


def test_tables():
    rows = {row["name"]: row for row in list_datasets()}
    assert list(rows) == [
        "prostate", "diabetes", "corn", "tfidf", "gaze",
        "arcene", "dexter", "dorothea", "gisette", "madelon",
    ]  # fmt: skip
    sizes = {name: (row["features"], row["samples"]) for name, row in rows.items()}
    assert sizes["tfidf"] == (150_360, 3308)
    assert sizes["gaze"] == (1_200_000, 1960)
    assert sizes["dorothea"] == (100_000, 1150)
    assert [row["table"] for row in rows.values()] == [2] * 5 + [3] * 5
    for row in list(rows.values())[5:]:
        assert row["samples"] == row["train"] + row["valid"]
    assert rows["diabetes"]["where"] == "scikit-learn"
    assert rows["gisette"]["where"] == "download: OpenML data set 41026"


def test_registry_is_whole():
    for dataset in [*DATASETS.values(), *PARTS.values()]:
        assert dataset.source
        assert dataset.terms
        for file in (file for form in dataset.forms for file in form.files):
            assert file.sha256 is None or len(file.sha256) == 64
            assert (file.sha256 is None) == (file.size is None)
            # an address without a checksum must be explained
            if file.url is not None and file.sha256 is None:
                assert "not opened" in dataset.note


@pytest.mark.parametrize("name", DATASETS)
def test_one_signature(name):
    parameters = inspect.signature(getattr(datasets, f"fetch_{name}")).parameters
    shared = {"data_home": None, "download_if_missing": True, "return_X_y": False}
    assert {key: parameters[key].default for key in list(parameters)[:3]} == shared
    assert all(value.kind is value.KEYWORD_ONLY for value in parameters.values())


@pytest.mark.parametrize("name", DATASETS)
def test_loaders_read_as_if_written_by_hand(name):
    fetch, entry = getattr(datasets, f"fetch_{name}"), DATASETS[name]
    assert fetch.__name__ == fetch.__qualname__ == f"fetch_{name}"
    assert pickle.loads(pickle.dumps(fetch)) is fetch
    text = inspect.getdoc(fetch)
    assert text.startswith(f"{entry.title}: {entry.problem}, {entry.samples:,} x ")
    parameters = text.partition("\nReturns\n")[0]
    listed = re.findall(r"^(\w+) : ", parameters, flags=re.MULTILINE)
    assert listed == list(inspect.signature(fetch).parameters)
    assert max(map(len, text.splitlines())) <= 96
    assert "\n\n\n" not in text
    assert not re.search(r"\{\w+\}", text), "a field that was not filled"
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        fetch(other=1)


def test_examples_of_loaders_are_found_by_doctest():
    found = doctest.DocTestFinder().find(loaders, "loaders")
    assert any(test.name == "loaders.fetch_diabetes" and test.examples for test in found)
