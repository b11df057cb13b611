"""Marks short loops in LLVM IR text for unrolling.

LLVM would also unroll loops of up to a hundred iterations, whose bodies then become too long to be
vectorized: that takes most of the time to compile a model, and makes its code slower. So LLVM
unrolls only the loops that are marked here: those of a few iterations, such as the window of a
stencil.

Where a marked loop is the last part of the body of a `while`, its exit is also the back edge of the
outer loop. LLVM would move the mark to that edge, and warn that it cannot unroll the outer loop, so
the edge has a mark of its own, which disables that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_ITERATIONS = 32
MAX_LINES = {"fast": 64, "default": 256, "max": 256}
"""The maximum number of lines of a loop after unrolling, with the loops in it, for each effort."""
MAX_GPU_LINES = 8192
"""The maximum on GPUs, where an array whose elements have constant indices is kept in registers."""

_LABEL = re.compile(r"^([\w.$-]+):")
_PHI = re.compile(r"^  %(\S+) = phi i64 \[ (\S+), %\S+ \], \[ (\S+), %\S+ \]")
_DEBUG_SUFFIX = r"(?:, !dbg !\d+)?$"
_BOUND = re.compile(rf"^  %\S+ = icmp slt i64 %(\S+), (\d+){_DEBUG_SUFFIX}")
_STEP = re.compile(rf"^  %(\S+) = add (?:nuw |nsw )*i64 %(\S+), (\d+){_DEBUG_SUFFIX}")
_JUMP = re.compile(rf"^  br label %([^\s,]+){_DEBUG_SUFFIX}")
_EXIT = re.compile(rf"^  br i1 %[^\s,]+, label %[^\s,]+, label %([^\s,]+){_DEBUG_SUFFIX}")
_METADATA = re.compile(r"^!(\d+) =", re.MULTILINE)


@dataclass
class _LoopHeader:
    """A loop header: its counter with start, next value and exclusive bound."""

    line: int
    start: int | None = None
    counter: str = ""
    next: str = ""
    bound: int | None = None
    outer_edge: int | None = None
    """The line of the exit if it continues an outer loop."""

    def iterations(self, steps: dict[str, tuple[str, int]]) -> int | None:
        base, step = steps.get(self.next, ("", 0))
        if self.start is None or self.bound is None or base != self.counter or step <= 0:
            return None
        return max(0, -(-(self.bound - self.start) // step))


def mark_short_loops(ir: str, effort: str = "default", *, for_gpu: bool = False) -> str:
    """Return the module with metadata that makes LLVM unroll its short loops."""
    if not _BOUND_ANYWHERE.search(ir):
        return ir
    lines = ir.split("\n")
    marked = _short_loops(lines, MAX_GPU_LINES if for_gpu else MAX_LINES[effort])
    if not marked:
        return ir
    first = 1 + max((int(number) for number in _METADATA.findall(ir)), default=-1)
    ends = [f'!{first} = !{{!"llvm.loop.unroll.full"}}']
    edges = {line: first for line, _ in marked}
    if outer_edges := [edge for _, edge in marked if edge is not None]:
        ends.append(f'!{first + 1} = !{{!"llvm.loop.unroll.disable"}}')
        edges |= dict.fromkeys(outer_edges, first + 1)
    for number, (line, kind) in enumerate(edges.items(), first + len(ends)):
        lines[line] += f", !llvm.loop !{number}"
        ends.append(f"!{number} = distinct !{{!{number}, !{kind}}}")
    return "\n".join([*lines, *ends, ""])


_BOUND_ANYWHERE = re.compile(_BOUND.pattern, re.MULTILINE)


def _short_loops(lines: list[str], max_lines: int) -> list[tuple[int, int | None]]:
    """Return the lines of the back edges of short loops, and of their exits to outer loops."""
    marked: list[tuple[int, int | None]] = []
    headers: dict[str, _LoopHeader] = {}
    steps: dict[str, tuple[str, int]] = {}
    written_out: list[tuple[int, int]] = []
    """The line of each marked loop's header, and the number of lines that unrolling adds."""
    header = _LoopHeader(0)
    for number, line in enumerate(lines):
        if line.startswith("define "):
            headers, steps, written_out, header = {}, {}, [], _LoopHeader(number)
        elif (label := _LABEL.match(line)) is not None:
            header = headers[label[1]] = _LoopHeader(number)
        elif header.start is None and (phi := _PHI.match(line)) is not None:
            _set_counter(header, *phi.groups())
        elif (bound := _BOUND.match(line)) is not None and bound[1] == header.counter:
            header.bound = int(bound[2])
        elif (exit := _EXIT.match(line)) is not None and exit[1] in headers:
            header.outer_edge = number
        elif (step := _STEP.match(line)) is not None:
            steps[step[1]] = step[2], int(step[3])
        elif (jump := _JUMP.match(line)) is not None and jump[1] in headers:
            loop = headers[jump[1]]
            count = loop.iterations(steps)
            inner_counts = [more for begin, more in written_out if begin > loop.line]
            length = number - loop.line + sum(inner_counts)
            if count is not None and count <= MAX_ITERATIONS and count * length <= max_lines:
                marked.append((number, loop.outer_edge))
                written_out = [each for each in written_out if each[0] <= loop.line]
                written_out.append((loop.line, count * length - (number - loop.line)))
    return marked


def _set_counter(header: _LoopHeader, counter: str, first: str, second: str) -> None:
    """Set the counter from a phi of the back edge and a constant from outside."""
    loop_target, exit_target = (first, second) if first.startswith("%") else (second, first)
    if exit_target.isdecimal() and loop_target.startswith("%"):
        header.start, header.counter, header.next = int(exit_target), counter, loop_target[1:]
