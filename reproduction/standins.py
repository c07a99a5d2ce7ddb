"""Generated stand-ins for the three sets that are hard to get.

They have the shape, the sparsity and roughly the difficulty of the real sets, so that pipelines
and timings run everywhere. They are not the real sets, and every `Bunch` says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import optimize, sparse, special
from sklearn.utils import Bunch

from reproduction.files import replacing

LABEL = "GENERATED STAND-IN"
TFIDF_DENSITY = 1241 / 150_360
ANGLES = np.radians([-15.0, -10.0, -5.0, 0.0, 5.0, 10.0, 15.0])
IMAGES_A_SUBJECT = 35  # seven angles at each of five head poses


def make_tfidf_standin(
    n_samples: int = 3308,
    n_features: int = 150_360,
    *,
    density: float = TFIDF_DENSITY,
    explained: float = 0.5,
    random_state: int = 0,
) -> Bunch:
    """Sparse text regression of the shape of E2006-TFIDF; not the real set.

    Words follow Zipf's law. Each text has a hidden tone z that makes half of the words more and
    the other half less frequent, and the target is −3.6 + 0.6 (√e z + √(1−e) noise) with
    e = `explained`. Rows are tf-idf of unit length.

    Parameters
    ----------
    n_samples, n_features : int
        The shape; the default is that of the test part.
    density : float, default=1241/150360
        Expected share of non-zero values.
    explained : float, default=0.5
        Share of the target's variance that the words can explain.
    random_state : int, default=0

    Returns
    -------
    Bunch
        `data` (CSR), `target`, `tone`, `standin` (True), `DESCR`.
    """
    rng = np.random.default_rng(random_state)
    rates = rng.permutation(_zipf_rates(n_features, density * n_features))
    tone = rng.standard_normal(n_samples)
    X = _tf_idf(_word_counts(rates, tone, rng))
    noise = rng.standard_normal(n_samples)
    target = -3.6 + 0.6 * (np.sqrt(explained) * tone + np.sqrt(1 - explained) * noise)
    text = f"sparse text regression like E2006-TFIDF, {n_samples} x {n_features}"
    return _bunch(X, target, text, random_state, tone=tone)


def _zipf_rates(n_features: int, words: float) -> NDArray[np.float64]:
    """Mean counts ∝ 1/rank that make `words` different words expected in a text."""
    ranks = np.arange(1, n_features + 1, dtype=np.float64)

    def excess(log_scale: float) -> float:
        return float(-np.sum(np.expm1(-np.exp(log_scale) / ranks)) - words)

    return np.exp(optimize.brentq(excess, -20.0, 25.0)) / ranks


def _word_counts(
    rates: NDArray[np.float64], tone: NDArray[np.float64], rng: np.random.Generator
) -> sparse.csr_array:
    """Poisson counts with mean rate · (1 ± tanh(tone)/2), the sign by word."""
    n_samples, n_features = len(tone), len(rates)
    signs = rng.choice([-0.5, 0.5], n_features)
    # Draw at 3/2 of the rate, then keep each word with probability (1 ± tanh/2) / (3/2).
    ends = np.cumsum(1.5 * rates)
    lengths = rng.poisson(ends[-1], n_samples)
    rows = np.repeat(np.arange(n_samples), lengths)
    columns = np.searchsorted(ends, rng.uniform(0, ends[-1], lengths.sum()), side="right")
    kept = rng.uniform(size=len(rows)) * 1.5 < 1 + signs[columns] * np.tanh(tone)[rows]
    rows, columns = rows[kept], columns[kept]
    counts = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n_samples, n_features))
    counts.sum_duplicates()
    return counts


def _tf_idf(counts: sparse.csr_array) -> sparse.csr_array:
    X = counts.copy()
    n_samples, n_features = X.shape
    documents = np.bincount(X.indices, minlength=n_features)
    # One text more than there are keeps the weight of a word that is in every text above zero.
    X.data = (1 + np.log(X.data)) * np.log((1 + n_samples) / np.maximum(documents, 1))[X.indices]
    norms = np.sqrt(X.power(2).sum(axis=1))
    X.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(X.indptr))
    return X


def make_gisette_standin(
    n_samples: int = 7000,
    n_features: int = 5000,
    *,
    density: float = 0.13,
    separation: float = 2.2,
    random_state: int = 0,
) -> Bunch:
    """Dense two-class problem of the shape of Gisette; not the real set.

    Each sample has ten hidden factors, the first of which is `separation`·y + noise with y = ±1,
    so no rule errs less than Φ(−separation) (1.4 % at 2.2). Half of the columns see a mix of the
    factors, the other half (the probes) see none. A column is zero below its threshold and
    grows to 999 above it.

    Parameters
    ----------
    n_samples, n_features : int
    density : float, default=0.13
        Expected share of non-zero values.
    separation : float, default=2.2
        Half of the distance of the classes along the first factor, in standard deviations.
    random_state : int, default=0

    Returns
    -------
    Bunch
        `data` (float64, whole numbers 0..999), `target` (−1 or +1, balanced), `probe` (True for
        columns without information), `standin` (True), `DESCR`.
    """
    rng = np.random.default_rng(random_state)
    y = rng.permutation(np.where(np.arange(n_samples) % 2, 1, -1))
    factors = rng.standard_normal((n_samples, 10))
    factors[:, 0] = (factors[:, 0] + separation * y) / np.hypot(1, separation)
    probe = rng.permutation(np.arange(n_features) % 2 == 0)
    loads = np.where(probe, 0, rng.standard_normal((10, n_features)) / np.sqrt(10))
    threshold = special.ndtri(1 - density) * np.sqrt(np.sum(loads**2, axis=0) + 1)
    X = np.empty((n_samples, n_features))
    for start in range(0, n_samples, 500):
        rows = slice(start, start + 500)
        block = factors[rows] @ loads
        block += rng.standard_normal(block.shape)
        np.clip(np.ceil(400 * (block - threshold)), 0, 999, out=X[rows])
    text = f"two classes like Gisette, {n_samples} x {n_features}"
    return _bunch(X, y.astype(np.int64), text, random_state, probe=probe)


def make_gaze_standin(
    path: str | os.PathLike[str],
    n_samples: int = 1960,
    n_features: int = 1_200_000,
    *,
    dtype: DTypeLike = np.uint8,
    random_state: int = 0,
) -> Bunch:
    """Smooth images of the shape of the Columbia Gaze set; not the real set.

    Each subject has a light face on an uneven ground with two dark pupils. The pupils move
    sideways with the angle of gaze, the whole face with the pose of the head. The order is
    subject, pose, angle: seven angles from −15° to 15° at each of five poses.

    Parameters
    ----------
    path : path
        The ``.npy`` file to write; it appears only when it is whole.
    n_samples, n_features : int
        `n_features` is height × width; the nearest to 5 : 6 that divides it is taken.
    dtype : dtype, default=uint8
        ``uint8`` holds grey levels 0..255 (2.4 GB at the full size), floats hold [0, 1].
    random_state : int, default=0

    Returns
    -------
    Bunch
        `data` (read-only memory map), `target` (radians), `image_shape`, `scale` (what `data`
        is to be multiplied with to lie in [0, 1]), `standin` (True), `DESCR`.
    """
    shape = _image_shape(n_features)
    rows = _images(n_samples, shape, random_state)
    X = _write_rows(rows, Path(path), (n_samples, n_features), dtype)
    target = ANGLES[np.arange(n_samples) % len(ANGLES)]
    text = f"photographs like Columbia Gaze, {n_samples} x {n_features}"
    scale = 1.0 if X.dtype.kind == "f" else 1 / 255
    return _bunch(X, target, text, random_state, image_shape=shape, scale=scale)


def _image_shape(n_features: int) -> tuple[int, int]:
    """Height and width: the divisors of `n_features` nearest to 5 : 6 from below."""
    height = int(np.sqrt(n_features * 5 / 6))
    while n_features % height:
        height -= 1
    return height, n_features // height


def _images(n_samples: int, shape: tuple[int, int], seed: int) -> Iterator[NDArray[np.uint8]]:
    down, across = (np.linspace(0, 1, size, dtype=np.float32) for size in shape)
    for number in range(n_samples):
        subject, image = divmod(number, IMAGES_A_SUBJECT)
        if image == 0:
            rng = np.random.default_rng([seed, subject])
            ground = _uneven_ground(down, across, rng)
            middle, gap = rng.normal(0.5, 0.01), rng.normal(0.15, 0.01)
        pose, angle = image // len(ANGLES) - 2, ANGLES[image % len(ANGLES)]
        face = middle + 0.02 * pose
        picture = ground + 0.4 * _bump(down, 0.5, 0.3)[:, None] * _bump(across, face, 0.25)
        for side in (-gap, gap):
            pupil = _bump(across, face + side + 0.15 * np.sin(angle), 0.03)
            picture -= 0.35 * _bump(down, 0.42, 0.03)[:, None] * pupil
        light = 1 + 0.05 * rng.standard_normal()
        yield np.clip(np.rint(255 * light * picture), 0, 255).astype(np.uint8).reshape(-1)


def _uneven_ground(
    down: NDArray[np.float32], across: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float32]:
    """A smooth field around 0.35: a random mix of slow cosines."""
    waves = np.arange(4)
    field = np.cos(np.pi * np.outer(down, waves)) @ rng.normal(0, 0.02, (4, 4))
    return (0.35 + field @ np.cos(np.pi * np.outer(waves, across))).astype(np.float32)


def _bump(x: NDArray[np.float32], centre: float, width: float) -> NDArray[np.float32]:
    return np.exp(-(((x - np.float32(centre)) / np.float32(width)) ** 2))


def _write_rows(
    rows: Iterator[NDArray[np.uint8]], path: Path, shape: tuple[int, int], dtype: DTypeLike
) -> NDArray[Any]:
    """Write grey levels 0..255 row by row into a ``.npy`` file; floats are scaled to [0, 1]."""
    kind = np.dtype(dtype)
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    with replacing(path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for row in rows:
            scaled = np.divide(row, 255, dtype=kind) if kind.kind == "f" else row.astype(kind)
            file.write(scaled.tobytes())
    return np.load(path, mmap_mode="r")


def _bunch(X: Any, y: NDArray[Any], text: str, seed: int, **extras: Any) -> Bunch:
    return Bunch(
        data=X,
        target=y,
        standin=True,
        DESCR=f"{LABEL}: {text}; random_state={seed}. Generated, not measured: "
        "results on it say nothing about the real set.",
        **extras,
    )
