"""Entry points for calls from Python, which take bare pointers and dynamic dimensions.

MLIR passes a buffer as a descriptor (two pointers, an offset, lengths and strides), which takes
longer to fill in from Python than many kernels run. All fields except the pointer and the dynamic
dimensions are known when the entry point is generated. Two kinds of wrappers take all dynamic
dimensions in one array, which Python fills in once for each combination of shapes: a call with six
more arguments would take half a microsecond longer. If a call can end early, the wrapper is a
guarded entry point, which returns the reason, or 0; otherwise, it is a packed entry point. An array
entry point takes an array of all pointers and dynamic dimensions, so that one function calls all
kernels: see `array_calls`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ENTRY_PREFIX = "rise_call_"
GUARDED_PREFIX, PACKED_PREFIX, ARRAY_PREFIX = "rise_guarded_", "rise_packed_", "rise_array_"
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
    # Descriptors are worth inlining, since most of their fields are constants. Without them, a
    # second copy of the function would only take time to compile.
    inlining = "" if has_descriptors else " noinline"
    call = f'  call void @"{name}"({", ".join(arguments)}){inlining}'
    body = "\n".join([*lines, call, "  ret void"])
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


def packed_entry_points_ir(entries: str) -> str:
    """Return the LLVM IR of a packed entry point for each entry point with dynamic dimensions."""
    wrappers: list[str] = []
    for match in _ENTRY.finditer(entries):
        name, parameters = match["name"], match["parameters"]
        wrapper_parameters, loads = _pack_lengths(name, parameters)
        if loads:
            call = f'  call void @"{name}"({parameters})\n  ret void'
            start = f'define void @"{PACKED_PREFIX}{name}"({", ".join(wrapper_parameters)})'
            wrappers.append(f"{start} {{\n{loads}{call}\n}}\n")
    return "\n".join(wrappers)


def array_entry_points_ir(entries: str, *, is_guarded: bool) -> str:
    """Return the LLVM IR of an array entry point for each entry point that takes only buffers.

    It calls the guarded or the packed entry point, and returns the reason for an early end, or 0.
    """
    wrappers: list[str] = []
    for match in _ENTRY.finditer(entries):
        name, wrapper_parameters = match["name"], match["parameters"]
        parameters, lengths = _pack_lengths(name, wrapper_parameters)
        is_entry = name.startswith(ENTRY_PREFIX) and match["result"] == "void"
        if is_entry and all(each.startswith("ptr ") for each in parameters):
            prefix = GUARDED_PREFIX if is_guarded else PACKED_PREFIX if lengths else ""
            wrappers.append(_array_entry_point_ir(f"{prefix}{name}", name, parameters, is_guarded))
    return "\n".join(wrappers)


def _array_entry_point_ir(
    function: str, name: str, parameters: Sequence[str], is_guarded: bool
) -> str:
    lines: list[str] = []
    for number, parameter in enumerate(parameters):
        value = parameter.removeprefix("ptr ")
        lines.append(f"  %slot{number} = getelementptr i64, ptr %slots, i64 {number}")
        if value == "%lengths":
            lines.append(f"  {value} = bitcast ptr %slot{number} to ptr")
        else:
            lines.append(f"  {value} = load ptr, ptr %slot{number}")
    call = f'@"{function}"({", ".join(parameters)})'
    if is_guarded:
        lines += [f"  %reason = call i64 {call}", "  ret i64 %reason"]
    else:
        lines += [f"  call void {call}", "  ret i64 0"]
    body = "\n".join(lines)
    return f'define i64 @"{ARRAY_PREFIX}{name}"(ptr %slots) {{\n{body}\n}}\n'


_LENGTH = re.compile(r"i64 (%p\d+_\d+)")
"""A parameter of an entry point that is a dynamic dimension."""


def _pack_lengths(name: str, parameters: str) -> tuple[list[str], str]:
    """Return parameters with one array for all dynamic dimensions, and code that loads these."""
    lengths = _LENGTH.findall(parameters) if name.startswith(ENTRY_PREFIX) else []
    others = [
        each for each in parameters.split(", ") if each and each[len("i64 ") :] not in lengths
    ]
    loads = [
        f"  %a{number} = getelementptr i64, ptr %lengths, i64 {number}\n"
        f"  {length} = load i64, ptr %a{number}\n"
        for number, length in enumerate(lengths)
    ]
    return [*others, *(["ptr %lengths"] if lengths else [])], "".join(loads)


def _guarded_entry_point_ir(result: str, name: str, parameters: str) -> str:
    # In a function that calls setjmp, LLVM does not coalesce registers, so loops must not be
    # inlined into it.
    call = f'call {result} @"{name}"({parameters}) noinline'
    wrapper_parameters, loads = _pack_lengths(name, parameters)
    if result != "void":
        wrapper_parameters.append("ptr %result")
        call = f"%number = {call}\n  store {result} %number, ptr %result"
    return f"""
define i64 @"{GUARDED_PREFIX}{name}"({", ".join(wrapper_parameters)}) {{
{loads}  %frame = alloca [1024 x i8], align 16
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
