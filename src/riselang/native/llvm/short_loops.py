"""Short loops in LLVM IR text, marked to be unrolled.

LLVM would also unroll loops of up to a hundred iterations, whose bodies are then too long to be
vectorised: that costs most of the time to compile a model, and makes its code slower. It is told to
unroll nothing but what is marked here: loops of a few iterations, such as the window of a stencil.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_ITERATIONS = 32
MOST_LINES = {"fast": 64, "default": 256, "max": 256}
"""How long a loop may become when it is written out, with the loops inside of it, by effort."""

_LABEL = re.compile(r"^([\w.$-]+):")
_PHI = re.compile(r"^  %(\S+) = phi i64 \[ (\S+), %\S+ \], \[ (\S+), %\S+ \]")
_PLACE = r"(?:, !dbg !\d+)?$"
_BOUND = re.compile(rf"^  %\S+ = icmp slt i64 %(\S+), (\d+){_PLACE}")
_STEP = re.compile(rf"^  %(\S+) = add (?:nuw |nsw )*i64 %(\S+), (\d+){_PLACE}")
_JUMP = re.compile(rf"^  br label %([^\s,]+){_PLACE}")
_METADATA = re.compile(r"^!(\d+) =", re.MULTILINE)


@dataclass
class _Header:
    """Where a loop begins: its counter, which starts at a number, goes on, and ends below one."""

    line: int
    start: int | None = None
    counter: str = ""
    next: str = ""
    bound: int | None = None

    def iterations(self, steps: dict[str, tuple[str, int]]) -> int | None:
        base, step = steps.get(self.next, ("", 0))
        if self.start is None or self.bound is None or base != self.counter or step <= 0:
            return None
        return max(0, -(-(self.bound - self.start) // step))


def with_short_loops_marked(ir: str, effort: str = "default") -> str:
    """The module with metadata that has LLVM unroll its short loops."""
    if not _BOUND_ANYWHERE.search(ir):
        return ir
    lines = ir.split("\n")
    marked = _short_loops(lines, MOST_LINES[effort])
    if not marked:
        return ir
    first = 1 + max((int(number) for number in _METADATA.findall(ir)), default=-1)
    ends = [f'!{first} = !{{!"llvm.loop.unroll.full"}}']
    for number, line in enumerate(marked, first + 1):
        lines[line] += f", !llvm.loop !{number}"
        ends.append(f"!{number} = distinct !{{!{number}, !{first}}}")
    return "\n".join([*lines, *ends, ""])


_BOUND_ANYWHERE = re.compile(_BOUND.pattern, re.MULTILINE)


def _short_loops(lines: list[str], most: int) -> list[int]:
    """The lines of the jumps back to the beginning of short loops."""
    marked: list[int] = []
    headers: dict[str, _Header] = {}
    steps: dict[str, tuple[str, int]] = {}
    written_out: list[tuple[int, int]] = []
    """Where a marked loop begins, and how many lines it has more when it is unrolled."""
    header = _Header(0)
    for at, line in enumerate(lines):
        if line.startswith("define "):
            headers, steps, written_out, header = {}, {}, [], _Header(at)
        elif (label := _LABEL.match(line)) is not None:
            header = headers[label[1]] = _Header(at)
        elif header.start is None and (phi := _PHI.match(line)) is not None:
            _begin(header, *phi.groups())
        elif (bound := _BOUND.match(line)) is not None and bound[1] == header.counter:
            header.bound = int(bound[2])
        elif (step := _STEP.match(line)) is not None:
            steps[step[1]] = step[2], int(step[3])
        elif (jump := _JUMP.match(line)) is not None and jump[1] in headers:
            loop = headers[jump[1]]
            count = loop.iterations(steps)
            inside = [more for begin, more in written_out if begin > loop.line]
            length = at - loop.line + sum(inside)
            if count is not None and count <= MOST_ITERATIONS and count * length <= most:
                marked.append(at)
                written_out = [each for each in written_out if each[0] <= loop.line]
                written_out.append((loop.line, count * length - (at - loop.line)))
    return marked


def _begin(header: _Header, counter: str, one: str, other: str) -> None:
    """The counter comes from the jump back, and from outside as a number."""
    again, outside = (one, other) if one.startswith("%") else (other, one)
    if outside.isdecimal() and again.startswith("%"):
        header.start, header.counter, header.next = int(outside), counter, again[1:]
