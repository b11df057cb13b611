"""The state of elaboration: inferred types, the scope of new nodes, and located errors."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.attributes import Number
from riselang.dialects.rise.lane_types import lane_type
from riselang.dialects.rise.pattern_registry import FST, SND, TUPLE
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_binding import nat_variables, substitute, type_variables
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    COMPLEX_TYPES,
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    TypeVariable,
    VectorType,
    array,
    complex64,
    f32,
    fun,
    i1,
    i32,
    pair,
    uncurry,
    variable,
)
from riselang.nat import Nat
from riselang.notation.operators import ScalarFunction, operand_problem
from riselang.notation.source import Source
from riselang.notation.syntax import Span
from riselang.support.counts import format_count
from riselang.support.errors import SourceLocation, UserError
from riselang.term import build
from riselang.term.complex_arithmetic import COMPLEX_OPERATIONS
from riselang.term.inference import Inference, TypeMismatch
from riselang.term.scalar_ops import ANY_ORDER

NodeT = TypeVar("NodeT", bound=build.Node)
NOT_SCALAR_HINTS: Mapping[type[RiseType], str] = {
    ArrayType: "; use map to apply it to every element, and zip(x, y) |> map(...) for two arrays",
    TupleType: "; fst and snd return its components, and fun((a, b), ...) binds both",
    FunType: "; apply it to its arguments",
    IdxType: "; fromIdx converts it to an integer",
}


class UndeterminedType(UserError):
    """A type that the text does not determine; allowed for a helper, typed where it is used."""


class Context:
    """The state of elaborating one definition."""

    def __init__(self, source: Source):
        self.source = source
        self.inference = Inference()
        self.scope = build.Scope()
        self.latest_span: Span = (0, 0)
        """The span of the latest node, for errors without a location."""
        self.assumes_functions = False
        """Whether a parameter was assumed to be a function of one type; each use may differ."""
        self.recorded_nodes: list[tuple[Span, build.Node]] = []
        """Each node with its span, for lookups by position."""
        self._variables: list[build.Variable] = []
        self._patterns: list[build.PatternUse] = []
        self._constants: list[build.Constant] = []
        self._open_abs: list[tuple[build.Node, Span]] = []
        """The operands of `abs` whose types were not known."""
        self._operations: list[tuple[ScalarFunction, Sequence[build.Node], Span]] = []

    def location(self, span: Span) -> SourceLocation:
        self.latest_span = span
        return self.source.location(span)

    def record(self, span: Span, node: NodeT) -> NodeT:
        self.recorded_nodes.append((span, node))
        return node

    @property
    def size_refinements(self) -> Mapping[str, Nat]:
        """The values of sizes that have to be multiples: `N = 4 * N_by_4`."""
        return self.inference.refined_sizes

    @contextmanager
    def inner_scope(self) -> Generator[build.Scope]:
        outer, self.scope = self.scope, build.Scope(self.scope)
        try:
            yield self.scope
        finally:
            self.scope = outer

    def error(self, message: str, span: Span) -> UserError:
        return self.source.error(message, span)

    def resolve(self, type: RiseType) -> RiseType:
        return self.inference.resolve(type)

    def unify(self, expected: RiseType, found: RiseType, what: str, span: Span) -> None:
        try:
            self.inference.unify(expected, found)
        except TypeMismatch as error:
            raise self.error(f"{what}: {mismatch_message(error)}", span) from None

    def know_function(self, unknown: TypeVariable, type: FunType, node: build.Node) -> None:
        """Record that an unknown type is a function type, as its use shows."""
        self.assumes_functions = True
        if not self.inference.bind_function(unknown, type):
            name = node.name if isinstance(node, build.Variable) else "this function"
            raise UserError(f"'{name}' is applied to itself, so it has no type", node.location)

    # Nodes

    def variable(self, name: str, type: RiseType, span: Span) -> build.Variable:
        location = self.location(span)
        variable = build.Variable(type, name, scope=self.scope, location=location)
        self._variables.append(variable)
        return self.record(span, variable)

    def constant(self, number: Number | complex, type: RiseType | None, span: Span) -> build.Node:
        wanted = type or self.inference.fresh_type()
        location = self.location(span)
        node = build.Constant(wanted, number, scope=self.scope, location=location)
        self._constants.append(node)
        return self.record(span, node)

    def array(self, elements: Sequence[build.Node], type: RiseType, span: Span) -> build.Node:
        constants = [each for each in elements if isinstance(each, build.Constant)]
        location = self.location(span)
        node = build.ArrayConstant(type, constants, scope=self.scope, location=location)
        return self.record(span, node)

    def function(
        self, variables: Sequence[build.Variable], body: build.Node, inner: build.Scope, span: Span
    ) -> build.Node:
        type = fun(*[variable.type for variable in variables], body.type)
        location = self.location(span)
        node = build.Function(type, variables, body, inner, scope=self.scope, location=location)
        return self.record(span, node)

    def apply(
        self, function: build.Node, arguments: Sequence[build.Node], type: RiseType, span: Span
    ) -> build.Node:
        if not arguments:
            return function
        location = self.location(span)
        node = build.Application(type, function, arguments, scope=self.scope, location=location)
        return self.record(span, node)

    def pattern(
        self, spec: PatternSpec, parameters: dict[str, Argument], to: str | None, span: Span
    ) -> build.Node:
        self.check_arguments(spec, parameters, span)
        type = spec.instantiate(parameters)
        location = self.location(span)
        use = build.PatternUse(type, spec, parameters, to, scope=self.scope, location=location)
        self._patterns.append(use)
        return self.record(span, use)

    def check_arguments(
        self, spec: PatternSpec, parameters: Mapping[str, Argument], span: Span
    ) -> None:
        """Run the pattern's own check on the sizes and types that are known so far."""
        known = {name: self.inference.resolve_argument(value) for name, value in parameters.items()}
        if (problem := spec.check(known)) is not None:
            raise self.error(f"{spec.name}: {problem}", span)

    def pair(self, first: build.Node, second: build.Node, span: Span) -> build.Node:
        tuple_ = self.pattern(TUPLE, {"s": first.type, "t": second.type}, None, span)
        return self.apply(tuple_, [first, second], pair(first.type, second.type), span)

    def project(self, spec: PatternSpec, value: build.Node, span: Span) -> build.Node:
        parameters = self.inference.instantiate(spec, {})
        node = self.pattern(spec, parameters, None, span)
        (input,), result = uncurry(node.type)
        self.unify(input, value.type, spec.name, span)
        return self.apply(node, [value], result, span)

    def spread_pairs(
        self, values: Sequence[build.Node], count: int, what: str, span: Span
    ) -> list[build.Node]:
        """Split pairs into their components until there are `count` values for a function."""
        result: list[build.Node] = []
        missing = count - len(values)
        for position, value in enumerate(values):
            last = position == len(values) - 1
            while missing > 0 and self._can_split(value, last):
                result.append(self.project(FST, value, span))
                value = self.project(SND, value, span)
                missing -= 1
            result.append(value)
        if len(result) != count:
            types = ", ".join([show_type(self.resolve(value.type)) for value in values])
            raise self.error(
                f"{what}: the function takes {format_count(count, 'argument')}, but is passed "
                f"{len(values)}, of {'type' if len(values) == 1 else 'types'} {types}",
                span,
            )
        return result

    def _can_split(self, value: build.Node, last: bool) -> bool:
        type = self.resolve(value.type)
        return isinstance(type, TupleType) or (last and isinstance(type, TypeVariable))

    def operation(
        self, function: ScalarFunction, operands: Sequence[build.Node], span: Span
    ) -> build.Node:
        """Apply a function on scalars, or on each lane of vectors, to all its operands."""
        self._operations.append((function, operands, span))
        for operand in operands:
            self._check_scalar(function, self.resolve(operand.type), span)
        self._check_not_mixed(function, operands, span)
        alike, what = operands, f"operands of '{function.name}'"
        if function.op == "arith.select":
            condition = self.inference.with_lane(operands[1].type, i1)
            self.unify(condition, operands[0].type, f"condition of '{function.name}'", span)
            alike, what = operands[1:], f"branches of '{function.name}'"
        for operand in alike[1:]:
            self.unify(alike[0].type, operand.type, what, span)
        location, scope = self.location(span), self.scope
        if function.op == "cast":
            assert function.target is not None
            type = self.inference.with_lane(operands[0].type, function.target)
            node = build.Conversion(type, operands[0], scope=scope, location=location)
            return self.record(span, node)
        is_comparison = function.predicate not in (None, ANY_ORDER)
        changed = function.target or (i1 if is_comparison else None)
        if function.op in (*COMPLEX_OPERATIONS, "abs"):
            if (number := self._complex_literal(function, operands, span)) is not None:
                return number
            changed = self._complex_result(function, operands[0], span)
        type = self.inference.with_lane(alike[0].type, changed) if changed else alike[0].type
        node = build.Operation(
            type, function.op, operands, function.predicate, scope=scope, location=location
        )
        return self.record(span, node)

    def _complex_literal(
        self, function: ScalarFunction, operands: Sequence[build.Node], span: Span
    ) -> build.Node | None:
        """Return `complex` of two numbers whose types are not known, as a literal."""
        numbers = [each.number for each in operands if isinstance(each, build.Constant)]
        parts = [each for each in numbers if isinstance(each, int | float)]
        is_open = isinstance(self.resolve(operands[0].type), TypeVariable)
        if function.op != "complex" or len(parts) < 2 or not is_open:
            return None
        return self.constant(complex(*parts), None, span)

    def _complex_result(
        self, function: ScalarFunction, operand: build.Node, span: Span
    ) -> ScalarType | None:
        """Return the type of an operation on complex numbers, or one that makes them."""
        lane = lane_type(self.resolve(operand.type))
        if function.op == "abs":
            if not isinstance(lane, ScalarType):
                self._open_abs.append((operand, span))
                return None
            return lane.part if lane.is_complex else None
        if not isinstance(lane, ScalarType):
            example = "a : f32" if function.op == "complex" else "z : complex64"
            raise self._unknown_operand(function.name, example, span)
        if problem := operand_problem(function, lane):
            raise self.error(
                f"'{function.name}' is not defined on {show_type(lane)}: {problem}", span
            )
        if function.op == "conj":
            return lane
        return COMPLEX_TYPES[lane] if function.op == "complex" else lane.part

    def _unknown_operand(self, name: str, example: str, span: Span) -> UserError:
        return self.error(
            f"'{name}': the type of the operand is not known here; annotate the parameter that it "
            f"comes from, as in {example}",
            span,
        )

    def _check_scalar(self, function: ScalarFunction, type: RiseType, span: Span) -> None:
        lane = lane_type(type)
        is_open = isinstance(lane, TypeVariable) and "$" not in lane.label.data
        if not isinstance(lane, ScalarType) and not is_open:
            hint = NOT_SCALAR_HINTS.get(type.__class__, "")
            raise self.error(
                f"'{function.name}' works on scalars, but this is {show_type(type)}{hint}", span
            )

    def _check_not_mixed(
        self, function: ScalarFunction, operands: Sequence[build.Node], span: Span
    ) -> None:
        """Reject mixed scalars and vectors: a broadcast has to be explicit."""
        types = [self.resolve(operand.type) for operand in operands]
        if mixed := build.mixed_operands(operands, types):
            vector, scalar = mixed
            found, text = build.describe_scalar(scalar)
            message = f"'{function.name}' cannot be applied to {show_type(vector)} and {found}"
            hint = f"broadcast the scalar with {broadcast_text(vector, text)}"
            raise self.error(f"{message}; {hint}", span)

    # At the end

    def check_finished(self) -> None:
        """Run the checks that need all types."""
        for kind in (complex, float, int):  # a float may be complex, and an integer a float
            for constant in self._constants:
                if isinstance(constant.number, kind):
                    self._check_constant(constant)
        self.inference.default_to_scalars()
        for parameter in self._variables:
            self._check_determined(parameter, parameter.name)
        for use in self._patterns:
            self._check_determined(use, use.spec.name)
        for operand, span in self._open_abs:
            lane = lane_type(self.resolve(operand.type))
            if isinstance(lane, ScalarType) and lane.is_complex:
                raise self._unknown_operand("abs", "z : complex64", span)
        for function, operands, span in self._operations:
            type = self.resolve(operands[-1].type)
            self._check_scalar(function, type, span)
            lane = lane_type(type)
            problem = isinstance(lane, ScalarType) and operand_problem(function, lane)
            if problem:
                message = f"'{function.name}' is not defined on {show_type(type)}: {problem}"
                raise self.error(message, span)

    def check_determined_inside(self, root: build.Node) -> None:
        """Check that the types inside a function are known, as its derivative needs."""
        for node in build.count_uses(root).counts:
            if isinstance(node, build.Variable):
                self._check_determined(node, node.name)
            elif isinstance(node, build.PatternUse):
                self._check_determined(node, node.spec.name)

    def _check_constant(self, constant: build.Constant) -> None:
        type = self.resolve(constant.type)
        if isinstance(type, TypeVariable):
            number = constant.number
            is_complex = isinstance(number, complex)
            self.inference.unify(
                type, complex64 if is_complex else i32 if isinstance(number, int) else f32
            )
        elif not isinstance(type, ScalarType):
            raise UserError(
                unexpected_number_message(type, str(constant.number)), constant.location
            )

    def _check_determined(self, node: build.Node, name: str) -> None:
        type = self.resolve(node.type)
        names = [*nat_variables(type), *type_variables(type)]
        if not any(name.startswith("?") for name in names):
            return
        known = "" if isinstance(type, TypeVariable) else f" beyond {show_type(type)}"
        hint = f"annotate it, as in {name} : {format_type(_example_type(type))}"
        if isinstance(node, build.PatternUse):
            hint = "pass all its arguments, or annotate the parameters of the functions around it"
        raise UndeterminedType(
            f"the type of '{name}' cannot be inferred{known}; {hint}", node.location
        )


