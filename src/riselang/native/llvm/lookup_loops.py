"""Marks loops in LLVM IR text that look up short elements in tables: they are not vectorized.

`table[x[i]]` reads a table at indices that are themselves loaded. CPUs have no instruction that
gathers elements of 8 or 16 bits, so a vectorized loop extracts each index from a vector and inserts
each element into one, which takes longer than the loads themselves. LLVM estimates that it pays.
Such a loop is interleaved instead: several iterations at a time, in scalar code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

INTERLEAVED = 4
"""The number of iterations at a time."""
MAX_OPERATIONS = 4
"""The maximum number of other operations for each lookup: more of them pay for vectors."""

_SHORT_LOAD = re.compile(r"^  %(\S+) = load (?:i8|i16|half|bfloat), ptr %(\S+),", re.MULTILINE)
_LABEL = re.compile(r"^([\w.$-]+):")
_JUMP = re.compile(r"^  br label %([^\s,]+)(?:, !dbg !\d+)?$")
_DEFINITION = re.compile(r"^  %(\S+) = (\w+) (.*)")
_NAME = re.compile(r"%([\w.$-]+)")
_METADATA = re.compile(r"^!(\d+) =", re.MULTILINE)
_FREE = frozenset((
    "load", "getelementptr", "extractvalue", "insertvalue", "phi", "zext", "sext", "trunc", "icmp",
))  # fmt: skip
"""Ops that address elements, or count the iterations."""


@dataclass
class _Block:
    """A basic block: which of its values depend on loads, and what it computes."""

    name: str
    loaded: set[str] = field(default_factory=set[str])
    lookups: int = 0
    operations: int = 0

    def add(self, line: str) -> None:
        definition = _DEFINITION.match(line)
        if definition is None:
            return
        name, op, operands = definition.groups()
        names = [each.rstrip(",") for each in _NAME.findall(operands)]
        depends = any(each in self.loaded for each in names)
        short = _SHORT_LOAD.match(line)
        self.lookups += short is not None and short[2] in self.loaded
        self.operations += op not in _FREE and not (op in ("add", "mul") and not depends)
        if depends or op == "load":
            self.loaded.add(name)

    @property
    def is_lookup(self) -> bool:
        return 0 < self.operations + self.lookups <= self.lookups * (MAX_OPERATIONS + 1)


def mark_lookup_loops(ir: str) -> str:
    """Return the module with metadata that keeps LLVM from vectorizing loops of lookups."""
    if not _SHORT_LOAD.search(ir):
        return ir
    lines = ir.split("\n")
    marked = _back_edges(lines)
    if not marked:
        return ir
    first = 1 + max((int(number) for number in _METADATA.findall(ir)), default=-1)
    ends = [
        f'!{first} = !{{!"llvm.loop.vectorize.width", i32 1}}',
        f'!{first + 1} = !{{!"llvm.loop.interleave.count", i32 {INTERLEAVED}}}',
    ]
    for number, line in enumerate(marked, first + 2):
        lines[line] += f", !llvm.loop !{number}"
        ends.append(f"!{number} = distinct !{{!{number}, !{first}, !{first + 1}}}")
    return "\n".join([*lines, *ends, ""])


def _back_edges(lines: list[str]) -> list[int]:
    """Return the lines that jump back to the header of a loop whose one block does lookups."""
    marked: list[int] = []
    previous, block = "", _Block("")
    for number, line in enumerate(lines):
        if line.startswith("define "):
            previous, block = "", _Block("")
        elif (label := _LABEL.match(line)) is not None:
            previous, block = block.name, _Block(label[1])
        elif (jump := _JUMP.match(line)) is not None:
            if jump[1] == previous and block.is_lookup:
                marked.append(number)
        else:
            block.add(line)
    return marked
