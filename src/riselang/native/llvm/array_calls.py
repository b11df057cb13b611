"""The function that calls compiled code with NumPy arrays, of `array_calls.ll`."""

from __future__ import annotations

import re
from importlib import resources

HEADER_WORDS, SLOT_WORDS = 16, 8
"""The sizes of the header and of a slot of a call table, in words of 8 bytes."""
FIXED, PASSED, INTEGER, FLOAT32, FLOAT64 = range(5)
"""The kinds of slots: a fixed number, or an array that is passed; instead of an array without
dimensions, a Python number can be passed to the last three."""
READABLE, WRITABLE = 0x101, 0x501
"""NumPy's flags for arrays that are C-contiguous and aligned, and can also be written."""
PYTHON_FUNCTIONS = (
    "PyTuple_Size", "PyTuple_GetItem", "PyTuple_New", "PyTuple_SetItem", "PyFloat_AsDouble",
    "PyLong_AsLongLongAndOverflow", "PyLong_FromLongLong", "PyObject_CallFunctionObjArgs",
    "PyEval_SaveThread", "PyEval_RestoreThread", "Py_IncRef", "Py_DecRef",
)  # fmt: skip
NEW_ARRAY = "rise_new_array"
"""The name by which the code calls `PyArray_NewFromDescr`."""
_CONSTANTS = {
    "HEADER": object.__basicsize__,
    "SLOTS": HEADER_WORDS * 8,
    "FIXED": FIXED,
    "INTEGER": INTEGER,
    "FLOAT32": FLOAT32,
    "FLOAT64": FLOAT64,
    "READABLE": READABLE,
    "WRITABLE": WRITABLE,
}


def array_call_ir() -> str:
    """Return the LLVM IR of the function."""
    text = resources.files("riselang.native.llvm").joinpath("array_calls.ll").read_text()
    for name, value in _CONSTANTS.items():
        text = re.sub(rf"\b{name}\b", str(value), text)
    return text
