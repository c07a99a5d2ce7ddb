"""Data files for the tests of the commands."""

import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

NAMES = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"]


def diabetes(n_rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """The first rows of the diabetes data, in the units of their measurement."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return np.ascontiguousarray(X[:n_rows]), y[:n_rows]


def tumours(n_rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """The first rows of the breast cancer data, with words for classes."""
    X, y = load_breast_cancer(return_X_y=True)
    return np.ascontiguousarray(X[:n_rows, :12]), np.array(["bad", "good"])[y[:n_rows]]


def write_csv(
    path: Path,
    X: np.ndarray,
    columns: dict[str, object] | None = None,
    *,
    names: list[str] | None = None,
    separator: str = ",",
    encoding: str = "utf-8",
) -> Path:
    """A CSV of X, with further columns behind it."""
    names = names or [f"x{j}" for j in range(X.shape[1])]
    further = columns or {}
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow([*names, *further])
        for i, row in enumerate(X):
            writer.writerow([*map(repr, row.tolist()), *(values[i] for values in further.values())])
    return path


def read_csv(text: str) -> dict[str, list[str]]:
    """The columns of a CSV by name."""
    header, *rows = csv.reader(text.splitlines())
    return {name: [row[j] for row in rows] for j, name in enumerate(header)}


def floats(column: list[str]) -> np.ndarray:
    return np.array([float(value) for value in column])
