"""Assembly, with the part of the program that each instruction implements, from `.loc`."""

from __future__ import annotations

import re

from riselang.explorer.source_locations import NO_LOCATION

_LOCATION = re.compile(r"\s+\.loc\s+\d+ (?P<line>\d+)")
_LABEL = re.compile(r"(?P<name>[.\w$]+):")
_HIDDEN = re.compile(
    r"\s+\.(?:loc|file|cfi_\w+|addrsig\w*|ident)\b|\.L(?:tmp|func_begin|func_end|debug\w*|info\w*)\d*:"
)
"""Directives and labels that are not displayed."""
_DEBUG_SECTION = re.compile(r'\s+\.section\s+"?\.(?:debug|note)')
_SECTION = re.compile(r"\s+\.(?:section|text|data|bss)\b")


def assembly_lines(text: str) -> list[tuple[str, int]]:
    """Return the lines without debug info, and the part that each instruction implements."""
    lines: list[tuple[str, int]] = []
    number, is_debug = NO_LOCATION, False
    for line in text.rstrip("\n").split("\n"):
        if _SECTION.match(line):
            is_debug = _DEBUG_SECTION.match(line) is not None
        location = _LOCATION.match(line)
        if location is not None:
            number = max(int(location["line"]) - 1, NO_LOCATION)
        if is_debug or _HIDDEN.match(line) or not line.strip():
            continue
        is_code = line[0].isspace() and not line.lstrip().startswith(".")
        if _LABEL.match(line) and not line.startswith(".L"):
            number = NO_LOCATION
        lines.append((line.expandtabs(8), number if is_code else NO_LOCATION))
    return lines
