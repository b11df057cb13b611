"""Reading StableHLO: text and bytecode, names, types, and what is refused."""

from __future__ import annotations

import importlib
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import riselang as rl
from support import model_examples as examples

ADD = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.add %x, %0 : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.array([10, 20, 30], np.float32)


def unary(op: str, type: str, result: str | None = None) -> str:
    result = result or type
    return (
        f"func.func @main(%x: {type}) -> {result} {{\n"
        f"  %0 = {op} : ({type}) -> {result}\n  return %0 : {result}\n}}\n"
    )


def refusal(text: str | bytes, error: type[Exception] = rl.LimitationError) -> str:
    with pytest.raises(error) as caught:
        rl.from_stablehlo(text)
    return str(caught.value)


def test_text_a_file_and_bytes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    for source in (ADD, str(path), path, ADD.encode()):
        np.testing.assert_array_equal(rl.from_stablehlo(source)(X, Y), X + Y)


def bytecode(text: str, portable: bool) -> bytes:
    ir: Any = importlib.import_module("torch_mlir.ir")
    stablehlo: Any = importlib.import_module("torch_mlir._mlir_libs._stablehlo")
    context = ir.Context()
    stablehlo.register_dialect(context)
    with context:
        module = ir.Module.parse(text)
        if portable:
            version = stablehlo.get_minimum_version()
            return stablehlo.serialize_portable_artifact(module, version)
        import io

        buffer = io.BytesIO()
        module.operation.write_bytecode(buffer)
        return buffer.getvalue()


@pytest.mark.parametrize("portable", [False, True])
def test_bytecode_is_read(portable: bool, tmp_path: Path) -> None:
    path = tmp_path / "add.mlirbc"
    path.write_bytes(bytecode(ADD, portable))
    np.testing.assert_array_equal(rl.from_stablehlo(path)(X, Y), X + Y)


def test_a_broadcast_is_not_made_in_memory() -> None:
    assert rl.from_stablehlo(ADD).as_text() == (
        "fun((arg0 : 2.3.f32, arg1 : 3.f32),\n  arg0 |> map(fun(x, zip(x, arg1) |> map(add))))"
    )


def test_the_stages_are_those_of_other_programs() -> None:
    model = rl.from_stablehlo(ADD)
    assert "affine.for" in model.lower().as_text("affine")
    assert "rise.map" in model.trace().lower().as_text("rise")
    assert model.options.float == "relaxed"
    assert rl.from_stablehlo(ADD, float="strict").options.float == "strict"
    np.testing.assert_array_equal(model.compile()(X, Y), X + Y)


def test_calls_are_inlined() -> None:
    text = """
    module {
      func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
        %1 = call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
        return %1 : tensor<4xf32>
      }
      func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = stablehlo.add %x, %x : tensor<4xf32>
        return %0 : tensor<4xf32>
      }
    }"""
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(rl.from_stablehlo(text)(x), 4 * x)


def test_constants_come_along() -> None:
    text = """
    func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
      %1 = stablehlo.constant dense_resource<weights> : tensor<2x2xf32>
      %2 = stablehlo.add %x, %0 : tensor<2x2xf32>
      %3 = stablehlo.multiply %2, %1 : tensor<2x2xf32>
      return %3 : tensor<2x2xf32>
    }
    {-# dialect_resources: { builtin: {
      weights: "0x040000000000803F000000400000404000008040" } } #-}"""
    x = np.ones((2, 2), np.float32)
    weights = np.array([[1, 2], [3, 4]], np.float32)
    model = rl.from_stablehlo(text)
    assert model.names == ("arg0",)
    np.testing.assert_array_equal(model(x), (x + weights) * weights)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64",
                                     "ui8", "ui16", "ui32", "ui64"])  # fmt: skip
def test_all_number_types_come_in_and_go_out(element: str) -> None:
    type = f"tensor<4x{element}>"
    numbers = "[1, 2, 3, 4]" if "i" in element else "[1.0, 2.0, 3.0, 4.0]"
    text = (
        f"func.func @main(%x: {type}) -> {type} {{\n"
        f"  %c = stablehlo.constant dense<{numbers}> : {type}\n"
        f"  %0 = stablehlo.multiply %x, %c : {type}\n  return %0 : {type}\n}}\n"
    )
    model = rl.from_stablehlo(text)
    x = np.array([1, 2, 3, 4]).astype(model.dtypes["arg0"])
    result = model(x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result.astype(np.float64), [1, 4, 9, 16])


