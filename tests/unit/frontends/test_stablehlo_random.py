"""Random bits are those of XLA; random numbers are those of their distribution."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.native.mlir.element_dtypes import dtype_of
from support import xla_random_bits
from support.fuzzing import IS_NIGHTLY
from support.pairwise import each_once

pytestmark = pytest.mark.rotating(6)

KEPT = {
    f"{algorithm}-{list(map(int, state))}": (algorithm, state, expected)
    for algorithm, state, expected in xla_random_bits.expected()
}


@pytest.mark.parametrize(("name", "backend"), each_once(KEPT, ["compile", "interpret"]))
@pytest.mark.sampled(1)
def test_random_bits_are_those_of_xla(name: str, backend: str) -> None:
    algorithm, state, expected = KEPT[name]
    text = xla_random_bits.text(algorithm, len(state))
    for found, wanted in zip(_model(text, backend)(state), expected, strict=True):
        assert found.reshape(-1).tolist() == wanted


@cache
def _model(text: str, backend: str) -> Any:
    return rl.from_stablehlo(text, backend=backend)


def test_floats_get_the_bits_of_integers() -> None:
    text = """func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<3xELEMENT>) {
      %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY
          : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xELEMENT>)
      return %0, %1 : tensor<2xui64>, tensor<3xELEMENT>
    }"""
    state = np.array([1, 2], np.uint64)
    for element, integer in (("f32", "ui32"), ("f64", "ui64"), ("bf16", "ui16"), ("i8", "ui8")):
        (_, found), (_, wanted) = (
            rl.from_stablehlo(text.replace("ELEMENT", each))(state) for each in (element, integer)
        )
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("algorithm", "state"),
    [("THREE_FRY", "3xui64"), ("PHILOX", "4xui64"), ("DEFAULT", "1xui64"), ("PHILOX", "4xui32")],
)
def test_a_state_of_other_words_is_rejected(algorithm: str, state: str) -> None:
    text = f"""func.func @main(%s: tensor<{state}>) -> tensor<3xui32> {{
      %0, %1 = stablehlo.rng_bit_generator %s, algorithm = {algorithm}
          : (tensor<{state}>) -> (tensor<{state}>, tensor<3xui32>)
      return %1 : tensor<3xui32>
    }}"""
    with pytest.raises(rl.RiseError):
        rl.from_stablehlo(text)


def test_no_bits_leave_the_state_as_it_is() -> None:
    text = """func.func @main(%s: tensor<3xui64>) -> (tensor<3xui64>, tensor<2x0xui32>) {
      %0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX
          : (tensor<3xui64>) -> (tensor<3xui64>, tensor<2x0xui32>)
      return %0, %1 : tensor<3xui64>, tensor<2x0xui32>
    }"""
    state = np.arange(3, dtype=np.uint64)
    kept, bits = rl.from_stablehlo(text)(state)
    np.testing.assert_array_equal(kept, state)
    assert bits.shape == (2, 0)


def draws(kind: str, element: str, shape: tuple[int, ...], **choices: Any) -> Any:
    """A model that draws twice."""
    lengths, type = ", ".join(map(str, shape)), f"tensor<{'x'.join(map(str, shape))}x{element}>"
    scalar, sizes = f"tensor<{element}>", f"tensor<{len(shape)}xi64>"
    draw = (
        f"stablehlo.rng %a, %b, %s, distribution = {kind} : ({scalar}, {scalar}, {sizes}) -> {type}"
    )
    return rl.from_stablehlo(
        f"""func.func @main(%a: {scalar}, %b: {scalar}) -> ({type}, {type}) {{
          %s = stablehlo.constant dense<[{lengths}]> : {sizes}
          %0 = {draw}
          %1 = {draw}
          return %0, %1 : {type}, {type}
        }}""",
        **choices,
    )


INTERVALS = [
    ("f32", -1, 3), ("f64", 2, 3), ("bf16", 0, 1), ("f16", -4, -3), ("i32", -5, 7), ("ui8", 3, 250),
    ("i64", -(2**63), 2**63 - 1), ("ui64", 1, 2**64 - 1), ("f32", -3e38, 3e38),
]  # fmt: skip


@pytest.mark.parametrize(("element", "start", "end"), INTERVALS if IS_NIGHTLY else INTERVALS[::2])
@pytest.mark.sampled(2)
def test_uniform_numbers_fill_their_interval(element: str, start: float, end: float) -> None:
    bounds = [np.array(each, dtype_of(element)) for each in (start, end)]
    first, second = draws("UNIFORM", element, (40, 500))(*bounds)
    assert (first >= bounds[0]).all()
    assert (first < bounds[1]).all()
    assert (first != second).any()
    share = (first.astype(np.float64) - float(start)) / (float(end) - float(start))
    assert abs(share.mean() - 0.5) < 0.05
    assert abs(share.std() - 12**-0.5) < 0.02
    small = [draws("UNIFORM", element, (3, 5), backend=each)(*bounds) for each in BACKENDS]
    np.testing.assert_array_equal(*small)


BACKENDS = ("compile", "interpret")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("element", ["f32", "f64", "f16"])
def test_normal_numbers_have_their_mean_and_deviation(element: str) -> None:
    given = [np.array(each, dtype_of(element)) for each in (3, 2)]
    first, second = draws("NORMAL", element, (40, 500))(*given)
    drawn = (first.astype(np.float64) - 3) / 2
    assert abs(drawn.mean()) < 0.03
    assert abs(drawn.std() - 1) < 0.03
    assert abs((drawn**3).mean()) < 0.1
    assert abs((drawn**4).mean() - 3) < 0.2
    assert abs(np.corrcoef(first.reshape(-1), second.reshape(-1))[0, 1]) < 0.03
    small = [draws("NORMAL", element, (7,), backend=each)(*given) for each in BACKENDS]
    np.testing.assert_allclose(small[0], small[1], rtol=1e-2 if element == "f16" else 1e-5)


def test_each_call_draws_the_same_numbers() -> None:
    model, bounds = draws("UNIFORM", "f32", (8,)), [np.float32(0), np.float32(1)]
    np.testing.assert_array_equal(model(*bounds), model(*bounds))


def test_numbers_are_those_of_the_whole_module_where_it_is_split() -> None:
    text = """func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %s = stablehlo.constant dense<4> : tensor<1xi64>
      %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM
          : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
      %1 = stablehlo.complex %0, %0 : tensor<4xcomplex<f32>>
      %2 = stablehlo.real %1 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
      %m = stablehlo.slice %2 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
      %n = stablehlo.reshape %m : (tensor<1xf32>) -> tensor<f32>
      %3 = stablehlo.rng %n, %b, %s, distribution = UNIFORM
          : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
      return %0, %3 : tensor<4xf32>, tensor<4xf32>
    }"""
    first, second = rl.from_stablehlo(text, fallback="linalg")(np.float32(0), np.float32(1))
    wanted = draws("UNIFORM", "f32", (4,))
    np.testing.assert_array_equal(first, wanted(np.float32(0), np.float32(1))[0])
    np.testing.assert_array_equal(second, wanted(first[0], np.float32(1))[1])


def test_a_loop_would_draw_the_same_numbers_in_each_round() -> None:
    text = """func.func @main(%a: tensor<f32>) -> tensor<f32> {
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %s = stablehlo.constant dense<> : tensor<0xi64>
      %0 = stablehlo.while(%x = %a) : tensor<f32>
        cond {
          %c = stablehlo.compare LT, %x, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %y = stablehlo.rng %x, %one, %s, distribution = UNIFORM
              : (tensor<f32>, tensor<f32>, tensor<0xi64>) -> tensor<f32>
          stablehlo.return %y : tensor<f32>
        }
      return %0 : tensor<f32>
    }"""
    with pytest.raises(
        rl.LimitationError, match="each iteration of which would draw the same numbers"
    ):
        rl.from_stablehlo(text)


@pytest.mark.parametrize(("kind", "element"), [("UNIFORM", "i1"), ("NORMAL", "i32")])
def test_a_distribution_that_elements_do_not_have_is_rejected(kind: str, element: str) -> None:
    with pytest.raises(rl.RiseError):
        draws(kind, element, (3,))
