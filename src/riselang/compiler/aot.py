"""Ahead-of-time compilation: a C header, and a description inside the object file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX

from riselang.native.llvm.entry_points import ENTRY_PREFIX
from riselang.runtime.artifact import CompiledFunction, functions_to_json
from riselang.runtime.executable import FAILURE_SHAPE, Parameter
from riselang.runtime.shared_library import DESCRIPTION

C_TYPES = {
    "f8e4m3fn": "uint8_t", "f8e5m2": "uint8_t",
    "f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "f64": "double", "i1": "bool",
    "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "index": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
}  # fmt: skip
"""C99 has no type for floats of 8 and 16 bits; the bits are passed as an integer."""
THREADS = "threads"
LINK_REQUIREMENTS = {
    THREADS: "POSIX threads (-pthread)",
    "blas": "a BLAS with the CBLAS interface (-lopenblas or -lmkl_rt)",
}


def description(functions: Sequence[CompiledFunction], libraries: Sequence[str], text: str) -> str:
    """Return LLVM IR for the description that `rl.load` reads; it includes `text`, the module, if
    there are symbolic sizes."""
    is_open = any(function.dynamic_dimensions is not None for function in functions)
    content = json.dumps({
        "functions": functions_to_json(functions),
        "libraries": list(libraries),
        "text": text if is_open else None,
    }).encode() + b"\0"  # fmt: skip
    escaped = "".join(chr(byte) if _is_plain(byte) else f"\\{byte:02X}" for byte in content)
    return f'@{DESCRIPTION} = weak constant [{len(content)} x i8] c"{escaped}"\n'


def _is_plain(byte: int) -> bool:
    return 32 <= byte < 127 and byte not in b'"\\'


def header(functions: Sequence[CompiledFunction], libraries: Sequence[str], name: str) -> str:
    """Return a header with prototypes for C and C++."""
    guard = re.sub(r"\W", "_", name).upper() or "KERNELS"
    needs = "; ".join(
        [
            "the C math library (-lm)",
            *(LINK_REQUIREMENTS.get(library, library) for library in libraries),
        ]
    )
    return "\n".join([
        f"#ifndef RISE_{guard}_H", f"#define RISE_{guard}_H", "",
        "/* Arrays are contiguous and row-major; those that are written share no memory with",
        f"   others. Link with {needs}. */", "",
        "#include <stdbool.h>", "#include <stdint.h>", "",
        "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
        *[_prototype(function) for function in functions],
        "#ifdef __cplusplus", "}", "#endif", "", "#endif", "",
    ])  # fmt: skip


def _prototype(function: CompiledFunction) -> str:
    named_parameters = list(zip(_c_names(function.parameters), function.parameters, strict=True))
    parameters = [part for name, each in named_parameters for part in _declarations(name, each)]
    notes = [
        f"   {name} is {_shape_text(name, each)}"
        for name, each in named_parameters
        if each.shape is not None
    ]
    if conditions := _equal_lengths(function, [name for name, _ in named_parameters]):
        notes.append(f"   the lengths satisfy {conditions}")
    if function.checks:
        parameters.append(f"int64_t failure[{FAILURE_SHAPE[0]}]")
        notes.append(
            "   failure must be zero before a call; after it, failure[0] is nonzero if an index\n"
            "   was out of range: failure[2], which must be below failure[3]"
        )
    parameter_list = ",\n    ".join(parameters) or "void"
    comment = ";\n".join([f"/* {function.name}", *notes]).replace(";\n", "\n", 1)
    return f"{comment}. */\nvoid {ENTRY_PREFIX}{function.name}(\n    {parameter_list});\n"


def _equal_lengths(function: CompiledFunction, names: Sequence[str]) -> str:
    """Return which lengths a call must pass the same value for: those of each symbolic size."""
    lengths: dict[str, list[str]] = {}
    for position, sizes in function.dynamic_dimensions or ():
        for dimension, size in enumerate(sizes):
            if not size.is_constant:
                lengths.setdefault(str(size), []).append(f"{names[position]}_{dimension}")
    return ",\n   ".join(" = ".join([size, *dimensions]) for size, dimensions in lengths.items())


def _c_names(parameters: Sequence[Parameter]) -> list[str]:
    """Return a C name for each parameter, distinct from all others and from their lengths."""
    used_names: set[str] = {"failure"}
    names: list[str] = []
    for parameter in parameters:
        base = name = _identifier(parameter.name)
        while used_names & {
            name,
            *(f"{name}_{dimension}" for dimension in range(len(parameter.shape or ()))),
        }:
            name = f"{base}_{len(used_names)}"
        used_names |= {
            name,
            *(f"{name}_{dimension}" for dimension in range(len(parameter.shape or ()))),
        }
        names.append(name)
    return names


def _declarations(name: str, parameter: Parameter) -> list[str]:
    """Return the C declarations of a parameter and of the lengths that are passed with it."""
    type = C_TYPES[parameter.element]
    if parameter.shape is None:
        return [f"{type} {name}"]
    qualifier = "" if parameter.is_written else "const "
    lengths = [
        f"int64_t {name}_{dimension}"
        for dimension, length in enumerate(parameter.shape)
        if length == DYNAMIC_INDEX
    ]
    return [f"{qualifier}{type} *{name}", *lengths]


def _shape_text(name: str, parameter: Parameter) -> str:
    assert parameter.shape is not None
    lengths = [
        f"{name}_{dimension}" if length == DYNAMIC_INDEX else str(length)
        for dimension, length in enumerate(parameter.shape)
    ]
    return " x ".join(lengths) or "one element"


_KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while bool true false class new delete this template typename namespace
    operator private public protected virtual try catch throw using and or not""".split()  # noqa: SIM905
)
"""Keywords of C and C++."""


def _identifier(name: str) -> str:
    identifier = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"{identifier}_" if identifier in _KEYWORDS else identifier
