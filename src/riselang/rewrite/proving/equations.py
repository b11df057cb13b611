"""Checking a law at given sizes with the interpreter, and the choice of these sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from riselang.dialects.rise.type_binding import type_variables
from riselang.dialects.rise.types import i64, uncurry
from riselang.interpreter.evaluate import run_term
from riselang.nat import Nat
from riselang.rewrite.proving.abstraction import (
    abstract_operations,
    operations_of,
    symbolic_operation,
)
from riselang.rewrite.proving.models import (
    Inputs,
    Leaf,
    NoInput,
    Origin,
    Symbol,
    Undecided,
    build_input,
)
from riselang.rewrite.proving.size_conditions import Condition, at_least, lengths, sizes_of
from riselang.support.errors import LimitationError, OutOfRangeError
from riselang.term.fusion import REDUCTIONS
from riselang.term.nodes import DepLambda, Pattern, Term, parameter_names, subterms
from riselang.term.size_substitution import apply_dependent, substitute_sizes

MAX_SIZE = 32
"""The largest size, and length, at which laws are checked."""
RUNS = 4
"""The number of runs with random values."""

CANNOT_RUN = (Undecided, LimitationError, OutOfRangeError)
"""Exceptions of the interpreter after which a run neither confirms nor refutes a law."""

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Difference:
    """Sizes and an element at which the sides of a law differ."""

    sizes: Sizes
    path: str
    left: object
    right: object

    def __str__(self) -> str:
        sizes = f"at {format_sizes(self.sizes)}, " if self.sizes else ""
        location = f"element {self.path}" if self.path else "the result"
        return f"{sizes}{location} is {self.left} on the left and {self.right} on the right"


def format_sizes(sizes: Sizes) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


class Equation:
    """Two terms of one type, closed except for their sizes and data types."""

    def __init__(self, left: Term, right: Term, conditions: Sequence[Condition]):
        self.sides = (left, right)
        self.sizes = sizes_of(self.sides)
        self.inputs = _input_names(left)
        self.conditions = conditions
        self._operations = operations_of(left) + operations_of(right)
        self._abstract_sides = [abstract_operations(side, self._operations) for side in self.sides]
        self._concrete_sides = [_instantiate_types(side) for side in self.sides]

    @property
    def has_reductions(self) -> bool:
        """Whether a side has a reduction or a scan."""
        parts = (part for side in self.sides for part in subterms(side))
        return any(isinstance(part, Pattern) and part.spec.name in REDUCTIONS for part in parts)

    def valuations(self, largest: int) -> Iterator[Sizes]:
        """Yield the sizes up to the largest one, in ascending order, for which inputs are short."""
        inputs, _ = uncurry(self.sides[0].type)
        length_limits = [at_least(MAX_SIZE, length) for type in inputs for length in lengths(type)]
        conditions = (*self.conditions, *length_limits)
        choices = itertools.product(range(largest + 1), repeat=len(self.sizes))
        for values in sorted(choices, key=lambda values: (sum(values), values)):
            sizes = dict(zip(self.sizes, values, strict=True))
            if all(condition.holds(sizes) for condition in conditions):
                yield sizes

    def cost(self, sizes: Sizes) -> int:
        """Estimate the number of elements that a run computes."""
        parts = (part for side in self.sides for part in subterms(side))
        shapes = {tuple(lengths(part.type)) for part in parts}
        return sum(prod(length.evaluate(sizes) for length in shape) for shape in shapes)

    def difference(self, sizes: Sizes, seed: int = 0) -> tuple[Difference | None, bool]:
        """Find where the sides differ for symbolic inputs, and whether these cover all inputs."""
        inputs = Inputs(seed)
        operations = [symbolic_operation(operation, inputs) for operation in self._operations]
        difference = self._compare(self._abstract_sides, sizes, operations, inputs.symbol)
        return difference, not inputs.has_indices

    def is_real(self, difference: Difference) -> bool:
        """Whether the sides also differ for some concrete inputs."""
        leaves = (Inputs(seed).number for seed in range(RUNS))
        runs = (self._compare(self._concrete_sides, difference.sizes, [], leaf) for leaf in leaves)
        try:
            return any(other is not None for other in runs)
        except CANNOT_RUN:
            return False

    def _compare(
        self, sides: Sequence[Term], sizes: Sizes, operations: list[Any], leaf: Leaf
    ) -> Difference | None:
        try:
            left, right = (self._run(side, sizes, operations, leaf) for side in sides)
        except NoInput:
            return None
        difference = next(_differences(left, right, ""), None)
        return None if difference is None else Difference(sizes, *difference)

    def _run(self, side: Term, sizes: Sizes, operations: list[Any], leaf: Leaf) -> Any:
        term = substitute_sizes(side, {name: Nat.const(size) for name, size in sizes.items()})
        types, _ = uncurry(term.type)
        pairs = zip(types[len(operations) :], self.inputs, strict=True)
        return run_term(
            term, [*operations, *(build_input(type, Origin(name), leaf) for type, name in pairs)]
        )


def _input_names(term: Term) -> tuple[str, ...]:
    """Choose distinct names for the inputs, whatever the term calls them."""
    source_names = parameter_names(term)
    names: list[str] = []
    for number, _ in enumerate(uncurry(term.type)[0]):
        name = source_names[number] if number < len(source_names) else "input"
        while name in names:
            name += "'"
        names.append(name)
    return tuple(names)


def _instantiate_types(term: Term) -> Term:
    """Instantiate the data type parameters of a term with 64-bit integers."""
    for name in sorted(set(type_variables(term.type))):
        term = apply_dependent(DepLambda("data", name, term), i64)
    return term


def _differences(left: Any, right: Any, path: str) -> Iterator[tuple[str, object, object]]:
    if isinstance(left, list | tuple):
        if len(left) != len(right):
            yield f"{path} length", len(left), len(right)
        for i, (left_part, right_part) in enumerate(zip(left, right, strict=False)):
            step = f"[{i}]" if isinstance(left, list) else f".{('fst', 'snd')[i]}"
            yield from _differences(left_part, right_part, path + step)
    elif not _are_equal(left, right):
        yield path, left, right


def _are_equal(left: object, right: object) -> bool:
    if left is right or isinstance(left, Symbol) or isinstance(right, Symbol):
        return left is right
    # The text distinguishes 0.0 from -0.0, and is the same for every NaN.
    return repr(left) == repr(right)
