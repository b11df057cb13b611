"""A reduce_window over prefixes or suffixes, such as `jnp.cumsum`, becomes a scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import riselang as rl
from support.model_examples import as_list
from support.stablehlo_reference import evaluate

pytestmark = pytest.mark.rotating(2)

STARTS = {
    ("add", "f32"): "0.0", ("add", "i32"): "0", ("multiply", "f32"): "1.0",
    ("multiply", "i32"): "1", ("maximum", "f32"): "0xFF800000", ("maximum", "i32"): "-5",
    ("minimum", "f32"): "0x7F800000", ("and", "i32"): "-1", ("or", "i32"): "0",
    ("xor", "i32"): "0", ("or", "i1"): "false", ("and", "i1"): "true",
}  # fmt: skip


def cumulative(
    op: str, element: str, shape: Sequence[int], dimension: int, *, is_reversed: bool = False,
    start: str | None = None, size: int | None = None,
) -> str:  # fmt: skip
    """A module that reduces the prefixes or suffixes of a dimension."""
    size = shape[dimension] if size is None else size
    sizes = [size if k == dimension else 1 for k in range(len(shape))]
    pads = [[0, 0] for _ in shape]
    pads[dimension] = [0, size - 1] if is_reversed else [size - 1, 0]
    tensor = f"tensor<{'x'.join(map(str, shape))}x{element}>"
    start = STARTS[op, element] if start is None else start
    body = f"%s = stablehlo.{op} %a, %b : tensor<{element}>" if (op, element) in STARTS else op
    return f"""func.func @main(%x: {tensor}) -> {tensor} {{
  %start = stablehlo.constant dense<{start}> : tensor<{element}>
  %r = "stablehlo.reduce_window"(%x, %start) ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    {body}
    stablehlo.return %s : tensor<{element}>
  }}) {{window_dimensions = array<i64: {", ".join(map(str, sizes))}>,
       padding = dense<{pads}> : tensor<{len(shape)}x2xi64>}}
    : ({tensor}, tensor<{element}>) -> {tensor}
  return %r : {tensor}
}}"""


def values(element: str, shape: Sequence[int]) -> Any:
    numbers = np.random.default_rng(3).standard_normal(tuple(shape)) * 4
    return numbers.astype({"f32": np.float32, "i32": np.int32, "i1": np.bool_}[element])


def check(text: str, x: Any, tolerance: float = 0.0) -> str:
    """Compiled, interpreted and StableHLO's own results are the same; returns the notation."""
    (wanted,) = evaluate(text, [x])
    results = [
        as_list(rl.from_stablehlo(text, backend=backend)(x))[0]
        for backend in ("interpret", "compile")
    ]
    for result in results:
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)
        assert tolerance or result.tobytes() == wanted.tobytes()
    assert results[0].tobytes() == results[1].tobytes()
    return rl.from_stablehlo(text).as_text("notation")


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("op", "element"), STARTS)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_prefixes_and_suffixes_become_scans(op: str, element: str, is_reversed: bool) -> None:
    text = cumulative(op, element, (3, 7), 1, is_reversed=is_reversed)
    # A suffix is reduced from its end, which rounds differently.
    tolerance = 1e-5 if is_reversed and op in ("add", "multiply") and element == "f32" else 0.0
    notation = check(text, values(element, (3, 7)), tolerance)
    assert "scan" in notation
    assert "slide" not in notation


@pytest.mark.parametrize(
    ("shape", "dimension"),
    [((9,), 0), ((5, 12), 0), ((5, 3), 0), ((2, 4, 10), 1), ((4, 1, 1), 0), ((3, 2, 2, 5), 1)],
)
def test_scans_along_any_dimension(shape: tuple[int, ...], dimension: int) -> None:
    notation = check(cumulative("add", "f32", shape, dimension), values("f32", shape))
    assert "scan" in notation


def test_windows_longer_than_the_dimension_become_scans() -> None:
    notation = check(cumulative("add", "f32", (6,), 0, size=8), values("f32", (6,)))
    assert "scan" in notation


def test_sums_whose_padding_counts_keep_their_windows() -> None:
    """If the start is not 0, each element of the padding adds to the sum."""
    notation = check(cumulative("add", "i32", (6,), 0, start="1"), values("i32", (6,)))
    assert "slide" in notation


def test_windows_shorter_than_the_dimension_stay_windows() -> None:
    notation = check(cumulative("add", "f32", (6,), 0, size=3), values("f32", (6,)))
    assert "slide" in notation


LOG_ADD_EXP = """
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    %2 = stablehlo.subtract %a, %b : tensor<f32>
    %3 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.add %a, %b : tensor<f32>
    %5 = stablehlo.abs %2 : tensor<f32>
    %6 = stablehlo.negate %5 : tensor<f32>
    %7 = stablehlo.exponential %6 : tensor<f32>
    %8 = stablehlo.log_plus_one %7 : tensor<f32>
    %9 = stablehlo.add %1, %8 : tensor<f32>
    %s = stablehlo.select %3, %4, %9 : tensor<i1>, tensor<f32>"""
"""The body that `lax.cumlogsumexp` is exported with."""


@pytest.mark.parametrize("is_reversed", [False, True])
def test_sums_of_exponentials_become_scans(is_reversed: bool) -> None:
    text = cumulative(LOG_ADD_EXP, "f32", (3, 7), 1, is_reversed=is_reversed, start="0xFF800000")
    notation = check(text, values("f32", (3, 7)), 1e-5)
    assert "scan" in notation
    assert "slide" not in notation


def test_sums_of_exponentials_take_linear_work() -> None:
    text = cumulative(LOG_ADD_EXP, "f32", (256,), 0, start="0xFF800000")
    work = rl.from_stablehlo(text).lower().cost_analysis().optimized_work
    assert work is not None
    assert isinstance(work.total, int)
    assert work.total < 256 * 100


def test_a_body_that_changes_the_start_keeps_its_windows() -> None:
    body = """
    %0 = stablehlo.add %a, %b : tensor<f32>
    %1 = stablehlo.constant dense<1.0> : tensor<f32>
    %s = stablehlo.add %0, %1 : tensor<f32>"""
    notation = check(cumulative(body, "f32", (6,), 0, start="0.0"), values("f32", (6,)))
    assert "slide" in notation


def test_the_last_element_of_a_suffix_is_its_padding() -> None:
    text = cumulative(
        "%s = stablehlo.abs %b : tensor<f32>", "f32", (6,), 0, is_reversed=True, start="2.0"
    )
    check(text, values("f32", (6,)))


def test_a_cumulative_sum_takes_linear_work() -> None:
    lowered = rl.from_stablehlo(cumulative("add", "f32", (1, 4096), 1)).lower()
    work = lowered.cost_analysis().optimized_work
    assert work is not None
    assert work.operations == 4096
