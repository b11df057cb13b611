"""Iteration spaces of C loops as SVG: points, dependence arrows, and the tiles of a schedule.

All text from outside is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from riselang.explorer.iteration_points import (
    KINDS,
    Arrow,
    Point,
    Slice,
    choose_sizes,
    find_slices,
)
from riselang.frontends.c.model.scop import Scop
from riselang.support.counts import format_count

WIDTH = 520
MARGIN = 44
MAX_CELL, MIN_CELL = 40.0, 9.0
MAX_ARROWS = 1000
COLORS: Mapping[str, str] = dict(
    zip(KINDS, ("var(--accent)", "var(--gone-edge)", "var(--value)"), strict=True)
)
LEGEND = (
    "each dot is an instance of a statement; outer loops run downward, inner ones to the right; "
    "arrows lead from an instance to one that depends on it: green arrows are flow, red ones anti "
    "and brown ones output dependences; shaded areas are tiles"
)


def draw_iteration_spaces(
    scops: Sequence[Scop], trees: Sequence[Any], given: Mapping[str, int]
) -> str:
    """Draw the iteration spaces of regions under their schedules, as HTML; empty if there are no
    loops."""
    figures = [
        _draw_region(scop, tree, given)
        for scop, tree in zip(scops, trees, strict=True)
        if tree is not None
    ]
    content = "".join(figures)
    return f'<div class="grid spaces">{content}</div>' if content else ""


def _draw_region(scop: Scop, tree: Any, given: Mapping[str, int]) -> str:
    sizes = choose_sizes(scop, tree, given)
    slices = find_slices(scop, tree, sizes)
    if not slices:
        return ""
    values = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    title = f"{scop.name}{f' for {values}' if values else ''}"
    heading = f"<figcaption>{escape(title)}<small>{escape(LEGEND)}</small></figcaption>"
    return f'<figure class="whole">{heading}</figure>' + "".join(map(_draw_figure, slices))


def _draw_figure(found: Slice) -> str:
    title = f"{found.statement.name}[{', '.join(found.names)}]"
    parts = [", ".join(f"{name} = {value}" for name, value in found.fixed.items())]
    parts.append(format_count(len(found.order), "instance"))
    if found.arrows is None:
        parts.append("isl takes too long to find the dependences")
    else:
        parts.append(format_count(len(found.arrows), "dependence"))
        drawn = len(_thin(found.arrows))
        parts += [f"{drawn} of them drawn"] if drawn < len(found.arrows) else []
    parts += [format_count(len(level), "tile") for level in found.tiles if len(level) > 1]
    note = f"{found.statement.location}: {', '.join(part for part in parts if part)}"
    caption = f"<figcaption>{escape(title)}<small>{escape(note)}</small></figcaption>"
    return f"<figure>{caption}{draw_slice(found)}</figure>"


class _Grid:
    """The positions of points in a picture: the last axis to the right, the one before downward."""

    def __init__(self, found: Slice):
        self._axes = found.axes
        flat = [self._flat(point) for point in found.order]
        self.left, self.right = min(x for x, _ in flat), max(x for x, _ in flat)
        self.top, self.bottom = min(y for _, y in flat), max(y for _, y in flat)
        columns = self.right - self.left + 1
        self.cell = min(MAX_CELL, max(MIN_CELL, (WIDTH - 2 * MARGIN) / columns))
        self.width = max(WIDTH, 2 * MARGIN + self.cell * columns)
        self.height = 2 * MARGIN + self.cell * (self.bottom - self.top + 1)

    def _flat(self, point: Point) -> tuple[int, int]:
        return point[self._axes[-1]], point[self._axes[0]] if len(self._axes) > 1 else 0

    def at(self, point: Point) -> tuple[float, float]:
        return self.place(*self._flat(point))

    def place(self, x: float, y: float) -> tuple[float, float]:
        return (
            MARGIN + self.cell * (x - self.left + 0.5),
            MARGIN + self.cell * (y - self.top + 0.5),
        )


def draw_slice(found: Slice) -> str:
    """Draw a slice: tiles below arrows below points."""
    grid = _Grid(found)
    name = found.statement.name
    parts = [
        _draw_tile(tile, grid, level, number)
        for level, tiles in enumerate(found.tiles)
        for number, tile in enumerate(tiles)
    ]
    parts += _draw_axes(found, grid)
    parts += [_draw_arrow(each, name, grid) for each in _thin(found.arrows or ())]
    for point, number in found.order.items():
        x, y = grid.at(point)
        tooltip = f"{_instance(name, point)}: number {number + 1} of {len(found.order)}"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{max(1.8, grid.cell * 0.1):.1f}" '
            f'fill="var(--ink)"><title>{escape(tooltip)}</title></circle>'
        )
    label = f"Iteration space of {name}"
    return (
        f'<svg viewBox="0 0 {grid.width:.0f} {grid.height:.0f}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _instance(name: str, point: Point) -> str:
    return f"{name}[{', '.join(map(str, point))}]"


def _thin(arrows: Sequence[Arrow]) -> Sequence[Arrow]:
    """Return the arrows to draw: all, or those of some sources, evenly spread."""
    if len(arrows) <= MAX_ARROWS:
        return arrows
    sources = sorted({arrow.source for arrow in arrows})
    kept = set(sources[:: math.ceil(len(arrows) / MAX_ARROWS)])
    return [arrow for arrow in arrows if arrow.source in kept]


def _draw_tile(tile: Sequence[Point], grid: _Grid, level: int, number: int) -> str:
    """Draw the convex hull of the points of a tile; the thick line makes an area of few points."""
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in convex_hull(list(map(grid.at, tile))))
    width = grid.cell * (0.78 - 0.24 * min(level, 1))
    color = f"color-mix(in oklab, var(--type) {18 + 14 * min(level, 2)}%, var(--card))"
    tooltip = f"tile {number + 1}: {format_count(len(tile), 'instance')}"
    return (
        f'<polygon class="tile" points="{corners}" fill="{color}" stroke="{color}" '
        f'stroke-width="{width:.1f}" stroke-linejoin="round"><title>{tooltip}</title></polygon>'
    )


def convex_hull(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of the convex hull of some points."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def half(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        chain: list[tuple[float, float]] = []
        for x, y in points:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 1e-9:
                    break
                chain.pop()
            chain.append((x, y))
        return chain[:-1]

    return half(ordered) + half(ordered[::-1])


def _draw_arrow(arrow: Arrow, name: str, grid: _Grid) -> str:
    """Draw an arrow, curved if it may pass other points."""
    (x, y), (u, v) = grid.at(arrow.source), grid.at(arrow.target)
    length = math.hypot(u - x, v - y) or 1.0
    bend = 0.16 * length if length > 1.5 * grid.cell else 0.0
    along, across = ((u - x) / length, (v - y) / length), ((y - v) / length, (u - x) / length)
    middle = ((x + u) / 2 + bend * across[0], (y + v) / 2 + bend * across[1])
    gap = grid.cell * 0.16
    tip = (u - gap * along[0], v - gap * along[1])
    angle = math.atan2(tip[1] - middle[1], tip[0] - middle[0])
    head = grid.cell * 0.17
    wings = " ".join(
        f"{tip[0] - head * math.cos(angle + turn):.1f} {tip[1] - head * math.sin(angle + turn):.1f}"
        for turn in (0.5, -0.5)
    )
    tooltip = f"{arrow.kind}: {_instance(name, arrow.source)} -> {_instance(name, arrow.target)}"
    color = COLORS[arrow.kind]
    return (
        f'<g class="{arrow.kind}"><path d="M{x:.1f} {y:.1f}Q{middle[0]:.1f} {middle[1]:.1f} '
        f'{tip[0]:.1f} {tip[1]:.1f}" fill="none" stroke="{color}" stroke-width="1.3"/>'
        f'<path d="M{tip[0]:.1f} {tip[1]:.1f}L{wings}z" fill="{color}"/>'
        f"<title>{escape(tooltip)}</title></g>"
    )


def _draw_axes(found: Slice, grid: _Grid) -> list[str]:
    """Label the rows and columns with the values of the iterators."""
    names = [found.names[axis] for axis in found.axes]
    every = max(1, math.ceil(24 / grid.cell))
    parts: list[str] = []
    for value in range(grid.left, grid.right + 1, every):
        parts.append(_text(grid.place(value, 0)[0], MARGIN - 10, str(value)))
    parts.append(_text(grid.place(grid.right, 0)[0] + grid.cell / 2 + 14, MARGIN - 10, names[-1]))
    if len(names) > 1:
        for value in range(grid.top, grid.bottom + 1, every):
            parts.append(_text(MARGIN - 14, grid.place(0, value)[1] + 4, str(value)))
        parts.append(
            _text(MARGIN - 14, grid.place(0, grid.bottom)[1] + grid.cell / 2 + 16, names[0])
        )
    return parts


def _text(x: float, y: float, text: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="var(--quiet)">'
        f"{escape(text)}</text>"
    )
