"""Structures as arguments in Python: structured NumPy arrays, ctypes structures, mappings and
objects with attributes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.containers import SIZE, ContainerType
from riselang.frontends.c.parse.record_types import RecordType
from riselang.frontends.c.parse.syntax import Variable
from riselang.runtime.arrays import Array, address, as_array
from riselang.support.errors import UserError


@dataclass
class MemberArguments:
    """The members of the structures of one call."""

    scop: Scop
    given: Mapping[Variable, Any]
    """The arguments of the parameters."""
    _stored: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def find(self, variable: Variable, *, is_buffer: bool) -> Any:
        """Return the argument for a member: an array, or a number."""
        found = self._read(variable, variable)
        if not is_buffer:
            return found.item() if isinstance(found, np.ndarray) and not found.ndim else found
        is_written = variable in self.scop.written_variables
        if not isinstance(found, np.ndarray) and not variable.extents:
            return self._box_number(variable, found)
        if not isinstance(found, np.ndarray):
            return found
        if is_written and not found.flags.writeable:
            raise UserError(f"argument {variable.root.name}: it is written, but is read-only")
        is_own = variable.storage.member is None and not variable.root.is_array
        if is_written and is_own and not variable.root.is_global:
            return found.copy()  # it is passed by value
        missing = len(variable.extents) - found.ndim
        return found[..., None] if missing == 1 and found.ndim else found

    def finish(self) -> None:
        """Store the numbers that the function changed in objects."""
        for each in self._stored:
            each()

    def _box_number(self, variable: Variable, value: Any) -> Array:
        """Return an array for a number that the function changes."""
        try:
            box = np.array(value, variable.type.dtype)
        except (TypeError, ValueError, OverflowError):
            raise UserError(
                f"argument {variable.root.name}: {variable.name} must be a number of type "
                f"{variable.type}, but is {value!r}"
            ) from None
        assert variable.member is not None
        record, name = self._read(variable.member.parent, variable), variable.member.name

        def store() -> None:
            if isinstance(record, MutableMapping):
                record[name] = box.item()
            else:
                setattr(record, name, box.item())

        if variable in self.scop.written_variables:
            self._stored.append(store)
        return box

    def _read(self, variable: Variable, wanted: Variable) -> Any:
        """Return the value of a variable, a member of which is wanted."""
        if variable.member is None:
            return self._as_records(self.given[variable], variable, wanted)
        parent = variable.member.parent
        value = self._read(parent, wanted)
        if variable.member.is_pointer:
            found = _member(value, variable, parent)
            return self._as_records(found, variable, wanted) if variable.type.is_record else found
        return _member(value, variable, parent)

    def _as_records(self, value: Any, variable: Variable, wanted: Variable) -> Any:
        """Return structures as an array, or as an object with attributes or items."""
        type = variable.type
        assert isinstance(type, RecordType)
        if isinstance(type, ContainerType):
            return as_array(value, variable.name)
        if isinstance(value, ctypes.Structure | ctypes.Array):
            value = np.frombuffer(memoryview(value).cast("B"), type.dtype)
        is_written = wanted in self.scop.written_variables and variable.is_array
        if isinstance(value, np.generic) and is_written:
            raise UserError(
                f"argument {variable.name}: it is written, so pass an array that contains the "
                f"structure, instead of a copy"
            )
        if isinstance(value, np.generic):
            value = np.asarray(value)
        if not isinstance(value, np.ndarray):
            return value
        _check_layout(value, type, variable.name)
        # The dimension for the structures is not there if there is only one.
        if variable in wanted.singles and value.ndim:
            if not value.size:
                raise UserError(f"argument {variable.name}: expected a structure, but it is empty")
            return value.reshape(-1)[:1].reshape(())
        is_flat = variable.is_pointer and variable.extents == (None,)
        return value.reshape(-1) if is_flat else value


def _member(value: Any, variable: Variable, parent: Variable) -> Any:
    assert variable.member is not None
    name = variable.member.name
    if isinstance(parent.type, ContainerType):
        return _container_member(value, variable, parent, parent.type)
    try:
        if parent.type.is_complex:
            return value.real if name == "re" else value.imag
        if isinstance(value, np.ndarray | Mapping):
            return value[name]
        return getattr(value, name)
    except (AttributeError, KeyError, ValueError, IndexError):
        raise UserError(
            f"argument {parent.root.name}: expected a structured array, or an object with the "
            f"member {name} of {parent.type}, but found {type(value).__name__}"
        ) from None


def _container_member(value: Any, variable: Variable, parent: Variable, type: ContainerType) -> Any:
    """Return the elements of a container, which is an array in Python, or their number."""
    array = as_array(value, parent.name)
    assert variable.member is not None
    if type.length is None and array.ndim != 1:
        raise UserError(
            f"argument {parent.root.name}: expected an array with one dimension for {type}, but "
            f"found {array.ndim}"
        )
    return array.size if variable.member.name == SIZE else array


def _check_layout(array: Array, type: RecordType, name: str) -> None:
    expected = type.dtype
    if not _same_layout(array.dtype, expected):
        raise UserError(
            f"argument {name}: expected the dtype of {type}, {expected}, but found {array.dtype}"
        )
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise UserError(f"argument {name}: the array of structures is not contiguous in memory")


def _same_layout(found: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    """Whether a dtype has the members of another at the same positions."""
    if expected.names is None:
        return found == expected
    if found.fields is None or expected.fields is None or found.itemsize != expected.itemsize:
        return False
    theirs_by_name = cast("Mapping[str, Any]", found.fields)
    ours_by_name = cast("Mapping[str, Any]", expected.fields)
    for name in expected.names:
        if name not in theirs_by_name or theirs_by_name[name][1] != ours_by_name[name][1]:
            return False
        ours, theirs = ours_by_name[name][0], theirs_by_name[name][0]
        if ours.shape != theirs.shape or not _same_layout(theirs.base, ours.base):
            return False
    return True


def byte_range(array: Array) -> tuple[int, int]:
    """Return the addresses of the first byte of an array, and of the byte after its last one."""
    if array.flags.c_contiguous:
        return address(array), address(array) + array.nbytes
    start, end = np.lib.array_utils.byte_bounds(array)
    return start, end
