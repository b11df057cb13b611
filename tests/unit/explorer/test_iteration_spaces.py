"""Drawings of iteration spaces: points, arrows and tiles are those of the model."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("islpy")

from riselang.explorer.iteration_points import Point, Slice, choose_sizes, find_slices
from riselang.explorer.iteration_spaces import convex_hull, draw_iteration_spaces, draw_slice
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.schedule.user_schedules import make_schedule, read_schedule
from riselang.tools import rise
from support.c_programs import KERNELS, model
from support.tool_runs import called

SEIDEL = """void f(int n, int steps, double a[n][n]) {
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        a[i][j] += a[i - 1][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j];
}
"""
TRIANGLE = """void f(int n, double a[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      a[i][j] = 1.0;
}
"""
Pair = tuple[Point, Point]


def slices(text: str, sizes: dict[str, int], tile: tuple[int, ...] = ()) -> list[Slice]:
    scop = model(text)
    tree = make_schedule(scop, "smart", tile) if tile else scop.schedule
    return find_slices(scop, tree, choose_sizes(scop, tree, sizes))


def seidel_pairs(n: int, steps: int) -> dict[Pair, str]:
    """The dependences of all instances, by running the accesses in source order."""
    readers: dict[Point, list[Point]] = defaultdict(list)
    writers: dict[Point, list[Point]] = defaultdict(list)
    pairs: dict[Pair, str] = {}
    for point in product(range(steps), range(1, n - 1), range(1, n - 1)):
        _, i, j = point
        read = [(i, j), (i - 1, j), (i, j - 1), (i, j + 1), (i + 1, j)]
        found = [("flow", each) for element in read for each in writers[element]]
        found += [("anti", each) for each in readers[(i, j)]]
        found += [("output", each) for each in writers[(i, j)]]
        for kind, source in found:
            pairs.setdefault((source, point), kind)
        for element in read:
            readers[element].append(point)
        writers[(i, j)].append(point)
    return {
        (a, c): kind
        for (a, c), kind in pairs.items()
        if not any((a, b) in pairs and (b, c) in pairs for b in {source for source, _ in pairs})
    }


def test_points_are_the_instances_in_a_plane() -> None:
    first, second, third = slices(SEIDEL, {"n": 6, "steps": 3})
    assert [each.axes for each in (first, second, third)] == [(0, 1), (0, 2), (1, 2)]
    assert (first.fixed, second.fixed, third.fixed) == ({"j": 3}, {"i": 3}, {"t": 1})
    assert set(first.order) == {(t, i, 3) for t, i in product(range(3), range(1, 5))}
    assert list(third.order) == [(1, i, j) for i, j in product(range(1, 5), repeat=2)]


def test_arrows_are_the_dependences_that_no_two_others_imply() -> None:
    expected = seidel_pairs(5, 3)
    for found in slices(SEIDEL, {"n": 5, "steps": 3}):
        inside = {(*pair, kind) for pair, kind in expected.items() if set(pair) <= set(found.order)}
        assert {(each.source, each.target, each.kind) for each in found.arrows or ()} == inside
        assert inside


def test_tiles_are_those_of_the_schedule() -> None:
    (found,) = slices(TRIANGLE, {"n": 10}, (4, 3))
    (level,) = found.tiles
    assert sorted(sorted(tile) for tile in level) == sorted(
        sorted((i, j) for i, j in found.order if (i // 4, j // 3) == corner)
        for corner in {(i // 4, j // 3) for i, j in found.order}
    )


def test_tiles_may_be_skewed_and_have_levels() -> None:
    scop = model(TRIANGLE)
    schedule = (
        'domain: "[n] -> { S0[i, j] : 0 <= i < n and 0 <= j <= i }"\nchild:\n  schedule: "[n] -> ['
        "{ S0[i, j] -> [floor((i + j)/8)] }, { S0[i, j] -> [floor(j/4)] }, { S0[i, j] -> [(i)] }, "
        '{ S0[i, j] -> [floor(j/2)] }, { S0[i, j] -> [(j)] }]"\n'
    )
    (found,) = find_slices(scop, read_schedule(scop, schedule), {"n": 9})
    outer, inner = ({frozenset(tile) for tile in level} for level in found.tiles)
    assert outer == groups(found, lambda i, j: ((i + j) // 8, j // 4))
    assert inner == groups(found, lambda i, j: ((i + j) // 8, j // 4, i, j // 2))


def groups(found: Slice, tile: Any) -> set[frozenset[Point]]:
    made: dict[Any, set[Point]] = defaultdict(set)
    for point in found.order:
        made[tile(*point)].add(point)
    return set(map(frozenset, made.values()))


def test_loops_without_tiles_have_none() -> None:
    assert [found.tiles for found in slices(SEIDEL, {})] == [()] * 3


def test_a_picture_has_them_all() -> None:
    found = slices(SEIDEL, {"n": 6, "steps": 3}, (2, 2, 2))[2]
    picture = ElementTree.fromstring(draw_slice(found))
    said = ["".join(each.itertext()) for each in picture.iter("title")]
    points = [re.match(r"S0\[(.*)\]: number (\d+) of", each) for each in said]
    shown = {
        tuple(map(int, each[1].split(", "))): int(each[2]) - 1
        for each in points
        if each is not None
    }
    assert shown == found.order
    arrows = [each for each in said if "->" in each]
    assert sorted(arrows) == sorted(
        f"{each.kind}: S0[{', '.join(map(str, each.source))}] -> "
        f"S0[{', '.join(map(str, each.target))}]"
        for each in found.arrows or ()
    )
    tiles = [each for each in said if each.startswith("tile")]
    assert len(tiles) == sum(map(len, found.tiles)) > 1
    assert all(
        f"{len(tile)} instance" in text for tile, text in zip(found.tiles[0], tiles, strict=True)
    )


def test_points_lie_in_order_on_the_picture() -> None:
    (found,) = slices(TRIANGLE, {"n": 4})
    picture = ElementTree.fromstring(draw_slice(found))
    places = [
        (float(each.attrib["cy"]), float(each.attrib["cx"])) for each in picture.iter("circle")
    ]
    assert places == sorted(places)
    assert len({x for x, _ in places}) == len({y for _, y in places}) == 4


def test_a_hull_has_the_corners() -> None:
    square = [(float(x), float(y)) for x in range(3) for y in range(3)]
    assert sorted(convex_hull(square)) == [(0, 0), (0, 2), (2, 0), (2, 2)]
    assert convex_hull([(1.0, 1.0)]) == [(1.0, 1.0)]


def html_of(scop: Scop, **sizes: int) -> str:
    return draw_iteration_spaces([scop], [scop.schedule], sizes)


def test_one_loop_is_a_line_and_statements_without_loops_are_left_out() -> None:
    text = "void f(int n, double *a) { a[0] = 1; for (int i = 1; i < n; i++) a[i] = a[i - 1]; }"
    html = html_of(model(text), n=5)
    assert html.count("<circle") == 4
    assert html.count('class="flow"') == 3
    assert "f for n = 5" in html
    assert html_of(model("void f(double *a) { a[0] = 1; }")) == ""


def test_sizes_give_each_statement_instances() -> None:
    text = "void f(int k, int n, double *a) { for (int i = k; i < n; i++) a[i] = 1; }"
    scop = model(text)
    assert choose_sizes(scop, scop.schedule, {}) == {"k": 2, "n": 8}
    assert choose_sizes(scop, scop.schedule, {"k": 5, "other": 3}) == {"k": 5, "n": 8}


def test_sizes_are_large_enough_for_tiles() -> None:
    scop = model((KERNELS / "gemm.c").read_text())
    tree = make_schedule(scop, "smart", (16, 16))
    assert set(choose_sizes(scop, tree, {}).values()) == {20}


@pytest.mark.rotating(5)
def test_the_page_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(SEIDEL)
    page = tmp_path / "page.html"
    command = [
        "explore",
        str(tmp_path / "f.c"),
        "--tile",
        "4,4,4",
        "--size",
        "n=9",
        "-o",
        str(page),
    ]
    assert called(rise.main, command).code == 0
    view = re.search(r'<main id="spaces".*?</main>', page.read_text(), re.DOTALL)
    assert view is not None
    captions = re.findall(r"<small>(.*?)</small>", view[0])
    assert len(captions) == 4
    assert all(" tiles" in each and "f.c:5:9" in each for each in captions[1:])
