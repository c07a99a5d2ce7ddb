"""Inverses from LU factors in place, and without Python's lock: threads work side by side.

The wrappers of `scipy.linalg.lapack` hold the lock in ``trtri`` and ``getri`` (not in ``getrf``,
``getrs`` and ``gecon``), and copy. The same routines stand in `scipy.linalg.cython_lapack`, by
address; where these are of another kind than expected, the wrappers serve.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack, lapack

from skstretch.core.types import Array

_INT, _POINTER = ctypes.POINTER(ctypes.c_int), ctypes.c_void_p
# how the routines are declared, with doubles written as "d"
_TRTRI = "void (char *, char *, int *, d *, int *, int *)"
_GETRI = "void (int *, d *, int *, int *, d *, int *, int *)"


def _routine(name: str, declared: str, *types: Any) -> Callable[..., None] | None:
    """A routine of LAPACK by its address; None where it is not declared so."""
    capsule = getattr(cython_lapack, "__pyx_capi__", {}).get(name)
    if capsule is None:
        return None
    name_of, address_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address_of.restype, address_of.argtypes = _POINTER, [ctypes.py_object, ctypes.c_char_p]
    told = name_of(capsule)
    if told.decode().replace("__pyx_t_5scipy_6linalg_13cython_lapack_d", "d") != declared:
        return None
    return ctypes.CFUNCTYPE(None, *types)(address_of(capsule, told))


_CHAR = ctypes.c_char_p
_trtri = _routine("dtrtri", _TRTRI, _CHAR, _CHAR, _INT, _POINTER, _INT, _INT)
_getri = _routine("dgetri", _GETRI, _INT, _POINTER, _INT, _POINTER, _POINTER, _INT, _INT)


def _check(A: Array) -> None:
    """An address is all that the routines see: what stands there must be right."""
    n_rows, n_columns = A.shape
    if not (A.flags.f_contiguous and A.flags.writeable and A.dtype == np.float64):
        raise TypeError("the matrix must hold float64 numbers in column order.")
    if n_rows != n_columns or n_rows > np.iinfo(np.intc).max:
        raise ValueError(f"the matrix is {n_rows} x {n_columns}, not square, or too large.")


def invert_triangles(packed: Array) -> Array:
    """``U^-1`` and the unit lower ``L^-1`` in place of U and L, which share an array."""
    _check(packed)
    if _trtri is None:
        packed, _ = lapack.dtrtri(packed, lower=0, overwrite_c=1)
        return np.asarray(lapack.dtrtri(packed, lower=1, unitdiag=1, overwrite_c=1)[0])
    n, info = ctypes.byref(ctypes.c_int(len(packed))), ctypes.byref(ctypes.c_int())
    for triangle, unit in ((b"U", b"N"), (b"L", b"U")):
        _trtri(triangle, unit, n, packed.ctypes.data, n, info)
    return packed


def inverted(lu: Array, pivots: Array) -> Array:
    """The inverse of a matrix from its LU factors (pivots from 0 on), in a fresh array."""
    work = int(lapack.dgetri_lwork(lu.shape[0])[0].real)
    if _getri is None:
        return np.asarray(lapack.dgetri(lu, pivots.copy(), lwork=work)[0])
    inverse, room = np.array(lu, order="F"), np.empty(max(1, work))
    _check(inverse)
    swaps = np.asarray(pivots + 1, dtype=np.intc)
    n, size = ctypes.byref(ctypes.c_int(len(lu))), ctypes.byref(ctypes.c_int(work))
    info = ctypes.byref(ctypes.c_int())
    _getri(n, inverse.ctypes.data, n, swaps.ctypes.data, room.ctypes.data, size, info)
    return inverse
