"""What compiled code needs to know of CPython and NumPy to look into their objects: offsets, addresses, kinds.

The offsets are those of the headers that both publish for extension modules (`PyObject`, `PyFloatObject`,
`PyTupleObject`, `PyArrayObject_fields`, the first fields of `PyArray_Descr`). `known` compares them with what this
process has; where anything is elsewhere, as in a Python without a global lock, operations are called the slow way.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# bytes from the beginning of an object
REFERENCES = 0  # how many have it
KIND = 8  # its type
FLOAT_VALUE = 16
LENGTH, HASH, ITEMS = 16, 24, tuple.__basicsize__  # of a tuple; since Python 3.14 it remembers its hash, -1 for none
ARRAY_DATA, ARRAY_DIMENSIONS, ARRAY_SHAPE, ARRAY_KIND, ARRAY_FLAGS = 16, 24, 32, 56, 64
DTYPE_KIND = 24  # four characters: kind, type, byte order, flags; and the number of the type
KIND_MASK = ~(0xff << 24)  # all of these but the flags
HALF = 0xffffffff  # an int in a word
READABLE = 0x0001 | 0x0100  # C_CONTIGUOUS, ALIGNED
WRITEABLE = READABLE | 0x0400

# places in the table of addresses
(FLOAT, FLOAT64, INT, TUPLE, NDARRAY, NONE, KIND_OF_FLOAT64, SHARE, DROP, INT_TO_FLOAT, INT_OF, NEW_INT, CLEAR_ERROR,
 CALL_NOTHING, CALL_WITH, SAVE_THREAD, RESTORE_THREAD, NEW_TUPLE, NEW_OBJECT,
 NEW_FLOAT, NEW_ARRAY) = range(21)
DOUBLE = 12  # number of the type of a float64 in NumPy
_OBJECTS = {FLOAT: float, FLOAT64: np.float64, INT: int, TUPLE: tuple, NDARRAY: np.ndarray, NONE: None}
_FUNCTIONS = {SHARE: "Py_NewRef", DROP: "Py_DecRef", INT_TO_FLOAT: "PyLong_AsDouble", INT_OF: "PyLong_AsSsize_t",
              NEW_INT: "PyLong_FromSsize_t", CLEAR_ERROR: "PyErr_Clear", CALL_NOTHING: "PyObject_CallNoArgs",
              CALL_WITH: "PyObject_Vectorcall", SAVE_THREAD: "PyEval_SaveThread",
              RESTORE_THREAD: "PyEval_RestoreThread", NEW_TUPLE: "PyTuple_New",
              NEW_OBJECT: "PyType_GenericAlloc", NEW_FLOAT: "PyFloat_FromDouble"}
_PYARRAY_NEW = 93  # its place in the table of functions that NumPy has for extension modules

_ABOUT = b"An operation: run(t, out, inputs ...)."
_FASTCALL = 0x0080  # how a built-in function takes its arguments: as an array of objects


class _Definition(ctypes.Structure):
    """`PyMethodDef`"""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("about", ctypes.c_char_p)]


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _new_array() -> int:
    """Address of NumPy's `PyArray_New`."""
    numpy = sys.modules.get("numpy._core._multiarray_umath") or sys.modules["numpy.core._multiarray_umath"]
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))
    return _word(pointer(numpy._ARRAY_API, None) + 8 * _PYARRAY_NEW)


@cache
def known() -> bool:
    """Whether objects of this process are as this file says.

    Examples
    --------
    >>> from mbkern.workspace.interpreter import known
    >>> known() in (True, False)
    True
    """
    if sys.implementation.name != "cpython" or sys.byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    array, number = np.zeros((2, 3)), np.float64(2.5)
    pair = tuple([1.5, None])  # a new one, whose hash nobody knows
    locked = np.zeros(2)
    locked.flags.writeable = False
    at = id(array)
    return (_word(at + KIND) == id(np.ndarray) and _word(id(pair) + KIND) == id(tuple)
            and _word(id(pair) + LENGTH) == 2 and _word(id(pair) + ITEMS + 8) == id(None)
            and all(_word(id(pair) + at) == -1 for at in range(HASH, ITEMS, 8))
            and [ctypes.c_double.from_address(id(x) + FLOAT_VALUE).value for x in (pair[0], number)] == [1.5, 2.5]
            and _word(at + ARRAY_DATA) == array.ctypes.data and _word(at + ARRAY_DIMENSIONS) & HALF == 2
            and [_word(_word(at + ARRAY_SHAPE) + 8 * k) for k in range(2)] == [2, 3]
            and _word(at + ARRAY_KIND) == id(array.dtype) and _word(at + ARRAY_FLAGS) & WRITEABLE == WRITEABLE
            and _word(id(array[:, 1:]) + ARRAY_FLAGS) & READABLE != READABLE
            and _word(id(locked) + ARRAY_FLAGS) & WRITEABLE == READABLE
            and len({_word(id(np.dtype(kind)) + DTYPE_KIND) & KIND_MASK for kind in ("f8", ">f8", "i8", "M8[s]")}) == 4
            and np.dtype(np.float64).num == DOUBLE
            and all(hasattr(ctypes.pythonapi, name) for name in (*_FUNCTIONS.values(), "PyCFunction_NewEx")))


@cache
def counts_references() -> bool:
    """Whether the first word of an object is how many references there are to it.

    Examples
    --------
    >>> from mbkern.workspace.interpreter import counts_references
    >>> counts_references() in (True, False)
    True
    """
    array = np.zeros(2)
    pair = (array, np.zeros(3))
    at, of_array, of_other = id(pair), id(array), id(pair[1])
    found = [_word(address + REFERENCES) for address in (at, of_array, of_other)]
    view = array[1:]
    return found == [1, 2, 1] and _word(of_array + REFERENCES) == 3 and view.base is array


def empty_places(count: int) -> tuple[Any, ...]:
    """A new tuple whose items are not there, for compiled code to put objects at."""
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_ssize_t)(("PyTuple_New", ctypes.pythonapi))
    places: tuple[Any, ...] = make(count)
    return places


@cache
def interface() -> NDArray[np.int64]:
    """The table of addresses, one for all."""
    table = np.zeros(NEW_ARRAY + 1, np.int64)
    for place, thing in _OBJECTS.items():
        table[place] = id(thing)
    for place, name in _FUNCTIONS.items():
        table[place] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    table[NEW_ARRAY] = _new_array()
    table[KIND_OF_FLOAT64] = _word(id(np.dtype(np.float64)) + DTYPE_KIND) & KIND_MASK
    return table


_definitions: dict[int, _Definition] = {}  # they must live as long as all that are made of them


def builtin(address: int, bound: tuple[Any, ...]) -> Callable[..., Any]:
    """The C function `PyObject *f(PyObject *bound, PyObject **objects, Py_ssize_t count)` as a function of Python."""
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi))
    definition = _definitions.setdefault(address, _Definition(b"run", address, _FASTCALL, _ABOUT))
    function: Callable[..., Any] = make(ctypes.addressof(definition), bound, None)
    return function
