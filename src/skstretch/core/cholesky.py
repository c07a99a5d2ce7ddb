"""Cholesky factors in single or double precision, without Python's lock: threads work side by side.

The wrappers of `scipy.linalg.lapack` hold the lock in ``potrf``, ``potrs`` and ``potri`` (not in
``pocon``). The same routines stand in `scipy.linalg.cython_lapack`, by address; where these are of
another kind than expected, the wrappers serve.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

from skstretch.core.inplace import _CHAR, _INT, _POINTER, _routine
from skstretch.core.types import Array

# rows and columns that are mirrored at a time, so that both stay in the cache
TILE = 64
# rows from which threads share such systems; below, the wrappers take less time to call
SHARED = 128
# how numbers of single precision are declared; doubles are written as "d"
_SINGLE = "__pyx_t_5scipy_6linalg_13cython_lapack_s"
_FACTOR = "void (char *, int *, {0} *, int *, int *)"
_SOLVE = "void (char *, int *, int *, {0} *, int *, {0} *, int *, int *)"


def _both(name: str, declared: str, *types: Any) -> dict[str, Callable[..., None] | None]:
    """A routine for doubles ("d") and for single precision ("f")."""
    return {
        "d": _routine("d" + name, declared.format("d"), *types),
        "f": _routine("s" + name, declared.format(_SINGLE), *types),
    }


_potrf, _potri = (
    _both(name, _FACTOR, _CHAR, _INT, _POINTER, _INT, _INT) for name in ("potrf", "potri")
)
_potrs = _both("potrs", _SOLVE, _CHAR, _INT, _INT, _POINTER, _INT, _POINTER, _INT, _INT)


def rcond(L: Array, norm: float) -> float:
    """The reciprocal condition number of ``L L'``, estimated from its 1-norm."""
    return float(wrapped(L.dtype.char, "pocon")(L, norm, uplo="L")[0])


def wrapped(kind: str, name: str) -> Callable[..., Any]:
    """A routine of `scipy.linalg.lapack` for numbers of the kind "d" or "f"."""
    routine: Callable[..., Any] = getattr(lapack, {"d": "d", "f": "s"}[kind] + name)
    return routine


def _check(A: Array, side: int) -> None:
    """An address is all that the routines see: what stands there must be right."""
    if not (A.flags.f_contiguous and A.flags.writeable and A.dtype.char in "df"):
        raise TypeError("the matrix must hold floating point numbers in column order.")
    if A.shape[0] != side or max(A.shape) > np.iinfo(np.intc).max:
        raise ValueError(
            f"the matrix is {A.shape[0]} x {A.shape[1]}, not {side} high, or too large."
        )


def factorise(H: Array) -> tuple[Array, int]:
    """The lower Cholesky factor of H (n x n) in its place, and 0, or the order of the leading
    minor that is not positive. What stands above the diagonal is left as it is."""
    routine = _potrf[H.dtype.char]
    if routine is None or len(H) < SHARED:
        L, info = wrapped(H.dtype.char, "potrf")(H, lower=1, clean=0, overwrite_a=1)
        return L, int(info)
    _check(H, H.shape[1])
    n, info = ctypes.c_int(len(H)), ctypes.c_int()
    routine(b"L", ctypes.byref(n), H.ctypes.data, ctypes.byref(n), ctypes.byref(info))
    return H, info.value


def solve(L: Array, x: Array) -> Array:
    """``(L L')^-1 x`` for x (n) or (n x m) of the precision of L, in a fresh array."""
    routine = _potrs[L.dtype.char]
    if routine is None or len(L) < SHARED:
        return np.asarray(wrapped(L.dtype.char, "potrs")(L, x, lower=1)[0])
    _check(L, L.shape[1])
    out = np.array(x, dtype=L.dtype, order="F")
    columns = out[:, None] if out.ndim == 1 else out
    _check(columns, len(L))
    n, m, info = (ctypes.c_int(i) for i in (len(L), columns.shape[1], 0))
    a, b = ctypes.byref(n), ctypes.byref(info)
    routine(b"L", a, ctypes.byref(m), L.ctypes.data, a, out.ctypes.data, a, b)
    return out


def inverse(L: Array) -> Array:
    """``(L L')^-1`` (n x n), whole and in double precision, in a fresh array."""
    routine, kind = _potri[L.dtype.char], L.dtype.char
    if routine is None or len(L) < SHARED:
        out = np.asarray(wrapped(kind, "potri")(L, lower=1)[0], dtype=np.float64)
        return mirrored(out)
    found = np.array(L, order="F")
    _check(found, found.shape[1])
    n, info = ctypes.c_int(len(found)), ctypes.c_int()
    routine(b"L", ctypes.byref(n), found.ctypes.data, ctypes.byref(n), ctypes.byref(info))
    return mirrored(np.asarray(found, dtype=np.float64))


def mirrored(A: Array) -> Array:
    """The symmetric matrix whose lower triangle is that of A, which is overwritten."""
    if len(A) <= SHARED:
        return np.asarray(np.tril(A) + np.tril(A, -1).T)
    for at in range(0, len(A), TILE):
        rows = A[at : at + TILE]
        A[:at, at : at + TILE] = rows[:, :at].T
        rows[:, at : at + TILE] = mirrored(rows[:, at : at + TILE])
    return A
