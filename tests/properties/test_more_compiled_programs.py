"""Random programs with sort, checkIdx, reducePar and vectors among the other patterns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riselang.dialects.module import module_text
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    RiseType,
    ScalarType,
    array,
    element_of,
    fun,
    i1,
    vector,
)
from riselang.term.nodes import Apply, Lambda, Term, apply_all
from support.checking import call_of, inputs_of, interpreted, module_of
from support.choices import Choices
from support.fuzzing import fuzz
from support.guarded import SIDES, Request, Runner
from support.programs import ROOM, Place, Producer, Program, _Generator, _use, close
from support.random_types import length_of, volume
from support.shrinking import holds
from support.values import same

BATCH = 10


class _Wider(_Generator):
    def special(self, type: RiseType, place: Place) -> list[tuple[int, Producer]]:
        options = super().special(type, place)
        if isinstance(type, IdxType):
            return [*options, (6, self.checked)]
        if volume(type) <= place.room:
            options.append((3, self.on_threads))
        if isinstance(type, ArrayType):
            options += [(8, self.sorted), (3, self.through_vectors)]
            if isinstance(element_of(type), ScalarType):
                options.append((3, self.repeated))
        return options

    def sorted(self, type: RiseType, place: Place) -> Term:
        n, t = length_of(type), element_of(type)
        before = self.term(fun(t, t, i1), place.repeated(2 * n))
        return apply_all(_use("sort", n, t), [before, self.term(type, place.deeper)])

    def checked(self, type: RiseType, place: Place) -> Term:
        """A check that passes, of a number that is clamped first."""
        assert isinstance(type, IdxType)
        number = Apply(_use("fromIdx", type.bound.constant), self.clamped(type, place))
        return Apply(_use("checkIdx", type.bound.constant, number.type), number)

    def on_threads(self, type: RiseType, place: Place) -> Term:
        n = self.types.length(place.room // max(volume(type), 1))
        reduce = _use("reducePar", n, type, to=self.target())
        step = self.term(fun(type, type, type), place.repeated(n))
        source = self.term(array(n, type), place.deeper)
        return apply_all(reduce, [step, self.term(type, place.deeper), source])

    def through_vectors(self, type: RiseType, place: Place) -> Term:
        """An array of scalars, cut into vectors that are moved and joined again."""
        length, t = length_of(type), element_of(type)
        if length == 0 or not isinstance(t, ScalarType):
            return self.leaf(type, place)
        k = self.choices.of([k for k in range(1, length + 1) if length % k == 0])
        n = length // k
        vectors = Apply(_use("asVector", k, n, t), self.term(type, place.deeper))
        moved: Term = vectors
        if self.choices.one_in(2):
            moved = Apply(_use("reverse", n, vector(k, t)), vectors)
        if self.choices.one_in(2):
            moved = Apply(_use("toMem", "heap", moved.type), moved)
        return Apply(_use("asScalar", k, n, t), moved)

    def repeated(self, type: RiseType, place: Place) -> Term:
        """Scalars, each so many times."""
        length, t = length_of(type), element_of(type)
        if length == 0:
            return self.leaf(type, place)
        k = self.choices.of([k for k in range(1, length + 1) if length % k == 0])
        n, e = length // k, self.variable(t, "e")
        function = Lambda(e.name, t, Apply(_use("vectorFromScalar", k, t), e))
        vectors = apply_all(
            self.map_pattern(n, t, vector(k, t)), [function, self.term(array(n, t), place.deeper)]
        )
        return Apply(_use("asScalar", k, n, t), vectors)


def wider_program(seed: int) -> Program:
    generator = _Wider(Choices(seed), compiled=True)
    body = generator.body([generator.types.data(ROOM)])
    for variable in reversed(generator.inputs):
        body = Lambda(variable.name, variable.type, body)
    return Program(close(body), 1)


@cache
def runner(threads: int) -> Runner:
    return Runner({"RISE_NUM_THREADS": str(threads)})


@pytest.mark.parametrize(
    ("loops", "threads", "memory"), [("affine", 1, "heap"), ("scf", 2, "stack")]
)
@fuzz(4)
@given(st.integers(0, 1 << 36), st.integers(0, 1000))
def test_the_other_patterns_agree_with_the_interpreter(
    loops: str, threads: int, memory: str, batch: int, seed: int
) -> None:
    programs = [wider_program(batch * BATCH + position) for position in range(BATCH)]

    def agree(batch: Sequence[Program]) -> None:
        inputs = [inputs_of(program, seed) for program in batch]
        calls = [
            call_of(position, program, values)
            for position, (program, values) in enumerate(zip(batch, inputs, strict=True))
        ]
        answers = runner(threads).run(Request(module_text(module_of(batch)), loops, calls, memory))
        for program, values, results in zip(batch, inputs, answers, strict=True):
            expected = interpreted(program, values)
            for side, found in zip(SIDES, results, strict=True):
                assert same(found, expected), (side, values, found, expected)

    try:
        agree(programs)
    except Exception:
        for program in programs:
            holds(lambda other: agree([other]), program)
        raise


def test_the_programs_have_the_patterns_in_them() -> None:
    """Else nothing would be tested."""
    texts = " ".join(repr(wider_program(seed).term) for seed in range(200))
    for name in ("sort", "checkIdx", "reducePar", "asVector", "asScalar", "vectorFromScalar"):
        assert texts.count(f"{name}(") + texts.count(f"|> {name}") >= 5, name
    for name in ("while", "circularBuffer", "rotateValues"):
        assert f"{name}(" in texts, name