def mismatch_message(error: TypeMismatch) -> str:
    """Return the message of a type mismatch, with a hint."""
    expected, found = error.expected, error.found
    detail = f"; {_hide_internal_names(error.detail)}" if error.detail else ""
    kind = ""
    if isinstance(found, FunType) and not isinstance(expected, FunType):
        kind, detail = "the function ", "; is an argument missing?"
    elif isinstance(expected, IdxType) and isinstance(found, ScalarType):
        detail = "; clampIdx(n, i) converts an integer to an index"
    elif expected == i1 and isinstance(found, ScalarType):
        detail = "; compare it with something, as in a != 0"
    elif isinstance(found, ScalarType) and found.is_complex and isinstance(expected, ScalarType):
        if not expected.is_complex:
            detail = "; real(z), imag(z) and abs(z) are floats"
    elif isinstance(expected, ScalarType) and isinstance(found, ScalarType):
        detail = f"; use cast[{format_type(expected)}](...) to convert it"
    elif isinstance(expected, VectorType) and isinstance(found, ScalarType):
        detail = f"; broadcast the scalar with {broadcast_text(expected, 'a')}"
    wanted = "data" if kind and isinstance(expected, TypeVariable) else show_type(expected)
    return f"expected {wanted}, but found {kind}{show_type(found)}{detail}"


