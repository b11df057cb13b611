"""`mma` as the instructions of the CPU for dot products, and as loops where there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from riselang.api.kernel import TermKernel
from riselang.dialects.rise.dot_units import DOT_UNITS, DotUnit
from riselang.dialects.rise.type_printer import format_type
from riselang.native.elf.object_file import read_symbols
from riselang.native.llvm import codegen
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting, Success
from riselang.rewrite.normal_forms import data_flow_normal_form
from riselang.rewrite.strategies.default_schedule import recognized_computations, schedule_program
from riselang.support import machine
from riselang.support.config import Options
from riselang.support.machine import Machine, assume_machine, this_machine
from riselang.term.nodes import has_pattern
from support.machines import MACHINES, assembly_for, compiled_for

pytestmark = pytest.mark.rotating(4)

TILE = (
    "fun((x : {chunks}.{m}.{chunk}.{s}, y : {k}.{width}.{s}), "
    "mma({g}, {h}, fun((a, p), {step}), {a}, x, y))"
)
STEPS = {
    "i8": "a + cast[i32](fst(p)) * cast[i32](snd(p))",
    "i16": "a + cast[i32](fst(p)) * cast[i32](snd(p))",
    "bf16": "a + cast[f32](fst(p)) * cast[f32](snd(p))",
}
PRODUCT = """fun((x : {m}.{k}.{s}, y : {k}.{n}.{s}), x |> map(fun(row, y |> transpose |> map(
    fun(column, zip(row, column) |> map(fun(p, cast[{t}](fst(p)) * cast[{t}](snd(p))))
      |> reduce(add, {a}))))))"""
PRODUCT_LESS_A_ROW = """fun((x : {m}.{k}.i8, y : {k}.{n}.i8, b : {n}.i32), x |> map(fun(row,
    zip(y |> transpose, b) |> map(fun(q, (zip(row, fst(q)) |> map(fun(p,
      cast[i32](fst(p)) * cast[i32](snd(p)))) |> reduce(add, 0)) - snd(q))))))"""
TARGET_OF = {
    "tdpbssd": "Sapphire Rapids", "tdpbf16ps": "Sapphire Rapids", "vpdpbusd": "Sapphire Rapids",
    "sdot": "Neoverse N1", "bfdot": "Neoverse V1", "vpmaddwd": "AVX2",
}  # fmt: skip
WITHOUT_UNITS = replace(MACHINES["AVX-512"], dot_instructions=())


def machine_with(*names: str) -> Machine:
    return replace(MACHINES["AVX-512"], dot_instructions=tuple(names))


def tile(unit: DotUnit, rows: int, columns: int, depth: int) -> str:
    chunk = unit.chunk_for(depth)
    assert chunk is not None
    name = format_type(unit.source)
    return TILE.format(
        m=rows, chunks=depth // chunk, chunk=chunk, k=depth // unit.group,
        width=columns * unit.group, s=name, g=unit.group, h=chunk // unit.group,
        step=STEPS[name], a="7.0" if name == "bf16" else "7",
    )  # fmt: skip


def product(m: int, n: int, k: int, s: str = "i8") -> str:
    t, a = ("i32", "0") if s == "i8" else ("f32", "0.0")
    return PRODUCT.format(m=m, n=n, k=k, s=s, t=t, a=a)


def bytes_of(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def in_chunks(rows: Any) -> Any:
    chunk = DOT_UNITS[2].chunk_for(rows.shape[1])
    return np.ascontiguousarray(rows.reshape(len(rows), -1, chunk).swapaxes(0, 1))


@pytest.mark.parametrize("unit", DOT_UNITS, ids=lambda unit: unit.name)
def test_every_unit_becomes_its_instruction(unit: DotUnit) -> None:
    with assume_machine(machine_with(unit.name)):
        text = tile(unit, unit.rows, unit.columns, 2 * unit.chunk)
        ir = TermKernel("f", parse_term(text)).lower().as_text("llvm")
    lines = assembly_for(ir, TARGET_OF[unit.name])
    assert any(line.split()[:1] == [unit.name] for line in lines), unit.name


@pytest.mark.parametrize("rows", [1, 5, 12])
@pytest.mark.parametrize("target", [this_machine(), WITHOUT_UNITS], ids=["host", "loops"])
def test_bytes_of_any_sign_are_multiplied_exactly(target: Machine, rows: int) -> None:
    x, y = bytes_of((rows, 24), 0), bytes_of((6, 128), 1)
    x[:, :4], y[0] = -128, -128
    with assume_machine(target):
        found = TermKernel("f", parse_term(tile(DOT_UNITS[2], rows, 32, 24)))(in_chunks(x), y)
    columns = y.reshape(6, 32, 4).transpose(0, 2, 1).reshape(24, 32)
    assert np.array_equal(found, 7 + x.astype(np.int32) @ columns.astype(np.int32))


def test_sums_wrap_like_those_of_the_interpreter() -> None:
    depth = 1 << 17
    x, y = np.full((1, depth), -128, np.int8), np.full((depth // 4, 64), -128, np.int8)
    found = TermKernel("f", parse_term(tile(DOT_UNITS[2], 1, 16, depth)))(in_chunks(x), y)
    assert set(found.ravel()) == {7 - (1 << 31)}


@pytest.mark.rotating(5)
@pytest.mark.parametrize("sizes", [(32, 32, 64), (17, 18, 68)], ids=str)
@pytest.mark.parametrize(
    "names",
    [("vpdpbusd",), ("tdpbssd", "vpdpbusd"), ("vpdpbusd", "vpmaddwd"), ("vpmaddwd",)],
    ids=str,
)
@pytest.mark.sampled(1)
def test_schedules_with_mma_compute_the_same(
    sizes: tuple[int, int, int], names: tuple[str, ...]
) -> None:
    """They are interpreted, so that this CPU needs none of the instructions."""
    m, n, k = sizes
    term = parse_term(product(m, n, k))
    with assume_machine(machine_with(*names)):
        (computation,) = recognized_computations(term, Setting())
        result = (data_flow_normal_form >> schedule_program).run(term, Setting())
    assert isinstance(result, Success)
    assert has_pattern(result.term, "mma")
    # AMX multiplies rows of 64 bytes.
    fastest = next(name for name in names if name != "tdpbssd" or k % 64 == 0)
    assert fastest in computation.schedule
    x, y = bytes_of((m, k), 2), bytes_of((k, n), 3)
    found = TermKernel("f", result.term, backend="interpret")(x, y)
    assert np.array_equal(found, x.astype(np.int32) @ y.astype(np.int32))


@pytest.mark.parametrize("sizes", [(64, 64, 64), (37, 50, 68), (130, 129, 256)], ids=str)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("is_scaled", [False, True], ids=["bare", "scaled"])
def test_products_of_bytes_on_this_machine(sizes: tuple[int, int, int], is_scaled: bool) -> None:
    m, n, k = sizes
    text = product(m, n, k)
    if is_scaled:
        text = text.replace("|> reduce(add, 0)", "|> reduce(add, 0) |> fun(e, e * 3 + 1)")
    x, y = bytes_of((m, k), 4), bytes_of((k, n), 5)
    found = TermKernel("f", parse_term(text), strategy=schedule_program)(x, y)
    expected = x.astype(np.int32) @ y.astype(np.int32)
    assert np.array_equal(found, expected * 3 + 1 if is_scaled else expected)


@pytest.mark.parametrize("names", [("vpdpbusd",), ("vpmaddwd",)], ids=str)
def test_sums_less_a_row_use_the_instruction(names: tuple[str, ...]) -> None:
    """As those of quantized matrices with zero points."""
    m, n, k = 17, 34, 64
    term = parse_term(PRODUCT_LESS_A_ROW.format(m=m, n=n, k=k))
    with assume_machine(machine_with(*names)):
        result = (data_flow_normal_form >> schedule_program).run(term, Setting())
    assert isinstance(result, Success)
    assert has_pattern(result.term, "mma")
    x, y, b = bytes_of((m, k), 4), bytes_of((k, n), 5), bytes_of((n,), 6).astype(np.int32)
    expected = x.astype(np.int32) @ y.astype(np.int32) - b
    assert np.array_equal(TermKernel("f", result.term, backend="interpret")(x, y, b), expected)
    assert np.array_equal(TermKernel("f", term, strategy=schedule_program)(x, y, b), expected)


def test_extreme_bytes_are_added_without_saturation() -> None:
    """`vpmaddubsw` would saturate the sums of two of these products at 16 bits."""
    x, y = np.full((6, 64), -128, np.int8), np.full((64, 16), -128, np.int8)
    with assume_machine(machine_with("vpmaddwd")):
        kernel = TermKernel("f", parse_term(product(6, 16, 64)), strategy=schedule_program)
        if "vpmaddwd" in this_machine().dot_instructions:
            assert set(kernel(x, y).ravel()) == {64 << 14}


@pytest.mark.parametrize("float", ["strict", "contract", "relaxed"])
def test_the_float_policy_decides_about_bfloat16(float: str) -> None:
    term = parse_term(product(64, 64, 64, "bf16"))
    with assume_machine(machine_with("tdpbf16ps", "vpdpbusd")):
        (computation,) = recognized_computations(term, Setting(float))
    assert ("tdpbf16ps" in computation.schedule) == (float == "relaxed")


def test_one_reduction_may_be_in_any_order() -> None:
    text = product(64, 64, 64, "bf16").replace("reduce(add,", "reduce(add[any],")
    with assume_machine(machine_with("tdpbf16ps")):
        (computation,) = recognized_computations(parse_term(text), Setting())
    assert "tdpbf16ps" in computation.schedule


def test_products_of_bfloat16_in_any_order() -> None:
    text = product(48, 40, 64, "bf16")
    rng = np.random.default_rng(6)
    x, y = (rng.standard_normal(shape).astype(bfloat16) for shape in ((48, 64), (64, 40)))
    kernel = TermKernel(
        "f", parse_term(text), strategy=schedule_program, options=Options(float="relaxed")
    )
    expected = x.astype(np.float32) @ y.astype(np.float32)
    np.testing.assert_allclose(kernel(x, y), expected, rtol=1e-4, atol=1e-4)


def test_other_functions_and_types_are_computed_in_loops() -> None:
    """Only sums of products of the right types have an instruction."""
    step = "fun((a, p), a + cast[i32](fst(p)))"
    text = f"fun((x : 1.2.8.i8, y : 2.64.i8), mma(4, 2, {step}, 1, x, y))"
    kernel = TermKernel("f", parse_term(text))
    x = bytes_of((2, 8), 7)
    expected = np.repeat(1 + x.astype(np.int32).sum(1, dtype=np.int32)[:, None], 16, 1)
    assert np.array_equal(kernel(in_chunks(x), bytes_of((2, 64), 8)), expected)
    assert "vpdpbusd" not in kernel.lower().as_text("asm")


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        ("processor : 0\nflags : fpu avx512f avx512_vnni avx512_bf16\n", ("vpdpbusd",)),
        ("processor\t: 0\nFeatures\t: fp asimd asimddp\n", ("sdot",)),
        ("flags : fpu\n", ()),
        ("", ()),
    ],
)
def test_linux_reports_the_instructions(
    cpuinfo: str, expected: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(machine, "_cpu_flags", machine._cpu_flags.__wrapped__)
    monkeypatch.setattr(machine, "permit_amx", lambda: False)
    assert machine._detect_dot_instructions() == expected


def test_objects_ask_for_amx() -> None:
    unit = DOT_UNITS[0]
    with assume_machine(machine_with(unit.name)):
        text = tile(unit, unit.rows, unit.columns, unit.chunk)
        ir = TermKernel("f", parse_term(text)).lower().as_text("llvm")
    assert codegen.uses_amx(ir)
    assert "syscall" in read_symbols(compiled_for(codegen.amx_permission(), "x86-64")).needed