def test_unsigned_integers_are_unsigned() -> None:
    text = """
    func.func @main(%x: tensor<3xui8>, %y: tensor<3xui8>)
        -> (tensor<3xui8>, tensor<3xui8>, tensor<3xi1>, tensor<3xf32>, tensor<3xui32>) {
      %0 = stablehlo.maximum %x, %y : tensor<3xui8>
      %1 = stablehlo.divide %x, %y : tensor<3xui8>
      %2 = stablehlo.compare LT, %x, %y : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
      %3 = stablehlo.convert %x : (tensor<3xui8>) -> tensor<3xf32>
      %4 = stablehlo.convert %x : (tensor<3xui8>) -> tensor<3xui32>
      return %0, %1, %2, %3, %4
        : tensor<3xui8>, tensor<3xui8>, tensor<3xi1>, tensor<3xf32>, tensor<3xui32>
    }"""
    x, y = np.array([200, 7, 255], np.uint8), np.array([100, 9, 2], np.uint8)
    largest, quotient, less, floats, wide = rl.from_stablehlo(text)(x, y)
    np.testing.assert_array_equal(largest, [200, 9, 255])
    np.testing.assert_array_equal(quotient, [2, 0, 127])
    np.testing.assert_array_equal(less, [False, True, False])
    np.testing.assert_array_equal(floats, [200, 7, 255])
    assert wide.dtype == np.uint32
    np.testing.assert_array_equal(wide, [200, 7, 255])


def test_a_program_without_arguments_is_one() -> None:
    text = """
    func.func @main() -> (tensor<3xi32>, tensor<f32>) {
      %0 = stablehlo.iota dim = 0 : tensor<3xi32>
      %1 = stablehlo.constant dense<2.5> : tensor<f32>
      return %0, %1 : tensor<3xi32>, tensor<f32>
    }"""
    counted, number = rl.from_stablehlo(text)()
    np.testing.assert_array_equal(counted, [0, 1, 2])
    assert number == np.float32(2.5)


def test_a_result_may_be_an_argument() -> None:
    text = "func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {\n" \
           "  return %x, %x : tensor<3xf32>, tensor<3xf32>\n}"  # fmt: skip
    first, second = rl.from_stablehlo(text)(Y)
    np.testing.assert_array_equal(first, Y)
    np.testing.assert_array_equal(second, Y)
    assert not np.shares_memory(first, second)


def test_a_function_is_chosen_by_name() -> None:
    text = ADD.replace("@main", "@plus") + ADD.replace("@main", "@other")
    assert rl.from_stablehlo(text, function="plus").__name__ == "plus"
    with pytest.raises(rl.UserError, match="several functions; choose one of plus, other"):
        rl.from_stablehlo(text)
    with pytest.raises(rl.UserError, match="no public function minus; it has: plus, other"):
        rl.from_stablehlo(text, function="minus")


def test_an_op_that_is_missing_is_named_at_its_place() -> None:
    text = "func.func @main() -> tensor<ui32> {\n  %0 = stablehlo.partition_id : tensor<ui32>\n"
    text += "  return %0 : tensor<ui32>\n}"
    shown = refusal(text)
    assert "<text>:2:8: error: stablehlo.partition_id is not supported" in shown
    assert "%0 = stablehlo.partition_id" in shown
    assert "stablehlo.convolution" in shown  # among what is supported


def test_a_custom_call_is_rejected_by_its_target() -> None:
    text = unary("stablehlo.custom_call @lapack(%x)", "tensor<4xf32>")
    assert "stablehlo.custom_call @lapack is not supported" in refusal(text)


def test_the_place_that_an_author_gives_is_shown() -> None:
    text = (
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        '  %0 = stablehlo.custom_call @a(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/a")\n'
        '  %1 = stablehlo.custom_call @a(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/b")\n'
        "  return %1 : tensor<4xf32>\n}\n"
    )
    assert "it comes from jit(f)/a" in refusal(text)


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("tensor<4xf8E4M3>", "elements f8E4M3 are not supported"),
        ("tensor<4xi4>", "elements i4 are not supported"),
        ("tensor<9223372036854775807xf32>", "a length may have at most 18 digits"),
    ],
)
def test_element_types_that_are_missing_are_named(type: str, message: str) -> None:
    shown = refusal(
        unary("stablehlo.optimization_barrier %x", type).replace(f"({type}) -> ", "", 1)
    )
    assert message in shown


@pytest.mark.parametrize(
    "text",
    [
        "func.func @main(",
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %y : f32\n}",
        "\n",
        "no module at all\n",
        unary("stablehlo.nonsense %x", "tensor<4xf32>"),
    ],
)
def test_broken_text_is_a_users_error(text: str) -> None:
    assert "error" in refusal(text, rl.UserError)


