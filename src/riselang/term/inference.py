"""Type and size inference: metavariables and the equations that solve them.

Unknown data types are `TypeVariable`s, unknown sizes are `Nat` variables, both with names that
start with `?`. Size equations that cannot be solved yet are retried after others are solved.

A program is valid for all sizes that its patterns permit: if a length `N` has to be a multiple of
4, `N` becomes `4 * N_by_4`, and a call with another length is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.lane_types import with_lane_type
from riselang.dialects.rise.pattern_registry import TYPE_PARAMETERS
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_binding import (
    instantiate_binder,
    map_variables,
    nat_variables,
    type_variables,
)
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    ArrayType,
    DepFunType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    TypeVariable,
    VectorType,
    fun,
    variable,
    vector,
)
from riselang.nat import Divides, Impossible, Nat, Solved, Variable, divides, refinement, solve

_WORD_BREAKS = re.compile(r"\W+")


class TypeMismatch(Exception):
    """Two types that must be equal differ; `detail` says why, if that is known."""

    def __init__(self, expected: RiseType, found: RiseType, detail: str = ""):
        super().__init__(f"expected {format_type(expected)}, but found {format_type(found)}")
        self.expected = expected
        self.found = found
        self.detail = detail


def parameter_order_note(pattern: str) -> str:
    """The note for a function that would be correct with its parameters swapped."""
    return (
        f"the function of {pattern} takes (accumulator, element) since 0.1.0, and no longer "
        "(element, accumulator); swap its parameters"
    )


class Inference:
    """The unknowns of one program, and what is known about them so far."""

    def __init__(self) -> None:
        self._types: dict[str, RiseType] = {}
        self._sizes: dict[str, Nat] = {}
        self._deferred: list[tuple[Nat, Nat]] = []
        self._lanes: list[tuple[RiseType, RiseType, ScalarType]] = []
        """Operand and result types of operations: the result has as many lanes as the operand."""
        self._count = 0
        self._refined: list[str] = []
        self._unified: set[tuple[RiseType, RiseType]] = set()
        """The pairs unified in the current call of `unify`: shared parts occur many times."""
        self._fixed: set[str] = set()
        """The sizes that dependent functions bind: they must work for every value of these."""

    def forget(self, type: RiseType) -> None:
        """Forget what is known about the unknowns in a type; keep the equations that wait."""
        for name in type_variables(type):
            self._types.pop(name, None)
        for name in nat_variables(type):
            self._sizes.pop(name, None)

    def fresh_type(self) -> TypeVariable:
        return variable(self._fresh_name())

    def fresh_size(self) -> Nat:
        return Nat.var(self._fresh_name())

    def function_type(self, inputs: Sequence[RiseType], output: RiseType | None) -> FunType:
        """The type of a function; an output that is not given is a fresh unknown."""
        return fun(*inputs, self.fresh_type() if output is None else output)

    def _fresh_name(self) -> str:
        self._count += 1
        return f"?{self._count}"

    def instantiate(self, spec: PatternSpec, given: Mapping[str, Argument]) -> dict[str, Argument]:
        """Create fresh unknowns for the parameters of a pattern, except for those in `given`."""
        return {
            name: given[name]
            if name in given
            else self.fresh_type()
            if name in TYPE_PARAMETERS
            else self.fresh_size()
            for name in spec.parameters
        }

    def resolve(self, type: RiseType) -> RiseType:
        """Replace the unknowns in `type` that are known by now."""
        if type.is_closed:
            return type
        if isinstance(type, TypeVariable):
            return self._resolve_variable(type)
        return map_variables(type, self.resolve_size, self._resolve_variable)

    def _resolve_variable(self, variable: TypeVariable) -> RiseType:
        head = self._head(variable)
        if isinstance(head, TypeVariable):
            return head
        resolved = self.resolve(head)
        if variable.label.data in self._types:
            self._types[variable.label.data] = resolved
        return resolved

    def resolve_argument(self, argument: Argument) -> Argument:
        if isinstance(argument, Nat):
            return self.resolve_size(argument)
        return argument if isinstance(argument, str) else self.resolve(argument)

    def resolve_size(self, size: Nat) -> Nat:
        while not size.is_constant and not self._sizes.keys().isdisjoint(size.variables):
            size = size.substitute(self._sizes)
        return size

    def unify(self, expected: RiseType, found: RiseType) -> None:
        """Make the two types equal, or raise `TypeMismatch` with both."""
        self._unified.clear()
        try:
            self._unify(expected, found)
            self._retry()
        except _Mismatch as clash:
            raise TypeMismatch(self.resolve(expected), self.resolve(found), clash.detail) from None

    def with_lane(self, operand: RiseType, lane: ScalarType) -> RiseType:
        """The result type of an operation: `lane`, or a vector of it, as long as the operand."""
        if not self._is_unsolved(operand):
            return with_lane_type(self._head(operand), lane)
        result = self.fresh_type()
        self._lanes.append((operand, result, lane))
        return result

    def default_to_scalars(self) -> None:
        """Make each result a scalar that is not known to be a vector."""
        for _, result, lane in self._lanes:
            if self._is_unsolved(result):
                self._unify(result, lane)

    def bind_function(self, unknown: TypeVariable, function: FunType) -> bool:
        """Bind an unknown to a function type, which unification never does.

        Return False if the type would contain itself.
        """
        resolved = self.resolve(function)
        if unknown.label.data in type_variables(resolved):
            return False
        self._types[unknown.label.data] = resolved
        return True

    def unify_sizes(self, expected: Nat, found: Nat) -> bool:
        try:
            self._unify_sizes(expected, found)
        except _Mismatch:
            return False
        return True

    def undecided_equations(self) -> list[tuple[Nat, Nat]]:
        """The size equations that are neither solved nor refuted."""
        return [(self.resolve_size(a), self.resolve_size(b)) for a, b in self._deferred]

    def _unify(self, left: RiseType, right: RiseType) -> None:
        left, right = self._head(left), self._head(right)
        if left is right or (left, right) in self._unified:
            return
        self._unified.add((left, right))
        match left, right:
            case TypeVariable(), TypeVariable() if left.label == right.label:
                return
            case TypeVariable(), _ if _is_unknown(left):
                self._bind(left, right)
            case _, TypeVariable() if _is_unknown(right):
                self._bind(right, left)
            case ArrayType(), ArrayType():
                self._unify_sizes(left.length, right.length)
                self._unify(left.element, right.element)
            case VectorType(), VectorType():
                self._unify_sizes(left.length, right.length)
                self._unify(left.element, right.element)
            case IdxType(), IdxType():
                self._unify_sizes(left.bound, right.bound)
            case TupleType(), TupleType():
                self._unify(left.first, right.first)
                self._unify(left.second, right.second)
            case FunType(), FunType():
                self._unify(left.input, right.input)
                self._unify(left.output, right.output)
            case DepFunType(), DepFunType() if left.kind == right.kind:
                # One fresh name for both variables, which is equal only to itself.
                name = self._fresh_name().replace("?", "$")
                self._unify(*(self._instantiate_binder(type, name) for type in (left, right)))
            case ScalarType(), ScalarType() if left == right:
                return
            case _:
                raise _Mismatch("")

    def _unify_lanes(self, operand: RiseType, result: RiseType, lane: ScalarType) -> bool:
        """Unify operand and result as `with_lane` relates them; return whether that is complete."""
        shape = self._head(result)
        if not self._is_unsolved(operand):
            self._unify(with_lane_type(self._head(operand), lane), shape)
            return True
        if isinstance(shape, VectorType):
            self._unify(operand, vector(shape.length, self.fresh_type()))
            self._unify(lane, shape.element)
            return True
        if not self._is_unsolved(shape):
            self._unify(lane, shape)
        return False

    def _instantiate_binder(self, type: DepFunType, name: str) -> RiseType:
        is_nat = type.kind.data == "nat"
        return instantiate_binder(type, Nat.var(name) if is_nat else variable(name))

    def fix_variable(self, name: str) -> None:
        """Mark `name` as the variable of a dependent function, which cannot be solved for."""
        self._fixed.add(name)

    def _head(self, type: RiseType) -> RiseType:
        names: list[str] = []
        while isinstance(type, TypeVariable) and type.label.data in self._types:
            names.append(type.label.data)
            type = self._types[type.label.data]
        for name in names[:-1]:
            self._types[name] = type  # path compression
        return type

    def _is_unsolved(self, type: RiseType) -> bool:
        head = self._head(type)
        return isinstance(head, TypeVariable) and _is_unknown(head)

    def _bind(self, unknown: TypeVariable, type: RiseType) -> None:
        resolved = self.resolve(type)
        if isinstance(resolved, FunType | DepFunType):
            raise _Mismatch("functions are never stored in arrays or tuples")
        if unknown.label.data in type_variables(resolved):
            raise _Mismatch("the type would contain itself")
        self._types[unknown.label.data] = resolved

    def _unify_sizes(self, left: Nat, right: Nat) -> None:
        left, right = self.resolve_size(left), self.resolve_size(right)
        if left == right:
            return
        if self._bind_size(left, right):
            return
        unknowns = [name for name in left.variables | right.variables if name.startswith("?")]
        answer = solve(left, right, sorted(unknowns))
        if isinstance(answer, Impossible):
            raise _Mismatch(f"the lengths {left} and {right} differ")
        if not isinstance(answer, Solved):
            self._deferred.append((left, right))
            return
        missing = [condition for condition in answer.requires if not divides(*condition)]
        if missing:
            self._refine(missing[0])
            self._unify_sizes(left, right)
            return
        for name, size in answer.substitution.items():
            if size.is_constant and size.constant < 0:
                raise _Mismatch(f"the lengths {left} and {right} differ")
            self._sizes[name] = size

    def _bind_size(self, left: Nat, right: Nat) -> bool:
        """Solve an equation of an unknown and a constant, or of two unknowns."""
        names = [name for name in map(_unknown_size, (left, right)) if name is not None]
        if len(names) == 2:
            name = min(names)
            self._sizes[name] = right if name == names[0] else left
            return True
        size = left if left.is_constant else right
        if len(names) == 0 or not size.is_constant or size.constant < 0:
            return False
        self._sizes[names[0]] = size
        return True

    def _refine(self, condition: Divides) -> None:
        """Restrict a symbolic size to the values that satisfy the condition."""
        refined = refinement(condition, condition.dividend.variables - self._fixed)
        if refined is None:
            raise _Mismatch(f"{condition.dividend} is not known to be a multiple of "
                         f"{condition.divisor}")  # fmt: skip
        quotient = f"{refined.name}_by_{_WORD_BREAKS.sub('_', str(refined.factor))}"
        if refined.name.startswith("?"):
            quotient = self._fresh_name()
        else:
            self._refined.append(refined.name)
        self._sizes[refined.name] = refined.value(quotient)

    @property
    def refined_sizes(self) -> dict[str, Nat]:
        """The values of the sizes that were refined: `N = 4 * N_by_4`."""
        return {name: self.resolve_size(Nat.var(name)) for name in self._refined}

    def _retry(self) -> None:
        """Retry the deferred equations: solving one unknown may make others solvable."""
        while self._deferred or self._lanes:
            equations, self._deferred = self._deferred, []
            for left, right in equations:
                self._unify_sizes(left, right)
            lanes, self._lanes = self._lanes, []
            self._lanes += [relation for relation in lanes if not self._unify_lanes(*relation)]
            if len(self._deferred) >= len(equations) and len(self._lanes) == len(lanes):
                return


class _Mismatch(Exception):
    def __init__(self, detail: str):
        super().__init__(detail)
        self.detail = detail


def _unknown_size(size: Nat) -> str | None:
    """The name of the unknown, if the size is a single unknown."""
    atom = size.atom
    return atom.name if isinstance(atom, Variable) and atom.name.startswith("?") else None


def _is_unknown(type: TypeVariable) -> bool:
    return type.label.data.startswith("?")
