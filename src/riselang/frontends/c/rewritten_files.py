"""A C file in which new loops, or calls, replace its regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riselang.frontends.c.emit.c_source import CWriter
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.clang import ParsedFile
from riselang.frontends.c.parse.regions import Region
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.replaced_calls import format_call, refuse_unsafe_names
from riselang.frontends.c.source_extents import (
    SourceExtent,
    function_extent,
    region_extent,
    replace_extents,
)


def format_with_loops(parsed: ParsedFile, scops: Sequence[Scop], trees: Sequence[Any]) -> str:
    """Return the file with new loops in place of the regions."""
    new_texts: list[tuple[SourceExtent, str]] = []
    helpers: dict[str, None] = {}
    for scop, tree in zip(scops, trees, strict=True):
        region = _checked_region(parsed, scop)
        writer = CWriter(scop, is_inline=True)
        body = writer.write_body(tree)
        helpers |= dict.fromkeys(writer.helpers)
        extent = region_extent(parsed, region)
        margin = _margin(parsed.text, extent)
        lines = [f"{margin}{line}" for line in body.split("\n")]
        new_texts.append((extent, "\n".join(["{", *lines, f"{margin}}}"])))
    if helpers and scops:
        starts = [function_extent(parsed, scop.function.name).start for scop in scops]
        at = min(starts)
        new_texts.append((SourceExtent(at, at), "".join(f"{each}\n" for each in helpers)))
    return replace_extents(parsed.text, new_texts)


def _margin(text: str, extent: SourceExtent) -> str:
    """Return the spaces at the start of the line in which a region begins."""
    line = text.encode()[: extent.start].decode().rpartition("\n")[2]
    return line[: len(line) - len(line.lstrip())]


def format_with_calls(parsed: ParsedFile, scops: Sequence[Scop]) -> str:
    """Return the file with calls in place of the regions; whole functions are only declared."""
    new_texts: list[tuple[SourceExtent, str]] = []
    for scop in scops:
        region = _checked_region(parsed, scop)
        extent = region_extent(parsed, region)
        if region.is_whole and scop.function.is_static:
            raise UnsupportedConstruct(
                scop.location,
                f"{scop.name} is static, so no function of an object file can replace it",
                "remove static",
            )
        new_texts.append((extent, ";" if region.is_whole else format_call(scop, scop.name)))
    return replace_extents(parsed.text, new_texts)


def _checked_region(parsed: ParsedFile, scop: Scop) -> Region:
    region = scop.region
    assert region is not None
    refuse_unsafe_names(region, scop, parsed)
    return region
