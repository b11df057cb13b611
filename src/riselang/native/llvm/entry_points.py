"""Entry points for calls from Python, which take bare pointers and dynamic dimensions.

MLIR passes a buffer as a descriptor (two pointers, an offset, lengths and strides), which takes
longer to fill in from Python than many kernels run. All fields except the pointer and the dynamic
dimensions are known when the entry point is generated. If a call can end early, a guarded entry
point wraps it, which returns the reason, or 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ENTRY_PREFIX = "rise_call_"
GUARDED_PREFIX = "rise_guarded_"
Dimensions = tuple[int | None, ...]
"""Lengths; None is a dynamic dimension, which is passed as an argument."""


def entry_point_ir(
    name: str, parameters: Sequence[Dimensions | str], *, has_descriptors: bool = True
) -> str:
    """Return the LLVM IR of a function's entry point.

    A parameter is a buffer, or a scalar of an LLVM type. Without descriptors, the function itself
    also takes only pointers.
    """
    entry_parameters: list[str] = []
    arguments: list[str] = []
    lines: list[str] = []
    for position, parameter in enumerate(parameters):
        value = f"%p{position}"
        if isinstance(parameter, str):
            entry_parameters.append(f"{parameter} {value}")
            arguments.append(f"{parameter} {value}")
            continue
        if not has_descriptors:
            entry_parameters.append(f"ptr {value}")
            arguments.append(f"ptr {value}")
            continue
        lengths = [
            str(length) if length is not None else f"{value}_{dimension}"
            for dimension, length in enumerate(parameter)
        ]
        strides = _strides(value, lengths, lines)
        entry_parameters += [
            f"ptr {value}",
            *(f"i64 {length}" for length in lengths if length[0] == "%"),
        ]
        arguments += [f"ptr {value}", f"ptr {value}", "i64 0"]
        arguments += [f"i64 {number}" for number in (*lengths, *strides)]
    body = "\n".join([*lines, f'  call void @"{name}"({", ".join(arguments)})', "  ret void"])
    return f'define void @"{ENTRY_PREFIX}{name}"({", ".join(entry_parameters)}) {{\n{body}\n}}\n'


_ENTRY = re.compile(
    r'^define (?P<result>\w+) @"(?P<name>[^"]+)"\((?P<parameters>[^)]*)\)', re.MULTILINE
)
DECLARATIONS = """
declare void @rise_enter(ptr)
declare i64 @rise_leave(ptr)
declare i32 @_setjmp(ptr) returns_twice
"""
"""Declarations of the functions that guarded entry points call."""


def guarded_entry_points_ir(entries: str) -> str:
    """Return the LLVM IR of a guarded entry point for each entry point.

    `guard.ll` describes the contents of a frame. An entry point that returns a scalar takes an
    address for it after its parameters.
    """
    wrappers = [_guarded_entry_point_ir(**match.groupdict()) for match in _ENTRY.finditer(entries)]
    return "\n".join([*wrappers, DECLARATIONS])


def _guarded_entry_point_ir(result: str, name: str, parameters: str) -> str:
    call, wrapper_parameters = f'call {result} @"{name}"({parameters})', parameters
    if result != "void":
        wrapper_parameters = ", ".join(filter(None, [parameters, "ptr %result"]))
        call = f"%number = {call}\n  store {result} %number, ptr %result"
    return f"""
define i64 @"{GUARDED_PREFIX}{name}"({wrapper_parameters}) {{
  %frame = alloca [1024 x i8], align 16
  call void @rise_enter(ptr %frame)
  %buffer = getelementptr i8, ptr %frame, i64 64
  %ended = call i32 @_setjmp(ptr %buffer) returns_twice
  %begins = icmp eq i32 %ended, 0
  br i1 %begins, label %run, label %leave
run:
  {call}
  br label %leave
leave:
  %reason = call i64 @rise_leave(ptr %frame)
  ret i64 %reason
}}
"""


def _strides(value: str, lengths: Sequence[str], lines: list[str]) -> list[str]:
    """Return the stride of each dimension, with code to compute it if a dimension is dynamic."""
    strides: list[str] = []
    stride = "1"
    for dimension in reversed(range(len(lengths))):
        strides.insert(0, stride)
        length = lengths[dimension]
        if "%" not in stride + length:
            stride = str(int(stride) * int(length))
        elif dimension > 0:
            product = f"{value}_by_{dimension}"
            lines.append(f"  {product} = mul i64 {stride}, {length}")
            stride = product
    return strides
