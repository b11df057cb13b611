"""The programs whose spaces `tuning.py` records, and which part of each space.

A generic space has up to millions of choices. The part that is recorded has those of the parameters
that the time depends on most, and a few hundred to some thousand choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import riselang as rl
from riselang.api.lowered import Lowered
from riselang.tuning.recording import Kept

PROGRAMS = Path(__file__).parents[1] / "examples/programs"
PRODUCT = """fun((A : {0}.{0}.{1}, B : {0}.{0}.{1}), A |> map(fun(row, B |> transpose
  |> map(fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
Program = Callable[[], tuple[Lowered, tuple[Any, ...]]]


@dataclass(frozen=True)
class Case:
    """A program with inputs, the strategies for it that people wrote, and the part of its space."""

    program: Program
    kept: Mapping[str, Kept]
    """The number of values of each parameter, or its values; the others have the default's."""
    hands: Sequence[str] = ("default",)
    share: float = 1.0
    """The relative share of the time."""
    budget: int = 100
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


def product(size: int, element: str) -> Program:
    def load() -> tuple[Lowered, tuple[Any, ...]]:
        loaded: Any = rl.loads(PRODUCT.format(size, element), name="product.rise")
        source = np.random.default_rng(0)
        dtype = {"f32": np.float32, "f64": np.float64}[element]
        inputs = tuple(source.random((size, size)).astype(dtype) for _ in range(2))
        return loaded.main.lower(*inputs), inputs

    return load


def example(name: str, *shapes: tuple[int, ...], float: str = "contract") -> Program:
    def load() -> tuple[Lowered, tuple[Any, ...]]:
        loaded: Any = rl.load(PROGRAMS / f"{name}.rise", float=float)
        source = np.random.default_rng(0)
        inputs = tuple(source.random(shape, np.float32) for shape in shapes)
        return getattr(loaded, name).lower(*inputs), inputs

    return load


def gpu_product(size: int) -> Program:
    def load() -> tuple[Lowered, tuple[Any, ...]]:
        def dot(row: Any, column: Any) -> Any:
            pairs = rl.zip(row, column)
            products = pairs | rl.map(lambda x, y: rl.cast(x, rl.f32) * rl.cast(y, rl.f32))
            return rl.cast(products | rl.reduce(rl.add, 0.0), rl.bf16)

        def multiply(a: Any, b: Any) -> Any:
            columns = b | rl.transpose
            return a | rl.map(lambda row: columns | rl.map(lambda column: dot(row, column)))

        matrix = rl.Array["N", "N", rl.bf16]
        multiply.__annotations__ = {"a": matrix, "b": matrix}
        source = np.random.default_rng(0)
        shape = (size, size)
        inputs = tuple(source.normal(size=shape).astype(ml_dtypes.bfloat16) for _ in range(2))
        return rl.jit(multiply, loops="gpu", float="relaxed").lower(*inputs), inputs

    return load


def gpu_softmax(size: int) -> Program:
    def load() -> tuple[Lowered, tuple[Any, ...]]:
        from gpu_programs import softmax

        rows = np.random.default_rng(0).random((size, size), np.float32)
        return softmax.lower(rows), (rows,)

    return load


PRODUCT_VALUES: Mapping[str, Kept] = {
    "register_tiles_rows": 6, "register_tiles_columns": 4, "register_tiles_block": 2,
    "register_tiles_packed": 2, "register_tiles_packs_rows": 2, "register_tiles_depth": 2,
}  # fmt: skip
PRODUCT_HANDS = ("default", "matmul.register_tiles", "matmul.goto")
REDUCTIONS: Mapping[str, Kept] = {
    f"blocked_reduction_{name}{suffix}": count
    for name, count in (("blocks", 2), ("vectors", 3), ("lanes", 3))
    for suffix in ("", "_of_2")
}
STENCIL: Mapping[str, Kept] = {
    "stencil_lanes": (0, 8, 16), "stencil_vectors": (0, 2, 4, 8), "stencil_slices": (0, 1, 2, 4),
    "stencil_rows": (0, 8, 16, 64),
}  # fmt: skip
LINES: Mapping[str, Kept] = {
    "sums_by_lines_band_rows": 7, "sums_by_lines_vectors": 6, "sums_by_lines_line_vectors": 6,
}  # fmt: skip
CPU_CASES: Mapping[str, Case] = {
    **{
        f"matmul_512_{element}": Case(
            product(512, element), PRODUCT_VALUES, PRODUCT_HANDS, share=share
        )
        for element, share in (("f32", 1.3), ("f64", 1.7))
    },
    **{
        f"matmul_1024_{element}": Case(
            product(1024, element), {**PRODUCT_VALUES, "register_tiles_block": 1}, PRODUCT_HANDS,
            share=share,
        )
        for element, share in (("f32", 1.6), ("f64", 2.8))
    },
    "convolution_9x9": Case(
        example("blur", (9,), (9,), (1032, 1032), float="relaxed"), LINES,
        ("default", "convolution.by_lines", "convolution.direct"),
    ),
    "jacobi_3d": Case(
        example("jacobi_3d", (194, 194, 194)), STENCIL, ("default", "stencils.vectors"), share=1.4
    ),
    "softmax": Case(example("softmax", (1 << 20,), float="relaxed"), REDUCTIONS),
    "batched_matmul_64": Case(
        example("batched_matmul", (64, 64, 64), (64, 64, 64)),
        {
            **PRODUCT_VALUES, "register_tiles_packs_rows": 1, "register_tiles_columns_ahead": 2,
        },
        share=0.8,
    ),
}  # fmt: skip
TENSOR_VALUES: Mapping[str, Kept] = {
    "tensor_tiles_step": (64,), "tensor_tiles_stages": 4, "tensor_tiles_row_warps": (4, 8),
    "tensor_tiles_column_warps": 2, "tensor_tiles_row_tiles": (1, 2, 4),
    "tensor_tiles_column_tiles": (8, 16, 32), "tensor_tiles_in_rounds": 2,
}  # fmt: skip
ROWS: Mapping[str, Kept] = {
    "on_gpu_threads": (0, 64, 128, 256, 512, 1024), "on_gpu_lanes": (0, 1, 2, 4, 8),
    "on_gpu_partial_sums": (0, 8, 16, 32, 64),
}  # fmt: skip
GPU_CASES: Mapping[str, Case] = {
    "gpu_softmax": Case(gpu_softmax(4096), ROWS, budget=150),
    "gpu_matmul_4096_bf16": Case(
        gpu_product(4096), TENSOR_VALUES, ("default", "gpu.matmul.hopper"), budget=150, share=2.0
    ),
}
SMALL_CASES: Mapping[str, Case] = {
    "matmul_64_f32": Case(
        product(64, "f32"), {"column_tiles_rows": 3, "register_tiles_rows": 3}, PRODUCT_HANDS[:1]
    ),
}
"""Cases that show within seconds that everything works."""
