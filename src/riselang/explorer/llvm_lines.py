"""LLVM IR, with the part of the program that each line implements, from its debug locations."""

from __future__ import annotations

import re

from riselang.explorer.source_locations import NO_LOCATION

_ATTACHED = re.compile(r",? !dbg (?P<node>!\d+)")
_LOCATION = re.compile(
    r"^(?P<node>!\d+) = (?:distinct )?!DILocation\(line: (?P<line>\d+)", re.MULTILINE
)
_METADATA = re.compile(r"^(?:!|; ModuleID|source_filename)")


def llvm_lines(ir: str) -> list[tuple[str, int]]:
    """Return the lines without metadata, and the part of the program that each implements."""
    numbers = {found["node"]: int(found["line"]) - 1 for found in _LOCATION.finditer(ir)}
    lines: list[tuple[str, int]] = []
    for line in ir.strip("\n").split("\n"):
        if _METADATA.match(line) or (not line and (not lines or not lines[-1][0])):
            continue
        found = _ATTACHED.search(line)
        number = numbers.get(found["node"], NO_LOCATION) if found is not None else NO_LOCATION
        lines.append((_ATTACHED.sub("", line), max(number, NO_LOCATION)))
    while lines and not lines[-1][0]:
        lines.pop()
    return lines
