"""Evaluates terms on unknown data, to count what they compute.

Each function that a pattern takes is evaluated once, and what it computes is multiplied by the
number of times the pattern applies it. Counts may be symbolic in the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from riselang.dialects.rise.pattern_registry import GATHER, GENERATE, MAP, REORDER, TUPLE
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import FunType, RiseType, contains_array, uncurry
from riselang.nat import Nat
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Embed,
    Lambda,
    Pattern,
    Scalar,
    Term,
    spine,
)
from riselang.term.substitution import mentions
from riselang.term.view_inverses import INVERSES

Count = int | Nat
"""A number, or a polynomial in the symbolic sizes."""
STORABLE_VIEWS = frozenset((*INVERSES, "zip", "unzip", "tuple"))
"""The views that lose and repeat no elements."""
STORED_WHOLE = ("tuple", "concat")
"""The views whose result is stored if one of their arguments is computed: the others are copied."""
INDEX_FUNCTIONS = ("generate", "reorder")
"""The patterns that apply their function to indices, not to elements."""
PAIR_PATTERNS = ("tuple", "fst", "snd")
"""The patterns that make or select parts of pairs, without reading them."""


class Data(Enum):
    """Where data is."""

    MEMORY = "in memory, as part of an input or of another array"
    GATHERED = "in memory, at indices that are loaded"
    BUFFER = "in memory, in a buffer of the function that computes it"
    COMPUTED = "in memory, as an array that was computed where it is needed"
    REGISTER = "in a register"

    @property
    def is_loaded(self) -> bool:
        """Whether a scalar must be loaded, and an array copied to where it is needed."""
        return self in (Data.MEMORY, Data.GATHERED, Data.BUFFER)


@dataclass(frozen=True)
class _Function:
    """A function that has not been applied to all its arguments."""

    apply: Callable[[Value], Value]


Value = _Function | Data
"""What the counter knows about a value: how to apply a function, and where data is."""
_Scope = tuple[Value, ...]
"""The values of the enclosing lambdas' variables, the innermost first."""


class Counter:
    """Evaluates a term on unknown data; subclasses count what it computes."""

    def __init__(self) -> None:
        self.is_exact = True
        self.times: Count = 1
        """How many times the current term is evaluated."""
        self.buffer_count = 0
        """How many patterns with buffers or accumulators of their own were evaluated."""

    def count(self, program: Term) -> Value:
        """Evaluate a program, and return where its result is."""
        inputs, _ = uncurry(program.type)
        return _apply_function(self._evaluate(program, ()), [_location(each) for each in inputs])

    def _evaluate(self, term: Term, scope: _Scope) -> Value:
        match term:
            case Bound(index):
                # A part of a program may mention variables from outside, which are unknown.
                return scope[index] if index < len(scope) else Data.MEMORY
            case Lambda(_, _, body):
                return _Function(lambda value: self._evaluate(body, (_bind(value, body), *scope)))
            case Apply():
                head, arguments = spine(term)
                values = [self._evaluate(argument, scope) for argument in arguments]
                if isinstance(head, Pattern) and len(values) == head.spec.arity:
                    return self._apply_pattern(head, tuple(values))
                return _apply_function(self._evaluate(head, scope), values)
            case Scalar():
                operands = [self._evaluate(operand, scope) for operand in term.operands]
                self.count_operation(term, operands)
                return Data.REGISTER
            case Pattern():
                return self._apply_pattern(term, ())
            case DepApply() | DepLambda():
                return self._evaluate(term.children[0], scope)
            case Embed():
                for operand in term.operands:
                    self._evaluate(operand, scope)
                self.is_exact = False
                return Data.REGISTER
            case _:
                return _location(term.type)

    def count_operation(self, term: Scalar, operands: Sequence[Value]) -> None:
        """Count an operation on scalars or vectors, which is performed `times` times."""

    def count_load(self, type: RiseType) -> None:
        """Count the loads of a scalar or a pair of scalars, which a pattern takes."""

    def count_pattern(self, pattern: Pattern, arguments: Sequence[Value]) -> None:
        """Count what a pattern does besides applying its functions."""

    def count_application(self, pattern: Pattern, type: RiseType, result: Value) -> None:
        """Count what a pattern does with a result of its function, which has this type."""

    def has_own_buffer(self, pattern: Pattern) -> bool:
        """Whether the result of a pattern is in a buffer of the pattern, not where it is needed."""
        return False

    def _apply_pattern(self, pattern: Pattern, arguments: tuple[Value, ...]) -> Value:
        """Apply a pattern to its arguments, or return a function of the missing ones."""
        if len(arguments) < pattern.spec.arity:
            return _Function(lambda value: self._apply_pattern(pattern, (*arguments, value)))
        if pattern.spec.name == "let":
            return _apply_function(arguments[1], [arguments[0]])
        inputs, output = uncurry(pattern.type)
        if pattern.spec.name not in PAIR_PATTERNS:
            arguments = tuple(map(self._load, arguments, inputs))
        self.count_pattern(pattern, arguments)
        self.buffer_count += self.has_own_buffer(pattern)
        self.is_exact = self.is_exact and not pattern.spec.depends_on_data
        outer, self.times = self.times, self.times * self.applications(pattern)
        elements = [
            self._apply_repeatedly(pattern, argument, type)
            for argument, type in zip(arguments, inputs, strict=True)
            if isinstance(type, FunType)
        ]
        self.times = outer
        if pattern.spec.role is Role.VIEW:
            return _view_location(pattern, arguments)
        if not contains_array(output):
            return Data.REGISTER
        if self.has_own_buffer(pattern):
            return Data.BUFFER
        if pattern.spec in (MAP, GENERATE) and not {Data.MEMORY, Data.GATHERED}.isdisjoint(
            elements
        ):
            # The elements are views, which are not stored.
            return Data.GATHERED if Data.GATHERED in elements else Data.MEMORY
        return Data.COMPUTED

    def _load(self, argument: Value, type: RiseType) -> Value:
        """Load an argument of a pattern that is a scalar in memory."""
        is_array = isinstance(type, FunType) or contains_array(type)
        if is_array or not isinstance(argument, Data) or not argument.is_loaded:
            return argument
        self.count_load(type)
        return Data.REGISTER

    def _apply_repeatedly(self, pattern: Pattern, function: Value, type: FunType) -> Value:
        """Evaluate a function of a pattern once, and return where its result is."""
        inputs, output = uncurry(type)
        parameters: list[Value] = [Data.MEMORY for _ in inputs]
        # The old values that a scatter combines are in its result.
        carries = pattern.spec.accumulates and pattern.spec.name != "scatterWith"
        if carries or pattern.spec.name in INDEX_FUNCTIONS:
            parameters[0] = _location(inputs[0])
        buffer_count = self.buffer_count
        result = _apply_function(function, parameters)
        if result in (Data.MEMORY, Data.GATHERED) and self.buffer_count > buffer_count:
            # A view at indices that take a loop to compute is stored, not computed repeatedly.
            result = Data.BUFFER
        self.count_application(pattern, output, result)
        return result if contains_array(output) else Data.COMPUTED

    def applications(self, pattern: Pattern) -> Count:
        """Return how often a pattern applies its functions."""
        return applications(pattern)


