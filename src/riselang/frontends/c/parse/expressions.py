"""C expressions from clang's syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from riselang.frontends.c.parse.c_types import FUNCTION, INT, CType
from riselang.frontends.c.parse.clang import (
    Cursor,
    binary_operator,
    children,
    evaluate_constant,
    is_cpp,
    kind_name,
    unary_operator,
)
from riselang.frontends.c.parse.cpp_functions import function_key
from riselang.frontends.c.parse.declarations import (
    is_dereferenced,
    is_function_pointer,
    value_type,
)
from riselang.frontends.c.parse.globals import (
    MAX_COPIED_ELEMENTS,
    count_elements,
    define_global,
    referenced_definition,
)
from riselang.frontends.c.parse.initializers import InitializerReader
from riselang.frontends.c.parse.lambdas import LAMBDA, LambdaReader, is_lambda_call
from riselang.frontends.c.parse.lvalues import (
    POINTERS,
    WRAPPERS,
    format_kind,
    is_lvalue,
    is_member_of_this,
)
from riselang.frontends.c.parse.record_types import IM, RE
from riselang.frontends.c.parse.references import CLASS_FUNCTIONS, is_copy, operands_of
from riselang.frontends.c.parse.syntax import (
    CALL_THROUGH,
    Access,
    Assign,
    Binary,
    Block,
    Call,
    Conditional,
    Declare,
    Expression,
    FunctionName,
    If,
    Literal,
    Part,
    RecordValue,
    Statement,
    Unary,
    UnsupportedStatement,
    Variable,
    walk_expression,
)
from riselang.frontends.c.parse.typed_nodes import (
    compound_assignment,
    convert_to,
    truth_of,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

ARITHMETIC = frozenset(["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"])
COMPARISONS = frozenset(["<", "<=", ">", ">=", "==", "!="])
LOGICAL = frozenset(("&&", "||"))


@dataclass
class ExpressionReader(LambdaReader):
    """Reads the expressions of a file; variables are created at their first use."""

    functions: dict[Variable, Expression] = field(default_factory=dict[Variable, Expression])
    """The functions that local pointers point to; they are never changed."""
    tables: dict[Variable, Cursor] = field(default_factory=dict[Variable, Cursor])
    """The constant arrays of the file, with their declarations."""
    effects: list[Statement] = field(default_factory=list[Statement])
    """The side effects of the current statement, which come before it."""
    called: dict[str, Cursor] = field(default_factory=dict[str, Cursor])
    """The definitions of called functions that are not found by their plain names."""

    @property
    def initializers(self) -> InitializerReader:
        return InitializerReader(self.read_value, self.location_of, self.default_values)

    @contextmanager
    def collect_effects(self) -> Generator[list[Statement]]:
        """Collect the side effects of what is read in this context."""
        outer, self.effects = self.effects, []
        try:
            yield self.effects
            changes = [each for each in self.effects if not isinstance(each, Declare)]
            if changes and is_cpp(self.parsed.name):
                raise UnsupportedConstruct(
                    changes[0].location,
                    "this side effect is inside of an expression, whose order C++ defines",
                    "write it as a statement of its own",
                )
        finally:
            self.effects = outer

    def find_variable(self, cursor: Cursor) -> Variable:
        """Return the variable of a declaration."""
        cursor = referenced_definition(cursor)
        position = cursor.location
        key = (
            cursor.spelling,
            position.file.name if position.file else "",
            position.offset,
            cursor.hash,
        )
        if key not in self.variables:
            location = self.location_of(cursor)
            with self.collect_effects() as effects:
                self.variables[key] = self.make_variable(cursor)
            if effects:
                raise UnsupportedConstruct(
                    location, f"a length of {cursor.spelling} has side effects",
                    "compute the length before the declaration",
                )  # fmt: skip
            variable = self.variables[key]
            if variable.is_pointer:
                pass
            elif variable.is_global and not self._is_copied(cursor, variable):
                definition = define_global(self.parsed, cursor, variable)
                self.variables[key] = replace(variable, definition=definition)
            elif variable.is_global:
                # Each function that uses it has a copy.
                variable = self.variables[key] = replace(variable, is_global=False)
                self.tables[variable] = cursor
        return self.variables[key]

    def _is_copied(self, cursor: Cursor, variable: Variable) -> bool:
        """Whether a variable is a short constant table."""
        is_listed = any(kind_name(each) == "INIT_LIST_EXPR" for each in children(cursor))
        is_short = count_elements(variable) <= MAX_COPIED_ELEMENTS
        return variable.is_array and variable.is_constant and is_listed and is_short

    def read_value(self, cursor: Cursor) -> Expression:
        """Read an rvalue."""
        reader = _READERS.get(kind_name(cursor))
        if reader is None:
            raise UnsupportedConstruct(
                self.location_of(cursor),
                f"this kind of expression ({format_kind(kind_name(cursor))}) cannot be modeled",
                "compute it outside the region",
            )
        return reader(self, cursor)

    def read_type(self, cursor: Cursor) -> CType:
        return value_type(cursor.type, self.location_of(cursor))

    # Leaves

    def read_number(self, cursor: Cursor) -> Expression:
        value = evaluate_constant(cursor)
        if value is None:
            raise UnsupportedConstruct(self.location_of(cursor), "this constant cannot be read")
        type = self.read_type(cursor)
        return Literal(
            self.location_of(cursor), type, float(value) if type.is_float else int(value)
        )

    def read_reference(self, cursor: Cursor) -> Expression:
        declared = cursor.referenced
        location = self.location_of(cursor)
        if declared is not None and kind_name(declared) == "ENUM_CONSTANT_DECL":
            return Literal(location, INT, int(declared.enum_value))
        if declared is None or kind_name(declared) not in ("VAR_DECL", "PARM_DECL"):
            # Perhaps a parameter of a template.
            value = evaluate_constant(cursor)
            if not isinstance(value, int):
                raise UnsupportedConstruct(location, f"{cursor.spelling} is not a variable")
            return Literal(location, self.read_type(cursor), value)
        constant = self._constant_value(declared)
        if constant is not None:
            return Literal(location, self.read_type(cursor), constant)
        if is_dereferenced(declared.type):
            return self.read_element(cursor)
        variable = self.find_variable(declared)
        if variable.is_array or variable in self.pointers or variable.type is FUNCTION:
            raise UnsupportedConstruct(
                location, f"the address of {variable.name} is used as a value",
                "access its elements by subscripts",
            )  # fmt: skip
        return Access(location, variable.type, variable, ())

    def _constant_value(self, declared: Cursor) -> int | None:
        """Return the value of a constant such as `const int n = 10`."""
        type = declared.type
        if not type.is_const_qualified() or type.get_canonical().kind.name in POINTERS:
            return None
        value = evaluate_constant(declared) if kind_name(declared) == "VAR_DECL" else None
        return value if isinstance(value, int) else None

    def read_member(self, cursor: Cursor) -> Expression:
        """Read a member as a value; that of a call is a part of its result."""
        if is_member_of_this(cursor):
            return self.read_element(cursor)
        (inner,) = self.single_child(cursor)
        kind = inner.type.get_canonical().kind.name
        if kind in POINTERS or is_lvalue(inner):
            return self.read_element(cursor)
        return Part(
            self.location_of(cursor), self.read_type(cursor), self.read_value(inner),
            cursor.spelling,
        )  # fmt: skip

    # Structures

    def read_literal_record(self, cursor: Cursor) -> Expression:
        """Read `(struct s){...}`."""
        return self.read_list(children(cursor)[-1])

    def read_list(self, cursor: Cursor) -> Expression:
        """Read the initializer list of a structure."""
        location = self.location_of(cursor)
        type = self.read_type(cursor)
        values = self.initializers.read_list(cursor, type, ())
        return RecordValue(location, type, tuple(values), tuple(values.values()))

    # Operations

    def read_wrapped(self, cursor: Cursor) -> Expression:
        """Read an implicit conversion, or parentheses."""
        (inner,) = self.single_child(cursor)
        if kind_name(cursor) == "PAREN_EXPR" or cursor.type == inner.type:
            return self.read_value(inner)
        return convert_to(self.read_value(inner), self.read_type(cursor))

    def read_cast(self, cursor: Cursor) -> Expression:
        inner = children(cursor)[-1]
        return convert_to(self.read_value(inner), self.read_type(cursor))

    def read_binary(self, cursor: Cursor) -> Expression:
        operator = binary_operator(cursor)
        location = self.location_of(cursor)
        if operator == "=":
            return self.read_assigned(cursor)
        if operator == ",":
            first, second = children(cursor)
            self.effects.append(self.read_effect(first))
            return self.read_value(second)
        if operator in LOGICAL:
            return self._read_logical(cursor, operator)
        if operator not in ARITHMETIC | COMPARISONS:
            raise UnsupportedConstruct(location, f"the operator {operator} cannot be modeled here")
        left, right = (self.read_value(child) for child in children(cursor))
        return Binary(location, self.read_type(cursor), operator, left, right)

    def read_unary(self, cursor: Cursor) -> Expression:
        operator = unary_operator(cursor)
        location = self.location_of(cursor)
        (child,) = children(cursor)
        match operator:
            case "deref":
                return self.read_element(cursor)
            case "+" | "extension":
                return self.read_value(child)
            case "-" | "~" | "!":
                return Unary(location, self.read_type(cursor), operator, self.read_value(child))
            case "real" | "imag":
                return self._read_complex_part(cursor, operator)
            case "pre++" | "pre--":
                return self.read_assigned(cursor)
            case "post++" | "post--":
                return self._read_increment_after(cursor)
            case _:
                raise UnsupportedConstruct(
                    location, "this operator on an address cannot be modeled"
                )

    def _read_complex_part(self, cursor: Cursor, operator: str) -> Expression:
        """Read `__real__ z` or `__imag__ z`."""
        (child,) = children(cursor)
        name = RE if operator == "real" else IM
        if is_lvalue(child):
            return self.read_element(cursor)
        return Part(self.location_of(cursor), self.read_type(cursor), self.read_value(child), name)

    def read_imaginary(self, cursor: Cursor) -> Expression:
        """Read a literal such as `2.0i`."""
        location, (number,) = self.location_of(cursor), children(cursor)
        value = self.read_value(number)
        return RecordValue(location, self.read_type(cursor), ((IM,),), (value,))

    def _read_logical(self, cursor: Cursor, operator: str) -> Expression:
        """Read `&&` or `||`, whose right operand may have side effects if it is evaluated."""
        location = self.location_of(cursor)
        left_cursor, right_cursor = children(cursor)
        left = self.read_value(left_cursor)
        with self.collect_effects() as effects:
            right = self.read_value(right_cursor)
        if not effects:
            return Binary(location, self.read_type(cursor), operator, left, right)
        value = self._store_value(truth_of(left))
        condition = value if operator == "&&" else Unary(location, INT, "!", value)
        then = Block(location, (*effects, Assign(location, value, truth_of(right))))
        self.effects.append(If(location, condition, then, None))
        return value

    def read_conditional(self, cursor: Cursor) -> Expression:
        location, type = self.location_of(cursor), self.read_type(cursor)
        condition_cursor, *branch_cursors = children(cursor)
        condition = self.read_value(condition_cursor)
        values: list[Expression] = []
        effects: list[list[Statement]] = []
        for each in branch_cursors:
            with self.collect_effects() as found:
                values.append(self.read_value(each))
            effects.append(found)
        first, second = values
        if not any(effects):
            return Conditional(location, type, condition, first, second)
        value = self._declare_value(location, type, None)
        then, otherwise = (
            Block(location, (*found, Assign(location, value, convert_to(each, type))))
            for found, each in zip(effects, values, strict=True)
        )
        self.effects.append(If(location, condition, then, otherwise))
        return value

    # Side effects

    def read_assigned(self, cursor: Cursor) -> Access:
        """Read an assignment, or `++i`, as a value: that of its target afterwards."""
        outer: list[Statement] = []
        statement = self.read_effect(cursor)
        while isinstance(statement, Block):
            *others, statement = statement.statements
            outer += others
        if isinstance(statement, UnsupportedStatement):
            raise UnsupportedConstruct(statement.location, statement.reason, statement.help)
        assert isinstance(statement, Assign)
        self.effects += outer
        parts = (part for each in statement.target.indices for part in walk_expression(each))
        if not any(isinstance(part, Access) and part.indices for part in parts):
            self.effects.append(statement)
            return statement.target
        # The assignment may change an element that its subscripts depend on.
        value = self._store_value(statement.value)
        self.effects.append(Assign(statement.location, statement.target, value))
        return value

    def read_increment(self, cursor: Cursor) -> Statement:
        """Read `i++` or `--i` as a statement."""
        operator, location = unary_operator(cursor), self.location_of(cursor)
        target = self.read_target(children(cursor)[0])
        return compound_assignment(location, target, operator[-1], Literal(location, INT, 1))

    def read_target(self, cursor: Cursor) -> Access:
        if kind_name(cursor) == "MEMBER_REF_EXPR" and cursor.type.kind.name == "POINTER":
            raise UnsupportedConstruct(
                self.location_of(cursor), f"the pointer {cursor.spelling} of a structure changes",
                "use a local pointer that is initialized once",
            )  # fmt: skip
        is_call = kind_name(cursor) == "CALL_EXPR" and is_lvalue(cursor)
        target = self.read_element(cursor) if is_call else self.read_value(cursor)
        if not isinstance(target, Access):
            raise UnsupportedConstruct(self.location_of(cursor), "this is not an lvalue")
        return target

    def _read_increment_after(self, cursor: Cursor) -> Access:
        """Read `i++` as a value: that of its target before."""
        statement = self.read_increment(cursor)
        assert isinstance(statement, Assign)
        before = self._store_value(statement.target)
        self.effects.append(statement)
        return before

    def define_pointer(self, variable: Variable, cursor: Cursor) -> None:
        """Let a pointer stand for the part of an array that its initial value points to.

        Its subscripts are computed now, since they may change later.
        """
        is_address = variable.is_reference and variable.extents == (None,)
        part = self.read_address_of(cursor) if is_address else self.read_lvalue(cursor)
        remaining = len(part.variable.extents) - len(part.indices)
        is_row = part.is_single or remaining == 1
        if not is_row or len(variable.extents) != 1 or part.type != variable.type:
            raise UnsupportedConstruct(
                variable.location, f"{variable.name} does not point to a row of an array",
                "let it point to a row, such as a[i], or access the array by its name",
            )  # fmt: skip
        indices = tuple(map(self.fix_value, part.indices))
        offset = None if part.offset is None else self.fix_value(part.offset)
        self.pointers[variable] = replace(part, indices=indices, offset=offset)

    def fix_value(self, value: Expression) -> Expression:
        return value if isinstance(value, Literal) else self._store_value(value)

    def _store_value(self, value: Expression) -> Access:
        """Store a value in a new variable, before the current statement."""
        return self._declare_value(value.location, value.type, value)

    def _declare_value(
        self, location: SourceLocation, type: CType, value: Expression | None
    ) -> Access:
        variable = Variable("value", type, location)
        self.effects.append(Declare(location, variable, value))
        return Access(location, type, variable, ())

    def read_call(self, cursor: Cursor) -> Expression:
        location = self.location_of(cursor)
        if is_copy(cursor):
            return self.read_value(operands_of(cursor)[-1])
        if is_lambda_call(cursor):
            return self.read_lambda_call(cursor)
        if cursor.referenced is not None and kind_name(cursor.referenced) in CLASS_FUNCTIONS:
            return self.read_called_value(cursor)
        given = operands_of(cursor)
        if len(given) == len(children(cursor)):
            callee, *given = given
        else:
            # The name of an operator is between its operands.
            callee = next(each for each in children(cursor) if each not in given)
        arguments = tuple(self.read_arguments(cursor, given))
        called = self._read_function(callee)
        if isinstance(called, FunctionName):
            name = called.name
        else:
            name, arguments = CALL_THROUGH, (called, *arguments)
        result = cursor.type.get_canonical()
        # The value of a function such as memset, a pointer, is not used.
        has_value = result.kind.name not in ("VOID", "POINTER")
        type = value_type(result, location) if has_value else INT
        return Call(location, type, name, arguments)

    def _read_function(self, cursor: Cursor) -> Expression:
        """Read a function, or a pointer to one."""
        location = self.location_of(cursor)
        is_address = kind_name(cursor) == "UNARY_OPERATOR" and unary_operator(cursor) in (
            "address", "deref",
        )  # fmt: skip
        if kind_name(cursor) in WRAPPERS or is_address:
            return self._read_function(children(cursor)[-1])
        declared = cursor.referenced if kind_name(cursor) == "DECL_REF_EXPR" else None
        if declared is not None and kind_name(declared) == "FUNCTION_DECL":
            name = function_key(self.parsed, declared)
            if name != declared.spelling:
                self.called[name] = declared.get_definition()
            return FunctionName(location, FUNCTION, name)
        if declared is None or kind_name(declared) not in ("PARM_DECL", "VAR_DECL"):
            raise UnsupportedConstruct(
                location, "this call is through a function pointer that is not known",
                "call the function by its name, or choose it by if or switch",
            )  # fmt: skip
        variable = self.find_variable(declared)
        return self.functions.get(variable) or Access(location, FUNCTION, variable, ())

    def _read_argument(self, cursor: Cursor) -> Expression:
        if is_function_pointer(cursor.type):
            return self._read_function(cursor)
        if cursor.type.get_canonical().kind.name in POINTERS:
            return self.read_lvalue(cursor)
        return self.read_value(cursor)

    def define_function_pointer(self, variable: Variable, cursor: Cursor) -> None:
        """Let a local pointer stand for the function that it is initialized with."""
        self.functions[variable] = self._read_function(cursor)


_READERS: Mapping[str, Callable[[ExpressionReader, Cursor], Expression]] = {
    "INTEGER_LITERAL": ExpressionReader.read_number,
    "FLOATING_LITERAL": ExpressionReader.read_number,
    "IMAGINARY_LITERAL": ExpressionReader.read_imaginary,
    "CHARACTER_LITERAL": ExpressionReader.read_number,
    "CXX_BOOL_LITERAL_EXPR": ExpressionReader.read_number,
    "CXX_UNARY_EXPR": ExpressionReader.read_number,
    "DECL_REF_EXPR": ExpressionReader.read_reference,
    "ARRAY_SUBSCRIPT_EXPR": ExpressionReader.read_element,
    "MEMBER_REF_EXPR": ExpressionReader.read_member,
    "COMPOUND_LITERAL_EXPR": ExpressionReader.read_literal_record,
    "INIT_LIST_EXPR": ExpressionReader.read_list,
    LAMBDA: ExpressionReader.refuse_lambda,
    "UNEXPOSED_EXPR": ExpressionReader.read_wrapped,
    "PAREN_EXPR": ExpressionReader.read_wrapped,
    "CSTYLE_CAST_EXPR": ExpressionReader.read_cast,
    "CXX_STATIC_CAST_EXPR": ExpressionReader.read_cast,
    "CXX_CONST_CAST_EXPR": ExpressionReader.read_cast,
    "CXX_FUNCTIONAL_CAST_EXPR": ExpressionReader.read_cast,
    "BINARY_OPERATOR": ExpressionReader.read_binary,
    "UNARY_OPERATOR": ExpressionReader.read_unary,
    "CONDITIONAL_OPERATOR": ExpressionReader.read_conditional,
    "COMPOUND_ASSIGNMENT_OPERATOR": ExpressionReader.read_assigned,
    "CALL_EXPR": ExpressionReader.read_call,
}
