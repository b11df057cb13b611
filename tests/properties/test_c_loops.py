"""The 151 loops of the benchmark compute the bits of the C compiler."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.file import CFile
from riselang.support.config import Options
from support.c_programs import KERNELS, run_by_c, same_bits

FILE = KERNELS.parents[2] / "benchmarks" / "c_loops.c"
NAMES = re.findall(r"^LOOP\((\w+)\)", FILE.read_text(), re.MULTILINE)
ROWS = 16


def arguments() -> list[Any]:
    random = np.random.default_rng(5)
    length = ROWS * ROWS
    vectors = [random.uniform(0.5, 1.5, length) for _ in range(5)]
    matrices = [random.uniform(0.5, 1.5, (ROWS, ROWS)) for _ in range(3)]
    return [length, ROWS, *vectors, *matrices, random.integers(0, length, length, np.int32)]


def test_there_are_151() -> None:
    assert len(NAMES) == 151


@pytest.mark.rotating(4)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", NAMES)
def test_a_loop_computes_the_bits_of_the_c_compiler(name: str) -> None:
    scop = CFile.parse_text(FILE.read_text(), FILE.name).model_function(name)
    for schedule in ("source", "isl"):
        ours = make_program([scop], Options("affine", "strict"), schedule).functions()[name]
        given, expected = arguments(), arguments()
        result, right = ours(*given), run_by_c(FILE.read_text(), scop, expected)
        assert same_bits(np.array([result]), np.array([right]))
        for mine, theirs in zip(given[2:], expected[2:], strict=True):
            assert same_bits(mine, theirs)
