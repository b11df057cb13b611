"""Matrix multiplications on tensor cores: the pattern, the laws, and the kernels, emulated."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.dialects.rise.types import leaves
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.native import gpu_targets
from riselang.notation.program import parse_term
from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategies import gpu_tensor_cores
from riselang.rewrite.strategies.gpu_tensor_cores import AMPERE_TILES, HOPPER_TILES, TensorTile
from riselang.rewrite.traversals import top_down
from riselang.support.config import Options
from riselang.support.errors import LimitationError, UserError
from support.emulated_gpu import Emulate
from support.numpy_scalars import Array

pytestmark = pytest.mark.rotating(6)

SUM = "(zip(row, COLUMN) |> reduce(fun((s, p), s + cast[f32](fst(p)) * cast[f32](snd(p))), 0.0))"
EPILOGUES = {
    "none": ("B", SUM),
    "bf16": ("B", f"cast[bf16]({SUM})"),
    "bias": ("zip(B, v)", f"cast[bf16](max({SUM} + snd(column), 0.0))"),
}
SMALL_WGMMA = TensorTile(64, 2, 4, 1, 1, 8, 2)
SMALL_MMA = TensorTile(32, 2, 2, 1, 1, 2, 2)
SMALL_ROUNDS = replace(SMALL_MMA, in_rounds=True).strategy()
VECTORS = TensorTile(32, 2, 1, 1, 2, 4, 2)
"""A tile whose results of 2 bytes the lanes exchange."""
RELAXED = Options("gpu", float="relaxed")


def product(
    rows: int, columns: int, depth: int, epilogue: str = "none", a: str = "a",
    b: str = "b |> transpose", type: str = "bf16",
) -> str:  # fmt: skip
    matrix, element = EPILOGUES[epilogue]
    column = "fst(column)" if "zip" in matrix else "column"
    sizes = {"a": f"{rows}.{depth}", "b": f"{columns}.{depth}"}
    if a != "a":
        sizes["a"] = f"{depth}.{rows}"
    if b != "b":
        sizes["b"] = f"{depth}.{columns}"
    bias = f", v : {columns}.f32" if "zip" in matrix else ""
    return (
        f"fun((a : {sizes['a']}.{type}, b : {sizes['b']}.{type}{bias}), {a} |> map(fun(row, "
        f"{matrix.replace('B', b)} |> map(fun(column, {element.replace('COLUMN', column)})))))"
    )


def kernel(text: str, strategy: Strategy | None = DEFAULT, float: str = "relaxed") -> TermKernel:
    options = Options("gpu", float=float)
    return TermKernel("f", parse_term(text), options=options, strategy=strategy)


def arguments(program: TermKernel) -> list[Array]:
    source = np.random.default_rng(5)
    made: list[Array] = []
    for type in program.lower().parameter_types:
        ((lengths, leaf),) = leaves(type)
        values = source.integers(-4, 5, [length.constant for length in lengths])
        made.append(values.astype(numpy_dtype(leaf)))
    return made


CASES = [
    *((tile, epilogue, "a", "b |> transpose") for tile in "wm" for epilogue in EPILOGUES),
    *((tile, "bf16", a, b) for tile in "wm" for a in ("a", "a |> transpose")
      for b in ("b", "b |> transpose")),
]  # fmt: skip


def expected_product(epilogue: str, a: str, b: str, values: list[Array]) -> Array:
    """Compute a product of small integers, whose sums are exact in any order."""
    rows = values[0] if a == "a" else values[0].T
    columns = values[1].T if b == "b" else values[1]
    sums = rows.astype(np.float32) @ columns.astype(np.float32)
    if epilogue == "none":
        return sums
    if epilogue == "bias":
        sums = np.maximum(sums + values[2], 0)
    return sums.astype(values[0].dtype)


@pytest.mark.nightly
@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_the_interpreter_computes_the_expected_products(epilogue: str) -> None:
    text = product(16, 8, 16, epilogue)
    program = TermKernel("f", parse_term(text), backend="interpret", options=RELAXED, strategy=None)
    values = arguments(program)
    assert np.array_equal(
        program(*values), expected_product(epilogue, "a", "b |> transpose", values)
    )


@pytest.mark.parametrize(("tile", "epilogue", "a", "b"), CASES)
@pytest.mark.sampled(2)
def test_products_are_exact(
    tile: str, epilogue: str, a: str, b: str, emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a" if tile == "w" else "sm_80")
    schedule = SMALL_WGMMA if tile == "w" else SMALL_MMA
    text = product(2 * schedule.rows, 2 * schedule.columns, 64, epilogue, a, b)
    program = kernel(text, top_down(schedule.strategy()))
    gpu = emulate(program.lower())
    values = arguments(program)
    assert np.array_equal(program(*values), expected_product(epilogue, a, b, values))
    (launch,) = gpu.launched
    assert launch[1:] == ((2, 2, 1), (160 if tile == "w" else 64, 1, 1))


@pytest.mark.parametrize(("type", "epilogue"), [("bf16", "bias"), ("f16", "none")])
def test_lanes_store_vectors(
    type: str, epilogue: str, emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_80")
    text = product(VECTORS.rows, 2 * VECTORS.columns, 32, epilogue, type=type)
    if type == "f16":
        text = text.replace(SUM.replace("COLUMN", "column"), "cast[f16](0.5 + SUM)").replace(
            "SUM", SUM.replace("COLUMN", "column")
        )
    program = kernel(text, top_down(VECTORS.strategy()))
    assert "mapLaneExchange" in str(program.lower().rewritten)
    emulate(program.lower())
    values = arguments(program)
    expected = expected_product(epilogue, "a", "b |> transpose", values)
    expected = (expected + 0.5).astype(np.float16) if type == "f16" else expected
    assert np.array_equal(program(*values), expected)
    ptx = program.lower().as_text("ptx")
    assert "st.global.v4.b32" in ptx
    assert "st.global.v2" not in ptx


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("epilogue", "b"), [("bias", "b |> transpose"), ("none", "b")])
def test_rows_and_columns_are_padded_to_full_tiles(
    epilogue: str, b: str, emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    program = kernel(product(100, 120, 40, epilogue, b=b))
    emulate(program.lower())
    values = arguments(program)
    assert np.array_equal(program(*values), expected_product(epilogue, "a", b, values))
    ptx = program.lower().as_text("ptx")
    assert "wgmma" in ptx
    if epilogue == "bias":
        assert "st.global.b16" not in ptx, "a lane stores a vector, or nothing"
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_80")
    program = kernel(product(100, 120, 32, epilogue, b=b), top_down(SMALL_ROUNDS))
    with pytest.raises(LimitationError, match="expected full tiles"):
        program.lower().as_text("ptx")


def test_sums_of_padded_tiles_stay_in_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    ptx = kernel(product(1500, 1512, 1032, "bias")).lower().as_text("ptx")
    assert "wgmma" in ptx
    assert ".local" not in ptx


@pytest.mark.parametrize("epilogue", ["bias", "none"])
def test_unaligned_rows_are_copied_if_that_takes_less_time(
    epilogue: str, emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    text = product(100, 120, 40, epilogue)
    assert "toMem" not in str(kernel(text).lower().rewritten)
    monkeypatch.setattr(gpu_tensor_cores, "COPY_TIME", -1e6)
    program = kernel(text)
    gpu = emulate(program.lower())
    values = arguments(program)
    expected = expected_product(epilogue, "a", "b |> transpose", values)
    assert np.array_equal(program(*values), expected)
    assert len(gpu.launched) == 3, "two copies, and the product"


@pytest.mark.parametrize(("part", "sizes"), [("take(40)", "48.64"), ("map(take(40))", "40.72")])
def test_parts_of_matrices_are_multiplied(
    part: str, sizes: str, emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last step of the copy engine must not read what follows a part."""
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    program = kernel(
        f"fun((a : 64.40.bf16, b : {sizes}.bf16), a |> map(fun(row, b |> {part} |> transpose "
        f"|> map(fun(column, {SUM.replace('COLUMN', 'column')})))))"
    )
    emulate(program.lower())
    a, b = arguments(program)
    b[40:] = np.nan
    columns = 64 if part == "take(40)" else 40
    expected = a.astype(np.float32) @ b[:40, :columns].astype(np.float32)
    assert np.array_equal(program(a, b), expected)
    assert "wgmma" in program.lower().as_text("ptx")


