"""Calls that replace regions of a C file, and what makes them safe there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from riselang.frontends.c.emit.c_entry_points import is_buffer
from riselang.frontends.c.model.aliasing import can_check_aliasing, possibly_aliasing_pairs
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.clang import ParsedFile
from riselang.frontends.c.parse.regions import Region
from riselang.frontends.c.parse.syntax import UnsupportedStatement, Variable, walk_statement
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.source_extents import (
    declared_in_region,
    declared_names,
    function_text,
    lasting_declarations,
)

_ADDRESS = re.compile(r"&\s*\(?\s*(\w+)")
"""A variable whose address may be taken; the operand of a binary & is found, too."""
HIDDEN = '__attribute__((visibility("hidden")))'


def format_call(scop: Scop, symbol: str, attribute: str = "") -> str:
    """Return a block that declares the function of a region and calls it."""
    result = "void" if scop.result is None else format_type(scop.result.type)
    types = ["void *" if is_buffer(scop, v) else format_type(v.type) for v in scop.inputs]
    values = [_format_argument(scop, variable) for variable in scop.inputs]
    prototype = f"extern {attribute} {result} {symbol}({', '.join(types) or 'void'});"
    call = f"{symbol}({', '.join(values)});"
    return f"{{ {prototype} {'' if scop.result is None else 'return '}{call} }}"


def format_type(type: CType) -> str:
    return "_Bool" if type.is_bool else str(type)


def _format_argument(scop: Scop, variable: Variable) -> str:
    if variable.member is not None:
        address = _format_address(variable)
        if is_buffer(scop, variable):
            return f"(void *)({address})"
        return f"*({format_type(variable.type)} *)({address})"
    if not is_buffer(scop, variable):
        return variable.name
    return f"(void *)({variable.name})" if variable.is_array else f"(void *)&({variable.name})"


def _format_address(variable: Variable) -> str:
    """Return the address of a variable, which may be a member of structures."""
    if variable.member is None:
        return f"(char *){'' if variable.is_array else '&'}({variable.name})"
    address = f"{_format_address(variable.member.parent)} + {variable.member.offset}"
    return f"*(char **)({address})" if variable.is_pointer_member else address


def refuse_unsafe_call(region: Region, scop: Scop, parsed: ParsedFile) -> None:
    """Raise an error if a call cannot replace a region with the same meaning."""
    refuse_unsafe_names(region, scop, parsed)
    addressed = set(_ADDRESS.findall(function_text(parsed, region.function.name)))
    for variable in scop.inputs:
        is_exposed = variable.is_global or variable.name in addressed
        if is_exposed and _may_be_written(scop, variable):
            reason = f"{variable.name} may be an element of an array that is written"
            raise UnsupportedConstruct(region.location, reason)
    for variable in scop.inputs:
        if reason := _reason_not_to_pass(scop, variable):
            raise UnsupportedConstruct(region.location, reason)
    if any(possibly_aliasing_pairs(scop)) and not can_check_aliasing(scop):
        reason = "whether its arrays share memory cannot be checked at the call"
        raise UnsupportedConstruct(region.location, reason, "declare the pointers restrict")


def _reason_not_to_pass(scop: Scop, variable: Variable) -> str:
    """Return why a call in C cannot pass a variable; empty if it can."""
    root = variable.root
    if variable.row_pointers or root.row_pointers:
        return f"whether the rows of {root.name} share memory is not known"
    if not is_buffer(scop, variable) and (variable.type.is_complex or variable.type.is_record):
        return f"{variable.name} is passed by value"
    if root.definition is not None and root.definition.symbol != root.name:
        return f"{root.name} is static in a function"
    if variable.member is None or not root.is_pointer:
        return ""
    # The members of a structure at an invalid address must not be read before the loops are.
    known = {each.source.member.parent for each in scop.parameters
             if isinstance(each.source, Variable) and each.source.member is not None}  # fmt: skip
    is_read = variable.member.parent in known
    return "" if is_read else f"{root.name} may be no valid pointer if no loop runs"


def refuse_unsafe_names(region: Region, scop: Scop, parsed: ParsedFile) -> None:
    """Raise an error if names have another meaning where a region is, or are used after it."""
    names = [variable.name for variable in scop.inputs if variable.member is None]
    declared = declared_names(parsed, region.function.name)
    for variable in () if region.is_whole else _leaving_variables(region, parsed):
        reason = f"{variable.name} is declared here and used after the loops"
        raise UnsupportedConstruct(variable.location, reason, "declare it before them")
    for name in () if region.is_whole else lasting_declarations(parsed, region):
        reason = f"{name} is declared among the loops"
        raise UnsupportedConstruct(region.location, reason, "declare it before them")
    for variable in scop.inputs:
        if not variable.root.name or names.count(variable.name) > 1:
            reason = f"two variables have the name {variable.name}"
            raise UnsupportedConstruct(region.location, reason, "rename one of them")
        name = variable.root.name
        if variable.root.is_global and name in declared:
            reason = f"the function has a variable with the name {name}, too"
            raise UnsupportedConstruct(region.location, reason, "rename one of them")


def _leaving_variables(region: Region, parsed: ParsedFile) -> Iterator[Variable]:
    """Yield the variables that a region declares, and that later statements may use."""
    has_unknown = any(
        isinstance(each, UnsupportedStatement) for each in walk_statement(region.function.body)
    )
    for variable in declared_in_region(parsed, region):
        if has_unknown or variable in region.live_after:
            yield variable


def _may_be_written(scop: Scop, variable: Variable) -> bool:
    """Whether a scalar that is passed by value may be changed through a pointer."""
    if is_buffer(scop, variable) or variable.is_constant:
        return False
    return any(
        each.is_array and each.is_pointer and _may_share_memory(each.type, variable.type)
        for each in scop.written_variables
    )


def _may_share_memory(first: CType, second: CType) -> bool:
    """Whether C permits objects of two types to be at one address."""
    return first.bits == 8 or (first.bits == second.bits and first.is_float == second.is_float)
