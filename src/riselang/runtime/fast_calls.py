"""Generate the Python code of a call, specialized for its arguments.

So a kernel that runs for ten microseconds is called as fast as a NumPy function: loops over two or
three arguments, and nested Python calls, would cost as much as the call itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from riselang.native.llvm.guard import raise_call_error
from riselang.runtime.arrays import (
    DATA_OFFSET,
    Array,
    address,
    has_object_layout,
    is_large,
    new_array,
    pointer_at,
)

Call = Callable[[Sequence[Array]], Any]
ResultSpec = tuple[tuple[int, ...], np.dtype[Any]]
"""The shape and dtype of a new array."""


def specialize_call(
    function: Any,
    results: Sequence[ResultSpec],
    inputs: Sequence[Array | None],
    otherwise: Call,
    pack: Callable[[Sequence[Array]], Any],
    lengths: Sequence[int] = (),
    *,
    can_fail: bool = False,
) -> Call:
    """Return a function of arrays that allocates results and fills them by `function`.

    `function` takes addresses, those of the results first; the address of `lengths`, if there are
    any, is the last one. `inputs` has the arrays that are fixed, which must be C-contiguous, and
    None for those that a call passes, which must have the right types and shapes. If one of these
    is not C-contiguous, `otherwise` handles the call. If the function can fail, it takes the
    address of a failure buffer after those of the inputs; `otherwise` repeats a call that fails.
    """
    known_inputs = tuple(each for each in inputs if each is not None)
    ends_early = getattr(function, "restype", None) is not None
    make = _call_factory(
        len(results), tuple(each is None for each in inputs), bool(lengths), ends_early, can_fail
    )
    addresses = tuple(map(address, known_inputs))
    allocations = [(new_array if is_large(*each) else np.empty, *each) for each in results]
    length_array = np.array(lengths, np.int64)
    fixed_arrays = (*known_inputs, length_array)
    length_address = address(length_array)
    return make(function, allocations, fixed_arrays, addresses, length_address, otherwise, pack)


FAILURE_LENGTH = 4
"""The length of the failure buffer: the number of failed checks, and the number (from 1), the index
and the bound of the first of them."""
FAILURE_BUFFER = ctypes.c_int64 * FAILURE_LENGTH

_ADDRESS = "pointer_at(id({}) + data).value" if has_object_layout else "address({})"
_NAMES = {
    "pointer_at": pointer_at,
    "data": DATA_OFFSET,
    "address": address,
    "end_call": raise_call_error,
    "Failure": FAILURE_BUFFER,
    "addressof": ctypes.addressof,
}


@cache
def _call_factory(
    results: int, given: tuple[bool, ...], has_lengths: bool, ends_early: bool, can_fail: bool
) -> Callable[..., Call]:
    inputs = [f"a{number}" for number, is_given in enumerate(given) if is_given]
    fixed = [f"k{number}" for number, is_given in enumerate(given) if not is_given]
    outputs = [f"r{number}" for number in range(results)]
    kinds = [f"new{number}, shape{number}, dtype{number}" for number in range(results)]
    array_addresses = [_ADDRESS.format(each) for each in outputs]
    for number, is_given in enumerate(given):
        array_addresses.append(_ADDRESS.format(f"a{number}") if is_given else f"k{number}")
    if can_fail:
        array_addresses.append("addressof(failure)")
    if has_lengths:
        array_addresses.append("lengths")
    created = [f"r{number} = new{number}(shape{number}, dtype{number})"
               for number in range(results)]  # fmt: skip
    if can_fail:
        created.append("failure = Failure()")
    run = f"function({', '.join(array_addresses)})"
    if ends_early:
        run = f"if reason := {run}: end_call(reason)"
    in_rows = " and ".join(f"{name}.flags.carray" for name in inputs) or "True"
    text = f"""
def make(function, results, kept, known, lengths, otherwise, packed):
    [{", ".join(f"({kind})" for kind in kinds)}] = results
    [{", ".join(fixed)}] = known
    def call(arguments):
        [{", ".join(inputs)}] = arguments
        if not ({in_rows}):
            return otherwise(arguments)
        {"; ".join(created)}
        {run}
        {"if failure[0]: return otherwise(arguments)" if can_fail else ""}
        return {outputs[0] if results == 1 else f"packed([{', '.join(outputs)}])"}
    call.kept = kept  # keeps the arrays alive while their addresses are used
    return call
"""
    namespace: dict[str, Any] = dict(_NAMES)
    exec(compile(text, f"{__file__}<call>", "exec"), namespace)
    return namespace["make"]
