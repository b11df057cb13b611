"""Single ops of models beside JAX and onnxruntime, where they are installed; on one thread.

A grouped convolution followed by an elementwise op is also compared with the convolution alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from rivals import Version, compare, has, is_small, pin

import riselang as rl


def tensor(shape: Sequence[int]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def model(name: str, text: str, *arguments: Any) -> Version:
    kernel = rl.from_stablehlo(text)
    return Version(name, lambda: kernel(*arguments), np.asarray(kernel(*arguments)))


def in_jax(function: Callable[..., Any], *arguments: Any) -> list[Version]:
    """`function` takes the module `jax` and the arrays."""
    if not has("jax"):
        return []
    jax: Any = import_module("jax")
    compiled = jax.jit(lambda *arrays: function(jax, *arrays))
    given = [jax.numpy.asarray(each) for each in arguments]
    result = np.asarray(compiled(*given))
    return [Version("jax", lambda: compiled(*given).block_until_ready(), result)]


def measure_cumsum(rows: int, columns: int, rounds: int) -> None:
    """As JAX writes it: a window for each prefix."""
    kind = tensor((rows, columns))
    text = f"""func.func @main(%x: {kind}) -> {kind} {{
  %start = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %start) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) {{window_dimensions = array<i64: 1, {columns}>,
       padding = dense<[[0, 0], [{columns - 1}, 0]]> : tensor<2x2xi64>}}
    : ({kind}, tensor<f32>) -> {kind}
  return %r : {kind}
}}"""
    x = np.random.default_rng(0).random((rows, columns), np.float32)
    rivals = in_jax(lambda jax, x: jax.numpy.cumsum(x, 1), x)
    rivals.append(Version("numpy", lambda: np.cumsum(x, 1), np.cumsum(x, 1)))
    version = model("riselang", text, x)
    compare(f"cumsum {rows}x{columns}", [version], rivals, rounds)


def measure_top_k(length: int, count: int, rounds: int) -> None:
    def select(x: Any) -> Any:
        return x | rl.map(lambda row: (row | rl.top_k(count)).snd)

    select.__annotations__["x"] = rl.Array[1, length, rl.f32]
    x = np.random.default_rng(0).standard_normal((1, length)).astype(np.float32)
    kernel = rl.jit(select)
    rivals = in_jax(lambda jax, x: jax.lax.top_k(x, count)[1], x)
    version = Version("riselang", lambda: kernel(x), kernel(x))
    compare(f"top_k {count} of 1x{length}", [version], rivals, rounds)


def convolution(channels: int, size: int, groups: int, *, is_followed: bool) -> str:
    """A convolution 3x3 of one image in groups of channels, perhaps followed by `tanh(x) * x`."""
    image = tensor((1, size, size, channels))
    kernel = tensor((3, 3, channels // groups, channels))
    after = f"""
  %t = stablehlo.maximum %c, %w : {image}
  %r = stablehlo.multiply %t, %c : {image}"""
    return f"""func.func @main(%x: {image}, %k: {kernel}) -> {image} {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> {image}
  %c = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{pad = [[1, 1], [1, 1]]}}
    {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}
    : ({image}, {kernel}) -> {image}{after if is_followed else ""}
  return %{"r" if is_followed else "c"} : {image}
}}"""


def measure_convolution(channels: int, size: int, groups: int, rounds: int) -> None:
    source = np.random.default_rng(0)
    x = source.random((1, size, size, channels), np.float32)
    weights = source.random((3, 3, channels // groups, channels), np.float32)

    def followed(jax: Any, x: Any, weights: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        sums = jax.lax.conv_general_dilated(
            x, weights, (1, 1), "SAME", feature_group_count=groups, dimension_numbers=layout
        )
        return jax.numpy.maximum(sums, 0.0) * sums

    texts = [convolution(channels, size, groups, is_followed=each) for each in (True, False)]
    version, alone = (
        model(*each, x, weights) for each in zip(("riselang", "alone"), texts, strict=True)
    )
    positive = np.maximum(alone.result, 0) * alone.result
    rivals = [Version("convolution alone", alone.call, positive), *in_jax(followed, x, weights)]
    name = f"convolution 3x3 of {size}x{size}x{channels} in {groups} groups, then x*max(x,0)"
    # JAX may round the factors to fewer bits.
    compare(name, [version], rivals, rounds, tolerance=2e-2)


def measure_open_batch(rows: Sequence[int], depth: int, columns: int, rounds: int) -> None:
    """An ONNX MatMul whose batch is not known when it is compiled."""
    if not (has("onnx") and has("onnxruntime")):
        return
    helper: Any = import_module("onnx.helper")
    kind = import_module("onnx").TensorProto.FLOAT
    values = [("x", ["batch", depth]), ("w", [depth, columns]), ("y", ["batch", columns])]
    x_info, w_info, y_info = (
        helper.make_tensor_value_info(name, kind, shape) for name, shape in values
    )
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "matmul", [x_info, w_info], [y_info])
    opset = [helper.make_opsetid("", 17)]
    text = helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()
    kernel, runtime = rl.from_onnx(text), import_module("onnxruntime")
    options: Any = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session: Any = runtime.InferenceSession(text, options, providers=["CPUExecutionProvider"])
    source = np.random.default_rng(0)
    w = source.random((depth, columns), np.float32)
    for count in rows:
        x = source.random((count, depth), np.float32)
        ours = lambda x=x: kernel(x, w)  # noqa: E731
        theirs = lambda x=x: session.run(None, {"x": x, "w": w})  # noqa: E731
        rivals = [Version("onnxruntime", theirs, theirs()[0])]
        name = f"MatMul {count}x{depth}x{columns}, open batch"
        compare(name, [Version("riselang", ours, np.asarray(ours()))], rivals, rounds)


def measure() -> None:
    pin(1)
    rounds = 3 if is_small() else 51
    for shape in ((1, 20), (4, 6)) if is_small() else ((1, 4096), (64, 256)):
        measure_cumsum(*shape, rounds)
    measure_top_k(*((100, 5) if is_small() else (32000, 50)), rounds)
    for groups in (4, 2) if is_small() else (64, 8):
        measure_convolution(*((4, 5) if is_small() else (64, 56)), groups, rounds)
    sizes = (3, 5) if is_small() else (256, 256)
    measure_open_batch((2,) if is_small() else (1, 8, 64, 512), *sizes, rounds)


if __name__ == "__main__":
    measure()
