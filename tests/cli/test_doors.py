"""What is odd in a file or around the program is said as such, never as an internal error."""

import codecs
import json
import os
import random
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import skstretch
from skstretch.io import archive
from tests.cli.program import environment, run
from tests.io.samples import members, packed

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.standard_normal((20, 3)), columns=list("abc"))
Y = FRAME["a"] - FRAME["b"] + 0.1 * RNG.standard_normal(20)
GRID = {"a_grid": (0, -0.2), "k_grid": (2,), "n_features_to_select": 1.0}
MODELS = {
    "one": skstretch.StretchyRegressor(),
    "search": skstretch.StretchyRegressorCV(**GRID),
    "classes": skstretch.StretchyClassifierCV(**GRID),
    "pipeline": make_pipeline(SimpleImputer(), skstretch.StretchyRegressor()),
}
GONE = object()
VALUES = (
    GONE, None, True, -1, 3, 1e300, "x", "", [], [1], {}, {"$float": "nan"}, {"$tuple": [1]},
    {"$array": ["float64", [1.0]]}, {"$int": "9" * 50}, {"$repr": "x"},
)  # fmt: skip


def places(node, path=()):
    """Places in nested lists and dicts, of long lists the first and the last."""
    if path:
        yield path
    children = []
    if isinstance(node, dict):
        children = list(node.items())
    elif isinstance(node, list):
        children = list(enumerate(node))[:: max(1, len(node) - 1)]
    for key, child in children:
        yield from places(child, (*path, key))


def changed(header, path, value):
    header = json.loads(json.dumps(header))
    node = header
    for key in path[:-1]:
        node = node[key]
    if value is GONE:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return header


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_forged_headers_are_no_internal_error(name, call, folder):
    """Sizes and parameters first, then places and values drawn with a seed."""
    y = Y > 0 if name == "classes" else Y
    facts = {"target": "y", "seconds": 1.0, "cv": "5"}
    skstretch.save(MODELS[name].fit(FRAME, y), "good.stretchy", about=facts)
    FRAME.to_csv("new.csv", index=False)
    parts = members(Path("good.stretchy").read_bytes())
    header = json.loads(parts["header.json"])
    found = [place for place in places(header) if place[0] != "arrays"]
    first = [(size,) for size in ("n_samples", "n_features")]
    jobs = [(place, value) for place in first for value in (GONE, None, "x", [1], 3.5)]
    first = [place for place in found if place[0] == "parameters" and len(place) == 2]
    jobs += [(place, value) for place in first for value in (None, "x", [])]
    drawn = [(place, value) for place in found for value in VALUES]
    jobs += random.Random(0).sample(drawn, 15)
    for place, value in jobs:
        forged = json.dumps(changed(header, place, value)).encode()
        Path("m.stretchy").write_bytes(packed({**parts, "header.json": forged}))
        try:
            skstretch.load("m.stretchy")
        except skstretch.io.ModelFileError:
            assert place[0] not in ("format",) or value != header["format"]
            continue
        for words in (["inspect"], ["predict", "new.csv"])[: 1 + (value is None)]:
            done = call(words[0], "m.stretchy", *words[1:])
            assert done.code != 1, (place, value, done.err)


def test_the_sizes_of_a_header_are_those_of_the_model(folder):
    skstretch.save(skstretch.StretchyRegressor().fit(FRAME, Y), "m.stretchy")
    parts = members(Path("m.stretchy").read_bytes())
    header = json.loads(parts["header.json"])
    for name in ("n_samples", "n_features", "n_targets"):
        forged = json.dumps({**header, name: 10**6}).encode()
        Path("m.stretchy").write_bytes(packed({**parts, "header.json": forged}))
        with pytest.raises(skstretch.io.ModelFileError, match=f"its header says {name}=1000000"):
            skstretch.load("m.stretchy")


def table(folder, encoding="utf-8"):
    text = "a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 5}.5\n" for i in range(20))
    (folder / "d.csv").write_bytes(text.encode(encoding))
    return text


ODD = ["utf-16", "utf-32", "idna", "punycode", "undefined", "rot13", "base64", "unicode_escape",
       "a\u0000b", "zlib", "utf-7", "raw_unicode_escape", "mbcs", "hz", "cp037"]  # fmt: skip


