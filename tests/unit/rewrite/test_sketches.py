"""Guided search: sketches, the schedules of matrix multiplication, and a separated convolution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
import riselang.strategy as st
from riselang.rewrite.core import Setting
from riselang.rewrite.saturation.extraction import Extraction
from riselang.rewrite.saturation.graph import Graph
from riselang.rewrite.saturation.sketches import parse_sketch
from riselang.support.errors import UserError
from riselang.term.contraction import contract
from riselang.term.nodes import Term

PROGRAMS = Path(__file__).parents[3] / "examples/programs"
PRODUCT = """fun((A : 64.16.f32, B : 16.96.f32), A |> map(fun(row, B |> transpose |> map(
  fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
TILES = "map[2](map[3](reduce[16](map[32](map[32]))))"
BLOCKS = "map[2](map[3](reduce[4](reduce[4](map[32](map[32])))))"
ROWS = "map[2](map[3](reduce[4](map[32](reduce[4](map[32])))))"
VECTORS = "& contains(asVector[4])"
SCHEDULES = {
    "baseline": ["map[64](map[96](reduce[16]))"],
    "blocking": [TILES, BLOCKS],
    "vectorization": [
        TILES, BLOCKS, f"map[2](map[3](reduce[4](reduce[4](map[32](map[8]))))) {VECTORS}",
    ],
    "loop_permutation": [
        TILES, ROWS, f"map[2](map[3](reduce[4](map[32](reduce[4](map[8]))))) {VECTORS}",
    ],
    "array_packing": [
        TILES, ROWS, f"let & map[2](map[3](reduce[4](map[32](reduce[4](map[8]))))) {VECTORS}",
    ],
    "cache_blocks": [
        TILES, ROWS,
        f"let & map[2](map[3](reduce[4](map[32](reduceSeqUnroll[4](map[8]))))) {VECTORS}",
    ],
    "parallel": [
        TILES, ROWS,
        f"let & mapPar[2](map[3](reduce[4](map[32](reduceSeqUnroll[4](map[8]))))) {VECTORS}",
    ],
}  # fmt: skip


def term_of(text: str) -> Term:
    program: Any = rl.loads(text, name="program.rise")
    return contract(program.main.trace().term)


def matches(text: str, program: str) -> bool:
    graph = Graph(term_of(program), Setting())
    return Extraction(graph, parse_sketch(text)).best() is not None


# Sketches


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("map[64](map[96](reduce[16]))", True),
        ("map(map(reduce(?)))", True),
        ("...", True),
        ("map[96](map)", False),
        ("reduce", False),
        ("contains(reduce[16])", True),
        ("contains(transpose)", True),
        ("contains(transpose[96])", True),
        ("contains(mapSeq)", False),
        ("mapSeq | map", True),
        ("map & contains(zip)", True),
        ("map(map & contains(mapPar))", False),
    ],
)
def test_a_program_matches_a_sketch(text: str, expected: bool) -> None:
    assert matches(text, PRODUCT) == expected


def test_lengths_may_be_symbolic() -> None:
    program = "fun((x : (N + 3).f32), x |> map(fun(a, a + 1.0)))"
    assert matches("map[N + 3]", program)
    assert not matches("map[N]", program)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("map(", "this is not a sketch"),
        ("mpa(...)", "there is no pattern mpa; did you mean map"),
        ("map(3)", "expected a pattern"),
        ("map(map, map)", "expected a pattern"),
        ("map[a < b]", "expected"),
    ],
)
def test_errors_in_sketches_are_located(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        st.sketch(text)
    assert caught.value.location is not None


def test_a_sketch_is_printed_as_it_is_parsed() -> None:
    text = "map[8](mapSeq & (reduce | contains(zip)))"
    assert parse_sketch(str(parse_sketch(text))) == parse_sketch(text)
    strategy = st.parse_strategy(f"sketch({text!r})")
    assert st.parse_strategy(str(strategy)) == strategy


# Search


@pytest.mark.rotating(6)
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.sampled(1)
def test_the_schedules_of_matmul_are_found(name: str) -> None:
    term = term_of(PRODUCT)
    derivation = st.derive(term, st.sketch(*SCHEDULES[name]))
    assert st.replay(derivation.to_json()).end == derivation.end
    program: Any = rl.loads(PRODUCT, name="mm.rise", strategy="none")
    found: Any = rl.loads(repr(derivation.end), name="found.rise", strategy="none")
    random = np.random.default_rng(1)
    a = random.standard_normal((64, 16)).astype(np.float32)
    b = random.standard_normal((16, 96)).astype(np.float32)
    assert np.array_equal(found.main(a, b), program.main(a, b))


@pytest.mark.rotating(3)
def test_a_separated_convolution_is_found_and_checked() -> None:
    program: Any = rl.load(PROGRAMS / "blur.rise", float="relaxed")
    term = contract(program.blur.trace(N=6, M=5, K=3).term)
    strategy = st.sketch(
        "map[6](map[5](reduce[3]))", "map[6](map[5]) & contains(toMem(map[8](map[5](reduce[3]))))"
    )
    derivation = st.derive(term, strategy, "relaxed")
    names = [step.rule.name for step in derivation.steps]
    assert "separate_convolution" in names
    assert "share_rows" in names
    assert st.check(derivation).is_right
    with pytest.raises(UserError, match="no program with the shape of sketch 1"):
        st.derive(term, strategy)


def test_a_shape_that_no_law_leads_to_is_reported() -> None:
    with pytest.raises(UserError, match=r"no program with the shape of sketch 2.*map\[7\]"):
        st.derive(term_of(PRODUCT), st.sketch("map(map)", "map[7](map)"))
