"""Integer expressions of C as quasi-affine ones, exactly: signs, wrap-around and rounding included.

A value has pieces: for each a condition, in isl's text, and an expression that is right where it
holds. `a / b` and `a % b` round towards zero in C and down in isl, so each has a piece for naturals
and one for negatives. Unsigned arithmetic wraps, and so do conversions; what cannot be proven to
stay in its type is not affine. What only depends on values that the region never writes can be
computed before it, so it becomes a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, TypeVar

from riselang.errors import SourceLocation
from riselang.frontends.c.linear import Linear, Strided
from riselang.frontends.c.syntax import (
    Access,
    Binary,
    Conditional,
    Convert,
    Expression,
    Literal,
    Unary,
    Variable,
    inside,
)
from riselang.frontends.c.types import CType

Piece = tuple[str, Strided]
"""A condition, empty where there is none, and a value."""
Pieces = tuple[Piece, ...]
MOST_PIECES = 16
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_RESERVED = frozenset((
    "mod", "floor", "ceil", "floord", "ceild", "min", "max", "and", "or", "not", "exists", "rat",
    "true", "false", "infty", "NaN", "implies", "sum", "forall", "card", "e", "e0",
))  # fmt: skip
"""Words that mean something to isl."""
LOOP_NAMES = tuple(f"t{number}_" for number in range(64))
"""What the loops that isl makes are called."""


class NotAffine(Exception):
    """An expression is not affine, for a reason."""

    def __init__(self, place: SourceLocation, reason: str):
        super().__init__(reason)
        self.place = place
        self.reason = reason


@cache
def isl() -> Any:
    """The bindings of isl, imported when first needed."""
    import islpy

    return islpy


T = TypeVar("T")


def within_limits(action: Callable[[], T], most: int) -> T | None:
    """What an action gives; None where it takes isl more than so many operations."""
    context = isl().DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(most)
    try:
        return action()
    except isl().Error:
        return None
    finally:
        context.set_max_operations(0)
        context.reset_operations()


@dataclass(frozen=True)
class Parameter:
    """A number that is the same in the whole region."""

    name: str
    source: Variable | Expression | tuple[Linear, ...]
    """A variable, something computed from variables, or a product."""
    smallest: int
    largest: int


class Names:
    """Names for isl and MLIR; no two things have the same one."""

    def __init__(self) -> None:
        self._taken: set[str] = {*_RESERVED, *LOOP_NAMES}
        self._known: dict[Variable, str] = {}

    def of(self, variable: Variable) -> str:
        if variable not in self._known:
            self._known[variable] = self.fresh(variable.name)
        return self._known[variable]

    def fresh(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name


def prefix(names: Sequence[str]) -> str:
    """How a text for isl with these parameters begins."""
    return f"[{', '.join(names)}] -> " if names else ""


class Parameters:
    """The parameters of a region, found while it is read."""

    def __init__(self, names: Names):
        self._names = names
        self._known: dict[object, Parameter] = {}

    def __iter__(self) -> Any:
        return iter(self._known.values())

    @property
    def prefix(self) -> str:
        """How a text for isl begins."""
        return prefix([each.name for each in self])

    @property
    def ranges(self) -> str:
        """What is known of all of them from their types."""
        return " and ".join(f"{each.smallest} <= {each.name} <= {each.largest}" for each in self)

    def variable(self, variable: Variable) -> Linear:
        name = self._names.of(variable)
        type = variable.type
        return self._named(variable, Parameter(name, variable, type.smallest, type.largest))

    def expression(self, expression: Expression) -> Linear:
        if expression not in self._known:
            name, type = self._names.fresh("p"), expression.type
            self._named(expression, Parameter(name, expression, type.smallest, type.largest))
        return Linear.of(self._known[expression].name)

    def product(self, factors: tuple[Linear, ...]) -> Linear:
        if factors not in self._known:
            most = 1 << 63
            self._named(factors, Parameter(self._names.fresh("p"), factors, -most, most - 1))
        return Linear.of(self._known[factors].name)

    def _named(self, key: object, parameter: Parameter) -> Linear:
        self._known.setdefault(key, parameter)
        return Linear.of(self._known[key].name)


@dataclass(frozen=True)
class Nest:
    """Where something stands: the loops around it and the conditions under which it runs."""

    iterators: tuple[tuple[Variable, str], ...] = ()
    conditions: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.iterators)

    def iterator(self, variable: Variable) -> str | None:
        return next((name for known, name in self.iterators if known is variable), None)

    def under(self, condition: str) -> Nest:
        return Nest(self.iterators, (*self.conditions, condition))

    @property
    def condition(self) -> str:
        return conjunction(self.conditions)


def conjunction(conditions: Sequence[str]) -> str:
    given = [f"({each})" for each in conditions if each]
    return " and ".join(given) or "0 = 0"


class AffineReader:
    """Reads expressions in a nest of loops."""

    def __init__(
        self,
        nest: Nest,
        parameters: Parameters,
        is_invariant: Callable[[Variable], bool],
        fixed: Mapping[Variable, Expression],
    ):
        """`fixed` are the values of variables that are set once, with what is known before."""
        self.nest = nest
        self._parameters = parameters
        self._is_invariant = is_invariant
        self._fixed = fixed

    def under(self, condition: str) -> AffineReader:
        return self.moved(self.nest.under(condition))

    def moved(self, nest: Nest) -> AffineReader:
        """A reader for the same region at another place."""
        return AffineReader(nest, self._parameters, self._is_invariant, self._fixed)

    # Proofs

    def points(self, condition: str) -> Any:
        """The points of the nest where a condition holds, for all that parameters may be."""
        ranges = self._parameters.ranges
        whole = conjunction([*self.nest.conditions, condition, ranges])
        names = ", ".join(self.nest.names)
        return isl().Set(f"{self._parameters.prefix}{{ [{names}] : {whole} }}")

    def never(self, condition: str) -> bool:
        return bool(self.points(condition).is_empty())

    # Conditions

    def condition(self, expression: Expression) -> str:
        """When an expression is not zero, as isl writes it."""
        match expression:
            case Binary(operator="&&"):
                left = self.condition(expression.left)
                return f"({left}) and ({self.under(left).condition(expression.right)})"
            case Binary(operator="||"):
                left = self.condition(expression.left)
                inner = self.under(f"not ({left})")
                return f"({left}) or ({inner.condition(expression.right)})"
            case Unary(operator="!"):
                return f"not ({self.condition(expression.operand)})"
            case Binary(operator=operator) if operator in _NEGATED:
                return self._comparison(expression)
            case Convert() if expression.type.is_bool or _is_truth(expression.operand):
                return self.condition(expression.operand)
            case _:
                zero = Literal(expression.place, expression.type, 0)
                place = expression.place
                return self._comparison(Binary(place, expression.type, "!=", expression, zero))

    def _comparison(self, expression: Binary) -> str:
        cases: list[str] = []
        operator = "=" if expression.operator == "==" else expression.operator
        left, right = self.linear(expression.left), self.linear(expression.right)
        for (first, a), (second, b) in product(left, right):
            cases.append(conjunction([first, second, f"{a} {operator} {b}"]))
        return " or ".join(f"({each})" for each in cases)

    # Values

    def linear(self, expression: Expression) -> tuple[tuple[str, Linear], ...]:
        """A value without strides; products of parameters become parameters."""
        found: list[tuple[str, Linear]] = []
        for condition, strided in self.value(expression):
            total = Linear()
            for strides, linear in strided.parts:
                if strides and not linear.is_constant:
                    raise NotAffine(
                        expression.place, "a loop variable is multiplied by a value that may vary"
                    )
                part = self._parameters.product(strides) if strides else None
                total += linear if part is None else part.times(linear.constant)
            found.append((condition, total))
        return tuple(found)

    def value(self, expression: Expression) -> Pieces:
        if expression.type.is_float:
            raise NotAffine(expression.place, "a floating-point number decides this")
        try:
            pieces = self._pieces(expression)
        except NotAffine:
            if not self._is_known_before(expression):
                raise
            return (("", Strided.of(self._parameters.expression(expression))),)
        if len(pieces) > MOST_PIECES:
            raise NotAffine(expression.place, "there are too many cases to tell apart")
        return pieces

    def _is_known_before(self, expression: Expression) -> bool:
        """Whether it can be computed before the region, where nothing can go wrong with it."""
        return all(self._is_known(each) for each in inside(expression))

    def _is_known(self, expression: Expression) -> bool:
        match expression:
            case Access(variable=variable, indices=()):
                is_loop = self.nest.iterator(variable) is not None
                return not is_loop and self._is_invariant(variable)
            case Binary(operator="/" | "%"):
                divisor = expression.right
                return isinstance(divisor, Literal) and divisor.value not in (0, -1)
            case Literal() | Unary() | Convert() | Binary() | Conditional():
                return True
            case _:
                return False

    def _pieces(self, expression: Expression) -> Pieces:
        place = expression.place
        match expression:
            case Literal(value=int(value)):
                return (("", Strided.of(Linear(value))),)
            case Access(variable=variable, indices=()):
                return self._variable(variable, place)
            case Access():
                raise NotAffine(place, f"the value of an element of {expression.variable.name}")
            case Convert():
                return self._converted(expression)
            case Unary(operator="-"):
                negated = [(c, v.times(-1)) for c, v in self.value(expression.operand)]
                return self._in_type(tuple(negated), expression)
            case Unary(operator="!"):
                return self._truth(expression)
            case Conditional():
                return self._conditional(expression)
            case Binary(operator=operator) if operator in _NEGATED or operator in ("&&", "||"):
                return self._truth(expression)
            case Binary(operator=operator) if operator in _OPERATIONS:
                return self._in_type(_OPERATIONS[operator](self, expression), expression)
            case Binary():
                raise NotAffine(place, f"the operator {expression.operator} is not affine")
            case _:
                raise NotAffine(place, "this is not affine")

    def _variable(self, variable: Variable, place: SourceLocation) -> Pieces:
        iterator = self.nest.iterator(variable)
        if iterator is not None:
            return (("", Strided.of(Linear.of(iterator))),)
        if variable in self._fixed:
            return self.value(self._fixed[variable])
        if not self._is_invariant(variable):
            raise NotAffine(place, f"the value of {variable.name} changes in the region")
        return (("", Strided.of(self._parameters.variable(variable))),)

    def _truth(self, expression: Expression) -> Pieces:
        condition = self.condition(expression)
        return (
            (condition, Strided.of(Linear(1))),
            (f"not ({condition})", Strided.of(Linear(0))),
        )

    def _conditional(self, expression: Conditional) -> Pieces:
        condition = self.condition(expression.condition)
        both = [(condition, expression.first), (f"not ({condition})", expression.second)]
        branches = [(holds, branch) for holds, branch in both if not self.never(holds)] or both[:1]
        return self._possible(
            [
                (conjunction([holds, inner]), value)
                for holds, branch in branches
                for inner, value in self.under(holds).value(branch)
            ]
        )

    def _possible(self, pieces: Sequence[Piece]) -> Pieces:
        """Without the pieces that never are; a single one that is left is unconditional."""
        left = [(c, v) for c, v in pieces if not self.never(c or "0 = 0")]
        if len(left) > 1:
            return tuple(left)
        # Where nothing is possible, nothing runs, and any value will do.
        return (("", (left or pieces)[0][1]),)

    def _converted(self, expression: Convert) -> Pieces:
        source, target = expression.operand.type, expression.type
        if target.is_bool:
            return self._truth(expression.operand)
        pieces = self.value(expression.operand)
        if source.smallest >= target.smallest and source.largest <= target.largest:
            return pieces
        self._check_range(pieces, target, expression.place)
        return pieces

    def _in_type(self, pieces: Pieces, expression: Expression) -> Pieces:
        """A result that does not wrap; signed overflow is undefined, so it does not happen."""
        if not expression.type.is_signed:
            self._check_range(pieces, expression.type, expression.place)
        return pieces

    def _check_range(self, pieces: Pieces, type: CType, place: SourceLocation) -> None:
        for condition, value in pieces:
            linear = value.linear
            if linear is None and value.parts and _is_wide(type):
                continue  # a subscript with strides, whose rows are proven to be in range later
            outside = f"{linear} < {type.smallest} or {linear} > {type.largest}"
            if linear is None or not self.never(conjunction([condition, outside])):
                raise NotAffine(place, f"this may wrap around: it is no {type} in every iteration")

    # Operators

    def _both(self, expression: Binary) -> list[tuple[str, Strided, Strided]]:
        left, right = self.value(expression.left), self.value(expression.right)
        pairs = [(conjunction([c, d]) if c or d else "", a, b)
                 for (c, a), (d, b) in product(left, right)]  # fmt: skip
        return [each for each in pairs if len(pairs) == 1 or not self.never(each[0] or "0 = 0")]

    def sum(self, expression: Binary) -> Pieces:
        sign = 1 if expression.operator == "+" else -1
        return tuple((c, a + b.times(sign)) for c, a, b in self._both(expression))

    def product(self, expression: Binary) -> Pieces:
        return tuple((c, self._multiplied(a, b, expression)) for c, a, b in self._both(expression))

    def _multiplied(self, left: Strided, right: Strided, expression: Binary) -> Strided:
        for one, other in ((left, right), (right, left)):
            linear = one.linear
            if linear is not None and linear.is_constant:
                return other.times(linear.constant)
        for one, other in ((right, left), (left, right)):
            if (stride := self._as_stride(one)) is not None:
                return other.strided(stride)
        raise NotAffine(expression.place, "two values that vary in the region are multiplied")

    def _as_stride(self, value: Strided) -> tuple[Linear, ...] | None:
        """What a value of parameters alone multiplies others by."""
        iterators = set(self.nest.names)
        if value.linear is not None:
            return None if iterators & set(value.linear.names()) else (value.linear,)
        if len(value.parts) == 1 and value.parts[0][1] == Linear(1):
            return value.parts[0][0]
        return None

    def divided(self, expression: Binary) -> Pieces:
        """Rounded towards zero."""
        return self._by_sign(
            expression, lambda linear, by: linear.divided(by), flips=lambda by: by < 0
        )

    def remainder(self, expression: Binary) -> Pieces:
        """With the sign of the dividend."""
        return self._by_sign(
            expression, lambda linear, by: linear.remainder(by), flips=lambda by: False
        )

    def _by_sign(
        self,
        expression: Binary,
        natural: Callable[[Linear, int], Linear],
        flips: Callable[[int], bool],
    ) -> Pieces:
        """An operation on naturals, made one on integers by a piece for each sign."""
        found: list[Piece] = []
        for condition, dividend, divisor in self._both(expression):
            number = self._number(divisor, expression)
            linear = dividend.linear
            if linear is None or number == 0:
                raise NotAffine(expression.place, "this division is not affine")
            sign = -1 if flips(number) else 1
            found += [
                (conjunction([condition, f"{linear} >= 0"]),
                 Strided.of(natural(linear, abs(number)).times(sign))),
                (conjunction([condition, f"{linear} < 0"]),
                 Strided.of(natural(-linear, abs(number)).times(-sign))),
            ]  # fmt: skip
        return self._possible(found)

    def _number(self, value: Strided, expression: Expression) -> int:
        linear = value.linear
        if linear is None or not linear.is_constant:
            raise NotAffine(expression.place, "the divisor is not a number")
        return linear.constant

    def left_shift(self, expression: Binary) -> Pieces:
        return self._shifted(expression, lambda linear, by: linear.times(1 << by))

    def right_shift(self, expression: Binary) -> Pieces:
        return self._shifted(expression, lambda linear, by: linear.divided(1 << by))

    def _shifted(self, expression: Binary, shift: Callable[[Linear, int], Linear]) -> Pieces:
        found: list[Piece] = []
        for condition, value, amount in self._both(expression):
            number, linear = self._number(amount, expression), value.linear
            if linear is None or not 0 <= number < 62:
                raise NotAffine(expression.place, "this shift is not affine")
            found.append((condition, Strided.of(shift(linear, number))))
        return tuple(found)

    def masked(self, expression: Binary) -> Pieces:
        """`a & 7` is what is left of a by 8, for negatives too."""
        found: list[Piece] = []
        for condition, left, right in self._both(expression):
            mask = self._number(right, expression)
            linear = left.linear
            if linear is None or mask < 0 or mask & (mask + 1):
                raise NotAffine(expression.place, "this mask is not affine")
            found.append((condition, Strided.of(linear.remainder(mask + 1))))
        return tuple(found)


def _is_truth(expression: Expression) -> bool:
    match expression:
        case Binary(operator=operator):
            return operator in _NEGATED or operator in ("&&", "||")
        case Unary(operator="!"):
            return True
        case _:
            return False


def _is_wide(type: CType) -> bool:
    """Whether sizes of memory fit."""
    return type.bits == 64


_OPERATIONS: Mapping[str, Callable[[AffineReader, Binary], Pieces]] = {
    "+": AffineReader.sum,
    "-": AffineReader.sum,
    "*": AffineReader.product,
    "/": AffineReader.divided,
    "%": AffineReader.remainder,
    "<<": AffineReader.left_shift,
    ">>": AffineReader.right_shift,
    "&": AffineReader.masked,
}
