"""Stencils, convolutions and pipelines of images by strategy: same bits, in vectors."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.rewrite.strategies import convolution, stencils
from riselang.support.errors import UserError
from riselang.support.machine import assume_machine, this_machine
from support.machines import MACHINES
from support.pairwise import each_once

pytestmark = pytest.mark.rotating(4)

PROGRAMS = Path(__file__).parents[3] / "examples/programs"


def random(*shape: int) -> Any:
    return np.random.default_rng(5).random(shape, np.float32)


def kernel(name: str, strategy: str | None = None, **options: Any) -> Any:
    return getattr(rl.load(PROGRAMS / f"{name}.rise", strategy=strategy, **options), name)


def lowered(name: str, strategy: str, *inputs: Any, **options: Any) -> str:
    return kernel(name, strategy, **options).lower(*inputs).as_text("affine")


WINDOW_SUMS = """fun((x : 12.12.130.f32), x
  |> map(fun(xss, xss |> map(slide(3, 1)) |> slide(3, 1) |> map(transpose)))
  |> slide(3, 1) |> map(transpose) |> map(map(transpose))
  |> map(map(map(fun(w, w |> join |> join |> reduce(add, 0.0))))))"""

CASES = [
    ("jacobi_1d", "stencils.vectors", [(66,)]),
    ("jacobi_1d", "stencils.vectors", [(5,)]),
    ("jacobi_2d", "stencils.vectors", [(7, 37)]),
    ("jacobi_3d", "stencils.vectors", [(5, 4, 21)]),
    ("stencil_2d", "stencils.vectors", [(6, 19)]),
    ("stencil_3d", "stencils.vectors", [(4, 5, 18)]),
    ("convolution_2d", "convolution.direct", [(3, 3), (6, 45)]),
    ("convolution_2d", "convolution.direct", [(9, 9), (11, 40)]),
    ("blur", "convolution.direct", [(5,), (5,), (8, 24)]),
    ("sobel", "stencils.vectors", [(9, 40)]),
    ("gaussian_blur", "images.line_buffers", [(20, 41)]),
    pytest.param("harris", "images.line_buffers", [(3, 36, 27)], marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("name", "strategy", "shapes"), CASES)
@pytest.mark.sampled(3)
def test_same_bits(name: str, strategy: str, shapes: list[tuple[int, ...]]) -> None:
    inputs = [random(*shape) for shape in shapes]
    expected = kernel(name, backend="interpret")(*inputs)
    assert np.array_equal(kernel(name, strategy)(*inputs), expected)


@pytest.mark.parametrize(
    ("name", "shape", "lanes"), [("jacobi_2d", (34, 514), 8), ("jacobi_3d", (10, 34, 130), 8)]
)
def test_windows_with_little_arithmetic_use_short_vectors(
    name: str, shape: tuple[int, ...], lanes: int
) -> None:
    with assume_machine(MACHINES["AVX-512"]):
        text = lowered(name, "stencils.vectors", random(*shape))
    assert f"vector<{lanes}xf32>" in text
    assert f"vector<{2 * lanes}xf32>" not in text
    with assume_machine(MACHINES["Neoverse N1"]):
        assert "vector<4xf32>" in lowered(name, "stencils.vectors", random(*shape))


def test_iterations_load_few_enough_vectors_for_their_addresses_to_be_simplified() -> None:
    with assume_machine(MACHINES["Neoverse N1"]):
        program: Any = rl.loads(WINDOW_SUMS, name="sums.rise", strategy="stencils.vectors")
        text = program.main.trace().lower().as_text("affine")
    loops = re.split(r"affine\.for", text)
    assert 27 < max(each.count("vector_load") for each in loops) <= 200


def test_means_of_several_windows_are_summed_together() -> None:
    """Otherwise, each addition would wait for the previous one."""
    with assume_machine(MACHINES["Neoverse N1"]):
        text = lowered("stencil_3d", "stencils.vectors", random(12, 12, 130))
    assert "iter_args" not in text
    sums = [line.split() for line in text.splitlines() if "arith.addf" in line]
    results, operands = {each[0] for each in sums[:4]}, {each[3].strip(",") for each in sums[:4]}
    assert not results & operands


@pytest.mark.parametrize(
    ("machine", "rows", "expected"),
    [("AVX-512", 4096, True), ("AVX-512", 512, False), ("Neoverse N1", 4096, False)],
)
def test_large_results_bypass_caches_that_would_read_them(
    machine: str, rows: int, expected: bool
) -> None:
    program = kernel("jacobi_2d", "stencils.vectors")
    with assume_machine(MACHINES[machine]):
        text = program.lower(N=rows, M=4096).as_text("notation")
    assert ("nontemporal" in text) == expected


@pytest.mark.parametrize(
    ("cores", "rows", "expected"), [(1, 4096, True), (2, 4096, False), (2, 8192, True)]
)
def test_results_that_the_caches_of_all_threads_keep_do_not_bypass_them(
    cores: int, rows: int, expected: bool
) -> None:
    program = kernel("jacobi_2d", "stencils.vectors")
    caches = ((1, 48 << 10), (2, 2 << 20), (3, 260 << 20))
    with assume_machine(replace(MACHINES["AVX-512"], caches=caches, cores=cores)):
        text = program.lower(N=rows, M=4096).as_text("notation")
    assert ("nontemporal" in text) == expected


def test_windows_with_much_arithmetic_use_long_vectors() -> None:
    with assume_machine(MACHINES["AVX-512"]):
        text = lowered("convolution_2d", "stencils.vectors", random(9, 9), random(40, 136))
    assert "vector<16xf32>" in text


def test_an_unsharp_mask_in_strips() -> None:
    inputs = np.float32(0.5), random(36, 40)
    expected = kernel("unsharp_mask", backend="interpret")(*inputs)
    assert np.array_equal(kernel("unsharp_mask", "images.line_buffers")(*inputs), expected)


@pytest.mark.parametrize("width", [3, 4, 9])
@pytest.mark.sampled(1)
def test_a_convolution_by_lines(width: int) -> None:
    inputs = [random(width), random(width), random(6 + width, 21 + width)]
    found = kernel("blur", "convolution.by_lines", float="relaxed")(*inputs)
    assert np.allclose(found, kernel("blur", backend="interpret")(*inputs), rtol=1e-5)


SMALL = replace(this_machine(), caches=((1, 64), (2, 256), (3, 1024)))
"""A machine in whose caches no slice and no line stays."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["jacobi_3d", "stencil_3d"])
@pytest.mark.parametrize("slices", [4, 5])
def test_slices_of_a_volume_in_pairs(
    name: str, slices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stencils, "this_machine", lambda: SMALL)
    monkeypatch.setattr(stencils, "MIN_PARALLEL_ELEMENTS", 1)
    input = random(slices + 2, 5, 34)
    made = kernel(name, "stencils.vectors")
    is_paired = "|> split(2) |> mapPar" in str(made.lower(input).term)
    assert is_paired == (slices == 4)
    assert np.array_equal(made(input), kernel(name, backend="interpret")(input))


