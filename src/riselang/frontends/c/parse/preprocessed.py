"""Text from the system's preprocessor: what its compiler compiles, with all macros expanded.

Locations in it are those of the text; `LineMarkers` finds the lines of the files that it came from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from riselang.frontends.c.parse.clang import ERROR, ParsedFile, parse_unit
from riselang.support.errors import SourceLocation, UserError

_FLAGS = (
    "-undef", "-ferror-limit=0", "-Wno-everything", "-D_Float128=__float128", "-D_Float32=float",
    "-D_Float64=double", "-D_Float32x=double", "-D_Float64x=long double",
    "-D__malloc__(...)=__unused__",
)  # fmt: skip
"""Flags for the keywords and attributes of gcc in the headers of its C library."""
_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)')


@dataclass(frozen=True)
class _Marker:
    """The origin of the lines from `line` on."""

    line: int
    origin_line: int
    file: str
    is_system: bool


class LineMarkers:
    """The origins of the lines of a preprocessed text."""

    def __init__(self, text: str):
        self._markers = [_Marker(1, 1, "", False)]
        for number, line in enumerate(text.split("\n"), 1):
            if line.startswith("# ") and (match := _MARKER.match(line)):
                file = re.sub(r"\\(.)", r"\1", match[2])
                marker = _Marker(number + 1, int(match[1]), file, "3" in match[3].split())
                self._markers.append(marker)
        self._lines = [marker.line for marker in self._markers]

    def _marker(self, line: int) -> _Marker:
        return self._markers[bisect_right(self._lines, line) - 1]

    def is_system(self, line: int) -> bool:
        """Whether a line is from a header of the system."""
        return self._marker(line).is_system

    def origin(self, location: SourceLocation) -> SourceLocation:
        """Return the location in the file that a line came from."""
        marker = self._marker(location.line)
        line = marker.origin_line + location.line - marker.line
        return replace(location, file=marker.file or location.file, line=line)


def parse_preprocessed(
    text: str, name: str, flags: Sequence[str], markers: LineMarkers
) -> ParsedFile:
    """Parse a preprocessed text; raises the first error outside of the system's headers."""
    parsed = parse_unit(text, name, ["-xc", *flags, *_FLAGS])
    for diagnostic in parsed.unit.diagnostics:
        if diagnostic.severity >= ERROR and not markers.is_system(diagnostic.location.line):
            location = parsed.source_location(diagnostic.location)
            raise UserError(f"clang refuses this: {diagnostic.spelling}", markers.origin(location))
    return parsed
