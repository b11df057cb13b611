"""Ops of StableHLO mean what StableHLO's own interpreter says, compiled and interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.native.mlir.element_dtypes import dtype_of
from support.model_examples import as_list
from support.stablehlo_functions import BINARY, CHLO, UNARY, cases
from support.stablehlo_reference import evaluate

FLOATS = np.array([-np.inf, -7.5, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 3.0, 9.25,
                   np.inf, np.nan], np.float32)  # fmt: skip
TAME = np.array([-0.9, -0.5, -0.25, 0.1, 0.3, 0.7, 0.9, 0.5], np.float32)
INTEGERS = np.array([-(2**31), -7, -2, -1, 0, 1, 2, 3, 9, 31, 2**31 - 1], np.int32)
BOOLEANS = np.array([False, True])
VALUES = {"f32": FLOATS, "tame": TAME, "i32": INTEGERS, "i1": BOOLEANS}


def run(text: str, arguments: Sequence[Any], backend: str) -> list[Any]:
    return as_list(rl.from_stablehlo(text, backend=backend)(*arguments))


def check(text: str, arguments: Sequence[Any], tolerance: float = 0.0) -> list[Any]:
    """Compiled, interpreted and StableHLO's own results are the same."""
    wanted = evaluate(text, arguments)
    for backend in ("interpret", "compile"):
        for result, other in zip(run(text, arguments, backend), wanted, strict=True):
            np.testing.assert_allclose(result, other, rtol=tolerance, atol=0, err_msg=backend)
            assert result.dtype == other.dtype
            if not tolerance and other.dtype.kind == "f":
                signs = np.isnan(other) | (np.signbit(result) == np.signbit(other))
                assert signs.all(), "a zero of the wrong sign"
    return wanted


def function(kind: str, name: str, count: int, length: int) -> str:
    element = "f32" if kind == "tame" else kind
    type = f"tensor<{length}x{element}>"
    result = f"tensor<{length}xi1>" if name == "is_finite" else type
    parameters = ", ".join(f"%{k}: {type}" for k in range(count))
    operands = ", ".join(f"%{k}" for k in range(count))
    types = ", ".join([type] * count)
    return (
        f"func.func @main({parameters}) -> {result} {{\n"
        f'  %r = "stablehlo.{name}"({operands}) : ({types}) -> {result}\n  return %r : {result}\n}}'
    )


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("kind", "name"), cases(UNARY))
def test_functions_of_one_number(kind: str, name: str) -> None:
    values = np.abs(VALUES[kind]) if name in ("log", "sqrt", "rsqrt") else VALUES[kind]
    check(function(kind, name, 1, len(values)), [values], 1e-6 if kind == "tame" else 0.0)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("kind", "name"), cases(BINARY))
def test_functions_of_two_numbers(kind: str, name: str) -> None:
    values = VALUES[kind]
    left, right = (each.reshape(-1) for each in np.meshgrid(values, values))
    if name == "power" and kind == "i32":
        left, right = left % 5, np.abs(right % 7)
    left = np.abs(left) if name == "power" and kind == "tame" else left
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    check(function(kind, name, 2, len(left)), [left, right], 1e-6 if kind == "tame" else 0.0)


RELATIONS = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal,
             "GT": np.greater, "GE": np.greater_equal}  # fmt: skip


def several(
    sources: Sequence[str], length: int, body: Sequence[str], targets: Sequence[str]
) -> str:
    """A function of several ops, each with a result `%r0`, `%r1`, ..."""
    parameters = ", ".join(f"%{k}: tensor<{length}x{each}>" for k, each in enumerate(sources))
    types = ", ".join(f"tensor<{length}x{each}>" for each in targets)
    results = ", ".join(f"%r{k}" for k in range(len(targets)))
    lines = "\n  ".join([*body, f"return {results} : {types}"])
    return f"func.func @main({parameters}) -> ({types}) {{\n  {lines}\n}}"


def comparison(element: str, length: int, kind: str = "") -> str:
    type, result = f"tensor<{length}x{element}>", f"tensor<{length}xi1>"
    body = [
        f"%r{k} = stablehlo.compare {relation}, %0, %1{kind} : ({type}, {type}) -> {result}"
        for k, relation in enumerate(RELATIONS)
    ]
    return several([element] * 2, length, body, ["i1"] * len(RELATIONS))