@pytest.mark.parametrize("encoding", ODD)
def test_odd_encodings(encoding, call, folder):
    """UTF-16 without the mark that says which, and codecs that are no encodings of text."""
    table(folder, "utf-16-le")
    for text in ("utf-16-le", "utf-8"):
        table(folder, text)
        done = call("fit", "d.csv", "--target", "y", "--encoding", encoding, "-o", "m.stretchy")
        assert done.code in (0, 2), done.err
        assert done.code == 0 or "should not" not in done.err
    assert codecs.lookup("utf-8")


def test_imputers_of_other_marks(call, folder):
    """What is missing may be a word, or None: nothing is filled in numbers."""
    words = FRAME.astype(object)
    for mark in ("?", None, 7, np.nan):
        step = SimpleImputer(missing_values=mark, strategy="most_frequent")
        model = make_pipeline(step, skstretch.StretchyRegressor())
        model.fit(words if isinstance(mark, str) or mark is None else FRAME, Y)
        skstretch.save(model, "m.stretchy")
        FRAME.to_csv("new.csv", index=False)
        done = call("predict", "m.stretchy", "new.csv")
        assert done.code in (0, 2), done.err


def test_a_damaged_name_of_a_column(call, folder):
    pytest.importorskip("pyarrow")
    FRAME.assign(wavelength=Y).to_parquet("d.parquet")
    data = Path("d.parquet").read_bytes().replace(b"wavelength", b"wave\xff\xfe\xfdgth")
    Path("d.parquet").write_bytes(data)
    done = call("fit", "d.parquet", "--target", "a", "-o", "m.stretchy")
    assert done.code in (0, 2), done.err


@pytest.mark.parametrize("form", [np.array(["csr", "csc"]), np.array(7), np.array(b"\xff")])
def test_a_sparse_matrix_of_an_odd_form(form, call, folder):
    X = sparse.csr_array(FRAME.to_numpy())
    held = {"indptr": X.indptr, "indices": X.indices, "data": X.data, "shape": np.array(X.shape)}
    np.savez("d.npz", **held, format=form, y=Y)
    done = call("fit", "d.npz", "--target", "y", "-o", "m.stretchy")
    assert done.code == 2
    assert "no sparse matrix in CSR or CSC form" in done.err


def test_a_sparse_matrix_of_complex_numbers(call, folder):
    """The imaginary part is not lost in silence."""
    sparse.save_npz("d.npz", sparse.csr_array(FRAME.to_numpy() + 1j))
    np.save("y.npy", Y)
    done = call("fit", "d.npz", "--target", "y.npy", "-o", "m.stretchy")
    assert done.code == 2
    assert "holds complex128, not numbers" in done.err


def test_values_too_small_to_square(call, folder):
    FRAME.assign(y=1e-320 * np.arange(1, 21)).to_csv("d.csv", index=False)
    done = call("fit", "d.csv", "--target", "y", "--a", "0", "--k", "2", "-o", "m.stretchy")
    assert done.code == 2
    assert "too small to compute with: give it in another unit" in done.err


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (-np.ones(20), "--weights has a negative entry (-1)"),
        (np.zeros(20), "--weights is zero for every sample"),
        (np.full(20, np.inf), "--weights contains infinity"),
    ],
)
def test_weights_that_are_none(weights, said, call, folder):
    """The estimators say what is wrong with them."""
    FRAME.assign(y=Y, w=weights).to_csv("d.csv", index=False)
    done = call("fit", "d.csv", "--target", "y", "--weights", "w", "-o", "m.stretchy")
    assert done.code == 2
    assert said in done.err


def test_no_home(call, folder, monkeypatch):
    """A user without a home and without an entry among the users, as in containers."""
    pwd = pytest.importorskip("pwd")
    skstretch.save(skstretch.StretchyRegressor().fit(FRAME, Y), "m.stretchy")

    def nobody(number):
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setenv("HOME", "")  # to be put back after the program has set it
    for name in ("HOME", "XDG_CACHE_HOME", "SKSTRETCH_DATA"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RuntimeError):
        Path.home()
    assert call("report", "m.stretchy").code == 0
    assert call("datasets").code == 0


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")


