"""Entry points with the parameters of the C function, if it has structures or uses globals.

The function that does the work takes each member that it uses as a number or an array. Its entry
point computes their addresses from those of the structures.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType

from riselang.frontends.c.emit.c_entry_points import (
    OUTER_PREFIX,
    buffer_arguments,
    llvm_type,
    pointer_type,
)
from riselang.frontends.c.emit.record_arguments import RecordPassing, check_known
from riselang.frontends.c.emit.region_functions import input_type
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.record_types import counted_elements
from riselang.frontends.c.parse.syntax import Variable
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct


def has_own_entry(scop: Scop) -> bool:
    """Whether the inputs of a function are not its parameters."""
    return scop.is_whole and (
        any(each.type.is_record for each in scop.function.parameters)
        or any(each.root not in scop.function.parameters for each in scop.inputs)
    )


def format_abi_entry(scop: Scop) -> str:
    """Return LLVM IR of the function that C calls."""
    return _Entry(scop).format_text()


def format_globals(scops: Sequence[Scop]) -> str:
    """Return LLVM IR of the globals that functions use.

    A definition is weak, since the file that declares it may also define it.
    """
    names = {scop.name for scop in scops}
    roots = {each.root: None for scop in scops if has_own_entry(scop) for each in scop.inputs}
    lines: list[str] = []
    for variable in roots:
        definition = variable.definition
        if definition is None:
            continue
        symbol, initial = f'@"{definition.symbol}"', definition.initial
        if initial is None:
            lines.append(f"{symbol} = external global i8")
            continue
        other = sorted(definition.users - names)
        if definition.is_static and not variable.is_constant and other:
            raise UnsupportedConstruct(
                variable.location, f"{variable.name} is static, and {other[0]}, which is not in "
                "this object file, uses it, too", "remove static from its declaration",
            )  # fmt: skip
        linkage = "internal" if definition.is_static else "weak"
        text = "".join(f"\\{byte:02X}" for byte in initial.tobytes())
        lines.append(f'{symbol} = {linkage} global [{initial.nbytes} x i8] c"{text}", align 16')
    return "\n".join(["", *lines, ""])


class _Entry:
    def __init__(self, scop: Scop):
        self._scop = scop
        self._passing = RecordPassing()
        self._parameters: list[str] = []
        self._lines: list[str] = []
        self._addresses: dict[Variable, str] = {}
        self._values: dict[Variable, str] = {}
        self._count = 0

    def format_text(self) -> str:
        scop = self._scop
        for variable in scop.function.parameters:
            self._add_parameter(variable)
        arguments: list[str] = []
        for variable in scop.inputs:
            arguments += self._input_arguments(variable)
        result = "void" if scop.result is None else llvm_type(scop.result.type)
        call = f'call {result} @"{OUTER_PREFIX}{scop.name}"({", ".join(arguments)})'
        end = [call, "ret void"] if scop.result is None else [f"%r = {call}", f"ret {result} %r"]
        body = "\n".join(f"  {line}" for line in (*self._lines, *end))
        parameters = ", ".join(self._parameters)
        return f'define {result} @"{scop.name}"({parameters}) {{\n{body}\n}}\n'

    def _add_parameter(self, variable: Variable) -> None:
        name = f"%p{len(self._parameters)}"
        if variable.is_array:
            self._passing.pass_pointer()
            self._parameters.append(f"ptr {name}")
            self._addresses[variable] = name
        elif variable.type.is_record:
            self._add_record(variable, name)
        else:
            self._passing.pass_scalar(variable.type)
            self._parameters.append(f"{llvm_type(variable.type)} {name}")
            self._values[variable] = name

    def _add_record(self, variable: Variable, name: str) -> None:
        """Store the parts of a structure that is passed by value in memory."""
        check_known(variable)
        passed = self._passing.pass_record(variable)
        if not passed.types:
            self._parameters.append(f"ptr{passed.attributes} {name}")
            self._addresses[variable] = name
            return
        address = self._emit(f"alloca [{-(-variable.type.bits // 64)} x i64], align 16")
        for position, type in enumerate(passed.types):
            part = f"%p{len(self._parameters)}"
            self._parameters.append(f"{type} {part}")
            target = self._emit(f"getelementptr i8, ptr {address}, i64 {8 * position}")
            self._lines.append(f"store {type} {part}, ptr {target}, align 8")
        self._addresses[variable] = address

    def _input_arguments(self, variable: Variable) -> list[str]:
        type = pointer_type(input_type(self._scop, variable))
        if isinstance(type, MemRefType):
            return buffer_arguments(self._address(variable), type)
        if variable not in self._values:
            self._values[variable] = self._load_value(variable)
        return [f"{llvm_type(variable.type)} {self._values[variable]}"]

    def _load_value(self, variable: Variable) -> str:
        address = self._address(variable)
        if counted := counted_elements(variable):
            return self._count_elements(address, counted)
        if not variable.type.is_bool:
            return self._emit(f"load {llvm_type(variable.type)}, ptr {address}")
        byte = self._emit(f"load i8, ptr {address}")
        return self._emit(f"icmp ne i8 {byte}, 0")

    def _count_elements(self, address: str, counted: Variable) -> str:
        """Count the elements between the start and the end of a vector."""
        end = self._emit(f"load ptr, ptr {address}")
        numbers = [
            self._emit(f"ptrtoint ptr {each} to i64") for each in (end, self._address(counted))
        ]
        distance = self._emit(f"sub i64 {', '.join(numbers)}")
        return self._emit(f"udiv exact i64 {distance}, {counted.type.bits // 8}")

    def _address(self, variable: Variable) -> str:
        if variable in self._addresses:
            return self._addresses[variable]
        if variable.member is None:
            assert variable.definition is not None
            return f'@"{variable.definition.symbol}"'
        parent, offset = self._address(variable.member.parent), variable.member.offset
        address = self._emit(f"getelementptr i8, ptr {parent}, i64 {offset}")
        if variable.is_pointer_member:
            address = self._emit(f"load ptr, ptr {address}")
        self._addresses[variable] = address
        return address

    def _emit(self, text: str) -> str:
        self._count += 1
        self._lines.append(f"%v{self._count} = {text}")
        return f"%v{self._count}"
