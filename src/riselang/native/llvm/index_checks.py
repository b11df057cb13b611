"""Marks failures of index checks in LLVM IR text as unlikely.

A check compares an index that is known only at run time with a length. An index that is not below
it is either negative, and counts from the end, or a failure. LLVM would consider both as likely as
indices in bounds, and move the code for them into loops.
"""

from __future__ import annotations

import re

REPORT_FUNCTION = "rise_index_error"
"""The function that a failed check calls."""
IN_BOUNDS, OTHERWISE = 2000, 1
"""The weights of the branches, as for `llvm.expect`."""

_CALL = re.compile(rf"^  call void @{REPORT_FUNCTION}\(")
_LABEL = re.compile(r"^([\w.$-]+):")
_BRANCH = re.compile(r"^  br i1 %\S+, label %([^\s,]+), label %([^\s,]+)(?:, !dbg !\d+)?$")
_METADATA = re.compile(r"^!(\d+) =", re.MULTILINE)


def mark_index_checks(ir: str) -> str:
    """Return the module with branch weights for its checks."""
    if REPORT_FUNCTION not in ir:
        return ir
    lines = ir.split("\n")
    number = 1 + max((int(each) for each in _METADATA.findall(ir)), default=-1)
    marked = [
        line for start, end in _functions(lines) for line in _unlikely_branches(lines, start, end)
    ]
    if not marked:
        return ir
    for line in marked:
        lines[line] += f", !prof !{number}"
    weights = f'!{number} = !{{!"branch_weights", i32 {IN_BOUNDS}, i32 {OTHERWISE}}}'
    return "\n".join([*lines, weights, ""])


def _functions(lines: list[str]) -> list[tuple[int, int]]:
    starts = [number for number, line in enumerate(lines) if line.startswith("define ")]
    return list(zip(starts, [*starts[1:], len(lines)], strict=True))


def _unlikely_branches(lines: list[str], start: int, end: int) -> list[int]:
    """Return the branches to a block that looks again at an index that is not below the length."""
    failing: set[str] = set()
    branches: dict[int, tuple[str, str, str]] = {}
    label = ""
    for number in range(start, end):
        line = lines[number]
        if (match := _LABEL.match(line)) is not None:
            label = match[1]
        elif _CALL.match(line):
            failing.add(label)
        elif (match := _BRANCH.match(line)) is not None:
            branches[number] = label, match[1], match[2]
    checking = {label for label, fails, _ in branches.values() if fails in failing}
    return [number for number, (_, _, other) in branches.items() if other in checking]
