"""Ops that do not become patterns go through MLIR's own lowering, beside those that do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang import pipelines
from riselang.frontends.stablehlo.fallback import model_split

MIXED = """
func.func @main(%x: tensor<3x4xf32>, %w: tensor<4x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
       : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.complex %0, %y : tensor<3x4xcomplex<f32>>
  %2 = stablehlo.multiply %1, %1 : tensor<3x4xcomplex<f32>>
  %3 = stablehlo.exponential_minus_one %2 : tensor<3x4xcomplex<f32>>
  %4 = stablehlo.abs %3 : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
  %5 = stablehlo.add %4, %x : tensor<3x4xf32>
  return %5 : tensor<3x4xf32>
}
"""
PASSED_ON = """
func.func @main(%z: tensor<2xcomplex<f64>>, %n: tensor<2xui32>)
    -> (tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>, tensor<2xui32>, tensor<2xcomplex<f64>>) {
  %c = stablehlo.constant dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f64>>
  %0 = stablehlo.divide %z, %c : tensor<2xcomplex<f64>>
  %one = stablehlo.constant dense<1> : tensor<2xui32>
  %1 = stablehlo.subtract %n, %one : tensor<2xui32>
  return %0, %z, %1, %c : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>, tensor<2xui32>,
      tensor<2xcomplex<f64>>
}
"""
BITS = """
func.func @main(%key: tensor<2xui64>) -> (tensor<2xui64>, tensor<2x5xui32>) {
  %0, %1 = stablehlo.rng_bit_generator %key, algorithm = THREE_FRY
      : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x5xui32>)
  return %0, %1 : tensor<2xui64>, tensor<2x5xui32>
}
"""
PARTITION = """func.func @main(%a: tensor<ui32>) -> tensor<ui32> {
  %0 = stablehlo.add %a, %a : tensor<ui32>
  %1 = stablehlo.partition_id : tensor<ui32>
  %2 = stablehlo.add %0, %1 : tensor<ui32>
  return %2 : tensor<ui32>
}
"""


def inputs(*shapes: tuple[int, ...]) -> list[Any]:
    random = np.random.default_rng(0)
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def mixed(x: Any, w: Any, y: Any) -> Any:
    return np.abs(np.expm1((x @ w + 1j * y) ** 2)).astype(np.float32) + x


def test_a_model_runs_in_units_that_take_from_each_other() -> None:
    model = rl.from_stablehlo(MIXED, fallback="linalg")
    x, w, y = inputs((3, 4), (4, 4), (3, 4))
    np.testing.assert_allclose(model(x, w, y), mixed(x, w, y), rtol=1e-5)
    np.testing.assert_allclose(model.bind(arg1=w)(x, y), mixed(x, w, y), rtol=1e-5)


def test_without_the_fallback_the_first_op_is_rejected_at_its_location() -> None:
    with pytest.raises(
        rl.LimitationError,
        match=r"stablehlo\.exponential_minus_one is not supported here: .* complex<f32>",
    ):
        rl.from_stablehlo(MIXED)


def test_the_report_says_which_op_went_where() -> None:
    lines = rl.from_stablehlo(MIXED, fallback="linalg").report().splitlines()
    where = {line.split()[0]: " ".join(line.split()[1:4]) for line in lines[:6]}
    assert where == {
        "stablehlo.dot_general": "patterns, unit 0",
        "stablehlo.complex": "patterns, unit 0",
        "stablehlo.multiply": "patterns, unit 0",
        "stablehlo.exponential_minus_one": "linalg, unit 1",
        "stablehlo.abs": "patterns, unit 2",
        "stablehlo.add": "patterns, unit 2",
    }
    assert lines[0].endswith("<text>:3:8")
    assert lines[6:] == [
        "patterns, unit 0: 3 ops", "linalg, unit 1: 1 op", "patterns, unit 2: 2 ops",
    ]  # fmt: skip


def test_a_model_of_patterns_alone_is_one_program() -> None:
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}"
    text = text.replace("return %x", "%y = stablehlo.add %x, %x : tensor<2xf32>\n  return %y")
    model = rl.from_stablehlo(text, fallback="linalg")
    assert "map" in model.lower().as_text("notation")
    assert model.report().splitlines()[-1] == "patterns, unit 0: 1 op"


def test_units_are_looked_at_as_text_and_not_as_one_program() -> None:
    model = rl.from_stablehlo(MIXED, fallback="linalg")
    shown = model.as_text("notation")
    assert "// unit 0: patterns\nfun((arg0" in shown
    assert "linalg.generic" in shown
    with pytest.raises(rl.UserError, match="3 units"):
        model.lower()


def test_complex_and_unsigned_values_come_and_go() -> None:
    model = rl.from_stablehlo(PASSED_ON, fallback="linalg")
    z, n = np.array([1 + 1j, -2j]), np.array([0, 7], np.uint32)
    quotient, same, fewer, constant = model(z, n)
    np.testing.assert_allclose(quotient, z / np.array([1 + 2j, 3 - 4j]))
    np.testing.assert_array_equal(same, z)
    assert not np.shares_memory(same, z)
    np.testing.assert_array_equal(fewer, np.array([2**32 - 1, 6], np.uint32))
    np.testing.assert_array_equal(constant, np.array([1 + 2j, 3 - 4j]))
    assert repr(model) == "<model main(arg0 : 2.complex128, arg1 : 2.u32)>"


def test_results_of_units_may_go_to_arrays_that_are_there() -> None:
    model = rl.from_stablehlo(MIXED, fallback="linalg")
    x, w, y = inputs((3, 4), (4, 4), (3, 4))
    out = np.empty((3, 4), np.float32)
    assert model(x, w, y, out=out) is out
    np.testing.assert_allclose(out, mixed(x, w, y), rtol=1e-5)
    with pytest.raises(rl.UserError, match=r"out: expected float32\(3, 4\)"):
        model(x, w, y, out=np.empty((4, 3), np.float32))


def test_random_bits_are_the_same_at_each_call_and_move_the_key_on() -> None:
    model = rl.from_stablehlo(BITS, fallback="linalg")
    key = np.array([3, 0], np.uint64)
    state, bits = model(key)
    assert bits.dtype == np.uint32
    assert len(np.unique(bits)) == bits.size
    np.testing.assert_array_equal(model(key)[1], bits)
    assert not (model(state)[1] == bits).any()


def test_what_nobody_takes_is_rejected_with_name_and_location() -> None:
    with pytest.raises(rl.LimitationError) as caught:
        rl.from_stablehlo(PARTITION, fallback="linalg")
    assert str(caught.value).startswith(
        "<text>:3:8: error: stablehlo.partition_id is not supported"
    )
    assert "stablehlo-legalize-to-linalg does not support it" in str(caught.value)


@pytest.mark.rotating(6)
def test_an_op_that_the_pass_dies_of_is_rejected() -> None:
    text = """func.func @main(%z: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %0 = stablehlo.bitcast_convert %z : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}