def applications(pattern: Pattern) -> Count:
    """How often a pattern applies its functions; once where only the data decides."""
    count = pattern.spec.applications
    return 1 if count is None else as_count(count.substitute(pattern.sizes))


def _apply_function(function: Value, arguments: Sequence[Value]) -> Value:
    for argument in arguments:
        function = function.apply(argument) if isinstance(function, _Function) else Data.MEMORY
    return function


def _bind(value: Value, body: Term) -> Value:
    """The value of a variable in the body of its lambda; if used again, it is in a buffer."""
    return Data.BUFFER if value is Data.COMPUTED and not _is_used_once(body) else value


def _is_used_once(body: Term) -> bool:
    """Whether the body of a lambda mentions its variable once, and not in a nested function."""
    uses, stack = 0, [body]
    while stack:
        term = stack.pop()
        if isinstance(term, Bound):
            uses += term.index == 0
        elif isinstance(term, Lambda):
            uses += 2 * mentions(term, 0)
        else:
            stack.extend(term.children)
    return uses == 1


def _location(type: RiseType) -> Data:
    """Where a parameter, an accumulator or a literal is."""
    return Data.MEMORY if contains_array(type) else Data.REGISTER


def _view_location(view: Pattern, arguments: Sequence[Value]) -> Data:
    """Where the result of a view is; a computed array may be stored as a permutation of it."""
    locations = {argument for argument in arguments if isinstance(argument, Data)}
    if locations == {Data.REGISTER}:
        return Data.REGISTER
    if locations == {Data.COMPUTED}:
        return Data.COMPUTED if view.spec.name in STORABLE_VIEWS else Data.BUFFER
    if view.spec.name in STORED_WHOLE and Data.COMPUTED in locations:
        return Data.COMPUTED
    # A pair with a computed component is stored; other views take scalars only as indices.
    is_stored_pair = view.spec is TUPLE and Data.REGISTER in locations
    if Data.BUFFER in locations or is_stored_pair:
        return Data.BUFFER
    is_gathered = view.spec in (GATHER, REORDER) or Data.GATHERED in locations
    return Data.GATHERED if is_gathered else Data.MEMORY


def as_count(count: Nat) -> Count:
    return count.constant if count.is_constant else count
