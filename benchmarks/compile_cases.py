"""One program compiled once, in a process of its own, by us or by a rival; `compile_time.py` asks.

    python benchmarks/compile_cases.py ours encoder 8

A small program is compiled before, so that what is loaded once is not counted. Printed are CPU
seconds, those of processes that were started among them, and seconds of the clock.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FOLDER = Path(os.environ.get("RISE_BENCH_MODELS", "build/bench/models"))
"""Where models are kept as StableHLO text."""


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measured(compile_once: Callable[[], object]) -> dict[str, float]:
    cpu, clock = _cpu(), time.perf_counter()
    compile_once()
    return {"cpu": _cpu() - cpu, "clock": time.perf_counter() - clock}


def model(kind: str, count: int) -> tuple[Callable[..., Any], list[Array]]:
    """A chain of transformer encoder layers or ResNet blocks in JAX; the weights are arguments."""
    jax: Any = import_module("jax")
    jnp: Any = import_module("jax.numpy")

    def random(*shape: int) -> Array:
        return (np.random.default_rng(0).standard_normal(shape) / 8).astype(np.float32)

    length, size, heads, hidden = 32, 64, 4, 256

    def norm(x: Any, scale: Any, shift: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift

    def encoder(x: Any, p: Any) -> Any:
        def split(y: Any) -> Any:
            return y.reshape(length, heads, size // heads).transpose(1, 0, 2)

        h = norm(x, p[0], p[1])
        q, k, v = split(h @ p[2]), split(h @ p[3]), split(h @ p[4])
        weights = jax.nn.softmax(q @ k.transpose(0, 2, 1) / np.sqrt(size // heads), axis=-1)
        x = x + (weights @ v).transpose(1, 0, 2).reshape(length, size) @ p[5]
        h = norm(x, p[6], p[7])
        return x + jax.nn.gelu(h @ p[8] + p[9]) @ p[10] + p[11]

    def block(x: Any, p: Any) -> Any:
        def convolved(y: Any, kernel: Any, bias: Any) -> Any:
            y = jax.lax.conv_general_dilated(y, kernel, (1, 1), "SAME")
            return y + bias[None, :, None, None]

        h = jax.nn.relu(convolved(x, p[0], p[1]))
        return jax.nn.relu(x + convolved(h, p[2], p[3]))

    shapes = {
        "encoder": [(size,), (size,), *[(size, size)] * 4, (size,), (size,),
                    (size, hidden), (hidden,), (hidden, size), (size,)],
        "resnet": [(16, 16, 3, 3), (16,), (16, 16, 3, 3), (16,)],
    }[kind]  # fmt: skip
    layer, start = {
        "encoder": (encoder, random(length, size)),
        "resnet": (block, random(1, 16, 16, 16)),
    }[kind]
    width = len(shapes)

    def whole(x: Any, *weights: Any) -> Any:
        for at in range(count):
            x = layer(x, weights[at * width : (at + 1) * width])
        return x

    return whole, [start, *(random(*shape) for _ in range(count) for shape in shapes)]


def text_of(kind: str, count: int) -> Path:
    """The StableHLO text of a model, which JAX writes once."""
    path = FOLDER / f"{kind}{count}.mlir"
    if not path.exists():
        jax: Any = import_module("jax")
        function, arrays = model(kind, count)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(jax.jit(function).lower(*arrays).as_text())
    return path


def ours(kind: str, count: int) -> dict[str, float]:
    import compile_programs

    import riselang as rl

    os.environ["RISE_CACHE"] = "0"
    if kind in ("encoder", "resnet", "lenet"):
        path = FOLDER / f"{kind}{count}.mlir"
        if kind == "lenet":
            path = Path(__file__).parents[1] / "examples/models/lenet.mlir"
        small = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }"
        rl.from_stablehlo(small)(np.zeros(8, np.float32))
        warm, _ = compile_programs.dense(1, 64, 64)
        warm.lower().compile()
        return measured(lambda: _compiled_model(rl.from_stablehlo(path)))
    small_kernel, arguments = compile_programs.dense(1, 64, 64)
    small_kernel(*arguments)
    kernel, arrays = getattr(compile_programs, kind)(*([count] if count else []))
    return measured(lambda: kernel(*arrays))


def _compiled_model(loaded: Any) -> None:
    loaded.compile()


def in_jax(kind: str, count: int) -> dict[str, float]:
    os.environ["JAX_PLATFORMS"] = "cpu"
    jax: Any = import_module("jax")
    jax.jit(lambda x: x @ x + 1.0)(np.zeros((8, 8), np.float32))
    if kind in ("encoder", "resnet"):
        function, arrays = model(kind, count)
    elif kind == "bilateral":
        function, arrays = (
            _bilateral(import_module("jax.numpy")),
            [np.zeros((512, 512), np.float32)],
        )
    else:
        raise SystemExit(f"there is no {kind} in JAX")
    return measured(lambda: jax.jit(function).lower(*arrays).compile())


def _bilateral(jnp: Any) -> Callable[[Any], Any]:
    def filtered(image: Any) -> Any:
        padded = jnp.pad(image, 2, mode="edge")
        total, weights = 0.0, 0.0
        for dy in range(5):
            for dx in range(5):
                value = padded[dy : dy + 512, dx : dx + 512]
                near = np.float32(np.exp(-((dy - 2) ** 2 + (dx - 2) ** 2) / 8.0))
                weight = jnp.exp((value - image) ** 2 * -8.0) * near
                total, weights = total + weight * value, weights + weight
        return total / weights

    return filtered


if __name__ == "__main__":
    who, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if who == "text":
        text_of(kind, count)
    else:
        print(json.dumps({"ours": ours, "jax": in_jax}[who](kind, count)))
