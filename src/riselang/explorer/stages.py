"""The stages behind the last program, from the dialect to assembly, with what each line is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import FileLineColLoc, NameLoc
from xdsl.ir import Operation

from riselang.errors import InternalError, RiseError
from riselang.explorer.assembly import assembly_lines
from riselang.explorer.llvm_lines import llvm_lines
from riselang.explorer.numbering import number_at
from riselang.explorer.places import NOWHERE
from riselang.native import llvm

if TYPE_CHECKING:
    from riselang.api.compile import Compilation

Lines = list[tuple[str, int]]
"""Texts, and the part of the program that each is for."""


@dataclass(frozen=True)
class Stage:
    """A stage of the code."""

    key: str
    title: str
    language: str
    summary: str
    lines: Lines
    error: str | None = None
    """Why there is none."""


def stages_of(compilation: Compilation) -> list[Stage]:
    """All stages; one that cannot be made says why, and those after it are left out."""
    found: list[Stage] = []
    for key, (title, language, summary, make) in STAGES.items():
        try:
            found.append(Stage(key, title, language, summary, make(compilation)))
        except InternalError:
            raise
        except RiseError as error:
            found.append(Stage(key, title, language, summary, [], str(error)))
            break
    return found


def _module(stage: str) -> Callable[[Compilation], Lines]:
    def lines(compilation: Compilation) -> Lines:
        return [(text, number_of(op)) for text, op in compilation.located(stage)]

    return lines


def number_of(op: Operation | None) -> int:
    """The part of the program that an op was made for."""
    place = None if op is None else op.location
    place = place.location if isinstance(place, NameLoc) else place
    if not isinstance(place, FileLineColLoc):
        return NOWHERE
    number = number_at(place.filename.data, place.line.data)
    return NOWHERE if number is None else number


STAGES: Mapping[str, tuple[str, str, str, Callable[[Compilation], Lines]]] = {
    "rise": ("RISE dialect", "mlir", "the last program as ops of MLIR", _module("rise")),
    "imperative": ("Imperative", "mlir", "loops and access paths", _module("imperative")),
    "affine": ("Affine & vector", "mlir", "loops with loads and stores", _module("affine")),
    "llvm": ("LLVM IR", "llvm", "as MLIR leaves it", lambda each: llvm_lines(each.llvm_ir)),
    "optimised": ("LLVM -O3", "llvm", "as LLVM optimises it for this machine",
                  lambda each: llvm_lines(llvm.optimise(each.llvm_ir))),
    "asm": ("Assembly", "asm", "what the machine runs",
            lambda each: assembly_lines(llvm.assembly(each.llvm_ir))),
}  # fmt: skip
"""By key: title, language, summary, and what makes the lines."""
