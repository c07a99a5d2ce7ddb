"""Columbia Gaze: names, photographs, the memory map."""

import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from skstretch.datasets import fetch_gaze
from skstretch.datasets import loaders as gaze
from skstretch.datasets.registry import DATASETS
from skstretch.exceptions import ChecksumError

# subject, pose, vertical, horizontal
SHOTS = [(1, 0, 0, -15), (1, -15, 0, 10), (2, 30, 10, 5), (12, 0, 0, 0)]


def name_of(subject, pose, vertical, horizontal):
    return f"{subject:04d}_2m_{pose}P_{vertical}V_{horizontal}H.jpg"


@pytest.fixture
def photographs(tmp_path):
    """Photographs of 40 x 30 pixels, each of one grey level but for a white frame."""
    root = tmp_path / "Columbia Gaze Data Set"
    for number, shot in enumerate(SHOTS):
        folder = root / f"{shot[0]:04d}"
        folder.mkdir(parents=True, exist_ok=True)
        pixels = np.full((30, 40, 3), 255, dtype=np.uint8)
        pixels[5:25, 8:32] = 40 + 50 * number
        Image.fromarray(pixels).save(folder / name_of(*shot), quality=95)
    (root / "Thumbs.db").write_bytes(b"")
    return root


def packed(folder):
    path = folder.parent / "columbia_gaze_data_set.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder.parent))
            if file.suffix == ".jpg":
                archive.writestr(f"__MACOSX/._{file.name}", b"\0")
    return path


@pytest.mark.parametrize("shot", SHOTS)
def test_names_of_photographs_that_look_straight_on(shot):
    found = gaze.NAME.fullmatch(name_of(*shot))
    assert (found and int(found[1])) == (shot[3] if shot[2] == 0 else None)


@pytest.mark.parametrize("name", ["face.jpg", "0001_2m_0P_0V.jpg", "._0001_2m_0P_0V_0H.jpg"])
def test_strange_names(name):
    assert gaze.NAME.fullmatch(name) is None


@pytest.mark.parametrize("archive", [False, True])
def test_map(photographs, tmp_path, archive):
    source = packed(photographs) if archive else photographs
    path = tmp_path / "out" / "map.npy"
    X, y = gaze.write_gaze_map(source, path, width=12, height=10)
    assert isinstance(X, np.memmap)
    assert not X.flags.writeable
    assert X.shape == (3, 120)
    assert X.dtype == np.float32
    # in the order of the names: pose -15 sorts before pose 0
    np.testing.assert_allclose(y, np.radians([10, -15, 0]))
    levels = np.array([90, 40, 190]) / 255
    np.testing.assert_allclose(X, np.repeat(levels[:, None], 120, axis=1), atol=3 / 255)
    np.testing.assert_array_equal(np.load(gaze.angles_path(path)), y)
    assert sorted(file.name for file in path.parent.iterdir()) == ["map.npy", "map_y.npy"]


def test_rows_are_image_rows(tmp_path):
    pixels = np.tile(np.arange(0, 240, 20, dtype=np.uint8), (10, 1))
    Image.fromarray(pixels).save(tmp_path / name_of(1, 0, 0, 5), quality=100)
    X, _ = gaze.write_gaze_map(tmp_path, tmp_path / "m.npy", width=12, height=10)
    np.testing.assert_allclose(255 * X.reshape(10, 12), pixels, atol=6)


def test_broken_photograph_leaves_no_map(photographs, tmp_path):
    path = photographs / "0012" / name_of(*SHOTS[-1])
    path.write_bytes(path.read_bytes()[:200])
    out = tmp_path / "out"
    with pytest.raises(ChecksumError, match=f"{path.name} cannot be read as a photograph"):
        gaze.write_gaze_map(photographs, out / "m.npy", width=12, height=10)
    assert [file.name for file in out.iterdir()] == ["m_y.npy"]


def test_truncated_archive(photographs, tmp_path):
    path = packed(photographs)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ChecksumError, match="no whole zip archive"):
        gaze.write_gaze_map(path, tmp_path / "m.npy", width=12, height=10)


def test_small_photograph(photographs, tmp_path):
    with pytest.raises(ChecksumError, match="40 x 30 pixels, less than the crop of 50 x 10"):
        gaze.write_gaze_map(photographs, tmp_path / "m.npy", width=50, height=10)


def test_no_photographs(tmp_path):
    with pytest.raises(FileNotFoundError, match="no photographs"):
        gaze.write_gaze_map(tmp_path, tmp_path / "m.npy")


@pytest.fixture
def small(monkeypatch):
    """The loader at the size of the test's photographs."""
    write = gaze.write_gaze_map
    monkeypatch.setattr(
        gaze,
        "write_gaze_map",
        lambda *args, **kwargs: write(*args, width=12, height=10, **kwargs),
    )
    entry = replace(DATASETS["gaze"], samples=3, features=120)
    monkeypatch.setitem(DATASETS, "gaze", entry)


def test_loader_writes_once(photographs, tmp_path, small, monkeypatch):
    monkeypatch.setenv("SKSTRETCH_DATA", str(photographs.parent))
    cache = tmp_path / "cache"
    bunch = fetch_gaze(data_home=cache, download_if_missing=False)
    assert bunch.data.shape == (3, 120)
    assert 0 <= bunch.data.min() <= bunch.data.max() <= 1
    assert not bunch.standin
    written = (cache / "gaze_1200x1000.npy").stat().st_mtime_ns
    monkeypatch.delenv("SKSTRETCH_DATA")
    X, y = fetch_gaze(data_home=cache, download_if_missing=False, return_X_y=True)
    assert (cache / "gaze_1200x1000.npy").stat().st_mtime_ns == written
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


def test_loader_counts_the_photographs(photographs, tmp_path, small, monkeypatch):
    next(photographs.rglob("0012*.jpg")).unlink()
    monkeypatch.setenv("SKSTRETCH_DATA", str(photographs.parent))
    with pytest.raises(ChecksumError, match=r"holds 2 photographs .* expected 3"):
        fetch_gaze(data_home=tmp_path / "cache", download_if_missing=False)
    assert not (tmp_path / "cache").exists()
