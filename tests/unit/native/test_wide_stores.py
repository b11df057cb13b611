"""Stores of long vectors are divided into stores of one register, by rising addresses."""

from __future__ import annotations

import re

import numpy as np
import pytest

import riselang as rl
from riselang.native.llvm import codegen
from riselang.native.llvm.codegen import Target
from riselang.native.llvm.wide_stores import divide_wide_stores

ADD_ONE = """
define void @add(ptr noalias %a, ptr noalias %b, i64 %n) {
  br label %1
1:
  %2 = phi i64 [ 0, %0 ], [ %7, %1 ]
  %3 = getelementptr double, ptr %a, i64 %2
  %4 = load <LANES x double>, ptr %3, align 8
  %5 = fadd <LANES x double> %4, %4
  %6 = getelementptr double, ptr %b, i64 %2
  store <LANES x double> %5, ptr %6, align 8
  %7 = add i64 %2, LANES
  %8 = icmp slt i64 %7, %n
  br i1 %8, label %1, label %9
9:
  ret void
}
"""
AVX512 = Target("x86_64-unknown-linux-gnu", "cascadelake", "+avx,+avx2,+avx512f,-prefer-256-bit")
AVX2 = Target("x86_64-unknown-linux-gnu", "haswell", "+avx,+avx2")
NEON = Target("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon")


@pytest.mark.parametrize(
    ("target", "lanes", "store"),
    [
        (AVX512, 32, r"vmovupd\s+%zmm\d+, (\d*)\("),
        (AVX2, 16, r"vmovupd\s+%ymm\d+, (\d*)\("),
        (NEON, 8, r"st[rp]\s+q\d+, (?:q\d+, )?\[x\d+(?:, #(-?\d+))?\]"),
    ],
    ids=["avx512", "avx2", "neon"],
)
def test_parts_are_stored_by_rising_addresses(target: Target, lanes: int, store: str) -> None:
    codegen.binding.initialize_all_targets()
    codegen.binding.initialize_all_asmprinters()
    text = codegen.assembly(ADD_ONE.replace("LANES", str(lanes)), target=target)
    offsets = [int(each or 0) for each in re.findall(store, text)]
    assert len(offsets) >= 2
    assert offsets == sorted(offsets)


def test_parts_keep_what_the_store_promised() -> None:
    store = "  store <16 x float> %5, ptr %6, align 64, !nontemporal !3, !dbg !9"
    parts = divide_wide_stores(store, 256).splitlines()
    stores = [each for each in parts if " store " in each]
    assert [each.partition(", ptr")[0].split("%")[0] for each in stores] == [
        "  store <8 x float> "
    ] * 2
    assert all(each.endswith("align 32, !nontemporal !3, !dbg !9") for each in stores)


@pytest.mark.parametrize(
    "store",
    [
        "  store <8 x float> %5, ptr %6, align 4",
        "  store <12 x float> %5, ptr %6, align 4",
        "  store <64 x i1> %5, ptr %6, align 8",
        "  store <32 x ptr> %5, ptr %6, align 8",
        "  store volatile <64 x float> %5, ptr %6, align 4",
        "  store float %5, ptr %6, align 4",
    ],
)
def test_other_stores_are_left_alone(store: str) -> None:
    assert divide_wide_stores(store, 256) == store


def test_functions_with_shorter_vectors_have_shorter_parts() -> None:
    ir = ADD_ONE.replace("LANES", "16").replace(") {", ') "prefer-vector-width"="128" {')
    assert divide_wide_stores(ir, 512).count("store <2 x double>") == 8


@pytest.mark.parametrize("offset", [0, 1, 2, 7])
def test_misaligned_arrays_get_every_element(offset: int) -> None:
    @rl.jit
    def add(a: rl.Array["N", rl.f64], b: rl.Array["N", rl.f64]):
        return a + b

    a, b = (np.arange(1020.0)[offset : offset + 1003] * factor for factor in (1, 3))
    np.testing.assert_array_equal(add(a, b), a + b)
