"""The seven sets that are at hand: shapes, classes and values as their sources state them."""

import shutil

import numpy as np
import pytest

from skstretch import datasets
from skstretch.datasets.find import content_digest
from skstretch.datasets.registry import DATASETS

SHAPES = {
    "prostate": (97, 8),
    "diabetes": (442, 10),
    "corn": (80, 700),
    "arcene": (200, 10_000),
    "dexter": (600, 20_000),
    "dorothea": (1150, 100_000),
    "madelon": (2600, 500),
}
# sizes of the classes -1 and +1 in the training and the validation part
CLASSES = {
    "arcene": ((56, 44), (56, 44)),
    "dexter": ((150, 150), (150, 150)),
    "dorothea": ((722, 78), (316, 34)),
    "madelon": ((1000, 1000), (300, 300)),
}


@pytest.fixture
def fetch(data_dir, tmp_path, monkeypatch):
    """Loads a set by name from SKSTRETCH_DATA alone."""
    monkeypatch.setenv("SKSTRETCH_DATA", str(data_dir))

    def by_name(name, **kwargs):
        load = getattr(datasets, f"fetch_{name}")
        return load(data_home=tmp_path / "empty", download_if_missing=False, **kwargs)

    return by_name


@pytest.mark.parametrize("name", SHAPES)
def test_shape_and_content(fetch, name):
    bunch = fetch(name)
    entry = DATASETS[name]
    assert bunch.data.shape == SHAPES[name] == (entry.samples, entry.features)
    assert bunch.data.dtype == np.float64
    assert bunch.target.shape == SHAPES[name][:1]
    assert content_digest(bunch.data, bunch.target) == entry.content
    assert not bunch.standin
    assert "Source: " in bunch.DESCR
    assert "Terms: " in bunch.DESCR
    X, y = fetch(name, return_X_y=True)
    assert X.shape == bunch.data.shape
    np.testing.assert_array_equal(y, bunch.target)


@pytest.mark.parametrize("name", CLASSES)
def test_classes(fetch, name):
    bunch = fetch(name)
    for part, (negative, positive) in enumerate(CLASSES[name]):
        y = bunch.target[bunch.split == part]
        assert (np.sum(y == -1), np.sum(y == 1)) == (negative, positive)
    assert list(bunch.split) == sorted(bunch.split)


def test_published_sums(fetch):
    for name, sums in {
        "arcene": (70_726_744, 71_410_108),
        "madelon": (488_083_511, 146_395_833),
    }.items():
        bunch = fetch(name)
        assert (bunch.data.min(), bunch.data.max()) == (0, 999)
        assert tuple(bunch.data[bunch.split == part].sum() for part in (0, 1)) == sums


@pytest.mark.parametrize(
    ("name", "nnz", "largest"), [("dexter", (28218, 27949), 943), ("dorothea", (727760, 317752), 1)]
)
def test_sparse(fetch, name, nnz, largest):
    bunch = fetch(name)
    assert bunch.data.format == "csr"
    assert tuple(bunch.data[bunch.split == part].nnz for part in (0, 1)) == nnz
    assert bunch.data.data.min() == 1
    assert bunch.data.data.max() == largest


def test_regression_values(fetch):
    prostate = fetch("prostate")
    assert prostate.data[31, 1] == pytest.approx(3.804, abs=1e-3)
    assert list(prostate.feature_names[:2]) == ["lcavol", "lweight"]
    assert prostate.train.sum() == 67
    diabetes = fetch("diabetes")
    assert diabetes.target.mean() == pytest.approx(152.13, abs=0.01)
    assert (diabetes.target.min(), diabetes.target.max()) == (25, 346)
    corn = fetch("corn")
    np.testing.assert_array_equal(corn.wavelength_nm, np.arange(1100, 2500, 2))
    assert list(corn.target_names) == ["moisture", "oil", "protein", "starch"]
    np.testing.assert_array_equal(corn.targets[:, 0], corn.target)


def test_other_spectrometers(fetch):
    spectra = [fetch("corn", instrument=name) for name in ("m5", "mp5", "mp6")]
    for bunch in spectra[1:]:
        np.testing.assert_array_equal(bunch.target, spectra[0].target)
        assert np.abs(bunch.data - spectra[0].data).max() > 0.01


def test_listed_where_they_are(data_dir, monkeypatch, tmp_path):
    monkeypatch.setenv("SKSTRETCH_DATA", str(data_dir))
    rows = {row["name"]: row["where"] for row in datasets.list_datasets(data_home=tmp_path)}
    for name in SHAPES:
        assert rows[name].startswith(str(data_dir))


@pytest.mark.parametrize("change", ["truncated", "tampered"])
@pytest.mark.parametrize("name", ["prostate.npz", "dexter_y.npy"])
def test_damaged_copy(data_dir, tmp_path, monkeypatch, name, change):
    for file in data_dir.glob(f"{name.partition('_')[0].partition('.')[0]}*.np*"):
        shutil.copyfile(file, tmp_path / file.name)
    data = bytearray((tmp_path / name).read_bytes())
    data[-1] ^= 1
    (tmp_path / name).write_bytes(data[:-9] if change == "truncated" else data)
    monkeypatch.setenv("SKSTRETCH_DATA", str(tmp_path))
    load = datasets.fetch_prostate if name.startswith("prostate") else datasets.fetch_dexter
    expected = "is truncated" if change == "truncated" else "was changed"
    with pytest.raises(datasets.ChecksumError, match=f"{name} {expected}"):
        load(data_home=tmp_path / "empty", download_if_missing=False)


def as_text(name, X, y, split, folder):
    """Write a set as the challenge's four text files."""
    for part, word in enumerate(("train", "valid")):
        rows = X[split == part]
        if name == "dexter":
            lines = [
                " ".join(f"{j + 1}:{v:.0f}" for j, v in zip(row.indices, row.data, strict=True))
                for row in rows
            ]
        elif name == "dorothea":
            lines = [" ".join(map(str, row.indices + 1)) for row in rows]
        else:
            lines = [" ".join(map(str, row)) for row in rows.astype(int)]
        (folder / f"{name}_{word}.data").write_text(" \n".join(lines) + " \n")
        labels = y[split == part]
        (folder / f"{name}_{word}.labels").write_text("".join(f"{label}\n" for label in labels))


@pytest.mark.parametrize("name", CLASSES)
def test_original_text_gives_the_same_set(fetch, tmp_path, monkeypatch, name):
    bunch = fetch(name)
    as_text(name, bunch.data, bunch.target, bunch.split, tmp_path)
    monkeypatch.setenv("SKSTRETCH_DATA", str(tmp_path))
    again = fetch(name)
    assert content_digest(again.data, again.target) == DATASETS[name].content
    np.testing.assert_array_equal(again.split, bunch.split)
    labels = tmp_path / f"{name}_valid.labels"
    flipped = labels.read_text().splitlines()
    flipped[0] = str(-int(flipped[0]))
    labels.write_text("\n".join(flipped))
    with pytest.raises(datasets.ChecksumError, match="are not those of"):
        fetch(name)
