"""The systems that models are measured against, each as a call with everything prepared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[[], object]


@dataclass(frozen=True)
class Network:
    """A model for one batch: its module, weights and input."""

    name: str
    text: str
    weights: tuple[Array, ...]
    x: Array


def in_numpy(model: Network) -> Call:
    function = NUMPY[model.name]
    return lambda: function(*model.weights, model.x)


def dense(x: Array, weight: Array, bias: Array) -> Array:
    return x @ weight + bias


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def mlp(w1: Array, b1: Array, w2: Array, b2: Array, x: Array) -> Array:
    return dense(relu(dense(x, w1, b1)), w2, b2)


def convolution(x: Array, kernel: Array) -> Array:
    """Windows as rows of a matrix, times the kernels as columns of another."""
    height, width, features, kernels = kernel.shape
    seen = np.lib.stride_tricks.sliding_window_view(x, (height, width), axis=(1, 2))
    rows: Array = np.transpose(seen, (0, 1, 2, 4, 5, 3)).reshape(-1, height * width * features)
    return (rows @ kernel.reshape(-1, kernels)).reshape(*seen.shape[:3], kernels)


def max_pool(x: Array) -> Array:
    count, height, width, features = x.shape
    return x.reshape(count, height // 2, 2, width // 2, 2, features).max(axis=(2, 4))


def lenet(k1: Array, b1: Array, k2: Array, b2: Array, w3: Array, b3: Array, w4: Array, b4: Array,
          w5: Array, b5: Array, x: Array) -> Array:  # fmt: skip
    h = np.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0)))
    h = max_pool(relu(convolution(h, k1) + b1))
    h = max_pool(relu(convolution(h, k2) + b2))
    h = h.reshape(len(h), -1)
    h = relu(dense(h, w3, b3))
    h = dense(relu(dense(h, w4, b4)), w5, b5)
    powers = np.exp(h - h.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


NUMPY: Mapping[str, Callable[..., Array]] = {"mlp": mlp, "lenet": lenet}


def in_jax(model: Network) -> Call | None:
    if find_spec("jax") is None:
        return None
    jax: Any = import_module("jax")
    sys.path.insert(0, str(Path(__file__).parent.parent / "examples/models"))
    function = getattr(import_module("export"), model.name)
    # Weights are constants, as they are for the others.
    compiled = jax.jit(lambda x: function(*map(jax.numpy.asarray, model.weights), x))
    return lambda: np.asarray(compiled(model.x))


def in_onnxruntime(model: Network) -> Call | None:
    if find_spec("onnxruntime") is None or find_spec("onnx") is None:
        return None
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    made = ONNX[model.name](model)
    session = runtime.InferenceSession(made, options, providers=["CPUExecutionProvider"])
    # Its convolutions take the features before the rows and columns.
    x = np.ascontiguousarray(np.moveaxis(model.x, -1, 1)) if model.x.ndim == 4 else model.x
    return lambda: session.run(None, {"x": x})[0]


class _OnnxGraph:
    """A chain of ONNX nodes, from `x` on."""

    def __init__(self) -> None:
        self._helper: Any = import_module("onnx.helper")
        self._numpy: Any = import_module("onnx.numpy_helper")
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._last = "x"

    def add(self, op: str, *constants: Array, **attributes: Any) -> _OnnxGraph:
        """A node that takes the result of the last one, and constants."""
        names: list[str] = []
        for each in constants:
            names.append(f"constant{len(self._constants)}")
            self._constants.append(self._numpy.from_array(np.ascontiguousarray(each), names[-1]))
        result = f"value{len(self._nodes)}"
        made = self._helper.make_node(op, [self._last, *names], [result], **attributes)
        self._nodes.append(made)
        self._last = result
        return self

    def finished(self, shape: Sequence[int], result: Sequence[int]) -> bytes:
        helper = self._helper
        kind = import_module("onnx").TensorProto.FLOAT
        graph = helper.make_graph(
            self._nodes, "model", [helper.make_tensor_value_info("x", kind, shape)],
            [helper.make_tensor_value_info(self._last, kind, result)], self._constants,
        )  # fmt: skip
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def _mlp_in_onnx(model: Network) -> bytes:
    w1, b1, w2, b2 = model.weights
    graph = _OnnxGraph().add("Gemm", w1, b1).add("Relu").add("Gemm", w2, b2)
    return graph.finished(model.x.shape, (len(model.x), 10))


def _lenet_in_onnx(model: Network) -> bytes:
    k1, b1, k2, b2, w3, b3, w4, b4, w5, b5 = model.weights
    first, second = (np.transpose(each, (3, 2, 0, 1)) for each in (k1, k2))
    pool: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    # What it flattens has the features first.
    w3 = np.moveaxis(w3.reshape(5, 5, 16, -1), 2, 0).reshape(w3.shape)
    graph = _OnnxGraph()
    graph.add("Conv", first, b1, pads=[2, 2, 2, 2]).add("Relu").add("MaxPool", **pool)
    graph.add("Conv", second, b2).add("Relu").add("MaxPool", **pool).add("Flatten")
    graph.add("Gemm", w3, b3).add("Relu").add("Gemm", w4, b4).add("Relu").add("Gemm", w5, b5)
    shape = (len(model.x), 1, 28, 28)
    return graph.add("Softmax", axis=1).finished(shape, (len(model.x), 10))


ONNX: Mapping[str, Callable[[Network], bytes]] = {"mlp": _mlp_in_onnx, "lenet": _lenet_in_onnx}


def in_iree(model: Network) -> Call | None:
    if find_spec("iree") is None or find_spec("iree.compiler") is None:
        return None
    compiler: Any = import_module("iree.compiler")
    runtime: Any = import_module("iree.runtime")
    code = compiler.compile_str(
        model.text, target_backends=["llvm-cpu"], input_type="stablehlo",
        extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"],
    )  # fmt: skip
    config = runtime.Config("local-sync")
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, code), config)
    weights = [runtime.asdevicearray(config.device, each) for each in model.weights]
    return lambda: module.main(*weights, model.x).to_host()


RIVALS: Mapping[str, Callable[[Network], Call | None]] = {
    "numpy": in_numpy,
    "JAX": in_jax,
    "onnxruntime": in_onnxruntime,
    "IREE": in_iree,
}