def test_slices_that_stay_in_the_second_cache_are_not_paired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = replace(SMALL, caches=((1, 64), (2, 1 << 20), (3, 1 << 22)))
    monkeypatch.setattr(stencils, "MIN_PARALLEL_ELEMENTS", 1)
    for machine, count in ((SMALL, 2), (large, 4)):
        monkeypatch.setattr(stencils, "this_machine", lambda machine=machine: machine)
        assert f"(0) to ({count})" in lowered("jacobi_3d", "stencils.vectors", random(6, 6, 66))


@pytest.mark.parametrize("bypasses", [False, True])
def test_slices_that_bypass_the_caches_are_not_paired(
    bypasses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stencils, "this_machine", lambda: SMALL)
    monkeypatch.setattr(stencils, "MIN_PARALLEL_ELEMENTS", 1)
    monkeypatch.setattr(stencils, "_should_bypass_caches", lambda nest: bypasses)
    code = lowered("jacobi_3d", "stencils.vectors", random(6, 6, 66))
    assert f"(0) to ({4 if bypasses else 2})" in code


@pytest.mark.parametrize(("width", "rows", "columns"), each_once([4, 9], [8, 11], [24, 31]))
@pytest.mark.sampled(1)
def test_a_convolution_by_lines_in_bands(
    width: int, rows: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the rows of a window do not stay in the first cache, several rows share them."""
    monkeypatch.setattr(convolution, "this_machine", lambda: SMALL)
    shape = rows + width - 1, columns + width - 1
    inputs = [random(width), random(width), random(*shape)]
    blur = kernel("blur", "convolution.by_lines", float="relaxed")
    assert f"slide({width + 3}, 4)" in str(blur.lower(*inputs).term)
    assert np.allclose(blur(*inputs), kernel("blur", backend="interpret")(*inputs), rtol=1e-5)


def test_a_convolution_by_lines_is_only_for_relaxed_programs() -> None:
    inputs = [random(3), random(3), random(8, 18)]
    with pytest.raises(UserError, match="does not apply"):
        kernel("blur", "convolution.by_lines")(*inputs)


def test_shifted_windows_are_loaded_as_vectors() -> None:
    text = lowered("jacobi_2d", "stencils.vectors", random(10, 34))
    assert "vector.insert" not in text
    assert text.count("affine.vector_load") == 5 * text.count("vector_store")


def test_sums_stay_in_registers() -> None:
    text = lowered("convolution_2d", "convolution.direct", random(9, 9), random(16, 40))
    assert "memref.alloc" not in text
    assert "iter_args" in text


def test_stages_keep_as_many_rows_as_a_window_has() -> None:
    text = lowered("harris", "images.line_buffers", random(3, 36, 36))
    assert "vector.insert" not in text
    assert [line.split(" : ")[-1] for line in text.splitlines() if "memref.alloc" in line] == [
        "memref<3x36xf32>", "memref<3x34xf32>", "memref<3x34xf32>",
    ]  # fmt: skip


def test_a_length_that_is_not_known_has_versions_and_a_remainder() -> None:
    text = kernel("jacobi_1d", "stencils.vectors").lower().as_text("affine")
    assert text.count("affine.parallel") == 1
    assert text.count("scf.if") == 1
    assert "vector_store" in text


def test_small_grids_compute_the_blocks_of_all_rows_before_their_remainders() -> None:
    text = kernel("jacobi_2d", "stencils.vectors").lower().as_text("affine")
    outermost = [
        re.findall(r"^ {6}(affine\.\w+)", version, re.MULTILINE) for version in text.split("else")
    ]
    assert outermost == [["affine.parallel"], ["affine.for"] * 3]