"""
    with pytest.raises(rl.LimitationError) as caught:
        rl.from_stablehlo(text, fallback="linalg")
    assert str(caught.value).startswith(
        "<text>:2:8: error: stablehlo.bitcast_convert is not supported: "
        "stablehlo.bitcast_convert of tensor<2xcomplex<f32>> has no patterns, and "
        "stablehlo-legalize-to-linalg crashes on it"
    )


def test_a_unit_that_is_not_compiled_names_its_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    model = rl.from_stablehlo(MIXED, fallback="linalg")
    monkeypatch.setattr(pipelines, "LINALG", ("no-such-pass",))
    with pytest.raises(rl.LimitationError) as caught:
        model(*inputs((3, 4), (4, 4), (3, 4)))
    message = str(caught.value)
    assert message.startswith("<text>:7:8: error: stablehlo.exponential_minus_one")
    assert "MLIR cannot compile its loops" in message


def test_what_calls_a_function_that_is_nowhere_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """func.func @main(%z: tensor<4xcomplex<f32>>, %c: tensor<complex<f32>>)
    -> tensor<9xcomplex<f32>> {
  %0 = stablehlo.pad %z, %c, low = [1], high = [1], interior = [1]
      : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<9xcomplex<f32>>
  return %0 : tensor<9xcomplex<f32>>
}
"""
    monkeypatch.setattr(model_split, "COMPLEX_OPS", frozenset[str]())
    z, c = np.arange(4).astype(np.complex64), np.array(9j, np.complex64)
    model = rl.from_stablehlo(text, fallback="linalg")
    np.testing.assert_array_equal(model(z, c), [9j, 0, 9j, 1, 9j, 2, 9j, 3, 9j])
    passes = [each for each in pipelines.LINALG if each != pipelines.COPY_BY_LOOPS]
    monkeypatch.setattr(pipelines, "LINALG", tuple(passes))
    with pytest.raises(rl.LimitationError, match="they call memrefCopy, which is not defined"):
        rl.from_stablehlo(text, fallback="linalg")(z, c)


def test_an_op_without_a_dialect_is_rejected() -> None:
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "f32"(%x) ({
    ^bb0(%a: tensor<f32>):
      "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
    with pytest.raises(rl.UserError, match="no dialect has the op 'f32'") as caught:
        rl.from_stablehlo(text)
    assert str(caught.value).startswith("<text>:2:8: error: ")


def test_a_text_in_one_line_with_a_null_is_no_path() -> None:
    with pytest.raises(rl.UserError, match="is not a path"):
        rl.from_stablehlo("tensor\0")


def test_complex_scalars_and_arguments_that_are_results() -> None:
    text = """func.func @main(%z: tensor<complex<f32>>) -> tensor<complex<f32>> {
  return %z : tensor<complex<f32>>
}
"""
    z = np.array(1 - 2j, np.complex64)
    same = rl.from_stablehlo(text, fallback="linalg")(z)
    assert same == z
    twice = text.replace(
        "  return %z", "  %0 = stablehlo.add %z, %z : tensor<complex<f32>>\n  return %0"
    )
    assert rl.from_stablehlo(twice, fallback="linalg")(z) == 2 * z


def test_a_fallback_that_nobody_knows_is_rejected() -> None:
    with pytest.raises(rl.UserError, match="fallback must be one of linalg"):
        rl.from_stablehlo(MIXED, fallback="tosa")


def test_a_model_in_units_is_saved_with_what_is_bound(tmp_path: Path) -> None:
    x, w, y = inputs((3, 4), (4, 4), (3, 4))
    rl.from_stablehlo(MIXED, fallback="linalg").bind(arg1=w).save(tmp_path / "mixed.model")
    loaded = rl.load_model(tmp_path / "mixed.model")
    np.testing.assert_allclose(loaded(x, y), mixed(x, w, y), rtol=1e-5)


def test_the_interpreter_runs_what_is_patterns() -> None:
    x, w, y = inputs((3, 4), (4, 4), (3, 4))
    model = rl.from_stablehlo(MIXED, fallback="linalg", backend="interpret")
    np.testing.assert_allclose(model(x, w, y), mixed(x, w, y), rtol=1e-5)


def test_open_lengths_are_closed_before_units_are_made() -> None:
    text = MIXED.replace("tensor<3x4x", "tensor<?x4x")
    x, w, y = inputs((5, 4), (4, 4), (5, 4))
    model = rl.from_stablehlo(text, fallback="linalg")
    np.testing.assert_allclose(model(x, w, y), mixed(x, w, y), rtol=1e-5)


@pytest.mark.rotating(7)
def test_large_temporaries_are_given_back() -> None:
    import resource

    text = MIXED.replace("3x4", "512x512").replace("4x4", "512x512")
    model = rl.from_stablehlo(text, fallback="linalg", strategy="none")
    x, w, y = inputs((512, 512), (512, 512), (512, 512))
    zeros = np.zeros_like(w)
    model(x, zeros, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10):
        model(x, zeros, y)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 10_000  # kilobytes; each temporary of complex numbers has 2,000