def broadcast_text(type: VectorType, scalar: str) -> str:
    """Return the code that broadcasts a scalar to a vector type."""
    return f"vectorFromScalar({_hide_internal_names(str(type.length))}, {scalar})"


def unexpected_number_message(expected: RiseType, number: str) -> str:
    """Return the message for a number where another type is expected, with a hint."""
    hint = ""
    if isinstance(expected, IdxType):
        hint = "; clampIdx(n, i) converts it to an index"
    elif isinstance(expected, VectorType):
        hint = f"; broadcast it with {broadcast_text(expected, number)}"
    return f"expected {show_type(expected)}, but found the number {number}{hint}"


def show_type(type: RiseType) -> str:
    """Format a type in notation, with unknowns as underscores."""
    return _hide_internal_names(format_type(with_source_names(type)))


def with_source_names(type: RiseType) -> RiseType:
    """Return the type with the names that the author gave to variables of dependent functions."""
    sizes = {name: Nat.var(source_name(name)) for name in nat_variables(type) if "$" in name}
    types = {name: variable(source_name(name)) for name in type_variables(type) if "$" in name}
    return substitute(type, sizes, types) if sizes or types else type


def source_name(internal: str) -> str:
    """Return `n` for `n$1`, the unique name that `name_resolution` assigns to a variable."""
    return internal.partition("$")[0]


