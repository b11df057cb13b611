"""The cost of a program as written: its operations, and the bytes that it must move at least.

Each function that a pattern takes is evaluated once, on unknown values, and its operations are
multiplied by the number of times the pattern applies it. Counts may be symbolic in the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import FixedBitwidthType

from riselang.dialects.rise.types import (
    FunType,
    RiseType,
    VectorType,
    is_float,
    leaves,
    result_types,
    uncurry,
)
from riselang.nat import Nat
from riselang.support.html import table
from riselang.term.deep_recursion import recursive
from riselang.term.mathlib import LIBRARY_FUNCTIONS
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

Count = int | Nat
"""A number, or a polynomial in the symbolic sizes."""

FLOPS: Mapping[str, int] = {
    **dict.fromkeys(("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf"), 1),
    **dict.fromkeys(("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"), 1),
    **dict.fromkeys(("math.sqrt", "math.absf"), 1),
    "math.fma": 2,
}
"""The number of floating-point operations of each arith or math op that has any."""


INDEX_BITS = 64


@dataclass(frozen=True)
class Cost:
    """The cost of a program as written, independent of optimizations."""

    flops: Count
    """Floating-point additions, multiplications and so on; a multiply-add counts as two."""
    transcendentals: Count
    """Calls of exp, sin and so on, which are not counted as flops."""
    bytes_read: Count
    """The inputs, each once."""
    bytes_written: Count
    """The results, each once."""
    is_exact: bool
    """Whether no count depends on data. The iterations of a while do, and are counted once."""

    @property
    def bytes(self) -> Count:
        return self.bytes_read + self.bytes_written

    @property
    def intensity(self) -> float | None:
        """Flops per byte; None if a count is symbolic, or if no byte is moved."""
        if isinstance(self.flops, Nat) or isinstance(self.bytes, Nat) or not self.bytes:
            return None
        return self.flops / self.bytes

    def _repr_html_(self) -> str:
        intensity = "" if self.intensity is None else f"{self.intensity:.3g}"
        rows = [(name, str(getattr(self, name))) for name in self.__match_args__]
        return table(("", "count"), [*rows, ("intensity", intensity)])


@dataclass(frozen=True)
class _Function:
    """A function that has not been applied to all its arguments."""

    apply: Callable[[_Value], _Value]


_Value = _Function | None
"""What the counter knows about a value: how to apply it if it is a function; data is None."""
_Scope = tuple[_Value, ...]
"""The values of the enclosing lambdas' variables, the innermost first."""


@recursive
def cost(program: Term, results: int = 1) -> Cost:
    """The cost of a program with `results` results, or of a part of a program."""
    counter = _Counter()
    inputs, _ = uncurry(program.type)
    counter.count(program)
    return Cost(
        _as_count(counter.flops),
        _as_count(counter.transcendentals),
        _as_count(byte_size(inputs)),
        _as_count(byte_size(result_types(program.type, results))),
        counter.is_exact,
    )


class _Counter:
    """Evaluates a term on unknown data, and counts its operations."""

    def __init__(self) -> None:
        self.flops = Nat.const(0)
        self.transcendentals = Nat.const(0)
        self.is_exact = True
        self._times = Nat.const(1)
        """How many times the current term is evaluated."""

    def count(self, program: Term) -> None:
        inputs, _ = uncurry(program.type)
        _apply_function(self._evaluate(program, ()), *[None for _ in inputs])

    def _evaluate(self, term: Term, scope: _Scope) -> _Value:
        match term:
            case Bound(index):
                # A part of a program may mention variables from outside, which are unknown.
                return scope[index] if index < len(scope) else None
            case Lambda(_, _, body):
                return _Function(lambda value: self._evaluate(body, (value, *scope)))
            case Apply():
                head, arguments = spine(term)
                values = [self._evaluate(argument, scope) for argument in arguments]
                if isinstance(head, Pattern) and len(values) == head.spec.arity:
                    return self._apply_pattern(head, tuple(values))
                return _apply_function(self._evaluate(head, scope), *values)
            case Scalar():
                for operand in term.operands:
                    self._evaluate(operand, scope)
                self._count_operation(term)
                return None
            case Pattern():
                return self._apply_pattern(term, ())
            case DepApply() | DepLambda():
                return self._evaluate(term.children[0], scope)
            case Embed():
                for operand in term.operands:
                    self._evaluate(operand, scope)
                self.is_exact = False
                return None
            case _:
                return None

    def _count_operation(self, term: Scalar) -> None:
        type, lanes = term.operands[0].type, Nat.const(1)
        if isinstance(type, VectorType):
            type, lanes = type.element, type.length
        if not is_float(type):
            return
        if term.op in LIBRARY_FUNCTIONS:
            self.transcendentals += self._times * lanes
        else:
            self.flops += self._times * lanes * FLOPS.get(term.op, 0)

    def _apply_pattern(self, pattern: Pattern, arguments: tuple[_Value, ...]) -> _Value:
        """Apply a pattern to its arguments, or return a function of the missing ones."""
        if len(arguments) < pattern.spec.arity:
            return _Function(lambda value: self._apply_pattern(pattern, (*arguments, value)))
        if pattern.spec.name == "let":
            return _apply_function(arguments[1], arguments[0])
        times = self._applications(pattern)
        outer, self._times = self._times, self._times * times
        inputs, _ = uncurry(pattern.type)
        for argument, type in zip(arguments, inputs, strict=True):
            if isinstance(type, FunType):
                _apply_function(argument, *[None for _ in uncurry(type)[0]])
        self._times = outer
        return None

    def _applications(self, pattern: Pattern) -> Nat:
        self.is_exact = self.is_exact and not pattern.spec.depends_on_data
        return applications(pattern)


def applications(pattern: Pattern) -> Nat:
    """How often a pattern applies its functions; once where only the data decides."""
    count = pattern.spec.applications
    return Nat.const(1) if count is None else count.substitute(pattern.sizes)


def _apply_function(function: _Value, *arguments: _Value) -> _Value:
    for argument in arguments:
        function = function.apply(argument) if function is not None else None
    return function


def byte_size(types: Iterable[RiseType]) -> Nat:
    """The total size, in bytes, of values of these types."""
    total = Nat.const(0)
    for type in types:
        for lengths, leaf in leaves(type):
            element = leaf.element
            bits = element.bitwidth if isinstance(element, FixedBitwidthType) else INDEX_BITS
            total += prod(lengths, start=Nat.const((bits + 7) // 8))
    return total


def _as_count(count: Nat) -> Count:
    return count.constant if count.is_constant else count
