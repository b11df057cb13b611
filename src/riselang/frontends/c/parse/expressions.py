"""C expressions from clang's syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from riselang.frontends.c.parse.c_types import INT, LONG, CType
from riselang.frontends.c.parse.clang import (
    Cursor,
    ParsedFile,
    binary_operator,
    children,
    evaluated,
    kind,
    unary_operator,
)
from riselang.frontends.c.parse.declarations import scalar_type, variable_of
from riselang.frontends.c.parse.refusals import Refusal
from riselang.frontends.c.parse.syntax import (
    Access,
    ArrayValue,
    Binary,
    Call,
    Conditional,
    Convert,
    Expression,
    Literal,
    Unary,
    Variable,
)
from riselang.support.errors import SourceLocation

ARITHMETIC = frozenset(["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"])
COMPARISONS = frozenset(["<", "<=", ">", ">=", "==", "!="])
LOGICAL = frozenset(("&&", "||"))
_WRAPPERS = ("UNEXPOSED_EXPR", "PAREN_EXPR")
_POINTERS = ("POINTER", "CONSTANTARRAY", "VARIABLEARRAY", "INCOMPLETEARRAY")
_SIDE_EFFECT = (
    "an assignment inside an expression cannot be modeled",
    "write it as a separate statement",
)


def converted(expression: Expression, type: CType) -> Expression:
    """Convert an expression to a type; constants are converted immediately."""
    if expression.type == type:
        return expression
    if isinstance(expression, Literal) and isinstance(expression.value, int):
        if type.is_integer:
            return Literal(expression.place, type, type.wrapped(expression.value))
        if abs(expression.value) <= 1 << 24:
            return Literal(expression.place, type, float(expression.value))
    return Convert(expression.place, type, expression)


@dataclass
class ExpressionReader:
    """Reads the expressions of a file; variables are created at their first use."""

    parsed: ParsedFile
    variables: dict[Any, Variable] = field(default_factory=dict[Any, Variable])

    def place(self, cursor: Cursor) -> SourceLocation:
        return self.parsed.place(cursor)

    def variable(self, cursor: Cursor) -> Variable:
        """Return the variable of a declaration."""
        at = cursor.location
        key = (cursor.spelling, at.file.name if at.file else "", at.offset, cursor.hash)
        if key not in self.variables:
            self.variables[key] = variable_of(cursor, self.place(cursor), self.value)
        return self.variables[key]

    def value(self, cursor: Cursor) -> Expression:
        """Read an rvalue."""
        reader = _READERS.get(kind(cursor))
        if reader is None:
            raise Refusal(
                self.place(cursor),
                f"this kind of expression ({_spoken(kind(cursor))}) cannot be modeled",
                "compute it outside the region",
            )
        return reader(self, cursor)

    def type(self, cursor: Cursor) -> CType:
        return scalar_type(cursor.type, self.place(cursor))

    # Leaves

    def number(self, cursor: Cursor) -> Expression:
        value = evaluated(cursor)
        if value is None:
            raise Refusal(self.place(cursor), "this constant cannot be read")
        type = self.type(cursor)
        return Literal(self.place(cursor), type, float(value) if type.is_float else int(value))

    def reference(self, cursor: Cursor) -> Expression:
        declared = cursor.referenced
        place = self.place(cursor)
        if declared is not None and kind(declared) == "ENUM_CONSTANT_DECL":
            return Literal(place, INT, int(declared.enum_value))
        if declared is None or kind(declared) not in ("VAR_DECL", "PARM_DECL"):
            raise Refusal(place, f"{cursor.spelling} is not a variable")
        known = self._constant(declared)
        if known is not None:
            return Literal(place, self.type(cursor), known)
        variable = self.variable(declared)
        if variable.is_array:
            raise Refusal(
                place, f"the address of {variable.name} is used as a value",
                "access its elements by subscripts",
            )  # fmt: skip
        return Access(place, variable.type, variable, ())

    def _constant(self, declared: Cursor) -> int | None:
        """Return the value of a constant such as `const int n = 10`."""
        type = declared.type
        if not type.is_const_qualified() or type.get_canonical().kind.name in _POINTERS:
            return None
        value = evaluated(declared) if kind(declared) == "VAR_DECL" else None
        return value if isinstance(value, int) else None

    # Array elements

    def element(self, cursor: Cursor) -> Access:
        part = self.part(cursor)
        return self._whole(part, cursor)

    def _whole(self, part: ArrayValue, cursor: Cursor) -> Access:
        variable = part.variable
        if part.offset is not None or len(part.indices) != len(variable.extents):
            raise Refusal(
                self.place(cursor),
                f"{variable.name} has {len(variable.extents)} dimensions, but "
                f"{len(part.indices)} subscripts are given here",
            )
        return Access(part.place, variable.type, variable, part.indices)

    def part(self, cursor: Cursor) -> ArrayValue:
        """Read an lvalue: an array, one of its rows, or one of its elements."""
        place = self.place(cursor)
        match kind(cursor):
            case "UNEXPOSED_EXPR" | "PAREN_EXPR":
                (inner,) = self._only(cursor)
                return self.part(inner)
            case "DECL_REF_EXPR":
                return self._array(cursor)
            case "ARRAY_SUBSCRIPT_EXPR":
                return self._subscript(cursor)
            case "UNARY_OPERATOR" if unary_operator(cursor) == "deref":
                base = self.part(children(cursor)[0])
                return _indexed(base, Literal(place, LONG, 0), place)
            case "UNARY_OPERATOR" if unary_operator(cursor) == "address":
                return self._address(cursor)
            case "BINARY_OPERATOR" if binary_operator(cursor) in ("+", "-"):
                return self._moved(cursor)
            case _:
                raise Refusal(
                    place, f"this lvalue ({_spoken(kind(cursor))}) cannot be modeled",
                    "access arrays by their names and subscripts",
                )  # fmt: skip

    def _array(self, cursor: Cursor) -> ArrayValue:
        declared = cursor.referenced
        place = self.place(cursor)
        if declared is None or kind(declared) not in ("VAR_DECL", "PARM_DECL"):
            raise Refusal(place, f"{cursor.spelling} is not an array")
        variable = self.variable(declared)
        if variable.is_pointer and not variable.is_parameter:
            raise Refusal(
                place, f"{variable.name} is a pointer that may point anywhere",
                "use an array, or a parameter of the function",
            )  # fmt: skip
        return ArrayValue(place, variable.type, variable, ())

    def _subscript(self, cursor: Cursor) -> ArrayValue:
        base, index = children(cursor)
        if base.type.get_canonical().kind.name not in _POINTERS:
            base, index = index, base
        return _indexed(self.part(base), self.value(index), self.place(cursor))

    def _address(self, cursor: Cursor) -> ArrayValue:
        """Read `&a[i]`, which is `a + i`."""
        part = self.part(children(cursor)[0])
        if not part.indices:
            raise Refusal(self.place(cursor), "the address of a variable cannot be modeled")
        *outer, last = part.indices
        return ArrayValue(part.place, part.type, part.variable, tuple(outer), last)

    def _moved(self, cursor: Cursor) -> ArrayValue:
        left, right = children(cursor)
        operator = binary_operator(cursor)
        if operator == "+" and left.type.get_canonical().kind.name not in _POINTERS:
            left, right = right, left
        base, distance = self.part(left), self.value(right)
        if operator == "-":
            distance = Unary(distance.place, distance.type, "-", distance)
        return ArrayValue(base.place, base.type, base.variable, base.indices, _sum(base, distance))

    # Operations

    def wrapped(self, cursor: Cursor) -> Expression:
        """Read an implicit conversion, or parentheses."""
        (inner,) = self._only(cursor)
        if kind(cursor) == "PAREN_EXPR" or cursor.type == inner.type:
            return self.value(inner)
        return converted(self.value(inner), self.type(cursor))

    def _only(self, cursor: Cursor) -> list[Cursor]:
        found = [child for child in children(cursor) if child.kind.is_expression()]
        if len(found) != 1:
            raise Refusal(
                self.place(cursor), "this kind of expression cannot be modeled",
                "compute it outside the region",
            )  # fmt: skip
        return found

    def cast(self, cursor: Cursor) -> Expression:
        inner = children(cursor)[-1]
        return converted(self.value(inner), self.type(cursor))

    def binary(self, cursor: Cursor) -> Expression:
        operator = binary_operator(cursor)
        place = self.place(cursor)
        if operator not in ARITHMETIC | COMPARISONS | LOGICAL:
            if operator.endswith("="):
                raise Refusal(place, *_SIDE_EFFECT)
            raise Refusal(place, f"the operator {operator} cannot be modeled here")
        left, right = (self.value(child) for child in children(cursor))
        return Binary(place, self.type(cursor), operator, left, right)

    def unary(self, cursor: Cursor) -> Expression:
        operator = unary_operator(cursor)
        place = self.place(cursor)
        (child,) = children(cursor)
        match operator:
            case "deref":
                return self.element(cursor)
            case "+" | "extension":
                return self.value(child)
            case "-" | "~" | "!":
                return Unary(place, self.type(cursor), operator, self.value(child))
            case "pre++" | "pre--" | "post++" | "post--":
                raise Refusal(place, *_SIDE_EFFECT)
            case _:
                raise Refusal(place, "this operator on an address cannot be modeled")

    def conditional(self, cursor: Cursor) -> Expression:
        condition, first, second = (self.value(child) for child in children(cursor))
        return Conditional(self.place(cursor), self.type(cursor), condition, first, second)

    def assignment(self, cursor: Cursor) -> Expression:
        raise Refusal(self.place(cursor), *_SIDE_EFFECT)

    def call(self, cursor: Cursor) -> Call:
        place = self.place(cursor)
        callee, *given = children(cursor)
        while kind(callee) in _WRAPPERS:
            (callee,) = self._only(callee)
        if kind(callee) != "DECL_REF_EXPR" or kind(callee.referenced) != "FUNCTION_DECL":
            raise Refusal(place, "this call is through a function pointer", "call it by its name")
        arguments = tuple(self._argument(each) for each in given)
        result = cursor.type.get_canonical()
        type = INT if result.kind.name == "VOID" else scalar_type(result, place)
        return Call(place, type, callee.spelling, arguments)

    def _argument(self, cursor: Cursor) -> Expression:
        if cursor.type.get_canonical().kind.name in _POINTERS:
            return self.part(cursor)
        return self.value(cursor)


def _indexed(base: ArrayValue, index: Expression, place: SourceLocation) -> ArrayValue:
    if base.offset is not None:
        index = _sum(base, index)
    return ArrayValue(place, base.type, base.variable, (*base.indices, index))


def _sum(base: ArrayValue, distance: Expression) -> Expression:
    """Return the offset that is added to a pointer, as a ptrdiff_t."""
    distance = converted(distance, LONG)
    if base.offset is None:
        return distance
    return Binary(distance.place, LONG, "+", converted(base.offset, LONG), distance)


def _spoken(name: str) -> str:
    return name.lower().replace("_", " ")


_READERS: Mapping[str, Callable[[ExpressionReader, Cursor], Expression]] = {
    "INTEGER_LITERAL": ExpressionReader.number,
    "FLOATING_LITERAL": ExpressionReader.number,
    "CHARACTER_LITERAL": ExpressionReader.number,
    "CXX_BOOL_LITERAL_EXPR": ExpressionReader.number,
    "CXX_UNARY_EXPR": ExpressionReader.number,
    "DECL_REF_EXPR": ExpressionReader.reference,
    "ARRAY_SUBSCRIPT_EXPR": ExpressionReader.element,
    "UNEXPOSED_EXPR": ExpressionReader.wrapped,
    "PAREN_EXPR": ExpressionReader.wrapped,
    "CSTYLE_CAST_EXPR": ExpressionReader.cast,
    "BINARY_OPERATOR": ExpressionReader.binary,
    "UNARY_OPERATOR": ExpressionReader.unary,
    "CONDITIONAL_OPERATOR": ExpressionReader.conditional,
    "COMPOUND_ASSIGNMENT_OPERATOR": ExpressionReader.assignment,
    "CALL_EXPR": ExpressionReader.call,
}
