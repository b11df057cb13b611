"""Maps of views in the place of a result store what they view where it is to be, once."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.support.config import Options

VIEWS = {
    "map(join)": "x |> map(fun(a, {0})) |> transpose |> map(join)",
    "map(transpose)": "x |> map(fun(a, {0})) |> transpose |> map(transpose)",
    "map(reverse)": "x |> map(fun(a, {0})) |> transpose |> map(reverse)",
    "map(split)": "x |> map(fun(a, {0} |> map(reduce(add, 0)))) |> transpose |> map(split(2))",
    "two views": "x |> map(fun(a, {0})) |> transpose |> map(fun(v, v |> transpose |> join))",
    "maps inside": "x |> map(fun(a, {0})) |> transpose |> map(map(reverse))",
    "inside": "x |> map(fun(a, {0})) |> transpose |> map(fun(v, v |> map(reverse) |> join))",
}
COMPUTED = "a |> map(fun(b, x |> at(clampIdx(4, 0)) |> map(fun(c, b * c))))"


@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("name", VIEWS)
def test_maps_of_views_store_through(name: str, loops: str) -> None:
    term = parse_term(f"fun((x : 4.3.i32), {VIEWS[name].format(COMPUTED)})")
    values = np.random.default_rng(2).integers(-9, 9, (4, 3)).astype(np.int32)
    expected = TermKernel("f", term, "interpret")(values)
    assert np.array_equal(TermKernel("f", term, options=Options(loops))(values), expected)


def test_what_is_computed_is_computed_once() -> None:
    """A fold for each of 4 x 3 results, and no loop around it that runs it again."""
    text = (
        "fun((x : 4.5.i32, y : 3.2.i32), x |> map(fun(a, y |> map(fun(b, "
        "b |> map(fun(c, a |> reduce(add, c))))))) |> transpose |> map(join))"
    )
    affine = TermKernel("f", parse_term(text)).lower().as_text("affine")
    assert affine.count("affine.for") == 4
    assert affine.count("affine.store") == 1
