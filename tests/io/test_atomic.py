"""A file appears complete or not at all."""

import os
import stat
import sys
import threading

import pytest

import skstretch
from skstretch.io import archive as npy
from skstretch.io import files as atomic
from tests.io.samples import NEW, REGRESSORS, fitted

MODEL, _ = fitted(REGRESSORS["tall"])
UNIX = pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions and links of Unix")


def interrupted(*args, **options):
    raise KeyboardInterrupt


def full(*args, **options):
    raise OSError("no space left on device")


FAILURES = {
    "while writing": (npy.npy_format, "write_array", full, OSError),
    "interrupted": (npy.npy_format, "write_array", interrupted, KeyboardInterrupt),
    "while syncing": (atomic.os, "fsync", full, OSError),
    "while renaming": (atomic.os, "replace", full, OSError),
}


@pytest.mark.parametrize("older", [b"older", None])
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_failure_leaves_nothing(failure, older, tmp_path, monkeypatch):
    module, name, raising, error = failure
    path = tmp_path / "model.stretchy"
    if older is not None:
        path.write_bytes(older)
    monkeypatch.setattr(module, name, raising)
    with pytest.raises(error):
        skstretch.save(MODEL, path)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == (["model.stretchy"] if older else [])
    assert older is None or path.read_bytes() == older


def test_readers_never_see_half_a_file(tmp_path):
    path, faults, done = tmp_path / "model.stretchy", [], threading.Event()
    skstretch.save(MODEL, path)

    def read():
        while not done.is_set():
            try:
                skstretch.load(path)
            except ValueError as error:
                faults.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        skstretch.save(MODEL, path)
    done.set()
    reader.join()
    assert not faults
    assert [p.name for p in tmp_path.iterdir()] == ["model.stretchy"]


@UNIX
def test_permissions(tmp_path):
    path = tmp_path / "model.stretchy"
    before = os.umask(0o027)
    try:
        skstretch.save(MODEL, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    skstretch.save(MODEL, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@UNIX
def test_links_keep_pointing(tmp_path):
    (tmp_path / "there").mkdir()
    link, path = tmp_path / "link.stretchy", tmp_path / "there" / "model.stretchy"
    link.symlink_to(path)
    skstretch.save(MODEL, link)
    assert link.is_symlink()
    assert (skstretch.load(path).predict(NEW) == MODEL.predict(NEW)).all()


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        skstretch.save(MODEL, tmp_path / "missing" / "model.stretchy")


def test_equal_models_give_equal_files(tmp_path):
    first, second = tmp_path / "first.stretchy", tmp_path / "second.stretchy"
    skstretch.save(MODEL, first)
    skstretch.save(fitted(REGRESSORS["tall"])[0], str(second))
    assert first.read_bytes() == second.read_bytes()