@pytest.mark.parametrize("element", ["f32", "i32", "ui32", "i1"])
def test_comparisons(element: str) -> None:
    values: Any = {"f32": FLOATS, "i32": INTEGERS, "i1": BOOLEANS}.get(element)
    values = INTEGERS.view(np.uint32) if values is None else values
    left, right = (np.ascontiguousarray(each.reshape(-1)) for each in np.meshgrid(values, values))
    check(comparison(element, len(left)), [left, right])


@pytest.mark.rotating(3)
def test_the_total_order_of_floats() -> None:
    values = np.concatenate([FLOATS, np.array([-np.nan], np.float32)])
    left, right = (np.ascontiguousarray(each.reshape(-1)) for each in np.meshgrid(values, values))
    text = comparison("f32", len(left), ", TOTALORDER")

    def key(array: Any) -> Any:
        bits = array.view(np.int32)
        return np.where(bits < 0, np.int32(-(2**31)) - bits - 1, bits)

    for backend in ("interpret", "compile"):
        found = run(text, [left, right], backend)
        for result, compare in zip(found, RELATIONS.values(), strict=True):
            np.testing.assert_array_equal(result, compare(key(left), key(right)))


SCALARS = ["f16", "bf16", "f32", "f64", "i8", "i32", "i64", "ui8", "ui32", "i1"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("source", SCALARS)
def test_conversions(source: str) -> None:
    body = [
        f"%r{k} = stablehlo.convert %0 : (tensor<6x{source}>) -> tensor<6x{target}>"
        for k, target in enumerate(SCALARS)
    ]
    model = rl.from_stablehlo(several([source], 6, body, SCALARS))
    values = np.array([0, 1, 2, 3, 100, 7]).astype(model.dtypes["arg0"])
    for result in model(values):
        np.testing.assert_array_equal(result, values.astype(result.dtype))


def test_while() -> None:
    text = """
    func.func @main(%n: tensor<i32>, %x: tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = "stablehlo.while"(%zero, %x) ({
        ^bb0(%i: tensor<i32>, %y: tensor<3xf32>):
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          "stablehlo.return"(%c) : (tensor<i1>) -> ()
      }, {
        ^bb0(%i: tensor<i32>, %y: tensor<3xf32>):
          %j = stablehlo.add %i, %one : tensor<i32>
          %z = stablehlo.add %y, %x : tensor<3xf32>
          "stablehlo.return"(%j, %z) : (tensor<i32>, tensor<3xf32>) -> ()
      }) : (tensor<i32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>)
      return %r#0, %r#1 : tensor<i32>, tensor<3xf32>
    }"""
    for steps in (0, 1, 5):
        check(text, [np.array(steps, np.int32), np.array([1, 2, 3], np.float32)])


IF = """
func.func @main(%c: tensor<i1>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %r:2 = "stablehlo.if"(%c) ({
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%x, %s) : (tensor<3xf32>, tensor<f32>) -> ()
  }, {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %y = stablehlo.negate %x : tensor<3xf32>
    "stablehlo.return"(%y, %one) : (tensor<3xf32>, tensor<f32>) -> ()
  }) : (tensor<i1>) -> (tensor<3xf32>, tensor<f32>)
  return %r#0, %r#1 : tensor<3xf32>, tensor<f32>
}"""


def test_if() -> None:
    cheap = IF.replace(
        "%s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]\n"
        "      : (tensor<3xf32>, tensor<f32>) -> tensor<f32>",
        "%s = stablehlo.sqrt %zero : tensor<f32>",
    )
    for text in (IF, cheap):
        for condition in (False, True):
            check(text, [np.array(condition), np.array([1, 2, 4], np.float32)])


def test_a_costly_branch_runs_only_where_it_is_taken() -> None:
    assert "while" in rl.from_stablehlo(IF).as_text()


def test_a_loop_that_would_not_end_is_not_run_in_vain() -> None:
    text = """
    func.func @main(%c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
      %r = "stablehlo.if"(%c) ({
        %w = "stablehlo.while"(%x) ({
          ^bb0(%y: tensor<f32>):
            "stablehlo.return"(%c) : (tensor<i1>) -> ()
        }, {
          ^bb0(%y: tensor<f32>):
            "stablehlo.return"(%y) : (tensor<f32>) -> ()
        }) : (tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%w) : (tensor<f32>) -> ()
      }, {
        "stablehlo.return"(%x) : (tensor<f32>) -> ()
      }) : (tensor<i1>) -> tensor<f32>
      return %r : tensor<f32>
    }"""
    assert run(text, [np.array(False), np.array(2.5, np.float32)], "compile")[0] == 2.5


@pytest.mark.rotating(3)
@pytest.mark.parametrize("costly", [False, True])
def test_case(costly: bool) -> None:
    op = (
        "stablehlo.cbrt %x"
        if not costly
        else "stablehlo.dot_general %x, %x, contracting_dims = [] x []"
    )
    type = "tensor<f32>" if not costly else "(tensor<f32>, tensor<f32>) -> tensor<f32>"
    text = f"""
    func.func @main(%k: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {{
      %r = "stablehlo.case"(%k) ({{
        %y = {op} : {type}
        "stablehlo.return"(%y) : (tensor<f32>) -> ()
      }}, {{
        %y = stablehlo.negate %x : tensor<f32>
        "stablehlo.return"(%y) : (tensor<f32>) -> ()
      }}, {{
        "stablehlo.return"(%x) : (tensor<f32>) -> ()
      }}) : (tensor<i32>) -> tensor<f32>
      return %r : tensor<f32>
    }}"""
    for number in (-1, 0, 1, 2, 3):
        check(text, [np.array(number, np.int32), np.array(8.0, np.float32)])


def test_a_reduction_of_two_operands() -> None:
    text = """
    func.func @main(%x: tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
      %i = stablehlo.iota dim = 1 : tensor<3x4xi32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = "stablehlo.reduce"(%x, %i, %low, %zero) ({
        ^bb0(%a: tensor<f32>, %k: tensor<i32>, %b: tensor<f32>, %l: tensor<i32>):
          %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %m = stablehlo.select %c, %a, %b : tensor<i1>, tensor<f32>
          %n = stablehlo.select %c, %k, %l : tensor<i1>, tensor<i32>
          "stablehlo.return"(%m, %n) : (tensor<f32>, tensor<i32>) -> ()
      }) {dimensions = array<i64: 1>} : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>)
        -> (tensor<3xf32>, tensor<3xi32>)
      return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>
    }"""
    x = np.array([[1, 5, 5, 2], [-3, -1, -2, -9], [0, 0, 0, 0]], np.float32)
    check(text, [x])


def test_clamp_and_select_take_scalars() -> None:
    text = """
    func.func @main(%a: tensor<f32>, %x: tensor<5xf32>, %b: tensor<f32>, %c: tensor<i1>)
        -> (tensor<5xf32>, tensor<5xf32>) {
      %0 = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
      %1 = stablehlo.select %c, %x, %0 : tensor<i1>, tensor<5xf32>
      return %0, %1 : tensor<5xf32>, tensor<5xf32>
    }"""
    x = np.array([-3, -1, 0, 1, 3], np.float32)
    check(text, [np.array(-1, np.float32), x, np.array(2, np.float32), np.array(False)])


def test_elementwise_ops_that_belong_together_are_one_map() -> None:
    text = """
    func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.add %x, %y : tensor<8xf32>
      %1 = stablehlo.multiply %0, %0 : tensor<8xf32>
      %2 = stablehlo.tanh %1 : tensor<8xf32>
      %3 = stablehlo.subtract %2, %0 : tensor<8xf32>
      return %3 : tensor<8xf32>
    }"""
    assert rl.from_stablehlo(text).as_text().count("map") == 1


def test_chlo_functions_are_those_of_the_math_library() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
      %1 = chlo.erfc %x : tensor<4xf32> -> tensor<4xf32>
      return %0, %1 : tensor<4xf32>, tensor<4xf32>
    }"""
    from math import erf, erfc

    model = rl.from_stablehlo(text)
    assert "erf" in model.as_text()
    x = np.array([-2, -0.5, 0.1, 3], np.float32)
    found, rest = model(x)
    np.testing.assert_allclose(found, [erf(each) for each in x], rtol=1e-6)
    np.testing.assert_allclose(rest, [erfc(each) for each in x], rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "reference"),
    [*zip(CHLO, (np.arccos, np.arcsin, np.arctan, np.cosh, np.sinh, np.tan), strict=True)],
)
def test_other_functions_of_chlo(name: str, reference: Any) -> None:
    text = (
        f"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{\n"
        f"  %0 = chlo.{name} %x : tensor<8xf32> -> tensor<8xf32>\n  return %0 : tensor<8xf32>\n}}"
    )
    for backend in ("interpret", "compile"):
        np.testing.assert_allclose(run(text, [TAME], backend)[0], reference(TAME), rtol=1e-6)


def test_bits_are_cast() -> None:
    text = """
    func.func @main(%x: tensor<16xf32>) -> (tensor<16xi32>, tensor<16xf32>, tensor<16xui32>) {
      %0 = stablehlo.bitcast_convert %x : (tensor<16xf32>) -> tensor<16xi32>
      %1 = stablehlo.bitcast_convert %0 : (tensor<16xi32>) -> tensor<16xf32>
      %2 = stablehlo.bitcast_convert %0 : (tensor<16xi32>) -> tensor<16xui32>
      return %0, %1, %2 : tensor<16xi32>, tensor<16xf32>, tensor<16xui32>
    }"""
    bits, back, plain = run(text, [FLOATS], "compile")
    np.testing.assert_array_equal(bits, FLOATS.view(np.int32))
    np.testing.assert_array_equal(back, FLOATS)
    np.testing.assert_array_equal(plain, FLOATS.view(np.uint32))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("3xui64", "3x2xui32"), ("3x2xui32", "3xui64"), ("2x3xf32", "2x3x4xui8"),
        ("2x4xui8", "2xf32"), ("2xf64", "2x4xi16"), ("4xui16", "f64"), ("i16", "2xi8"),
    ],
)  # fmt: skip
def test_bits_are_cast_to_elements_of_more_or_fewer(source: str, target: str) -> None:
    text = (
        f"func.func @main(%x: tensor<{source}>) -> tensor<{target}> {{\n  %0 = "
        f"stablehlo.bitcast_convert %x : (tensor<{source}>) -> tensor<{target}>\n"
        f"  return %0 : tensor<{target}>\n}}"
    )
    (*lengths, element), (*wanted, other) = source.split("x"), target.split("x")
    shape, dtype = tuple(map(int, lengths)), dtype_of(element)
    bytes = np.random.default_rng(0).bytes(int(np.prod(shape)) * dtype.itemsize)
    x = np.frombuffer(bytes, dtype).reshape(shape)
    for backend in ("interpret", "compile"):
        found = run(text, [x], backend)[0]
        assert found.shape == tuple(map(int, wanted))
        assert found.dtype == dtype_of(other)
        assert found.tobytes() == bytes


def test_older_ops() -> None:
    text = """
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>)
        -> (tensor<2x4xf32>, tensor<5x2x3xf32>) {
      %0 = stablehlo.dot %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
      %1 = stablehlo.broadcast %x, sizes = [5] : (tensor<2x3xf32>) -> tensor<5x2x3xf32>
      %2 = stablehlo.optimization_barrier %1 : tensor<5x2x3xf32>
      return %0, %2 : tensor<2x4xf32>, tensor<5x2x3xf32>
    }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y = np.arange(12, dtype=np.float32).reshape(3, 4)
    product, repeated = run(text, [x, y], "compile")
    np.testing.assert_array_equal(product, x @ y)
    np.testing.assert_array_equal(repeated, np.broadcast_to(x, (5, 2, 3)))


