"""Least squares against the certified values of NIST's reference sets."""

import numpy as np
import pytest

from benchmarks.nist import SETS, by_core, by_estimator, by_lstsq, correct_digits, digits_table
from benchmarks.nist import read_set as read_file


def read_set(data_dir, name):
    return read_file(data_dir / "nist_strd" / f"{name}.dat")


SHAPES = {
    "Norris": (36, 1, True),
    "Pontius": (40, 2, True),
    "NoInt1": (11, 1, False),
    "NoInt2": (3, 1, False),
    "Filip": (82, 10, True),
    "Longley": (16, 6, True),
} | {f"Wampler{i}": (21, 5, True) for i in range(1, 6)}


def test_all_sets_are_there(data_dir):
    names = sorted(path.stem for path in (data_dir / "nist_strd").glob("*.dat"))
    assert names == sorted(SETS) == sorted(SHAPES)


@pytest.mark.parametrize("name", SETS)
def test_reader(data_dir, name):
    """The certified coefficients leave the certified residuals."""
    ref = read_set(data_dir, name)
    M, D, intercept = SHAPES[name]
    assert ref.P.shape == (M, D)
    assert ref.intercept is intercept
    assert ref.certified.shape == (D + intercept,)
    text = (data_dir / "nist_strd" / f"{name}.dat").read_text()
    deviation = float(text.split("Standard Deviation", 2)[2].split()[0])
    residuals = ref.y - ref.matrix @ ref.certified
    found = np.sqrt(residuals @ residuals / (M - D - intercept))
    assert found == pytest.approx(deviation, rel=1e-6, abs=1e-5 * np.abs(ref.y).max())


@pytest.mark.parametrize("name", SETS)
def test_estimator_has_the_digits_of_lstsq(data_dir, name):
    ref = read_set(data_dir, name)
    ours, _ = by_estimator(ref)
    theirs = correct_digits(by_lstsq(ref), ref.certified)
    assert correct_digits(ours, ref.certified) >= theirs - 1


@pytest.mark.parametrize("name", SETS)
def test_core_has_the_digits_of_lstsq(data_dir, name):
    ref = read_set(data_dir, name)
    theirs = correct_digits(by_lstsq(ref), ref.certified)
    assert correct_digits(by_core(ref), ref.certified) >= theirs - 1


def test_table(data_dir):
    rows = digits_table(data_dir / "nist_strd")
    assert [row.name for row in rows] == list(SETS)
    assert {row.way.split(",")[0] for row in rows} == {"identity", "a = 0"}
    # Filip is the one set with negative data
    assert [row.name for row in rows if row.way.startswith("a = 0")] == ["Filip"]


def test_digits():
    truth = np.array([2.0, -400.0, 0.0])
    assert correct_digits(truth, truth) == 15.0
    assert correct_digits([2.0, -400.04, 0.0], truth) == pytest.approx(4.0)
    assert correct_digits([2.0, -400.0, 1e-3], truth) == pytest.approx(3.0)
    assert correct_digits([2.0, 400.0, 0.0], truth) == pytest.approx(-np.log10(2.0))
