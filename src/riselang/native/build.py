"""From MLIR text to machine code in one step, in this process or another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from riselang.native.debug_info.debug_metadata import with_entry_lines
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm import guard
from riselang.native.llvm.entry_points import guarded
from riselang.native.llvm.ir_text import with_distinct_pointers
from riselang.native.llvm.short_loops import with_short_loops_marked
from riselang.native.mlir import bindings as mlir
from riselang.support.lazy import cached_property


@dataclass(frozen=True)
class Job:
    """A module to compile."""

    text: str
    """MLIR, as native MLIR reads it."""
    pipeline: tuple[str, ...]
    distinct: Mapping[str, Sequence[int]]
    """For each function, the parameters of its LLVM function that share no memory with others."""
    entries: str = ""
    """LLVM IR that is added: the functions through which Python calls."""
    debug_info: bool = False
    effort: str = "default"
    """How much time LLVM may take."""
    has_short_floats: bool = True
    """Whether LLVM may call conversions of 16-bit floats."""
    may_end_early: bool = True
    """Whether a call can end before its work is done, at a signal or for want of memory."""

    @cached_property
    def llvm_ir(self) -> str:
        """The functions of the module."""
        ir = mlir.to_llvm_ir(self.text, self.pipeline)
        return with_short_loops_marked(with_distinct_pointers(ir, self.distinct), self.effort)

    @property
    def whole_ir(self) -> str:
        """With what is added for any caller."""
        added = [llvm.float_conversions()] if self.has_short_floats else []
        ir = "\n".join([self.llvm_ir, self.entries, *added])
        return with_entry_lines(ir) if self.debug_info else ir

    @property
    def loaded_ir(self) -> str:
        """All that LLVM gets for code that is loaded into a process of Python."""
        is_guarded = self.may_end_early and guard.IS_SUPPORTED
        return self.whole_ir + guarded(self.entries) if is_guarded else self.whole_ir

    def object_code(self) -> bytes:
        """Machine code to be loaded into a process on this machine."""
        return llvm.jit_object(self.loaded_ir, self.effort)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Job:
        data: dict[str, Any] = json.loads(text)
        data["pipeline"] = tuple(data["pipeline"])
        return Job(**data)
