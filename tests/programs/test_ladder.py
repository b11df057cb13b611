"""Strategies for whole programs: every version computes what the program does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.rewrite.core import Strategy
from riselang.rewrite.strategies.matmul import LADDER
from support.pairwise import combined

pytestmark = pytest.mark.rotating(4)

PROGRAMS = Path(__file__).parents[2] / "examples/programs"
SIZE = 64


def program(name: str, **options: Any) -> Any:
    return getattr(rl.load(PROGRAMS / f"{name}.rise", **options), name)


@pytest.mark.parametrize(
    ("strategy", "loops", "permission"),
    combined(LADDER, ["affine", "scf"], ["strict", "contract"]),
    ids=str,
)
@pytest.mark.sampled(3)
def test_every_version_of_matmul_gives_the_same_bits(
    strategy: Strategy, loops: str, permission: str
) -> None:
    random = np.random.default_rng(3)
    a = random.standard_normal((SIZE, SIZE)).astype(np.float32)
    b = random.standard_normal((SIZE, SIZE)).astype(np.float32)
    expected = program("matmul", float=permission)(a, b)
    found = program("matmul", float=permission, loops=loops, strategy=strategy)(a, b)
    assert np.array_equal(found, expected)


def test_each_version_is_built_on_the_one_before() -> None:
    kernel = program("matmul")
    traced = kernel.trace(N=SIZE, M=SIZE, K=SIZE)
    seven = LADDER[:7]
    lengths = [len(traced.derive(strategy)) for strategy in seven]
    assert lengths == sorted(lengths)


def test_a_separated_convolution_needs_permission_and_is_close() -> None:
    random = np.random.default_rng(4)
    v, h = random.random(5, np.float32), random.random(5, np.float32)
    image = random.random((40, 36), np.float32)
    expected = program("blur")(v, h, image)
    separated = program("blur", float="relaxed", strategy="convolution.separated")
    assert np.allclose(separated(v, h, image), expected, rtol=1e-5)
    with pytest.raises(rl.UserError, match="does not apply"):
        program("blur", strategy="convolution.separated")(v, h, image)


@pytest.mark.parametrize(
    ("name", "strategy", "shape"),
    [
        ("stencil_1d", "overlapped_tiles(16)", (64,)),
        ("stencil_2d", "overlapped_tiles_2d(8, 16)", (32, 64)),
    ],
)
def test_overlapped_tiles_give_the_same_bits(
    name: str, strategy: str, shape: tuple[int, ...]
) -> None:
    values = np.random.default_rng(5).random(shape, np.float32)
    assert np.array_equal(program(name, strategy=strategy)(values), program(name)(values))
