"""What all makers of terms share: the choices, the inputs so far, and what is in reach."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    components,
    fun,
    i32,
    idx,
    index,
)
from riselang.term.nodes import Apply, Free, Pattern, Term
from support.choices import Choices
from support.compiled_patterns import COMPILED_PATTERNS
from support.generation.place import Place, is_integer, use
from support.random_scalars import RandomScalars
from support.random_types import RandomTypes, has_literals

BUDGETS = (3, 6, 9, 16)
"""How many patterns, operations and lambdas programs may have, more or less."""
VECTOR_PATTERNS = ("asVector", "asScalar", "vectorFromScalar")
MAPS = (
    (20, "map"), (8, "mapSeq"), (8, "mapPar"), (4, "mapSeqUnroll"),
    (1, "mapBlock"), (1, "mapThread"), (1, "mapWarp"), (1, "mapLane"),
    (1, "mapRank"),
)  # fmt: skip


class Maker(ABC):
    """Makes terms of one program."""

    def __init__(self, choices: Choices, compiled: bool):
        self.choices = choices
        self.compiled = compiled
        self.types = RandomTypes(choices, vectors=self.allows(*VECTOR_PATTERNS))
        self.scalars = RandomScalars(choices, self.types)
        self.inputs: list[Free] = []
        self.budget = choices.of(BUDGETS)
        self.serial = 0

    def variable(self, type: RiseType, hint: str) -> Free:
        self.serial += 1
        return Free(f"{hint}{self.serial}", type)

    def leaf(self, type: RiseType, place: Place) -> Term:
        """A variable or a part of one, a literal, or a new input."""
        reachable = self.reachable(place)
        found = [term for term in reachable if term.type == type]
        if isinstance(type, ScalarType) and place.scope and not self.choices.one_in(3):
            # Use what the lambdas around give, by a conversion where the type is another.
            near = [term for term in reachable[:4] if isinstance(term.type, ScalarType)]
            if near:
                return self.scalars.converted(self.choices.of(near), type)
        if isinstance(type, IdxType):
            return self.index_leaf(type, found, reachable)
        if isinstance(type, ScalarType) and (not found or self.choices.one_in(4)):
            if len(found) < 4 and self.choices.one_in(4):
                return self.input(type)
            return self.scalars.literal(type)
        if isinstance(type, ArrayType) and has_literals(type) and self.choices.one_in(6):
            return self.scalars.array_literal(type)
        if not found or (len(self.inputs) < 4 and self.choices.one_in(5)):
            return self.input(type)
        return self.choices.of(found)

    def index_leaf(self, type: IdxType, found: list[Term], reachable: list[Term]) -> Term:
        """A variable, an integer that is near, or a new input."""
        if type == idx(0) or (found and not self.choices.one_in(3)):
            return self.choices.of(found)
        near = [term for term in reachable[:6] if is_integer(term.type)]
        if near and not self.choices.one_in(4):
            return self.clamp(self.choices.of(near), type)
        if self.choices.one_in(2):
            return self.input(type)
        return self.clamp(self.scalars.literal(self.integer()), type)

    def input(self, type: RiseType) -> Term:
        self.inputs.append(self.variable(type, "in"))
        return self.inputs[-1]

    def reachable(self, place: Place) -> list[Term]:
        """The variables, inner ones first, their components, and their indices as numbers."""
        found: list[Term] = []
        stack: list[Term] = [*self.inputs, *place.scope]
        while stack:
            term = stack.pop()
            found.append(term)
            if isinstance(term.type, TupleType):
                parts = components(term.type)
                stack += [Apply(use(name, *parts), term) for name in ("snd", "fst")]
            if isinstance(term.type, IdxType):
                stack.append(Apply(use("fromIdx", term.type.bound.constant), term))
        return found

    def source(
        self, place: Place, accepts: Callable[[RiseType], bool], other: Callable[[], RiseType]
    ) -> RiseType:
        """The type of a variable that will do, mostly; else another type."""
        found = [term.type for term in self.reachable(place) if accepts(term.type)]
        if found and not self.choices.one_in(3):
            return self.choices.of(found)
        return other()

    def parameter(self, type: RiseType, place: Place) -> Free:
        room = min(place.room, 30)
        make: Callable[[], RiseType] = self.choices.weighted([
            (2, lambda: type),
            (2, lambda: self.types.data(room)),
            (1, lambda: fun(type, type)),
            (2, lambda: fun(self.types.data(room), type)),
            (1, lambda: fun(self.types.data(room), self.types.data(room), type)),
            (1, lambda: fun(fun(self.types.scalar(), self.types.scalar()), type)),
        ])  # fmt: skip
        wanted = make() if type != idx(0) else self.types.data(room)
        return self.variable(wanted, "f" if isinstance(wanted, FunType) else "x")

    def target(self) -> str | None:
        return self.choices.weighted([(8, None), (1, "affine"), (1, "scf")])

    def map_pattern(self, n: int, source: RiseType, target: RiseType) -> Pattern:
        name = self.choices.weighted([option for option in MAPS if self.allows(option[1])])
        spec = PATTERNS[name]
        dimension = [self.choices.below(3)] if "d" in spec.parameters else []
        to = self.target() if spec.has_target else None
        return use(name, *dimension, n, source, target, to=to)

    def integer(self) -> ScalarType:
        found = [type for type in self.types.palette if is_integer(type)]
        return self.choices.of([*found, index, i32])

    def clamp(self, number: Term, type: IdxType) -> Term:
        assert type != idx(0)
        return Apply(use("clampIdx", type.bound.constant, number.type), number)

    def allows(self, *names: str) -> bool:
        """Whether the program may have all of these patterns."""
        return not self.compiled or COMPILED_PATTERNS.issuperset(names)

    @abstractmethod
    def term(self, type: RiseType, place: Place) -> Term:
        """Any term of the type."""

    @abstractmethod
    def using(self, x: Free, body: Term, place: Place) -> Term:
        """The body, changed so that it depends on the variable, if it does not yet."""
