"""A C header for compiled regions: the prototypes that the C file has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from riselang.frontends.c.entries import is_buffer
from riselang.frontends.c.model import Scop
from riselang.frontends.c.syntax import Variable


def header(scops: Sequence[Scop], name: str) -> str:
    """Prototypes for C and C++."""
    guard = re.sub(r"\W", "_", name).upper() or "REGIONS"
    return "\n".join([
        f"#ifndef RISE_{guard}_H", f"#define RISE_{guard}_H", "",
        "/* Link with the C math library (-lm). */", "",
        "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
        *[_prototype(scop) for scop in scops], "",
        "#ifdef __cplusplus", "}", "#endif", "", "#endif", "",
    ])  # fmt: skip


def _prototype(scop: Scop) -> str:
    result = "void" if scop.result is None else str(scop.result.type)
    parameters = [_declared(scop, variable) for variable in scop.inputs]
    return f"{result} {scop.name}({', '.join(parameters) or 'void'});"


def _declared(scop: Scop, variable: Variable) -> str:
    type = "_Bool" if variable.type.is_bool else str(variable.type)
    if not is_buffer(scop, variable):
        return f"{type} {variable.name}"
    # A pointer to the elements, as a call passes it; in C and C++ alike.
    qualifier = "" if variable in scop.written else "const "
    return f"{qualifier}{type} *{variable.name}"