@pytest.mark.parametrize("cut", [4, 5, 20, 60, 100])
def test_broken_bytecode_is_a_users_error(cut: int) -> None:
    refusal(bytecode(ADD, False)[:cut], rl.UserError)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    refusal(str(tmp_path / "none.mlir"), rl.UserError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X,), "called without arg1"),
        ((X, Y, Y), "takes 2 arguments"),
        ((X.astype(np.float64), Y), "argument arg0: expected dtype float32"),
        ((X.T, Y), r"argument arg0: expected shape \(2, 3\)"),
        ((np.asfortranarray(X), Y), "C-contiguous"),
        (("x", Y), "argument arg0: expected an array"),
    ],
)
def test_wrong_calls_are_explained(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(rl.UserError, match=message):
        rl.from_stablehlo(ADD)(*arguments)


def test_functions_that_jax_outlines_are_part_of_the_program() -> None:
    text = examples.text("mlp")
    assert "call @relu" in text
    assert "max" in rl.from_stablehlo(text).as_text()


def test_names_that_are_no_unicode_do_no_harm() -> None:
    text = ADD.replace("%x: tensor<2x3xf32>", '%x: tensor<2x3xf32> loc("\\FFx")')
    text = text.replace(": tensor<2x3xf32>\n  return", ': tensor<2x3xf32> loc("\\FE")\n  return')
    np.testing.assert_array_equal(rl.from_stablehlo(text)(X, Y), X + Y)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_text_is_read_or_rejected(seed: int) -> None:
    random = Random(seed)
    text = examples.text("mlp_train")
    for _ in range(3):
        place, other = random.randrange(len(text)), random.randrange(len(text))
        text = text[:place] + text[other : other + 20] + text[place + random.randint(0, 20) :]
    with suppress(rl.UserError, rl.LimitationError):
        rl.from_stablehlo(text)


def test_complex_constants_are_read() -> None:
    text = """
    func.func @main() -> (tensor<2xcomplex<f32>>, tensor<2xcomplex<f64>>, tensor<complex<f32>>) {
      %0 = stablehlo.constant dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>
      %1 = stablehlo.constant dense<[(-1.5, 0x7FF0000000000000), (0.0, 1.0e-3)]>
          : tensor<2xcomplex<f64>>
      %2 = stablehlo.constant dense<(0.0, -1.0)> : tensor<complex<f32>>
      return %0, %1, %2 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f64>>, tensor<complex<f32>>
    }"""
    splat, numbers, scalar = rl.from_stablehlo(text)()
    assert splat.tolist() == [1 + 2j, 1 + 2j]
    assert numbers.tolist() == [complex(-1.5, np.inf), 1e-3j]
    assert scalar == -1j


def test_complex_tensors_become_pairs() -> None:
    text = """
    func.func @main(%x: tensor<3xcomplex<f32>>, %y: tensor<3x2xcomplex<f32>>)
        -> (tensor<2xcomplex<f32>>, tensor<3xf32>, tensor<3xi1>, tensor<complex<f32>>) {
      %d = stablehlo.constant dense<[(1.0, 2.0), (0.0, -1.0), (3.5, 0.0)]> : tensor<3xcomplex<f32>>
      %0 = stablehlo.multiply %x, %d : tensor<3xcomplex<f32>>
      %1 = stablehlo.dot_general %0, %y, contracting_dims = [0] x [0]
          : (tensor<3xcomplex<f32>>, tensor<3x2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
      %2 = stablehlo.abs %0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
      %3 = stablehlo.compare EQ, %x, %d
          : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
      %z = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
      %4 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0]
          : (tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
      return %1, %2, %3, %4 : tensor<2xcomplex<f32>>, tensor<3xf32>, tensor<3xi1>,
          tensor<complex<f32>>
    }"""
    x, y = np.array([1 + 1j, -1j, 2], np.complex64), np.arange(6).reshape(3, 2) + 1j
    model, y = rl.from_stablehlo(text), y.astype(np.complex64)
    assert repr(model) == "<model main(arg0 : 3.complex64, arg1 : 3.2.complex64)>"
    product = x * np.array([1 + 2j, -1j, 3.5], np.complex64)
    for each in (model(x, y), model.bind(arg1=y)(x)):
        np.testing.assert_allclose(each[0], product @ y, rtol=1e-6)
        np.testing.assert_allclose(each[1], np.abs(product), rtol=1e-6)
        assert each[2].tolist() == [False, True, False]
        np.testing.assert_allclose(each[3], product.sum(), rtol=1e-6)


def test_parts_of_complex_and_real_tensors() -> None:
    text = """
    func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %0 = stablehlo.complex %x, %y : tensor<2xcomplex<f32>>
      %1 = stablehlo.negate %0 : tensor<2xcomplex<f32>>
      %2 = stablehlo.imag %1 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
      %3 = stablehlo.real %x : tensor<2xf32>
      %4 = stablehlo.imag %x : tensor<2xf32>
      %5 = stablehlo.add %3, %4 : tensor<2xf32>
      return %2, %5 : tensor<2xf32>, tensor<2xf32>
    }"""
    x, y = np.array([1, 2], np.float32), np.array([3, -4], np.float32)
    imaginary, same = rl.from_stablehlo(text)(x, y)
    np.testing.assert_array_equal(imaginary, -y)
    np.testing.assert_array_equal(same, x)