@FULL
@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["version"]])
def test_a_full_output_is_said(words, folder):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "skstretch.cli", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
        )
    assert done.returncode == 1
    assert done.stderr.decode() == "error: standard output: No space left on device.\n"


@FULL
def test_a_full_disk_is_said_with_the_name_of_the_file(folder):
    model = skstretch.StretchyRegressor().fit(FRAME, Y)
    with pytest.raises(OSError, match="No space left") as caught:
        skstretch.save(model, "/dev/full")
    assert caught.value.filename == "/dev/full"


def test_a_reader_of_the_summary_that_stops(folder):
    """The model is whole, and so the fit has not failed."""
    FRAME.assign(y=Y).to_csv("d.csv", index=False)
    words = ["fit", "d.csv", "-t", "y", "--a", "0", "--k", "2", "-o", "m.stretchy"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "skstretch.cli", *words],
        stdout=write,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    os.close(write)
    assert (done.returncode, done.stderr.decode()) == (0, "wrote m.stretchy\n")
    assert skstretch.load("m.stretchy").n_features_in_ == 3


def test_a_quoted_newline_hides_no_underscore(call, folder):
    rows = [f'1_000,"a\nb",{i},{i % 3}.5' for i in range(9)]
    (folder / "d.csv").write_text("\n".join(["a,note,b,y", *rows]) + "\n")
    done = call("fit", "d.csv", "-t", "y", "--drop", "note", "-o", "m.stretchy")
    assert done.code == 2
    assert "column 'a' holds text ('1_000'" in done.err


def test_a_model_from_a_pipe(folder):
    skstretch.save(skstretch.StretchyRegressor().fit(FRAME, Y), "m.stretchy")
    data = Path("m.stretchy").read_bytes()
    done = run("inspect", "/dev/stdin", cwd=folder, stdin=data)
    assert done.code == 2
    assert "it is a pipe or a device: write the model to a file first" in done.err


UNIX = pytest.mark.skipif(sys.platform == "win32", reason="permissions of Unix")


@UNIX
def test_a_file_that_takes_the_place_of_a_private_one_is_private_at_once(folder, monkeypatch):
    Path("m.stretchy").write_bytes(b"old")
    Path("m.stretchy").chmod(0o640)
    with archive.replacing("m.stretchy") as file:
        (temporary,) = folder.glob(".*.tmp")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o640
        file.write(b"new")
    assert stat.S_IMODE(Path("m.stretchy").stat().st_mode) == 0o640
    old = os.umask(0o027)
    try:
        with archive.replacing("other") as file:
            file.write(b"new")
    finally:
        os.umask(old)
    assert stat.S_IMODE(Path("other").stat().st_mode) == 0o640


@UNIX
def test_a_planted_link_in_a_shared_folder_is_not_followed(folder, monkeypatch):
    shared, mine = folder / "shared", folder / "mine"
    shared.mkdir()
    mine.write_text("mine")
    (shared / "m.stretchy").symlink_to(mine)
    with archive.replacing(shared / "m.stretchy") as file:  # in a folder of one's own it is
        file.write(b"new")
    assert mine.read_bytes() == b"new"
    shared.chmod(0o1777)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    about, other = os.stat, SimpleNamespace
    owner = lambda path: other(st_mode=about(path).st_mode, st_uid=user + 1)  # noqa: E731
    monkeypatch.setattr(archive.os, "stat", owner)
    with pytest.raises(PermissionError, match="link of another user"):
        archive._check_link(shared / "m.stretchy")
    assert mine.read_bytes() == b"new"


def test_the_namespace_has_public_names_alone():
    code = "import skstretch; print([n for n in vars(skstretch) if n[0] != '_'], dir(skstretch))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not any(name in done.stdout for name in ("'Any'", "TYPE_CHECKING", "import_module"))


def test_a_report_takes_the_data_by_their_places(folder):
    from skstretch.report import write_report

    model = skstretch.StretchyRegressorCV(**GRID).fit(FRAME, Y)
    assert write_report(model, "r.html", FRAME, Y).exists()
