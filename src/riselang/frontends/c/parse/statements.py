"""C statements and functions from clang's syntax tree.

A statement that cannot be read becomes a `Foreign` statement with the reason: it matters only to
the region that contains it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from riselang.frontends.c.parse.c_types import INT, CType, common_type, promote_type
from riselang.frontends.c.parse.clang import (
    Cursor,
    ParsedFile,
    binary_operator,
    children,
    kind_name,
    unary_operator,
)
from riselang.frontends.c.parse.declarations import scalar_type
from riselang.frontends.c.parse.expressions import ExpressionReader, convert_to
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Block,
    Convert,
    Declare,
    Evaluate,
    Expression,
    For,
    Function,
    If,
    Literal,
    Return,
    Statement,
    Unary,
    UnsupportedStatement,
    Variable,
    walk_expression,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

_UNSUPPORTED_KINDS = {
    "WHILE_STMT": ("a while loop", "write it as a for loop with a known number of iterations"),
    "DO_STMT": ("a do loop", "write it as a for loop with a known number of iterations"),
    "SWITCH_STMT": ("a switch", "write it as if and else"),
    "BREAK_STMT": ("break", "move the exit test into the loop condition"),
    "CONTINUE_STMT": ("continue", "put the remainder of the body into an if"),
    "GOTO_STMT": ("goto", "use loops and if"),
    "INDIRECT_GOTO_STMT": ("goto", "use loops and if"),
    "ASM_STMT": ("assembly", "move it out of the region"),
}
"""Kinds of statements that are not static control flow, and what to write instead."""


class StatementReader:
    """Reads the functions of a file."""

    def __init__(self, parsed: ParsedFile):
        self._parsed = parsed
        self._expressions = ExpressionReader(parsed)

    def read_functions(self) -> list[Function]:
        """Return the functions that the file defines, in source order."""
        result: list[Function] = []
        for cursor in children(self._parsed.unit.cursor):
            is_function = kind_name(cursor) == "FUNCTION_DECL" and cursor.is_definition()
            if is_function and cursor.location.file is not None:
                function = self._read_function(cursor)
                result += [function] if function is not None else []
        return result

    def _read_function(self, cursor: Cursor) -> Function | None:
        location = self._parsed.location_of(cursor)
        body = next((each for each in children(cursor) if kind_name(each) == "COMPOUND_STMT"), None)
        if body is None:
            return None
        refused: tuple[SourceLocation, str, str] | None = None
        result: CType | None = None
        parameters: list[Variable] = []
        try:
            if not cursor.spelling.isascii():
                raise UnsupportedConstruct(
                    location, f"the name {cursor.spelling} contains letters that are not ASCII",
                    "rename the function",
                )  # fmt: skip
            parameters += map(self._expressions.find_variable, cursor.get_arguments())
            if cursor.type.is_function_variadic():
                raise UnsupportedConstruct(
                    location, f"{cursor.spelling} takes a variable number of arguments"
                )
            returned = cursor.result_type.get_canonical()
            result = None if returned.kind.name == "VOID" else scalar_type(returned, location)
        except UnsupportedConstruct as refusal:
            refused = (refusal.location, refusal.message, refusal.help)
        statement = self.read_statement(body)
        assert isinstance(statement, Block)
        is_static = cursor.storage_class.name == "STATIC"
        return Function(
            cursor.spelling, location, result, tuple(parameters), statement, is_static, refused
        )

    def read_statement(self, cursor: Cursor) -> Statement:
        name = kind_name(cursor)
        location = self._parsed.location_of(cursor)
        try:
            if name in _UNSUPPORTED_KINDS:
                what, help = _UNSUPPORTED_KINDS[name]
                raise UnsupportedConstruct(location, f"{what} is not static control flow", help)
            reader = _READERS.get(name)
            if reader is None:
                raise UnsupportedConstruct(location, "this kind of statement cannot be modeled")
            return reader(self, cursor)
        except UnsupportedConstruct as refusal:
            inner = [each for each in children(cursor) if each.kind.is_statement()]
            return _make_foreign(refusal, tuple(self.read_statement(each) for each in inner))

    def read_block(self, cursor: Cursor) -> Statement:
        location = self._parsed.location_of(cursor)
        return Block(location, tuple(self.read_statement(each) for each in children(cursor)))

    def read_labeled(self, cursor: Cursor) -> Statement:
        """Read a labeled statement: the label itself does nothing, and a goto to it is rejected."""
        return self.read_statement(children(cursor)[-1])

    def read_empty(self, cursor: Cursor) -> Statement:
        return Block(self._parsed.location_of(cursor), ())

    def read_if(self, cursor: Cursor) -> Statement:
        condition, then, *otherwise = children(cursor)
        return If(
            self._parsed.location_of(cursor),
            self._expressions.read_value(condition),
            self.read_statement(then),
            self.read_statement(otherwise[0]) if otherwise else None,
        )

    def read_return(self, cursor: Cursor) -> Statement:
        values = children(cursor)
        value = self._expressions.read_value(values[0]) if values else None
        return Return(self._parsed.location_of(cursor), value)

    # Declarations and assignments

    def read_declarations(self, cursor: Cursor) -> Statement:
        result: list[Statement] = []
        for each in children(cursor):
            if kind_name(each) == "VAR_DECL":
                result.append(self._read_declaration(each))
            elif kind_name(each) not in ("STRUCT_DECL", "UNION_DECL", "ENUM_DECL", "TYPEDEF_DECL"):
                raise UnsupportedConstruct(
                    self._parsed.location_of(each), "this declaration cannot be modeled"
                )
        return Block(self._parsed.location_of(cursor), tuple(result))

    def _read_declaration(self, cursor: Cursor) -> Statement:
        location = self._parsed.location_of(cursor)
        try:
            variable = self._expressions.find_variable(cursor)
            if variable.is_pointer:
                raise UnsupportedConstruct(
                    location, f"{variable.name} is a pointer that may point anywhere",
                    "use an array, or a parameter of the function",
                )  # fmt: skip
            return Declare(location, variable, self._read_initializer(cursor, variable))
        except UnsupportedConstruct as refusal:
            return _make_foreign(refusal)

    def _read_initializer(self, cursor: Cursor, variable: Variable) -> Expression | None:
        expressions = [child for child in children(cursor) if child.kind.is_expression()]
        if variable.is_array:
            if any(
                kind_name(child) in ("INIT_LIST_EXPR", "STRING_LITERAL") for child in expressions
            ):
                raise UnsupportedConstruct(
                    variable.location, f"{variable.name} has an initializer list",
                    "assign the elements one by one, or pass the array as a parameter",
                )  # fmt: skip
            return None
        return self._expressions.read_value(expressions[-1]) if expressions else None

    def read_assignment(self, cursor: Cursor) -> Statement:
        """Read `a = b`, or `a = b = c`, which becomes `b = c; a = b`."""
        location = self._parsed.location_of(cursor)
        operator = binary_operator(cursor)
        left, right = children(cursor)
        if operator == ",":
            return Block(location, (self.read_statement(left), self.read_statement(right)))
        if operator != "=":
            return self._read_discarded(cursor)
        inner, conversions = right, list[Cursor]()
        while kind_name(inner) in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
            conversions.append(inner)
            (inner,) = children(inner)
        is_chain = (
            kind_name(inner) == "BINARY_OPERATOR" and binary_operator(inner) == "="
        ) or kind_name(inner) == "COMPOUND_ASSIGNMENT_OPERATOR"
        target = self._read_target(left)
        if not is_chain:
            value = convert_to(self._expressions.read_value(right), target.type)
            return Assign(location, target, value)
        first = self.read_statement(inner)
        if isinstance(first, UnsupportedStatement):
            return first
        value = convert_to(self._read_target(children(inner)[0]), target.type)
        return Block(location, (first, Assign(location, target, value)))

    def _read_target(self, cursor: Cursor) -> Access:
        target = self._expressions.read_value(cursor)
        if not isinstance(target, Access):
            raise UnsupportedConstruct(self._parsed.location_of(cursor), "this is not an lvalue")
        return target

    def read_compound_assignment(self, cursor: Cursor) -> Statement:
        location = self._parsed.location_of(cursor)
        left, right = children(cursor)
        target, operand = self._read_target(left), self._expressions.read_value(right)
        return _make_compound_assignment(
            location, target, binary_operator(cursor).removesuffix("="), operand
        )

    def read_increment(self, cursor: Cursor) -> Statement:
        operator = unary_operator(cursor)
        if operator not in ("pre++", "pre--", "post++", "post--"):
            return self._read_discarded(cursor)
        location = self._parsed.location_of(cursor)
        target = self._read_target(children(cursor)[0])
        return _make_compound_assignment(location, target, operator[-1], Literal(location, INT, 1))

    def read_call(self, cursor: Cursor) -> Statement:
        return Evaluate(self._parsed.location_of(cursor), self._expressions.read_call(cursor))

    def read_parenthesized(self, cursor: Cursor) -> Statement:
        return self.read_statement(children(cursor)[-1])

    def _read_discarded(self, cursor: Cursor) -> Statement:
        """Read an expression whose value is discarded; this still rejects unsupported
        expressions."""
        self._expressions.read_value(cursor)
        return Block(self._parsed.location_of(cursor), ())

    def read_cast(self, cursor: Cursor) -> Statement:
        """Read `(void)x`."""
        if cursor.type.kind.name != "VOID":
            return self._read_discarded(cursor)
        return self.read_statement(children(cursor)[-1])

    # Loops

    def read_for(self, cursor: Cursor) -> Statement:
        location = self._parsed.location_of(cursor)
        parts = children(cursor)
        if len(parts) != 4:
            # Clang omits missing parts, and does not say which ones are missing.
            raise UnsupportedConstruct(
                location, "the loop lacks an initialization, a condition or an update",
                "write for (i = first; i < end; i += step)",
            )  # fmt: skip
        start, condition, increment, body = parts
        variable, is_own, first = self._read_loop_start(start)
        if any(isinstance(e, Access) and e.variable is variable for e in walk_expression(first)):
            raise UnsupportedConstruct(
                location, f"{variable.name} is initialized with its own value in this loop",
                "use a different variable for the initial value",
            )  # fmt: skip
        step = self._read_loop_step(increment, variable)
        return For(
            location, variable, is_own, first,
            self._expressions.read_value(condition), step, self.read_statement(body),
        )  # fmt: skip

    def _read_loop_start(self, cursor: Cursor) -> tuple[Variable, bool, Expression]:
        location = self._parsed.location_of(cursor)
        statement = self.read_statement(cursor)
        while isinstance(statement, Block) and len(statement.statements) == 1:
            statement = statement.statements[0]
        match statement:
            case Declare(variable=variable, value=Expression() as value):
                pass
            case Assign(target=Access(variable=variable, indices=()), value=value):
                pass
            case UnsupportedStatement():
                raise UnsupportedConstruct(statement.location, statement.reason, statement.help)
            case _:
                raise UnsupportedConstruct(
                    location, "a loop must initialize its variable",
                    "write for (i = first; i < end; i += step)",
                )  # fmt: skip
        if variable.is_array or variable.type.is_float:
            raise UnsupportedConstruct(
                location,
                f"{variable.name} is not an integer",
                "use an integer variable to count the iterations",
            )
        return variable, isinstance(statement, Declare), convert_to(value, variable.type)

    def _read_loop_step(self, cursor: Cursor, variable: Variable) -> int:
        statement = self.read_statement(cursor)
        step = _constant_step(statement, variable)
        if step is None or step == 0:
            raise UnsupportedConstruct(
                self._parsed.location_of(cursor),
                f"the step of this loop is not a constant added to {variable.name}",
                "write an update such as i++ or i += 2",
            )
        return step


def _constant_step(statement: Statement, variable: Variable) -> int | None:
    """Return the constant that a statement adds to the variable, if it does nothing else."""
    if not isinstance(statement, Assign) or statement.target.variable is not variable:
        return None
    value = statement.value
    while isinstance(value, Convert):
        value = value.operand
    if not isinstance(value, Binary) or value.operator not in ("+", "-"):
        return None
    sides = [_strip_conversions(value.left), _strip_conversions(value.right)]
    if value.operator == "+" and isinstance(sides[0], Literal):
        sides.reverse()
    base, distance = sides
    is_step = isinstance(base, Access) and base.variable is variable
    if not is_step or not isinstance(distance, Literal):
        return None
    number = distance.value
    if not isinstance(number, int):
        return None
    # A step such as (unsigned)-1 decrements by one.
    if not distance.type.is_signed and number > distance.type.largest // 2:
        number -= distance.type.largest + 1
    return number if value.operator == "+" else -number


def _strip_conversions(expression: Expression) -> Expression:
    """Strip conversions, and apply signs to constants."""
    while isinstance(expression, Convert):
        expression = expression.operand
    if isinstance(expression, Unary) and expression.operator == "-":
        inner = _strip_conversions(expression.operand)
        if isinstance(inner, Literal):
            return Literal(expression.location, inner.type, -inner.value)
    return expression


def _make_compound_assignment(
    location: SourceLocation, target: Access, operator: str, operand: Expression
) -> Statement:
    """Build `target operator= operand`, computed in the common type of both."""
    if operator in ("<<", ">>"):
        type = promote_type(target.type)
    else:
        type = common_type(target.type, operand.type)
        operand = convert_to(operand, type)
    left = convert_to(target, type)
    value = Binary(location, type, operator, left, operand)
    return Assign(location, target, convert_to(value, target.type), is_compound=True)


def _make_foreign(
    refusal: UnsupportedConstruct, inside: tuple[Statement, ...] = ()
) -> UnsupportedStatement:
    return UnsupportedStatement(refusal.location, refusal.message, refusal.help, inside)


_READERS: Mapping[str, Callable[[StatementReader, Cursor], Statement]] = {
    "COMPOUND_STMT": StatementReader.read_block,
    "LABEL_STMT": StatementReader.read_labeled,
    "NULL_STMT": StatementReader.read_empty,
    "IF_STMT": StatementReader.read_if,
    "FOR_STMT": StatementReader.read_for,
    "RETURN_STMT": StatementReader.read_return,
    "DECL_STMT": StatementReader.read_declarations,
    "BINARY_OPERATOR": StatementReader.read_assignment,
    "COMPOUND_ASSIGNMENT_OPERATOR": StatementReader.read_compound_assignment,
    "UNARY_OPERATOR": StatementReader.read_increment,
    "CALL_EXPR": StatementReader.read_call,
    "PAREN_EXPR": StatementReader.read_parenthesized,
    "UNEXPOSED_EXPR": StatementReader.read_parenthesized,
    "CSTYLE_CAST_EXPR": StatementReader.read_cast,
}
