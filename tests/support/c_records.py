"""C functions with structures: the C compiler's, ours from Python, and ours as an object that C
calls, on the same arguments."""

from __future__ import annotations

import copy
import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.record_types import RecordType
from riselang.frontends.c.parse.syntax import Variable
from riselang.native.llvm.linking import find_c_compiler
from riselang.support.config import Options
from support.c_programs import compiled_by_c, compiled_model, model, same_bits

_numbers = count()
_folder = tempfile.TemporaryDirectory(prefix="rise_c_records_")
_SCALARS: Mapping[str, Any] = {
    "float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool,
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32,
    "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
}  # fmt: skip
Make = Callable[[CFunction], Sequence[Any]]
"""Makes the arguments of a call; the dtypes of structures are those of the function."""


def as_ctypes(type: CType) -> Any:
    """The ctypes type of a C type."""
    if not isinstance(type, RecordType):
        return _SCALARS[type.dtype.name]
    fields: list[tuple[str, Any]] = []
    for member in type.members:
        found = ctypes.c_void_p if member.is_pointer else as_ctypes(member.type)
        for length in reversed(member.lengths):
            found = found * length
        fields.append((member.name, found))
    return _make_class("Record", (ctypes.Structure,), {"_fields_": fields})


_make_class = type


def loaded_object(scop: Scop, schedule: str) -> ctypes.CDLL:
    """Our object file, linked by the C compiler."""
    compiler = find_c_compiler()
    assert compiler is not None
    base = Path(_folder.name, f"object{next(_numbers)}")
    base.with_suffix(".o").write_bytes(
        make_program([scop], Options("affine", "strict"), schedule).object_code()
    )
    command = [*compiler, "-shared", "-o", str(base.with_suffix(".so")), f"{base}.o", "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(base.with_suffix(".so")))


def call_library(library: ctypes.CDLL, scop: Scop, given: Sequence[Any]) -> Any:
    """Call a function with the arguments that Python takes; they are changed in place."""
    function = getattr(library, scop.name)
    function.restype = None
    if scop.result is not None:
        function.restype = _SCALARS[scop.result.type.dtype.name]
    changed: list[tuple[Any, Any]] = []
    passed = [
        _passed(variable, argument, changed)
        for variable, argument in zip(scop.function.parameters, given, strict=True)
    ]
    function.argtypes = list(map(type, passed))
    result = function(*passed)
    for record, mapping in changed:
        for name in mapping:
            if not isinstance(mapping[name], np.ndarray):
                mapping[name] = getattr(record, name)
    return result


def _passed(variable: Variable, argument: Any, changed: list[tuple[Any, Any]]) -> Any:
    if isinstance(argument, list):
        rows: list[Any] = argument
        return (ctypes.c_void_p * len(rows))(*(row.ctypes.data for row in rows))
    if isinstance(argument, np.ndarray):
        if variable.is_array:
            return argument.ctypes.data_as(ctypes.c_void_p)
        return as_ctypes(variable.type).from_buffer_copy(argument.tobytes())
    if not variable.type.is_record:
        return as_ctypes(variable.type)(argument)
    record = as_ctypes(variable.type)()
    for name, value in argument.items():
        if not isinstance(value, np.ndarray):
            setattr(record, name, value)
        elif isinstance(getattr(record, name), ctypes.Array):
            ctypes.memmove(getattr(record, name), value.ctypes.data, value.nbytes)
        else:
            setattr(record, name, value.ctypes.data)
    if not variable.is_array:
        return record
    changed.append((record, argument))
    return ctypes.pointer(record)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, Mapping):
        return all(_same(left[name], right[name]) for name in left)
    array: Any = np.asarray(left)
    if array.dtype.names is not None:
        return all(_same(array[name], np.asarray(right)[name]) for name in array.dtype.names)
    if array.dtype.kind == "c":
        real = array.real.dtype
        return same_bits(array.reshape(-1).view(real), np.asarray(right).reshape(-1).view(real))
    return same_bits(np.ascontiguousarray(array), np.ascontiguousarray(right))


def check_records(
    text: str,
    make: Make,
    function: str = "f",
    schedule: str = "source",
    *,
    is_linked: bool = True,
    library: Any = None,
) -> Any:
    """Fails where a result or an argument differs afterwards; returns the result.

    If `is_linked`, our object file is also called. `library` is what the C compiler makes of the
    text, if that is known.
    """
    scop = model(text, function)
    ours = compiled_model(scop, schedule)
    given = make(ours)
    theirs, linked = copy.deepcopy(given), copy.deepcopy(given)
    library = compiled_by_c(text) if library is None else library
    expected = call_library(library, scop, theirs)
    runs = [("from Python", given, ours(*given))]
    if is_linked:
        result = call_library(loaded_object(scop, schedule), scop, linked)
        runs.append(("from C", linked, result))
    for name, arguments, result in runs:
        pairs = zip(scop.function.parameters, arguments, theirs, strict=True)
        for variable, mine, right in pairs:
            assert _same(mine, right), f"{variable.name} differs, called {name}"
        if scop.result is not None:
            assert same_bits(np.array([result]), np.array([expected])), f"result, called {name}"
    return expected
