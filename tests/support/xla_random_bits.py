"""Random bits of XLA on CPUs, kept as results to expect.

    python tests/support/xla_random_bits.py

writes them anew, where JAX is installed.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

KEPT = Path(__file__).with_name("xla_random_bits.json")
RESULTS: Sequence[tuple[tuple[int, ...], str]] = (
    ((), "ui32"), ((1,), "ui32"), ((3,), "ui8"), ((5,), "ui16"), ((2, 5), "ui32"), ((3, 5), "ui32"),
    ((3, 4, 2), "ui32"), ((5, 2, 3), "ui8"), ((), "ui64"), ((3, 5), "ui64"),
)  # fmt: skip
"""With and without dimensions of even length, and sizes that blocks divide or not."""
LARGEST = 2**64 - 1
STATES: Sequence[tuple[str, tuple[int, ...]]] = (
    ("THREE_FRY", (0, 0)),
    ("THREE_FRY", (0x0123456789ABCDEF, LARGEST - 2)),
    ("PHILOX", (0, 0)),
    ("PHILOX", (0xFEDCBA9876543210, LARGEST - 1)),
    ("PHILOX", (0xFEDCBA9876543210, LARGEST - 1, 7)),
    ("DEFAULT", (42, 5, LARGEST)),
)
"""Those near the largest number carry while they count."""


def text(algorithm: str, words: int) -> str:
    """A program that gives the state and the bits of each result."""
    state = f"tensor<{words}xui64>"
    types = [f"tensor<{'x'.join(map(str, (*shape, element)))}>" for shape, element in RESULTS]
    lines = [
        f"  %s{k}, %b{k} = stablehlo.rng_bit_generator %s, algorithm = {algorithm} "
        f": ({state}) -> ({state}, {type})"
        for k, type in enumerate(types)
    ]
    given = ", ".join(f"%s{k}, %b{k}" for k in range(len(types)))
    results = ", ".join(f"{state}, {type}" for type in types)
    body = "\n".join(lines)
    return (
        f"func.func @main(%s: {state}) -> ({results}) {{\n{body}\n  return {given} : {results}\n}}"
    )


def expected() -> list[tuple[str, Any, list[Any]]]:
    """Algorithms, states, and all that the program gives for them, flat."""
    kept = json.loads(KEPT.read_text())
    return [
        (algorithm, np.array(state, np.uint64), found)
        for (algorithm, state), found in zip(STATES, kept, strict=True)
    ]


def _of_xla(algorithm: str, state: tuple[int, ...]) -> list[list[int]]:
    """What the op gives, also for states that JAX itself does not make."""
    jax, mlir, client = (
        importlib.import_module(f"jax{name}")
        for name in ("", "._src.interpreters.mlir", "._src.lib")
    )
    jax.config.update("jax_enable_x64", True)
    backend, xla = jax.devices("cpu")[0].client, client.xla_client
    with mlir.make_ir_context():
        module = mlir.ir.Module.parse(text(algorithm, len(state)))
        code = mlir.module_to_bytecode(module)
    devices = xla.DeviceList(tuple(jax.devices("cpu")[:1]))
    loaded = backend.compile_and_load(code, devices, xla.CompileOptions())
    found = loaded.execute([jax.device_put(np.array(state, np.uint64))])
    return [np.asarray(each).reshape(-1).tolist() for each in found]


if __name__ == "__main__":
    lines = [json.dumps(_of_xla(*each), separators=(",", ":")) for each in STATES]
    KEPT.write_text("[\n" + ",\n".join(lines) + "\n]\n")
