"""The stages of the last program, from the dialect to assembly, with the part of each line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import FileLineColLoc, NameLoc
from xdsl.ir import Operation

from riselang.explorer.assembly import assembly_lines
from riselang.explorer.llvm_lines import llvm_lines
from riselang.explorer.numbering import number_at
from riselang.explorer.source_locations import NO_LOCATION
from riselang.lowering.explanation import lines_with_ops
from riselang.native.llvm import codegen as llvm
from riselang.support.errors import InternalError, RiseError

if TYPE_CHECKING:
    from riselang.compiler.compilation import Compilation

Lines = list[tuple[str, int]]
"""Lines of text, each with the number of the part of the program that it implements."""


@dataclass(frozen=True)
class Stage:
    """A stage of the code."""

    key: str
    title: str
    language: str
    summary: str
    lines: Lines
    error: str | None = None
    """Why the stage cannot be made, if it cannot."""


def make_stages(compilation: Compilation) -> list[Stage]:
    """Return all stages; one that cannot be made has an error, and the later ones are omitted."""
    modules: Mapping[str, Callable[[], Lines]] = {
        key: lambda key=key: _number_lines(compilation.lines_with_ops(key)) for key in MODULE_STAGES
    }
    stages = _make_each(MODULE_STAGES, modules)
    if stages[-1].error:
        return stages
    return [*stages, *code_stages(lambda: compilation.llvm_ir, compilation.options.effort)]


def code_stages(llvm_ir: Callable[[], str], effort: str = "default") -> list[Stage]:
    """Return the stages from LLVM IR on."""
    made: Mapping[str, Callable[[], Lines]] = {
        "llvm": lambda: llvm_lines(llvm_ir()),
        "optimized": lambda: llvm_lines(llvm.optimize(llvm_ir(), effort)),
        "asm": lambda: assembly_lines(llvm.assembly(llvm_ir(), effort)),
    }
    return _make_each(CODE_STAGES, made)


def _make_each(
    stages: Mapping[str, tuple[str, str, str]], made: Mapping[str, Callable[[], Lines]]
) -> list[Stage]:
    found: list[Stage] = []
    for key, (title, language, summary) in stages.items():
        try:
            found.append(Stage(key, title, language, summary, made[key]()))
        except InternalError:
            raise
        except RiseError as error:
            found.append(Stage(key, title, language, summary, [], str(error)))
            break
    return found


def module_lines(module: Operation) -> Lines:
    """Return the lines of a module."""
    return _number_lines(lines_with_ops(module))


def _number_lines(lines: list[tuple[str, Operation | None]]) -> Lines:
    return [(text, part_number_of(op)) for text, op in lines]


def part_number_of(op: Operation | None) -> int:
    """Return the number of the part of the program that an op implements."""
    location = None if op is None else op.location
    location = location.location if isinstance(location, NameLoc) else location
    if not isinstance(location, FileLineColLoc):
        return NO_LOCATION
    number = number_at(location.filename.data, location.line.data)
    return NO_LOCATION if number is None else number


MODULE_STAGES: Mapping[str, tuple[str, str, str]] = {
    "rise": ("RISE dialect", "mlir", "the last program as MLIR ops"),
    "imperative": ("Imperative", "mlir", "loops and access paths"),
    "affine": ("Affine & vector", "mlir", "loops with loads and stores"),
}
CODE_STAGES: Mapping[str, tuple[str, str, str]] = {
    "llvm": ("LLVM IR", "llvm", "as MLIR translates it"),
    "optimized": ("LLVM -O3", "llvm", "optimized for this machine"),
    "asm": ("Assembly", "asm", "the machine code"),
}
"""Stages by key: title, language and summary."""
