"""C statements and functions from clang's syntax tree.

A statement that cannot be read becomes a `Foreign` statement with the reason: it matters only to
the region that contains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from riselang.frontends.c.parse.assumptions import is_assumption, read_assumptions
from riselang.frontends.c.parse.c_types import FUNCTION, INT, CType
from riselang.frontends.c.parse.clang import (
    Cursor,
    ParsedFile,
    binary_operator,
    children,
    declarations,
    evaluate_constant,
    is_cpp,
    kind_name,
    unary_operator,
)
from riselang.frontends.c.parse.container_functions import is_local_vector
from riselang.frontends.c.parse.counted_loops import find_counted_loop
from riselang.frontends.c.parse.cpp_functions import overloads
from riselang.frontends.c.parse.declarations import is_reference, value_type
from riselang.frontends.c.parse.expressions import ExpressionReader
from riselang.frontends.c.parse.forward_gotos import GOTO, refuse_gotos, remove_forward_gotos
from riselang.frontends.c.parse.globals import mark_users
from riselang.frontends.c.parse.lambdas import LAMBDA
from riselang.frontends.c.parse.loop_heads import loop_parts, read_range_loop
from riselang.frontends.c.parse.memory_statements import (
    MEMORY_FUNCTIONS,
    expand_memory_call,
    initial_values,
)
from riselang.frontends.c.parse.references import is_copy, operands_of, unwrapped
from riselang.frontends.c.parse.syntax import (
    Access,
    ArrayValue,
    Assign,
    Assumption,
    Block,
    Call,
    Case,
    Declare,
    Evaluate,
    Expression,
    Function,
    If,
    Jump,
    Label,
    Literal,
    Return,
    Statement,
    Switch,
    UnsupportedStatement,
    Variable,
    While,
    direct_expressions,
    walk_expression,
    walk_statement,
)
from riselang.frontends.c.parse.typed_nodes import compound_assignment, convert_to
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

_UNSUPPORTED_KINDS = {
    "INDIRECT_GOTO_STMT": ("goto", "use loops and if"),
    "ASM_STMT": ("assembly", "move it out of the region"),
}
"""Kinds of statements that are not structured control flow, and what to write instead."""


class StatementReader:
    """Reads the functions of a file."""

    def __init__(self, parsed: ParsedFile):
        self._parsed = parsed
        self._expressions = ExpressionReader(parsed, self.read_statement)

    def read_functions(self) -> list[Function]:
        """Return the functions that the file defines, in source order."""
        result: list[Function] = []
        for cursor in declarations(self._parsed.unit.cursor):
            is_function = kind_name(cursor) == "FUNCTION_DECL" and cursor.is_definition()
            if is_function and cursor.location.file is not None:
                function = self._read_function(cursor)
                result += [function] if function is not None else []
        result += self._read_called_functions()
        return [*result, *self._expressions.lambdas.values()]

    def _read_called_functions(self) -> Iterator[Function]:
        """Yield the functions that calls name otherwise: overloads, and instances of templates."""
        read = set[str]()
        while left := [each for each in self._expressions.called.items() if each[0] not in read]:
            for name, cursor in left:
                read.add(name)
                function = self._read_function(cursor, name)
                if function is not None:
                    yield replace(function, is_static=True, is_only_called=True)

    def _read_function(self, cursor: Cursor, name: str = "") -> Function | None:
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
            is_named = is_cpp(self._parsed.name) and not name
            if is_named and overloads(self._parsed, cursor.spelling) > 1:
                raise UnsupportedConstruct(
                    location, f"several functions are called {cursor.spelling}",
                    "give them different names",
                )  # fmt: skip
            if cursor.type.is_function_variadic():
                raise UnsupportedConstruct(
                    location, f"{cursor.spelling} takes a variable number of arguments"
                )
            returned = cursor.result_type.get_canonical()
            returned = returned.get_pointee() if is_reference(returned) else returned
            result = None if returned.kind.name == "VOID" else value_type(returned, location)
        except UnsupportedConstruct as refusal:
            refused = (refusal.location, refusal.message, refusal.help)
        statement = refuse_gotos(self.read_statement(body))
        assert isinstance(statement, Block)
        assumptions: tuple[Assumption, ...] = ()
        try:
            assumptions = read_assumptions(self._parsed, body, self._expressions.read_value)
        except UnsupportedConstruct as refusal:
            refused = refused or (refusal.location, refusal.message, refusal.help)
        if tables := self._tables_used_in(statement):
            statement = replace(statement, statements=(*tables, *statement.statements))
        is_static = cursor.storage_class.name == "STATIC"
        if not is_static and not name:
            mark_users(cursor.spelling, list(_used_variables(statement)))
        return Function(
            name or cursor.spelling, location, result, tuple(parameters), statement, is_static,
            refused, assumptions,
        )  # fmt: skip

    def _tables_used_in(self, body: Block) -> list[Statement]:
        """Return declarations of the constant tables of the file that a function uses."""
        used = dict.fromkeys(_used_variables(body))
        tables = self._expressions.tables
        return [self._read_declaration(tables[each]) for each in used if each in tables]

    def read_statement(self, cursor: Cursor) -> Statement:
        name = kind_name(cursor)
        location = self._parsed.location_of(cursor)
        try:
            if name in _UNSUPPORTED_KINDS:
                what, help = _UNSUPPORTED_KINDS[name]
                raise UnsupportedConstruct(location, f"{what} is not structured control flow", help)
            reader = _READERS.get(name)
            if reader is None and cursor.kind.is_expression():
                reader = StatementReader.read_discarded
            if reader is None:
                raise UnsupportedConstruct(location, "this kind of statement cannot be modeled")
            with self._expressions.collect_effects() as effects:
                statement = reader(self, cursor)
            return Block(location, (*effects, statement)) if effects else statement
        except UnsupportedConstruct as refusal:
            inner = [each for each in children(cursor) if each.kind.is_statement()]
            return _make_foreign(refusal, tuple(self.read_statement(each) for each in inner))

    def read_block(self, cursor: Cursor) -> Statement:
        location = self._parsed.location_of(cursor)
        statements = [self.read_statement(each) for each in children(cursor)]
        return Block(location, tuple(remove_forward_gotos(statements)))

    def read_labeled(self, cursor: Cursor) -> Statement:
        body = self.read_statement(children(cursor)[-1])
        return Label(self._parsed.location_of(cursor), cursor.spelling, body)

    def read_goto(self, cursor: Cursor) -> Statement:
        (label,) = children(cursor)
        return Jump(self._parsed.location_of(cursor), f"{GOTO}{label.spelling}")

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
                with self._expressions.collect_effects() as effects:
                    declaration = self._read_declaration(each)
                result += [*effects, declaration]
            elif kind_name(each) not in ("STRUCT_DECL", "UNION_DECL", "ENUM_DECL", "TYPEDEF_DECL"):
                raise UnsupportedConstruct(
                    self._parsed.location_of(each), "this declaration cannot be modeled"
                )
        return Block(self._parsed.location_of(cursor), tuple(result))

    def _read_declaration(self, cursor: Cursor) -> Statement:
        location = self._parsed.location_of(cursor)
        expressions = [child for child in children(cursor) if child.kind.is_expression()]
        try:
            if expressions and kind_name(unwrapped(expressions[-1])) == LAMBDA:
                self._expressions.define_lambda(expressions[-1])
                return Block(location, ())
            variable = self._expressions.find_variable(cursor)
            if variable.is_global:
                return Block(location, ())
            if variable.type is FUNCTION and expressions:
                self._expressions.define_function_pointer(variable, expressions[-1])
                return Block(location, ())
            if variable.is_pointer and expressions:
                self._expressions.define_pointer(variable, expressions[-1])
                return Block(location, ())
            if variable.is_pointer:
                raise UnsupportedConstruct(
                    location, f"{variable.name} is a pointer that may point anywhere",
                    "initialize it with a row of an array",
                )  # fmt: skip
            if variable.is_array:
                return self._declare_array(cursor, variable, expressions)
            value = self._expressions.read_value(expressions[-1]) if expressions else None
            if value is not None:
                value = convert_to(value, variable.type)
            return Declare(location, variable, value)
        except UnsupportedConstruct as refusal:
            return _make_foreign(refusal)

    def _declare_array(
        self, cursor: Cursor, variable: Variable, expressions: Sequence[Cursor]
    ) -> Statement:
        """Declare an array, and assign the elements of its initializer list."""
        if is_local_vector(cursor):
            return self._expressions.declare_vector(variable, cursor)
        self._expressions.check_elements_constructed(variable, expressions)
        declared = Declare(variable.location, variable, None)
        kinds = list(map(kind_name, expressions))
        if "STRING_LITERAL" in kinds:
            raise UnsupportedConstruct(
                variable.location, f"{variable.name} is initialized with a string",
                "assign the elements one by one, or pass the array as a parameter",
            )  # fmt: skip
        if "INIT_LIST_EXPR" not in kinds:
            return declared
        lengths = [
            int(each.value) if isinstance(each, Literal) else None for each in variable.extents
        ]
        initial = expressions[kinds.index("INIT_LIST_EXPR")]
        values = self._expressions.initializers.read_list(initial, variable.type, lengths)
        return Block(variable.location, (declared, *initial_values(variable, values)))

    def read_assignment(self, cursor: Cursor) -> Statement:
        """Read `a = b`; `a = b = c` becomes `b = c; a = b`."""
        location = self._parsed.location_of(cursor)
        operator = binary_operator(cursor)
        left, right = children(cursor)
        if operator == ",":
            return Block(location, (self.read_statement(left), self.read_statement(right)))
        if operator != "=":
            return self.read_discarded(cursor)
        target = self._expressions.read_target(left)
        value = convert_to(self._expressions.read_value(right), target.type)
        return Assign(location, target, value)

    def read_compound_assignment(self, cursor: Cursor) -> Statement:
        location = self._parsed.location_of(cursor)
        left, right = children(cursor)
        target, operand = self._expressions.read_target(left), self._expressions.read_value(right)
        return compound_assignment(
            location, target, binary_operator(cursor).removesuffix("="), operand
        )

    def read_increment(self, cursor: Cursor) -> Statement:
        operator = unary_operator(cursor)
        if operator not in ("pre++", "pre--", "post++", "post--"):
            return self.read_discarded(cursor)
        return self._expressions.read_increment(cursor)

    def read_call(self, cursor: Cursor) -> Statement:
        location = self._parsed.location_of(cursor)
        if is_assumption(cursor):
            return Block(location, ())
        if is_copy(cursor) and cursor.spelling == "operator=":
            left, right = operands_of(cursor)
            target = self._expressions.read_target(left)
            return Assign(location, target, self._expressions.read_value(right))
        call = self._expressions.read_call(cursor)
        if not isinstance(call, Call):
            return Block(location, ())
        if call.function in MEMORY_FUNCTIONS:
            return expand_memory_call(call)
        return Evaluate(location, call)

    def read_parenthesized(self, cursor: Cursor) -> Statement:
        return self.read_statement(children(cursor)[-1])

    def read_discarded(self, cursor: Cursor) -> Statement:
        """Read an expression whose value is discarded; this still rejects unsupported
        expressions."""
        self._expressions.read_value(cursor)
        return Block(self._parsed.location_of(cursor), ())

    def read_cast(self, cursor: Cursor) -> Statement:
        """Read `(void)x`."""
        if cursor.type.kind.name != "VOID":
            return self.read_discarded(cursor)
        return self.read_statement(children(cursor)[-1])

    # Control flow

    def read_while(self, cursor: Cursor) -> Statement:
        condition, body = children(cursor)
        if not condition.kind.is_expression():
            raise UnsupportedConstruct(
                self._parsed.location_of(cursor), "this condition cannot be modeled"
            )
        return self._read_while_parts(cursor, condition, body, ())

    def read_do(self, cursor: Cursor) -> Statement:
        body, condition = children(cursor)
        return self._read_while_parts(cursor, condition, body, (), tests_last=True)

    def _read_while_parts(
        self,
        cursor: Cursor,
        condition: Cursor | None,
        body: Cursor,
        update: tuple[Statement, ...],
        *,
        tests_last: bool = False,
    ) -> While:
        location = self._parsed.location_of(cursor)
        test: Expression = Literal(location, INT, 1)
        with self._expressions.collect_effects() as effects:
            if condition is not None:
                test = self._expressions.read_value(condition)
        prelude = Block(location, tuple(effects))
        inner = self.read_statement(body)
        return While(location, prelude, test, inner, Block(location, update), tests_last)

    def read_jump(self, cursor: Cursor) -> Statement:
        kind = kind_name(cursor).removesuffix("_STMT").lower()
        return Jump(self._parsed.location_of(cursor), kind)

    def read_switch(self, cursor: Cursor) -> Statement:
        location = self._parsed.location_of(cursor)
        value, body = children(cursor)
        cases: list[Case] = []
        for each in children(body) if kind_name(body) == "COMPOUND_STMT" else [body]:
            labels: list[int | None] = []
            while kind_name(each) in ("CASE_STMT", "DEFAULT_STMT"):
                *numbers, each = children(each)
                labels.append(self._read_label(numbers))
            statement = self.read_statement(each)
            if labels:
                cases.append(Case(tuple(labels), (statement,)))
            elif cases:
                cases[-1] = Case(cases[-1].labels, (*cases[-1].statements, statement))
            elif not isinstance(statement, Block):
                raise UnsupportedConstruct(location, "this switch has statements before its cases")
        if _has_inner_label(body):
            raise UnsupportedConstruct(
                location, "a case of this switch is inside of another statement",
                "write it as if and else",
            )  # fmt: skip
        cases = [replace(e, statements=tuple(remove_forward_gotos(e.statements))) for e in cases]
        return Switch(location, self._expressions.read_value(value), tuple(cases))

    def _read_label(self, numbers: list[Cursor]) -> int | None:
        if not numbers:
            return None
        values = [evaluate_constant(each) for each in numbers]
        if len(values) > 1 or not isinstance(values[0], int):
            raise UnsupportedConstruct(
                self._parsed.location_of(numbers[0]), "this label is not a single integer",
                "write one case for each value",
            )  # fmt: skip
        return values[0]

    def read_for(self, cursor: Cursor) -> Statement:
        start, condition, increment, body = loop_parts(self._parsed, cursor)
        location = self._parsed.location_of(cursor)
        begin = _flatten([] if start is None else [self.read_statement(start)])
        updates = _flatten([] if increment is None else [self.read_statement(increment)])
        for each in (*begin, *updates):
            if isinstance(each, UnsupportedStatement):
                raise UnsupportedConstruct(each.location, each.reason, each.help)
        loop = self._read_while_parts(cursor, condition, body, tuple(updates))
        counted = find_counted_loop(begin, loop)
        return counted if counted is not None else Block(location, (*begin, loop))

    def read_range_for(self, cursor: Cursor) -> Statement:
        return read_range_loop(cursor, self._expressions, self.read_statement)


def _used_variables(body: Statement) -> Iterator[Variable]:
    for inner in walk_statement(body):
        for expression in direct_expressions(inner):
            for part in walk_expression(expression):
                if isinstance(part, Access | ArrayValue):
                    yield part.variable


def _flatten(statements: Sequence[Statement]) -> list[Statement]:
    result: list[Statement] = []
    for each in statements:
        result += _flatten(each.statements) if isinstance(each, Block) else [each]
    return result


def _has_inner_label(body: Cursor) -> bool:
    """Whether a case label is inside of a statement of a switch."""
    stack = list(children(body))
    while stack:
        cursor = stack.pop()
        name = kind_name(cursor)
        if name in ("CASE_STMT", "DEFAULT_STMT"):
            stack.append(children(cursor)[-1])
            continue
        if name != "SWITCH_STMT":
            inner = [each for each in children(cursor) if each.kind.is_statement()]
            if any(kind_name(each) in ("CASE_STMT", "DEFAULT_STMT") for each in inner):
                return True
            stack += inner
    return False


def _make_foreign(
    refusal: UnsupportedConstruct, inside: tuple[Statement, ...] = ()
) -> UnsupportedStatement:
    return UnsupportedStatement(refusal.location, refusal.message, refusal.help, inside)


_READERS: Mapping[str, Callable[[StatementReader, Cursor], Statement]] = {
    "COMPOUND_STMT": StatementReader.read_block,
    "LABEL_STMT": StatementReader.read_labeled,
    "GOTO_STMT": StatementReader.read_goto,
    "NULL_STMT": StatementReader.read_empty,
    "IF_STMT": StatementReader.read_if,
    "FOR_STMT": StatementReader.read_for,
    "CXX_FOR_RANGE_STMT": StatementReader.read_range_for,
    "WHILE_STMT": StatementReader.read_while,
    "DO_STMT": StatementReader.read_do,
    "SWITCH_STMT": StatementReader.read_switch,
    "BREAK_STMT": StatementReader.read_jump,
    "CONTINUE_STMT": StatementReader.read_jump,
    "RETURN_STMT": StatementReader.read_return,
    "DECL_STMT": StatementReader.read_declarations,
    "BINARY_OPERATOR": StatementReader.read_assignment,
    "COMPOUND_ASSIGNMENT_OPERATOR": StatementReader.read_compound_assignment,
    "UNARY_OPERATOR": StatementReader.read_increment,
    "CALL_EXPR": StatementReader.read_call,
    "PAREN_EXPR": StatementReader.read_parenthesized,
    "UNEXPOSED_EXPR": StatementReader.read_parenthesized,
    "CSTYLE_CAST_EXPR": StatementReader.read_cast,
    "CXX_STATIC_CAST_EXPR": StatementReader.read_cast,
    "CXX_FUNCTIONAL_CAST_EXPR": StatementReader.read_cast,
}
