"""Compiles MLIR text to machine code in one step, in this process or another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from riselang.native.debug_info.debug_metadata import add_entry_locations
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm import guard
from riselang.native.llvm.entry_points import (
    array_entry_points_ir,
    guarded_entry_points_ir,
    packed_entry_points_ir,
)
from riselang.native.llvm.foreign_calls import mark_foreign_functions
from riselang.native.llvm.index_checks import mark_index_checks
from riselang.native.llvm.ir_text import limit_vectors, mark_noalias_pointers
from riselang.native.llvm.lookup_loops import mark_lookup_loops
from riselang.native.llvm.short_loops import mark_short_loops
from riselang.native.llvm.thread_pool import call_pool
from riselang.native.mlir import bindings as mlir
from riselang.support.lazy import cached_property


@dataclass(frozen=True)
class Job:
    """A module to compile."""

    text: str
    """MLIR text that native MLIR parses."""
    pipeline: tuple[str, ...]
    noalias_parameters: Mapping[str, Sequence[int]]
    """For each function, the positions of its noalias parameters in the LLVM function."""
    entries: str = ""
    """Additional LLVM IR: the entry points for calls from Python."""
    debug_info: bool = False
    effort: str = "default"
    """How much LLVM optimizes; see `native.llvm.codegen.EFFORTS`."""
    has_short_floats: bool = True
    """Whether the code may need conversion functions for 16-bit floats."""
    may_end_early: bool = True
    """Whether a call can end early, because of a signal or lack of memory."""
    max_vector_bits: int | None = None
    """The length of the longest vectors; None for those of the CPU."""

    @cached_property
    def llvm_ir(self) -> str:
        """The LLVM IR of the module's functions."""
        ir = call_pool(mlir.to_llvm_ir(self.text, self.pipeline))
        ir = mark_short_loops(mark_noalias_pointers(ir, self.noalias_parameters), self.effort)
        return mark_foreign_functions(mark_index_checks(mark_lookup_loops(ir)))

    @property
    def complete_ir(self) -> str:
        """The LLVM IR with entry points and float conversions."""
        added = [llvm.float_conversions()] if self.has_short_floats else []
        ir = self._limit_vectors("\n".join([self.llvm_ir, self.entries, *added]))
        return add_entry_locations(ir) if self.debug_info else ir

    def _limit_vectors(self, ir: str) -> str:
        return ir if self.max_vector_bits is None else limit_vectors(ir, self.max_vector_bits)

    @property
    def jit_ir(self) -> str:
        """The complete LLVM IR for code that is loaded into a Python process."""
        is_guarded = self.may_end_early and guard.IS_SUPPORTED
        wrap = guarded_entry_points_ir if is_guarded else packed_entry_points_ir
        wrappers = [
            wrap(self.entries),
            array_entry_points_ir(self.entries, is_guarded=is_guarded),
        ]
        return self.complete_ir + self._limit_vectors("\n".join(wrappers))

    def object_code(self) -> bytes:
        """Compile to machine code that can be loaded into a process on this machine."""
        return llvm.jit_object(self.jit_ir, self.effort)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Job:
        data: dict[str, Any] = json.loads(text)
        data["pipeline"] = tuple(data["pipeline"])
        return Job(**data)