def test_map_and_reduce_precision() -> None:
    text = """
    func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = "stablehlo.map"(%x, %x) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %c = stablehlo.multiply %a, %b : tensor<f32>
          "stablehlo.return"(%c) : (tensor<f32>) -> ()
      }) {dimensions = array<i64: 0>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %1 = stablehlo.reduce_precision %x, format = e5m10 : tensor<8xf32>
      return %0, %1 : tensor<8xf32>, tensor<8xf32>
    }"""
    squares, rounded = run(text, [TAME], "compile")
    np.testing.assert_array_equal(squares, TAME * TAME)
    np.testing.assert_array_equal(rounded, TAME.astype(np.float16).astype(np.float32))


def test_dynamic_ops_whose_shapes_are_known() -> None:
    text = """
    func.func @main(%x: tensor<2x3xi32>) -> (tensor<3x2xi32>, tensor<4x2x3xi32>, tensor<5xi32>) {
      %s = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
      %0 = stablehlo.dynamic_reshape %x, %s : (tensor<2x3xi32>, tensor<2xi64>) -> tensor<3x2xi32>
      %t = stablehlo.constant dense<[4, 2, 3]> : tensor<3xi64>
      %1 = stablehlo.dynamic_broadcast_in_dim %x, %t, dims = [1, 2]
        : (tensor<2x3xi32>, tensor<3xi64>) -> tensor<4x2x3xi32>
      %u = stablehlo.constant dense<5> : tensor<1xi64>
      %2 = stablehlo.dynamic_iota %u, dim = 0 : (tensor<1xi64>) -> tensor<5xi32>
      return %0, %1, %2 : tensor<3x2xi32>, tensor<4x2x3xi32>, tensor<5xi32>
    }"""
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    check(text, [x])
