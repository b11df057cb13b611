"""Generic spaces: what the default strategy does, with parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.rewrite.core import Setting
from riselang.rewrite.default import default_derivation
from riselang.rewrite.derivation import derive
from riselang.support.machine import Machine, assume_machine
from riselang.term.contraction import contract
from riselang.tuning.generic_spaces import generic_space
from riselang.tuning.schedule_values import values_for

PROGRAMS = Path(__file__).parents[3] / "examples/programs"
PRODUCT = """fun((A : 512.512.f32, B : 512.512.f32), A |> map(fun(row, B |> transpose |> map(
  fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
VOLUME, IMAGE = (18, 34, 66), (136, 264)


def kernel(name: str, strategy: str = "default", float: str = "contract") -> Any:
    program: Any = rl.load(PROGRAMS / f"{name}.rise", strategy=strategy, float=float)
    return getattr(program, name)


def values(*shapes: tuple[int, ...]) -> list[Any]:
    source = np.random.default_rng(0)
    return [source.random(shape, np.float32) for shape in shapes]


STENCILS = (
    {"stencil_slices": 4, "stencil_vectors": 2, "stencil_lanes": 4},
    {"stencil_slices": 8, "stencil_vectors": 12},
    {"stencil_rows": 8, "stencil_vectors": 3},
)
LINES = (
    {"sums_by_lines_band_rows": 8, "sums_by_lines_vectors": 1},
    {"sums_by_lines_band_rows": 5, "sums_by_lines_line_vectors": 2},
    {"sums_by_lines_band_rows": 3, "sums_by_lines_vectors": 2},
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("numbers", STENCILS)
def test_stencils_have_the_same_results_with_all_numbers(numbers: dict[str, int]) -> None:
    inputs = values(VOLUME)
    source = kernel("jacobi_3d").lower(*inputs).source
    space, start = generic_space(contract(source), "contract")
    default = default_derivation(contract(source), Setting())
    assert default is not None
    assert derive(contract(source), space.strategy_for(start)).end == default.end
    strategy = str(space.strategy_for({**start, **numbers}))
    assert np.array_equal(kernel("jacobi_3d", strategy)(*inputs), kernel("jacobi_3d")(*inputs))


@pytest.mark.rotating(3)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("numbers", LINES)
def test_separated_convolutions_have_the_same_results_with_all_numbers(
    numbers: dict[str, int],
) -> None:
    inputs = values((9,), (9,), IMAGE)
    blur = kernel("blur", float="relaxed")
    space, start = generic_space(contract(blur.lower(*inputs).source), "relaxed")
    strategy = str(space.strategy_for({**start, **numbers}))
    assert np.allclose(kernel("blur", strategy, "relaxed")(*inputs), blur(*inputs), rtol=1e-5)


def test_choices_that_need_too_many_registers_are_excluded() -> None:
    program: Any = rl.loads(PRODUCT, name="product.rise")
    with assume_machine(Machine(32, 16)):
        space, start = generic_space(contract(program.main.trace().term), "contract")
    with assume_machine(Machine(32, 16)):
        assert space.permits(start)
        large = {"register_tiles_rows": 14, "register_tiles_columns": 24}
        assert not space.permits({**start, **large})
        ragged = {"register_tiles_columns": 12, "register_tiles_lanes": 8}
        assert not space.permits({**start, **ragged})


def test_rows_that_are_kept_in_registers_fill_vectors() -> None:
    program: Any = rl.loads(PRODUCT, name="product.rise")
    with assume_machine(Machine(32, 16)):
        space, start = generic_space(contract(program.main.trace().term), "contract")
        kept = {**start, "register_tiles_kept": True, "register_tiles_columns": 8}
        assert space.permits({**kept, "register_tiles_rows": 8})
        assert not space.permits({**kept, "register_tiles_rows": 6})


def test_numbers_without_an_effect_keep_their_default() -> None:
    program: Any = rl.loads(PRODUCT, name="product.rise")
    space, start = generic_space(contract(program.main.trace().term), "contract")
    packed = {**start, "register_tiles_packed": True}
    unpacked = {**start, "register_tiles_packed": False}
    other = {"register_tiles_transposed": not start["register_tiles_transposed"]}
    assert space.permits({**packed, **other})
    assert not space.permits({**unpacked, **other})


def test_numbers_of_stencils_without_an_effect_keep_their_default() -> None:
    source = kernel("jacobi_3d").lower(*values(VOLUME)).source
    space, start = generic_space(contract(source), "contract")
    assert space.permits({**start, "stencil_rows": 8})
    assert not space.permits({**start, "stencil_slices": 4, "stencil_rows": 8})
    blur = kernel("blur", float="relaxed")
    source = blur.lower(*values((9,), (9,), IMAGE)).source
    space, start = generic_space(contract(source), "relaxed")
    assert space.permits({**start, "sums_by_lines_line_vectors": 2})
    one_row = {"sums_by_lines_band_rows": 1, "sums_by_lines_line_vectors": 2}
    assert not space.permits({**start, **one_row})


def test_values_are_in_order_and_contain_the_default() -> None:
    assert values_for("register_tiles", "lanes", {"lanes": 8}) == [4, 8]
    assert values_for("accumulated_rows", "depth", {"depth": 0}) == [0, 1, 2, 4, 8, 16]
    assert values_for("tile", "rows", {"rows": 8}) == [2, 4, 6, 8, 12, 16, 24, 32]
    assert values_for("register_tiles", "kept", {"kept": True}) == [False, True]