def generalize(type: RiseType) -> RiseType:
    """Return the type with letters for its unknowns: `(t -> t) -> n.t -> n.t`."""
    sizes = sorted((n for n in nat_variables(type) if n[0] == "?"), key=lambda n: int(n[1:]))
    types = list(dict.fromkeys(type_variables(type)))
    used_names = nat_variables(type)
    size_letters = iter(
        [letter for letter in _variable_letters("nmkl") if letter not in used_names]
    )
    type_letters = iter(
        [letter for letter in _variable_letters("tsuv") if letter not in used_names]
    )
    return substitute(
        type,
        {name: Nat.var(next(size_letters)) for name in sizes},
        {name: variable(next(type_letters)) for name in types},
    )


def _example_type(type: RiseType) -> RiseType:
    """Return an instance of a type, without unknowns."""
    if isinstance(type, TypeVariable):
        return array(Nat.var("N"), f32)
    unknown = sorted(name for name in nat_variables(type) if name[0] == "?")
    letters = [letter for letter in _variable_letters("NMKL") if letter not in nat_variables(type)]
    sizes = {name: Nat.var(letter) for name, letter in zip(unknown, letters, strict=False)}
    types: dict[str, RiseType] = {}
    for name in type_variables(type):
        types[name] = f32
    return substitute(type, sizes, types)


def _variable_letters(letters: str) -> list[str]:
    return [*letters, *(f"{letters[0]}{number}" for number in range(1, 100))]


def _hide_internal_names(text: str) -> str:
    return re.sub(r"\?\d+", "_", re.sub(r"(?<=\w)\$\d+", "", text))
