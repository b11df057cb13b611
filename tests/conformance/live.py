"""The importers of frameworks, each with the frameworks that are installed.

    python tests/conformance/live.py

Each framework runs in a process of its own; one that is not there is said so. Results have to be
those of the framework, to 1e-5 of the largest.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import riselang as rl

TOLERANCE = 1e-5
CHECKS: dict[str, Callable[[], None]] = {}


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS[function.__name__] = function
    return function


def module(name: str) -> Any:
    return importlib.import_module(name)


def near(found: Any, wanted: Any) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    worst = np.abs(found - wanted).max() / np.abs(wanted).max()
    assert worst <= TOLERANCE, worst


def random(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).random(shape, np.float32)


@check
def jax() -> None:
    jax, jnp = module("jax"), module("jax.numpy")

    def function(weights: Any, x: Any) -> Any:
        return {"y": jax.nn.softmax(jnp.tanh(x @ weights["w"]) + weights["b"]), "x": x}

    weights = {"w": random(8, 5), "b": random(5)}
    model = rl.from_jax(function, weights, random(3, 8))
    wanted = function(weights, random(3, 8))
    for found, other in zip(model(weights, random(3, 8)), jax.tree.leaves(wanted), strict=True):
        near(found, other)
    open_model = rl.from_jax(function, weights, rl.Array["B", 8, rl.f32]).bind(weights)
    for rows in (1, 4):
        near(open_model(random(rows, 8))[1], function(weights, random(rows, 8))["y"])
    result = rl.from_jax(jnp.sin, jnp.ones(4))(jnp.ones(4))
    assert type(result).__module__.startswith("jax")


@check
def keras_on_jax() -> None:
    os.environ["KERAS_BACKEND"] = "jax"
    _keras(is_open=True)


@check
def keras_on_tensorflow() -> None:
    os.environ["KERAS_BACKEND"] = "tensorflow"
    _keras(is_open=False)


def _keras(is_open: bool) -> None:
    keras = module("keras")
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((12, 12, 1)), layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(), layers.MaxPooling2D(), layers.Dropout(0.5),
            layers.Flatten(), layers.Dense(16, activation="gelu"), layers.Dense(10),
            layers.Softmax(),
        ]
    )  # fmt: skip
    for variable in model.variables:
        variable.assign(random(*variable.shape) - 0.3)
    x = random(2, 12, 12, 1)
    near(rl.from_keras(model, x)(x), model(x, training=False))
    if is_open:
        near(rl.from_keras(model)(x), model(x, training=False))


@check
def tensorflow() -> None:
    tensorflow = module("tensorflow")
    weight, bias = tensorflow.Variable(random(8, 5)), tensorflow.Variable(random(5))

    def function(x: Any, y: Any) -> Any:
        return tensorflow.nn.softmax(tensorflow.nn.relu(x @ weight + bias) + y)

    x, y = random(3, 8), random(3, 5)
    model = rl.from_tensorflow(function, x, rl.Array[3, 5, rl.f32])
    near(model(x, y), function(x, y))


def _torch_model() -> Any:
    torch = module("torch")
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(4 * 6 * 6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 10), nn.Softmax(-1),
    ).eval()  # fmt: skip


@check
def torch() -> None:
    torch, model = module("torch"), _torch_model()
    x = torch.from_numpy(random(2, 1, 14, 14))
    near(rl.from_torch(model, x)(x.numpy()), model(x).detach())
    result = rl.from_torch(model, rl.Array[2, 1, 14, 14, rl.f32])(x)
    assert isinstance(result, torch.Tensor)
    near(result, model(x).detach())
    encoder = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
    x = torch.from_numpy(random(2, 6, 16))
    near(rl.from_torch(encoder, x)(x.numpy()), encoder(x).detach())


@rl.jit
def embedded(x: Any, count: Any, weights: Any) -> Any:
    """A program whose arguments and results are structures, and of several dtypes."""
    total = (x * weights["scale"]).sum() * count.astype(rl.f32)
    return {"total": total, "moved": x + weights["offset"], "twice": count + count}


def wanted(x: Any, count: Any, weights: Any) -> Any:
    total = (x * weights["scale"]).sum() * count
    return {"total": total, "moved": x + weights["offset"], "twice": count + count}


@check
def jax_calls() -> None:
    jax, jnp = module("jax"), module("jax.numpy")
    call, count = rl.to_jax(embedded), jnp.int32(3)
    x, weights = jnp.arange(3.0), {"scale": jnp.arange(3.0) * 2, "offset": jnp.arange(3.0) * 3}
    for function in (call, jax.jit(call)):
        found, expected = function(x, count, weights), wanted(x, count, weights)
        assert found["twice"] == expected["twice"]
        near(found["total"], expected["total"])
        near(found["moved"], expected["moved"])

    def loss(function: Any) -> Any:
        def value(x: Any, weights: Any) -> Any:
            found = function(x, count, weights)
            return found["total"] + (found["moved"] ** 2).sum()

        return jax.jit(jax.grad(value, argnums=(0, 1)))

    found, expected = (loss(each)(x, weights) for each in (call, wanted))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        near(one, other)
    rows = jnp.stack([x, x + 1])
    near(jax.vmap(lambda row: call(row, count, weights)["total"])(rows),
         jax.vmap(lambda row: wanted(row, count, weights)["total"])(rows))  # fmt: skip


@check
def torch_calls() -> None:
    torch = module("torch")
    call, count = rl.to_torch(embedded), torch.tensor(3, dtype=torch.int32)
    x = torch.arange(6.0)[::2].requires_grad_()
    weights = {"scale": (torch.arange(3.0) * 2).requires_grad_(), "offset": torch.ones(3)}

    def gradient(function: Any) -> Any:
        found = function(x, count, weights)
        assert found["twice"] == 6
        assert not found["twice"].requires_grad
        loss = found["total"] + (found["moved"] ** 2).sum()
        return loss.detach(), *torch.autograd.grad(loss, (x, weights["scale"]))

    for one, other in zip(gradient(call), gradient(wanted), strict=True):
        near(one, other)
    inside = torch.compile(lambda x: call(x * 2, count, weights)["moved"].sin(), backend="eager")
    near(inside(x).detach(), (x * 2 + 1).sin().detach())


@check
def torch_compile() -> None:
    module("torch")
    subprocess.run([sys.executable, str(Path(__file__).parent / "torch_modules.py")], check=True)


@check
def onnx() -> None:
    onnx = module("onnx")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    weights = [numpy_helper.from_array(random(*shape) - 0.5, name)
               for name, shape in (("w", (8, 6)), ("b", (6,)), ("v", (6, 3)))]  # fmt: skip
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["m"]),
        helper.make_node("Softmax", ["m"], ["y"], axis=1),
    ]
    types = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
             for name, shape in (("x", (4, 8)), ("y", (4, 3)))]  # fmt: skip
    graph = helper.make_graph(nodes, "mlp", types[:1], types[1:], weights)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    w, b, v = (numpy_helper.to_array(each) for each in weights)
    x = random(4, 8)
    m = np.maximum(x @ w + b, 0) @ v
    wanted = np.exp(m - m.max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mlp.onnx"
        onnx.save(proto, path)
        near(rl.from_onnx(path)(x), wanted)
    near(rl.from_onnx(proto)(x), wanted)


NEEDS = {"keras_on_jax": ("keras", "jax"), "keras_on_tensorflow": ("keras", "tensorflow")}


def main() -> int:
    failed = 0
    for name in CHECKS:
        missing = [each for each in NEEDS.get(name, (name,)) if not _is_there(each)]
        if missing:
            print(f"{name}: not checked, {', '.join(missing)} is not installed", flush=True)
            continue
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
        run = subprocess.run([sys.executable, __file__, name], check=False, env=environment)
        print(f"{name}: {'agrees' if run.returncode == 0 else 'does not agree'}", flush=True)
        failed += run.returncode != 0
    return 1 if failed else 0


def _is_there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


if __name__ == "__main__":
    if len(sys.argv) > 1:
        CHECKS[sys.argv[1]]()
    else:
        sys.exit(main())
