"""From MLIR text to machine code in one step, in this process or another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from riselang.lazy import cached_property
from riselang.native import guard, llvm, mlir
from riselang.native.debug_text import with_entry_lines
from riselang.native.entries import guarded
from riselang.native.llvm_text import with_distinct_pointers
from riselang.native.short_loops import with_short_loops_marked


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

    @cached_property
    def llvm_ir(self) -> str:
        ir = mlir.to_llvm_ir(self.text, self.pipeline)
        return with_short_loops_marked(with_distinct_pointers(ir, self.distinct))

    @property
    def whole_ir(self) -> str:
        """With what is added."""
        ir = "\n".join([self.llvm_ir, self.entries])
        return with_entry_lines(ir) if self.debug_info else ir

    def object_code(self) -> bytes:
        """Machine code to be loaded into a process on this machine."""
        ir = self.whole_ir
        return llvm.jit_object(ir + guarded(self.entries) if guard.is_needed(ir) else ir)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Job:
        data: dict[str, Any] = json.loads(text)
        data["pipeline"] = tuple(data["pipeline"])
        return Job(**data)