def test_other_types_are_multiplied(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_80")
    text = (
        "fun((a : 32.64.i8, b : 16.64.i8), mapBlock(0, fun(x, tensorMMA(64, 2, 2, 1, 1, 2, "
        "fun((s, p), s + cast[i32](fst(p)) * cast[i32](snd(p))), 1, x, b) "
        "|> mapWarp(mapLane(mapSeqUnroll(fun(e, e))))), a |> split(32)))"
    )
    program = kernel(text, None)
    emulate(program.lower())
    a, b = arguments(program)
    fragment = program(a, b)
    assert fragment[0, 1, 0, 0] == 1 + a[16].astype(np.int32) @ b[0].astype(np.int32)
    assert fragment[0, 0, 5, 7] == 1 + a[9].astype(np.int32) @ b[11].astype(np.int32)


@pytest.mark.parametrize("type", ["f8e4m3fn", "f8e5m2"])
def test_floats_of_8_bits_are_multiplied(
    type: str, emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    text = product(56, 64, 144, "bf16", b="b", type=type)
    program = kernel(text)
    emulate(program.lower())
    values = arguments(program)
    expected = values[0].astype(np.float32) @ values[1].astype(np.float32).T
    found = program(*values)
    assert np.array_equal(found, expected.astype(found.dtype))
    short = type[2:6].lower()
    assert f"k32.f32.{short}.{short}" in program.lower().as_text("ptx")
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_80")
    with pytest.raises(LimitationError, match="with wgmma"):
        kernel(text, top_down(SMALL_ROUNDS)).lower().as_text("ptx")


@pytest.mark.parametrize(
    ("target", "instruction"),
    [("sm_90a", "wgmma.mma_async"), ("sm_80", "mma.sync"), ("sm_70", "fma.rn.f32")],
)
def test_the_default_uses_the_tensor_cores_of_the_target(
    target: str, instruction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", target)
    ptx = kernel(product(512, 512, 128, "bias")).lower().as_text("ptx")
    assert instruction in ptx
    assert ".local" not in ptx, "the sums are in registers"
    assert ("cvt.rn.bf16x2.f32" in ptx) == (target != "sm_70")


@pytest.mark.parametrize(
    ("type", "sum", "zero", "float", "instruction"),
    [
        ("i8", "i32", "0", "contract", "s32.s8.s8"),
        ("f32", "f32", "0.0", "relaxed", "f32.tf32.tf32"),
        ("f32", "f32", "0.0", "contract", ""),
    ],
)
def test_other_types_are_multiplied_by_default(
    type: str, sum: str, zero: str, float: str, instruction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    text = (
        f"fun((a : 128.128.{type}, b : 128.128.{type}), a |> map(fun(row, b |> map(fun(column, "
        f"zip(row, column) |> reduce(fun((s, p), s + cast[{sum}](fst(p)) * cast[{sum}](snd(p))), "
        f"{zero}))))))"
    )
    ptx = kernel(text, float=float).lower().as_text("ptx")
    assert ("wgmma" in ptx) == bool(instruction)
    assert instruction in ptx
    if not instruction:
        step = replace(HOPPER_TILES[2], step=32).strategy()
        any_order = text.replace("s + cast", "add[any](s, cast").replace("(snd(p))", "(snd(p)))")
        with pytest.raises(UserError, match="round f32 to tf32"):
            kernel(any_order, top_down(step), float).lower().as_text("kernels")


def test_the_order_of_sums_is_kept_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    text = product(512, 512, 128)
    assert "tensorMMA" not in str(kernel(text, float="contract").lower().rewritten)
    with pytest.raises(UserError, match="products that may be added in any order"):
        kernel(text, top_down(HOPPER_TILES[2].strategy()), "contract").lower().as_text("kernels")


def test_old_gpus_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_75")
    program = kernel(product(512, 512, 128), top_down(AMPERE_TILES[0].strategy()))
    with pytest.raises(LimitationError, match=r"compute capability 8\.0"):
        program.lower().as_text("ptx")


def test_a_single_stage_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    tile = replace(HOPPER_TILES[2], stages=1)
    with pytest.raises(LimitationError, match="two stages or more"):
        kernel(product(128, 128, 64), top_down(tile.strategy())).lower().as_text("ptx")


def test_a_block_computes_several_tiles(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(gpu_targets.TARGETS[-1], multiprocessors=1)
    monkeypatch.setattr(gpu_targets, "TARGETS", (small,))
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    tile = replace(SMALL_WGMMA, in_rounds=True)
    text = product(4 * tile.rows, 4 * tile.columns, 72, "bias")
    program = kernel(text, top_down(tile.strategy()))
    gpu = emulate(program.lower())
    a, b, v = arguments(program)
    expected = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + v, 0).astype(a.dtype)
    assert np.array_equal(program(a, b, v), expected)
    ((_, grid, _),) = gpu.launched
    assert grid == (5, 1, 1), "sixteen tiles"
    assert "gpu.barrier" not in program.lower().as_text("kernels"), "a block stores different tiles"


def test_several_products_are_computed_by_rows_of_blocks(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    sums = SUM.replace("COLUMN", "column")
    text = (
        "fun((a : 2.64.64.f16, b : 2.64.64.f16), zip(a, b) |> map(fun(p, fst(p) "
        f"|> map(fun(row, snd(p) |> transpose |> map(fun(column, {sums}))))))) "
    )
    program = kernel(text)
    gpu = emulate(program.lower())
    a, b = arguments(program)
    assert np.array_equal(program(a, b), a.astype(np.float32) @ b.astype(np.float32))
    assert gpu.launched[0][1:] == ((1, 2, 1), (160, 1, 1))


def test_a_loop_of_the_host_launches_products(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of one remains a loop outside of the kernel."""
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    sums = (
        "zip(row, column) |> map(fun(p, cast[f32](fst(p)) * cast[f32](snd(p)))) |> reduce(add, 0.0)"
    )
    text = (
        "fun((a : 1.2.64.64.bf16, b : 1.2.128.64.bf16), "
        "zip(a, b) |> map(fun(x, zip(fst(x), snd(x)) "
        f"|> map(fun(p, fst(p) |> map(fun(row, snd(p) |> map(fun(column, {sums})))))))))"
    )
    program = kernel(text)
    gpu = emulate(program.lower())
    a, b = arguments(program)
    expected = a.astype(np.float32) @ b.astype(np.float32).swapaxes(2, 3)
    assert np.array_equal(program(a, b), expected)
    assert gpu.launched[-1][1:] == ((2, 2, 1), (160, 1, 1))


def test_the_tiles_occupy_most_multiprocessors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles that leave multiprocessors idle in the last round take as long as more tiles."""
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    for columns, tile in (
        (1536, "64, 5, 8, 1, 1, 24"),
        (1280, "64, 6, 8, 1, 1, 16"),
        (2048, "64, 4, 8, 1, 1, 32"),
    ):
        text = str(kernel(product(4096, columns, 512)).lower().rewritten)
        sizes = re.search(r"tensorMMA\(((?:\s*\d+,){6})", text)
        assert sizes is not None
        assert ", ".join(re.findall(r"\d+", sizes[1])) == tile


@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_blocks_share_long_sums_of_few_tiles(
    epilogue: str, emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    text = product(64, 128, 2048, epilogue)
    program = kernel(text)
    gpu = emulate(program.lower())
    a, b, *bias = given = arguments(program)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    if bias:
        expected = np.maximum(expected + bias[0], 0)
    found = program(*given)
    assert np.array_equal(found, expected.astype(found.dtype))
    grids = [grid for _, grid, _ in gpu.launched]
    assert len(grids) == 2
    assert np.prod(grids[0]) == 4, "two tiles, and two parts of each sum"
