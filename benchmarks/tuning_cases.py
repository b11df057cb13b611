"""The programs whose spaces `tuning.py` records, and which part of each space.

A generic space has up to millions of choices. Small ones are recorded as they are. Of the others,
the parameters that the time depends on most have all their values, some have two or three, and the
others have the default's value: some hundred choices, of which a search tries 100 or 150.
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
    outer: str
    """The parameter whose values are recorded one after the other, as long as there is time."""
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


ALL = 99
PRODUCT_VALUES: Mapping[str, Kept] = {
    "register_tiles_rows": ALL, "register_tiles_columns": ALL, "register_tiles_packed": 2,
    "register_tiles_packs_rows": 2, "register_tiles_depth": (0, 128), "register_tiles_block": 3,
}  # fmt: skip
PRODUCT_HANDS = ("default", "matmul.register_tiles", "matmul.goto")
REDUCTIONS: Mapping[str, Kept] = {
    "blocked_reduction_vectors": ALL, "blocked_reduction_lanes": ALL,
    "blocked_reduction_vectors_of_2": ALL, "blocked_reduction_lanes_of_2": ALL,
    "blocked_reduction_blocks_of_2": 2,
}  # fmt: skip
STENCIL: Mapping[str, Kept] = {
    "stencil_lanes": ALL, "stencil_vectors": ALL, "stencil_slices": ALL, "stencil_rows": ALL,
}  # fmt: skip
LINES: Mapping[str, Kept] = {
    "sums_by_lines_band_rows": ALL, "sums_by_lines_vectors": ALL, "sums_by_lines_line_vectors": ALL,
}  # fmt: skip
CPU_CASES: Mapping[str, Case] = {
    "jacobi_3d": Case(
        example("jacobi_3d", (194, 194, 194)), STENCIL, "stencil_rows",
        ("default", "stencils.vectors"), share=1.4,
    ),
    "convolution_9x9": Case(
        example("blur", (9,), (9,), (1032, 1032), float="relaxed"), LINES,
        "sums_by_lines_band_rows", ("default", "convolution.by_lines", "convolution.direct"),
        share=0.8,
    ),
    "softmax": Case(
        example("softmax", (1 << 20,), float="relaxed"), REDUCTIONS,
        "blocked_reduction_blocks_of_2",
    ),
    "batched_matmul_64": Case(
        example("batched_matmul", (64, 64, 64), (64, 64, 64)),
        {**PRODUCT_VALUES, "register_tiles_depth": 1, "register_tiles_columns_ahead": 2},
        "register_tiles_block", share=0.9,
    ),
    "matmul_512_f32": Case(
        product(512, "f32"),
        {
            **PRODUCT_VALUES, "register_tiles_depth": 1, "register_tiles_block": 2,
            "register_tiles_lanes": ALL, "register_tiles_transposed": 2,
        },
        "register_tiles_block", PRODUCT_HANDS, share=1.2,
    ),
    "matmul_512_f64": Case(
        product(512, "f64"), PRODUCT_VALUES, "register_tiles_block", PRODUCT_HANDS, share=1.3
    ),
    **{
        f"matmul_1024_{element}": Case(
            product(1024, element), {**PRODUCT_VALUES, "register_tiles_block": 2},
            "register_tiles_block", PRODUCT_HANDS, share=share,
        )
        for element, share in (("f32", 2.2), ("f64", 3.6))
    },
}  # fmt: skip
TENSOR_VALUES: Mapping[str, Kept] = {
    "tensor_tiles_step": ALL, "tensor_tiles_stages": ALL, "tensor_tiles_row_warps": ALL,
    "tensor_tiles_column_warps": ALL, "tensor_tiles_row_tiles": ALL,
    "tensor_tiles_column_tiles": ALL, "tensor_tiles_in_rounds": 2,
}  # fmt: skip
ROWS: Mapping[str, Kept] = {
    "on_gpu_threads": ALL, "on_gpu_lanes": ALL, "on_gpu_partial_sums": ALL,
}  # fmt: skip
GPU_CASES: Mapping[str, Case] = {
    "gpu_softmax": Case(gpu_softmax(4096), ROWS, "on_gpu_threads", budget=150),
    "gpu_matmul_4096_bf16": Case(
        gpu_product(4096),
        TENSOR_VALUES,
        "tensor_tiles_step",
        budget=150,
        share=3.0,
        hands=("default", "gpu.matmul.hopper"),
    ),
}
SMALL_CASES: Mapping[str, Case] = {
    "matmul_64_f32": Case(
        product(64, "f32"),
        {"column_tiles_rows": 3, "register_tiles_rows": 3},
        "",
        PRODUCT_HANDS[:1],
    ),
}
"""Cases that show within seconds that everything works."""
