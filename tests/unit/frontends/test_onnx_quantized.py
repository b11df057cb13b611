"""Quantized ONNX models: their products are computed with integers, and equal to ONNX's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import riselang as rl

onnx: Any = pytest.importorskip("onnx")
pytest.importorskip("onnx.reference")
ROWS, DEPTH, COLUMNS = 5, 24, 7
TOLERANCE = 1e-5
"""Of dequantized results, relative to the largest: scales are multiplied in another order."""


def model_of(text: str, **weights: Any) -> Any:
    header = '<ir_version: 9, opset_import: ["" : 21]> '
    proto = onnx.parser.parse_model(header + text)
    for name, array in weights.items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
    onnx.checker.check_model(proto, full_check=True)
    return proto


def reference(proto: Any, **inputs: Any) -> Any:
    return onnx.reference.ReferenceEvaluator(proto).run(None, inputs)[0]


def random_bytes(seed: int, shape: tuple[int, ...], dtype: Any) -> Any:
    limits = np.iinfo(dtype)
    found = np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(dtype)
    found.reshape(-1)[:2] = limits.min, limits.max
    return found


def multiplies_bytes(model: Any) -> bool:
    """Whether the factors of a sum of products are bytes."""
    factors = r"cast\[i32\]\(fst\((\w+)\)\) \* cast\[i32\]\(snd\(\1\)\)"
    return bool(re.search(factors, model.as_text("notation")))


INTEGER_PRODUCT = """f ({a} [5, 24] x) => (int32 [5, 7] y) {{ y = MatMulInteger (x, w{zeros}) }}"""


@pytest.mark.parametrize("b", [np.int8, np.uint8])
@pytest.mark.parametrize("a", [np.int8, np.uint8])
@pytest.mark.parametrize("zeros", ["none", "scalars", "vectors"])
def test_integer_products_are_exact(a: Any, b: Any, zeros: str) -> None:
    weights: dict[str, Any] = {"w": random_bytes(0, (DEPTH, COLUMNS), b)}
    if zeros != "none":
        shapes = ((), ()) if zeros == "scalars" else ((ROWS,), (COLUMNS,))
        for name, dtype, shape in zip("st", (a, b), shapes, strict=True):
            weights[name] = random_bytes(1, (8,), dtype)[: shape[0] if shape else 1].reshape(shape)
    text = INTEGER_PRODUCT.format(a=np.dtype(a).name, zeros="" if zeros == "none" else ", s, t")
    proto, x = model_of(text, **weights), random_bytes(2, (ROWS, DEPTH), a)
    # ONNX's reference does not broadcast the zero points of rows.
    left, right = x.astype(np.int32), weights["w"].astype(np.int32)
    if zeros != "none":
        left = left - weights["s"].astype(np.int32).reshape(-1, 1)
        right = right - weights["t"].astype(np.int32)
    assert np.array_equal(rl.from_onnx(proto, backend="interpret")(x), left @ right)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_integer_products_of_batches(dtype: Any) -> None:
    text = "f ({0} [2, 5, 24] x, {0} [24, 7] v, {0} z) => (int32 [2, 5, 7] y) {{ " \
           "y = MatMulInteger (x, v, z, z) }}"  # fmt: skip
    proto = model_of(text.format(np.dtype(dtype).name))
    x, v = random_bytes(3, (2, ROWS, DEPTH), dtype), random_bytes(4, (DEPTH, COLUMNS), dtype)
    z = dtype(3)
    found = rl.from_onnx(proto, backend="interpret")(x, v, z)
    assert np.array_equal(found, reference(proto, x=x, v=v, z=np.asarray(z)))


def test_products_of_vectors() -> None:
    proto = model_of(
        "f (uint8 [24] x, uint8 [24] v, uint8 z) => (int32 y) { y = MatMulInteger (x, v, z, z) }"
    )
    x, v, z = random_bytes(5, (DEPTH,), np.uint8), random_bytes(6, (DEPTH,), np.uint8), np.uint8(9)
    found = rl.from_onnx(proto, backend="interpret")(x, v, z)
    assert np.array_equal(found, reference(proto, x=x, v=v, z=np.asarray(z)))


DYNAMIC = """f (float [5, 24] x) => (float [5, 7] y) {
  q, s, z = DynamicQuantizeLinear (x)
  t = MatMulInteger (q, w, z, wz)
  u = Cast <to: int = 1> (t)
  v = Mul (s, ws)
  y = Mul (u, v)
}"""


def test_dynamic_quantization_multiplies_bytes() -> None:
    w, zero, scale = random_bytes(7, (DEPTH, COLUMNS), np.int8), np.int8(0), np.float32(0.02)
    proto = model_of(DYNAMIC, w=w, wz=zero, ws=scale)
    x = np.random.default_rng(8).standard_normal((ROWS, DEPTH)).astype(np.float32)
    np.testing.assert_allclose(
        rl.from_onnx(proto)(x), reference(proto, x=x), rtol=TOLERANCE, atol=TOLERANCE
    )
    assert multiplies_bytes(rl.from_onnx(proto))


def test_quantized_products_round_as_the_reference() -> None:
    text = """f (uint8 [5, 24] x) => (uint8 [5, 7] y) {
      y = QLinearMatMul (x, xs, xz, w, ws, wz, ys, yz) }"""
    weights = {
        "xs": np.float32(0.05), "xz": np.uint8(117), "ys": np.float32(0.9), "yz": np.uint8(118),
        "w": random_bytes(9, (DEPTH, COLUMNS), np.uint8), "wz": np.uint8(114),
        "ws": np.float32(0.03),
    }  # fmt: skip
    proto, x = model_of(text, **weights), random_bytes(10, (ROWS, DEPTH), np.uint8)
    assert np.array_equal(rl.from_onnx(proto, backend="interpret")(x), reference(proto, x=x))


QDQ = """f (float [5, 24] x) => (float [5, 7] y) {{
  q = QuantizeLinear (x, xs, xz)
  a = DequantizeLinear (q, xs, xz)
  b = DequantizeLinear <axis: int = {axis}> (w, ws, wz)
  {product}
}}"""
PRODUCTS = {
    "matmul": (1, "y = MatMul (a, b)"),
    "gemm": (0, "y = Gemm <transB: int = 1, alpha: float = 0.5> (a, b, c)"),
}


def qdq(name: str, is_per_channel: bool, factor: float = 1.0) -> tuple[Any, Any]:
    axis, product = PRODUCTS[name]
    rng, shape = np.random.default_rng(11), (DEPTH, COLUMNS)
    shape = shape if axis else shape[::-1]
    count: Any = (COLUMNS,) if is_per_channel else ()
    weights = {
        "xs": np.float32(0.02), "xz": np.uint8(130), "c": rng.random(COLUMNS, np.float32),
        "w": random_bytes(12, shape, np.int8), "wz": rng.integers(-9, 9, count).astype(np.int8),
        "ws": (rng.random(count) * 0.01 + 0.001).astype(np.float32),
    }  # fmt: skip
    x = (factor * rng.standard_normal((ROWS, DEPTH))).astype(np.float32)
    return model_of(QDQ.format(axis=axis, product=product), **weights), x


@pytest.mark.sampled(2)
@pytest.mark.parametrize("is_per_channel", [False, True], ids=["tensor", "channels"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_dequantized_products_are_sums_of_integers(name: str, is_per_channel: bool) -> None:
    proto, x = qdq(name, is_per_channel)
    wanted = reference(proto, x=x)
    for policy in ("relaxed", "contract"):
        model = rl.from_onnx(proto, backend="interpret", float=policy)
        limit = TOLERANCE * abs(wanted).max()
        np.testing.assert_allclose(model(x), wanted, rtol=TOLERANCE, atol=limit)
        assert multiplies_bytes(model) == (policy == "relaxed")


def test_a_scale_along_the_sum_is_a_factor_of_each_product() -> None:
    _, product = PRODUCTS["matmul"]
    rng = np.random.default_rng(13)
    proto = model_of(
        QDQ.format(axis=0, product=product), xs=np.float32(0.02), xz=np.uint8(130),
        w=random_bytes(14, (DEPTH, COLUMNS), np.int8), wz=np.zeros(DEPTH, np.int8),
        ws=rng.random(DEPTH, np.float32),
    )  # fmt: skip
    x = rng.standard_normal((ROWS, DEPTH)).astype(np.float32)
    model, wanted = rl.from_onnx(proto, backend="interpret"), reference(proto, x=x)
    np.testing.assert_allclose(model(x), wanted, rtol=TOLERANCE, atol=TOLERANCE * abs(wanted).max())
    assert not multiplies_bytes(model)


def test_a_saved_model_keeps_its_policy(tmp_path: Any) -> None:
    proto, _ = qdq("matmul", True)
    for policy in ("contract", "relaxed"):
        model = rl.from_onnx(proto, backend="interpret", float=policy)
        model.save(tmp_path / "m.rise")
        loaded = rl.load_model(tmp_path / "m.rise")
        assert loaded.as_text("notation") == model.as_text("notation")


IMAGES, CHANNELS, KERNELS = (2, 6, 5, 4), 6, 3
CONVOLUTIONS = {
    "strides and padding": "<strides: ints = [2, 1], pads: ints = [1, 0, 0, 2]>",
    "a window": "<pads: ints = [1, 1, 1, 0], dilations: ints = [1, 2]>",
    "groups": "<group: int = 3>",
    "points": "",
}


def convolution(name: str, op: str) -> tuple[Any, Any]:
    rng, groups = np.random.default_rng(20), 3 if name == "groups" else 1
    size = (3, 2) if name == "a window" else (1, 1)
    weights: dict[str, Any] = {
        "w": random_bytes(21, (KERNELS, CHANNELS // groups, *size), np.uint8),
        "xz": np.uint8(117), "wz": np.uint8(130),
    }  # fmt: skip
    text = CONVOLUTIONS[name]
    if op == "ConvInteger":
        call = f"""f (uint8 [2, 6, 5, 4] x) => (int32 [n, c, h, v] y) {{
          y = ConvInteger {text} (x, w, xz, wz) }}"""
        return model_of(call, **weights), random_bytes(22, IMAGES, np.uint8)
    weights |= {"xs": np.float32(0.03), "ws": (0.01 * rng.random(KERNELS)).astype(np.float32)}
    weights["w"], weights["wz"] = (
        random_bytes(23, weights["w"].shape, np.int8),
        np.zeros(3, np.int8),
    )
    if op == "QLinearConv":
        weights |= {"ys": np.float32(0.2), "yz": np.uint8(99), "b": np.arange(KERNELS, dtype="i4")}
        call = f"""f (uint8 [2, 6, 5, 4] x) => (uint8 [n, c, h, v] y) {{
          y = QLinearConv {text} (x, xs, xz, w, ws, wz, ys, yz, b) }}"""
        return model_of(call, **weights), random_bytes(24, IMAGES, np.uint8)
    weights["b"] = rng.random(KERNELS, np.float32)
    call = f"""f (uint8 [2, 6, 5, 4] x) => (float [n, c, h, v] y) {{
      a = DequantizeLinear (x, xs, xz)
      k = DequantizeLinear <axis: int = 0> (w, ws, wz)
      y = Conv {text} (a, k, b) }}"""
    return model_of(call, **weights), random_bytes(25, IMAGES, np.uint8)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("op", ["ConvInteger", "QLinearConv", "Conv"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_those_of_the_reference(name: str, op: str) -> None:
    proto, x = convolution(name, op)
    model, wanted = rl.from_onnx(proto, backend="interpret"), reference(proto, x=x)
    if op == "Conv":
        np.testing.assert_allclose(
            model(x), wanted, rtol=TOLERANCE, atol=TOLERANCE * abs(wanted).max()
        )
    else:
        assert np.array_equal(model(x), wanted)
    assert multiplies_bytes(model) == (name in ("points", "strides and padding"))
