"""The zoo: one set of numbers in every container, shape and dtype that a design may have."""

import numpy as np
from scipy import sparse

SHAPES = {"wide": (24, 70), "tall": (60, 11)}
DENSE = ("C", "F")
SPARSE = ("csr", "csc")
BLOCKED = ("memmap", "zarr", "h5py")
CONTAINERS = DENSE + SPARSE + BLOCKED
# agreement that is asked for: float32 rounds what it hands out
TOLERANCE = {"float64": 1e-10, "uint8": 1e-10, "float32": 1e-4}


def numbers(shape, dtype="float64", seed=0):
    """Non-negative data, half of it zero: a full, an empty and a constant column among the rest."""
    rows, columns = SHAPES[shape] if isinstance(shape, str) else shape
    rng = np.random.default_rng(seed)
    X = rng.gamma(2.0, size=(rows, columns)) * (rng.random((rows, columns)) < 0.5)
    X[:, 0] = rng.uniform(0.5, 2.0, rows)
    X[:, 1] = 0.0
    X[:, 2] = 3.0
    X = np.minimum(np.round(20.0 * X), 255.0) if dtype == "uint8" else X
    return X.astype(dtype)


def targets(X, n_targets=None, seed=1):
    """Targets that depend on some of the columns."""
    rng = np.random.default_rng(seed)
    Z = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-3)
    Y = Z[:, 3:9] @ rng.standard_normal((6, n_targets or 1))
    Y += 0.3 * rng.standard_normal(Y.shape) + 4.0
    return Y[:, 0] if n_targets is None else Y


def weights(n_samples):
    """Whole weights, every fourth of them zero."""
    return (np.arange(n_samples) % 4).astype(float)


def contained(name, X, folder):
    """The numbers of X in another container; what is written goes to `folder`."""
    if name == "C":
        return np.ascontiguousarray(X)
    if name == "F":
        return np.asfortranarray(X)
    if name in SPARSE:
        held = sparse.csr_array(X).asformat(name)
        assert sparse.issparse(held)
        assert held.nnz < 0.7 * X.size, "a sparse fixture must be sparse"
        return held
    path = folder / f"{name}-{len(list(folder.iterdir()))}"
    if name == "memmap":
        np.save(path.with_suffix(".npy"), X)
        return np.load(path.with_suffix(".npy"), mmap_mode="r")
    if name == "zarr":
        import zarr

        array = zarr.create_array(path, shape=X.shape, chunks=(X.shape[0], 7), dtype=X.dtype)
        array[:] = X
        return array
    import h5py

    return h5py.File(path.with_suffix(".h5"), "w").create_dataset("X", data=X, chunks=(5, 7))


class CountingArray:
    """Slices like an array, and counts how often every entry was read."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype
        self.reads = np.zeros(X.shape, dtype=int)

    def __getitem__(self, key):
        self.reads[key] += 1
        return self.X[key]
