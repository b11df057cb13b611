"""Programs in two stages compute what they computed in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from riselang.dialects.rise.types import ArrayType, RiseType, result_types, uncurry
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.notation.program import parse_term
from riselang.rewrite.staging import drop_unread_parameters, split_by_known_parameters
from riselang.term.nodes import Term

PACKED = """
fun((w : 4.6.f32, x : 3.4.f32),
  let y = w |> transpose |> split(2) |> map(fun(block, block |> transpose)) |> toMem(heap);
  x |> map(fun(row, y |> map(fun(block,
    zip(row, block) |> map(fun(p, snd(p) |> map(fun(v, v * fst(p))))))))))
"""
VECTORS = """
fun((a : f32, w : 2.8.f32, x : 8.f32),
  (let y = w |> map(fun(row, row |> map(fun(v, v * a)) |> asVector(4))) |> toMem(heap);
   y |> map(fun(row, zip(row |> asScalar, x) |> map(mult)))))
"""
NESTED = """
fun((w : 8.f32, x : 3.f32),
  x |> map(fun(v,
    let y = w |> map(fun(u, u + 1.0)) |> toMem(heap);
    let z = y |> map(fun(u, u * v)) |> toMem(heap);
    z |> reduce(add, 0.0))))
"""
TWO = """
fun((v : 4.f32, x : 4.f32, w : 4.f32),
  let y = v |> map(fun(e, e + 1.0)) |> toMem(heap);
  let z = w |> map(fun(e, e * 2.0)) |> toMem(heap);
  zip(x, zip(y, z)) |> map(fun(p, fst(p) * fst(snd(p)) + snd(snd(p)))))
"""
CLOSED = """
fun((x : 4.f32),
  let y = generate(fun((i : idx[4]), 2.0)) |> toMem(heap);
  zip(x, y) |> map(mult))
"""


def computed(term: Term, arrays: list[Any], results: int = 1) -> list[Any]:
    """The results of a program by the interpreter."""
    inputs, _ = uncurry(term.type)
    values = [from_buffers(type, [array]) for type, array in zip(inputs, arrays, strict=True)]
    value = run_term(term, values)
    found: list[Any] = []
    types = result_types(term.type, results)
    for position, type in enumerate(types):
        part = value
        if position < len(types) - 1:
            part, value = value
        found += to_buffers(type, part)
    return found


@pytest.mark.parametrize(
    ("text", "known", "values"),
    [
        (PACKED, {0}, 1), (VECTORS, {0, 1}, 1), (NESTED, {0}, 1), (CLOSED, frozenset[int](), 1),
        (TWO, {0, 2}, 2), (TWO, {0}, 1), (TWO, {2}, 1),
    ],
)  # fmt: skip
def test_two_stages_compute_what_one_does(text: str, known: set[int], values: int) -> None:
    term = parse_term(text)
    inputs, _ = uncurry(term.type)
    random = np.random.default_rng(0)
    arrays = [random.random(_shape(type)).astype(np.float32) for type in inputs]
    stages = split_by_known_parameters(term, len(inputs), known)
    assert stages is not None
    assert stages.values == values
    first = computed(stages.first, [arrays[at] for at in sorted(known)], values)
    (found,) = computed(stages.second, [*arrays, *first])
    (wanted,) = computed(term, arrays)
    np.testing.assert_array_equal(found, wanted)
    program, kept = drop_unread_parameters(stages.second, len(inputs), known)
    assert set(range(len(inputs))) - known <= set(kept)
    (found,) = computed(program, [*(arrays[at] for at in kept), *first])
    np.testing.assert_array_equal(found, wanted)
    # What was computed once is not computed again.
    assert repr(stages.second).count("toMem(heap)") == text.count("toMem(heap)") - values


@pytest.mark.parametrize(("text", "known"), [(PACKED, {1}), (VECTORS, {1}), (NESTED, {1})])
def test_what_depends_on_other_arguments_is_left(text: str, known: set[int]) -> None:
    term = parse_term(text)
    assert split_by_known_parameters(term, len(uncurry(term.type)[0]), known) is None


def test_a_bound_argument_that_is_only_packed_is_not_passed_again() -> None:
    term = parse_term(PACKED)
    stages = split_by_known_parameters(term, 2, {0})
    assert stages is not None
    assert drop_unread_parameters(stages.second, 2, {0})[1] == (1,)


def _shape(type: RiseType) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(type, ArrayType):
        shape.append(type.length.constant)
        type = type.element
    return tuple(shape)
