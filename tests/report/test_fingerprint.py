"""Equal data have equal fingerprints."""

import numpy as np
import pandas as pd
from scipy import sparse

from skstretch.io.archive import data_digest
from skstretch.report import subject

X = np.arange(12.0).reshape(4, 3)
Y = np.array([1.0, 2.0, 3.0, 4.0])


def fingerprint(X, y):
    return subject.fingerprint(data_digest(X), y)


def test_container_and_dtype_do_not_matter():
    expected = fingerprint(X, Y)
    assert len(expected) == 16
    assert fingerprint(pd.DataFrame(X), pd.Series(Y)) == expected
    assert fingerprint(np.asfortranarray(X).astype(np.float32), Y.astype(int)) == expected
    assert fingerprint(-0.0 * X + X, Y) == expected


def test_any_change_shows():
    other = X.copy()
    other[2, 1] += 1e-9
    prints = {
        fingerprint(X, Y), fingerprint(other, Y), fingerprint(X, Y[::-1]),
        fingerprint(X.reshape(3, 4), Y), fingerprint(X, ["a", "b", "c", "d"]),
    }  # fmt: skip
    assert len(prints) == 5


def test_sparse():
    A = sparse.csr_array(X)
    assert fingerprint(A, Y) == fingerprint(sparse.coo_array(X), Y) == fingerprint(A.tocsc(), Y)
    assert fingerprint(A, Y) != fingerprint(2 * A, Y)
