"""A C header for compiled regions: the prototypes of the C file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from riselang.frontends.c.emit.c_entry_points import is_buffer
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.containers import ContainerType
from riselang.frontends.c.parse.syntax import (
    Access,
    Binary,
    Convert,
    Expression,
    Literal,
    Unary,
    Variable,
)


def format_header(scops: Sequence[Scop], name: str, link_flags: Sequence[str] = ("-lm",)) -> str:
    """Format the declarations of the functions, for C and for C++, which has no lengths that are
    parameters."""
    guard = re.sub(r"\W", "_", name).upper() or "REGIONS"
    for_c = [each for each in scops if not _has_containers(each)]
    return "\n".join([
        f"#ifndef RISE_{guard}_H", f"#define RISE_{guard}_H", "",
        f"/* Link with {' '.join(link_flags)}. */", *_declared_records(scops), "",
        "#ifdef __cplusplus", 'extern "C" {',
        *[format_prototype(scop, is_cpp=True) for scop in scops], "}", "#else",
        *map(format_prototype, for_c), "#endif", "", "#endif", "",
    ])  # fmt: skip


def _declared_records(scops: Sequence[Scop]) -> list[str]:
    """Declare the structures that are parameters."""
    types = dict.fromkeys(
        variable.type.name
        for scop in scops
        for variable in scop.function.parameters
        if variable.type.is_record and not variable.type.is_complex
    )
    names = [name for name in types if not name.startswith("struct ")]
    needed = [f"/* Include the file that defines {', '.join(names)} first. */"] if names else []
    return [*needed, *(f"{name};" for name in types if name not in names)]


def _has_containers(scop: Scop) -> bool:
    """Whether only C++ can call a function: it has a std::vector, for example."""
    return any(isinstance(each.type, ContainerType) for each in scop.function.parameters)


def format_prototype(scop: Scop, *, is_cpp: bool = False) -> str:
    """Format the declaration of the function of a region."""
    result = "void" if scop.result is None else str(scop.result.type)
    variables = scop.function.parameters if scop.is_whole else scop.inputs
    parameters = [_format_parameter(scop, variable, is_cpp) for variable in variables]
    if is_cpp:
        return f"{result} {scop.name}({', '.join(parameters)});".replace("_Bool ", "bool ")
    return f"{result} {scop.name}({', '.join(parameters) or 'void'});"


def _format_parameter(scop: Scop, variable: Variable, is_cpp: bool) -> str:
    type = "_Bool" if variable.type.is_bool else str(variable.type)
    if not (variable.is_array or is_buffer(scop, variable)):
        return f"{type} {variable.name}"
    qualifier = "const " if variable.is_constant else ""
    if not variable.is_array:
        return f"{type} *{variable.name}"
    if isinstance(variable.type, ContainerType) and variable.is_reference:
        return f"{qualifier}{type} &{variable.name}"
    outermost, *inner = variable.extents
    if is_cpp and not all(isinstance(extent, Literal) for extent in inner):
        return f"{qualifier}{type} *{variable.name}"
    if is_cpp and not isinstance(outermost, Literal):
        outermost = None
    lengths = "".join(f"[{_format_length(extent)}]" for extent in inner)
    if outermost is None:
        pointer = f"(*{variable.name}){lengths}" if lengths else f"*{variable.name}"
        return f"{qualifier}{type} {pointer}"
    return f"{qualifier}{type} {variable.name}[{_format_length(outermost)}]{lengths}"


def _format_length(extent: Expression | None) -> str:
    """Format a length as declared, with all macros expanded."""
    match extent:
        case Literal():
            return str(extent.value)
        case Access():
            return extent.variable.name
        case Convert():
            return f"({extent.type})({_format_length(extent.operand)})"
        case Unary():
            return f"{extent.operator}({_format_length(extent.operand)})"
        case Binary():
            return (
                f"({_format_length(extent.left)} {extent.operator} {_format_length(extent.right)})"
            )
        case _:
            return ""
