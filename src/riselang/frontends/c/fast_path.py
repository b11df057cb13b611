"""The fast path of calls: Python code generated for the parameters of a function.

A call checks its arguments in loops over the parameters, which takes longer than some kernels run.
The fast path handles calls whose integers and shapes an earlier call has checked. It checks that
types, layouts and addresses are as expected, in straight-line code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from riselang.frontends.c.parse.c_types import CType
from riselang.native.llvm.guard import raise_call_error
from riselang.runtime.arrays import DATA_OFFSET, Array, address, has_object_layout, pointer_at

MISS = object()
"""The result of a fast path that does not handle a call."""
MAX_KNOWN_SIZES = 64
Sizes = tuple[object, ...]
"""The integers, Booleans and shapes of a call, in the order of its parameters."""
Addresses = tuple[int, ...]


@dataclass
class FastPath:
    """A fast path, and the sizes and addresses that it has to accept."""

    call: Callable[..., Any]
    """Takes all arguments in order."""
    known: dict[Sizes, Addresses]
    """For sizes whose accesses are in bounds, addresses of arrays that do not overlap."""

    def accept(self, sizes: Sizes, addresses: Addresses) -> None:
        """Let the fast path handle calls with these sizes."""
        if len(self.known) >= MAX_KNOWN_SIZES:
            self.known.clear()
        self.known[sizes] = addresses


def make_fast_path(
    function: Callable[..., Any],
    parameters: Sequence[CType | None],
    dtypes: Sequence[np.dtype[Any]],
    check_overlap: Callable[[Sequence[Array]], None],
    *,
    ends_early: bool,
) -> FastPath:
    """Return the fast path of machine code.

    `parameters` has the types of scalars, and None for arrays, whose dtypes are `dtypes`.
    `check_overlap` raises an error if arrays overlap that must not.
    """
    kinds = tuple("array" if each is None else _scalar_kind(each) for each in parameters)
    known: dict[Sizes, Addresses] = {}
    make = _call_factory(kinds, ends_early)
    return FastPath(make(function, known, tuple(dtypes), check_overlap), known)


def _scalar_kind(type: CType) -> str:
    return "float" if type.is_float else "bool" if type.is_bool else "int"


_ADDRESS = "pointer_at(id({}) + data).value" if has_object_layout else "address({})"
_NAMES = {
    "pointer_at": pointer_at,
    "data": DATA_OFFSET,
    "address": address,
    "end_call": raise_call_error,
    "ndarray": np.ndarray,
    "miss": MISS,
}
_CONDITIONS = {
    "array": "type({0}) is ndarray and {0}.dtype is d{0} and {0}.flags.carray",
    "float": "isinstance({0}, float)",
    "int": "type({0}) is int",
    "bool": "type({0}) is bool",
}


@cache
def _call_factory(kinds: tuple[str, ...], ends_early: bool) -> Callable[..., Any]:
    names = [f"a{number}" for number in range(len(kinds))]
    arrays = [name for name, kind in zip(names, kinds, strict=True) if kind == "array"]
    dtypes = [f"d{name}" for name in arrays]
    conditions = " and ".join(
        _CONDITIONS[kind].format(name) for name, kind in zip(names, kinds, strict=True)
    )
    sizes = [
        f"{name}.shape" if kind == "array" else name
        for name, kind in zip(names, kinds, strict=True)
        if kind != "float"
    ]
    passed = [f"p{name}" if name in arrays else name for name in names]
    addresses = "".join(f"p{name}, " for name in arrays)
    run = f"function({', '.join(passed)})"
    text = f"""
def make(function, known, dtypes, check_overlap):
    [{", ".join(dtypes)}] = dtypes
    def call({", ".join(names)}):
        if not ({conditions or "True"}):
            return miss
        sizes = ({"".join(f"{each}, " for each in sizes)})
        checked = known.get(sizes)
        if checked is None:
            return miss
        {"; ".join(f"p{name} = {_ADDRESS.format(name)}" for name in arrays)}
        addresses = ({addresses})
        if addresses != checked:
            check_overlap([{", ".join(arrays)}])
            known[sizes] = addresses
        {f"if reason := {run}: end_call(reason)" if ends_early else f"return {run}"}
    return call
"""
    namespace: dict[str, Any] = dict(_NAMES)
    exec(text, namespace)
    return namespace["make"]
