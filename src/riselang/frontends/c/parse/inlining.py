"""Inlining of calls to functions that the file defines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from riselang.frontends.c.parse.c_types import FUNCTION, INT, CType
from riselang.frontends.c.parse.containers import SPAN, ContainerType, is_vector_of
from riselang.frontends.c.parse.jump_removal import remove_returns
from riselang.frontends.c.parse.substitution import (
    map_operands,
    substitute_expression,
    substitute_statement,
)
from riselang.frontends.c.parse.syntax import (
    CALL_THROUGH,
    Access,
    ArrayValue,
    Assign,
    Binary,
    Block,
    Call,
    Conditional,
    Convert,
    Declare,
    Evaluate,
    Expression,
    For,
    Function,
    FunctionName,
    If,
    Literal,
    Return,
    Statement,
    Unary,
    Variable,
    While,
    direct_expressions,
    walk_expression,
    walk_statement,
    walk_statements,
)
from riselang.frontends.c.parse.typed_nodes import convert_to, truth_of
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.parse.while_loops import count_as_while
from riselang.support.errors import SourceLocation

MAX_INLINED_CALLS = 1000
"""The limit on inlined calls in one region, including nested ones."""


@dataclass
class Inliner:
    """Inlines the calls in statements, one at a time."""

    functions: Mapping[str, Function]
    _active: list[str] = field(default_factory=list[str])
    _preceding: list[Statement] = field(default_factory=list[Statement])
    """The statements that have to run before the current one."""
    _count: int = 0
    _current: Statement | None = None
    """The statement whose calls are inlined."""

    def inline_statements(self, statements: Sequence[Statement]) -> tuple[Statement, ...]:
        return tuple(
            inlined for statement in statements for inlined in self.inline_statement(statement)
        )

    def inline_statement(self, statement: Statement) -> list[Statement]:
        """Return the statements that replace a statement: its inlined calls, then itself."""
        outer, self._preceding = self._preceding, []
        outer_statement, self._current = self._current, statement
        try:
            rewritten = self._rewrite_statement(statement)
            return [*self._preceding, *([rewritten] if rewritten is not None else [])]
        finally:
            self._preceding, self._current = outer, outer_statement

    def _rewrite_statement(self, statement: Statement) -> Statement | None:
        match statement:
            case Block():
                return replace(statement, statements=self.inline_statements(statement.statements))
            case If():
                otherwise = statement.otherwise
                return replace(
                    statement,
                    condition=self.inline_value(statement.condition),
                    then=self._inline_block(statement.then),
                    otherwise=None if otherwise is None else self._inline_block(otherwise),
                )
            case For():
                return self._inline_loop(statement)
            case While():
                return self._inline_while(statement)
            case Assign():
                target = map_operands(statement.target, self.inline_value)
                assert isinstance(target, Access)
                return replace(statement, target=target, value=self.inline_value(statement.value))
            case Declare(value=Expression() as value):
                return replace(statement, value=self.inline_value(value))
            case Return(value=Expression() as value):
                return replace(statement, value=self.inline_value(value))
            case Evaluate(call=call) if call.function == CALL_THROUGH:
                return self._rewrite_statement(replace(statement, call=_direct_call(call)))
            case Evaluate() if statement.call.function in self.functions:
                self._insert_body(statement.call)
                return None
            case _:
                return statement

    def _inline_block(self, statement: Statement) -> Statement:
        inlined = self.inline_statement(statement)
        return inlined[0] if len(inlined) == 1 else Block(statement.location, tuple(inlined))

    def _inline_loop(self, statement: For) -> Statement:
        before_first, first = self._inline_guarded(statement.first)
        before_condition, condition = self._inline_guarded(statement.condition)
        if before_condition:
            # It is evaluated in every iteration.
            inlined = self.inline_statement(count_as_while(statement))
            return Block(statement.location, tuple(inlined))
        self._preceding += before_first
        body = self._inline_block(statement.body)
        return replace(statement, first=first, condition=condition, body=body)

    def _inline_while(self, statement: While) -> While:
        """Inline calls; those in the condition run in every iteration."""
        prelude = self.inline_statements(statement.prelude.statements)
        outer, self._preceding = self._preceding, []
        try:
            condition = self.inline_value(statement.condition)
            prelude = (*prelude, *self._preceding)
        finally:
            self._preceding = outer
        return replace(
            statement,
            prelude=replace(statement.prelude, statements=prelude),
            condition=condition,
            body=self._inline_block(statement.body),
            update=replace(
                statement.update, statements=self.inline_statements(statement.update.statements)
            ),
        )

    # Values

    def inline_value(self, expression: Expression) -> Expression:
        match expression:
            case Conditional():
                return self._inline_conditional(expression)
            case Binary(operator="&&" | "||"):
                return self._inline_logical(expression)
            case Call() if expression.function == CALL_THROUGH:
                return self.inline_value(_direct_call(expression))
            case Call() if expression.function in self.functions:
                return self._inline_call(expression)
            case _:
                return map_operands(expression, self.inline_value)

    def _inline_conditional(self, expression: Conditional) -> Expression:
        condition = self.inline_value(expression.condition)
        before_first, first = self._inline_guarded(expression.first)
        before_second, second = self._inline_guarded(expression.second)
        if not before_first and not before_second:
            return replace(expression, condition=condition, first=first, second=second)
        location = expression.location
        value = self._declare_value(location, expression.type, None)
        branches = [
            Block(location, (*before, Assign(location, value, convert_to(each, value.type))))
            for before, each in ((before_first, first), (before_second, second))
        ]
        self._preceding.append(If(location, condition, *branches))
        return value

    def _inline_logical(self, expression: Binary) -> Expression:
        left = self.inline_value(expression.left)
        before, right = self._inline_guarded(expression.right)
        if not before:
            return replace(expression, left=left, right=right)
        location = expression.location
        value = self._declare_value(location, INT, truth_of(left))
        condition = value if expression.operator == "&&" else Unary(location, INT, "!", value)
        then = Block(location, (*before, Assign(location, value, truth_of(right))))
        self._preceding.append(If(location, condition, then, None))
        return value

    def _inline_guarded(self, expression: Expression) -> tuple[list[Statement], Expression]:
        """Inline an operand that may not be evaluated; return what runs before it."""
        outer, self._preceding = self._preceding, []
        try:
            value = self.inline_value(expression)
            return self._preceding, value
        finally:
            self._preceding = outer

    def _declare_value(
        self, location: SourceLocation, type: CType, value: Expression | None
    ) -> Access:
        variable = Variable("value", type, location)
        self._preceding.append(Declare(location, variable, value))
        return Access(location, type, variable, ())

    def _inline_call(self, call: Call) -> Expression:
        arguments = [self.inline_value(argument) for argument in call.arguments]
        function = self._enter_function(call)
        values = dict(zip(function.parameters, arguments, strict=True))
        self._check_arrays(call, function, values)
        result = _function_value(function.body.statements, values)
        if result is not None and not _has_addresses(function):
            value = self.inline_value(result)
            self._active.pop()
            return convert_to(value, call.type)
        self._check_effects(call, _effects(function, values, self.functions))
        self._active.pop()
        returned = self._insert_body(call)
        if returned is None:
            raise UnsupportedConstruct(
                call.location, f"{call.function} does not end by returning a value"
            )
        return convert_to(returned, call.type)

    def _check_effects(self, call: Call, effects: set[Variable] | None) -> None:
        """Check that nothing else in the statement depends on the effects of a call: C leaves the
        order open."""
        if effects is not None and not effects:
            return
        parts = [] if self._current is None else list(_evaluated_parts(self._current))
        calls = [
            each for each in parts
            if isinstance(each, Call) and each.function in self.functions
            and _effects(self.functions[each.function], {}, self.functions) != set()
        ]  # fmt: skip
        inside = {id(part) for part in walk_expression(call)}
        others = {
            part.variable.root for part in parts
            if isinstance(part, Access | ArrayValue) and id(part) not in inside
        }  # fmt: skip
        if effects is None or len(calls) != 1 or others & effects:
            raise UnsupportedConstruct(
                call.location,
                f"{call.function} is called for its value, but also has side effects",
                "call it in a statement of its own",
            )

    def _enter_function(self, call: Call) -> Function:
        function = self.functions[call.function]
        if call.function in self._active:
            raise UnsupportedConstruct(
                call.location, f"{call.function} calls itself", "write the recursion as a loop"
            )
        if function.unsupported is not None or len(function.parameters) != len(call.arguments):
            reason = (
                function.unsupported[1] if function.unsupported else "its argument count differs"
            )
            raise UnsupportedConstruct(
                call.location, f"{call.function} cannot be inlined: {reason}"
            )
        self._count += 1
        if self._count > MAX_INLINED_CALLS:
            raise UnsupportedConstruct(
                call.location, f"there are more than {MAX_INLINED_CALLS} calls to inline"
            )
        self._active.append(call.function)
        return function

    # Statements

    def _insert_body(self, call: Call) -> Expression | None:
        """Insert the body of a function before the current statement, and return its return
        value."""
        arguments = [self.inline_value(argument) for argument in call.arguments]
        function = self._enter_function(call)
        values: dict[Variable, Expression] = {}
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            if parameter in function.captured or _is_span(argument):
                values[parameter] = argument
                continue
            if isinstance(argument, ArrayValue):
                values[parameter] = self._fix_address(argument)
                continue
            if parameter.is_array or parameter.type is FUNCTION:
                values[parameter] = argument
                continue
            local = replace(parameter, is_parameter=False)
            values[parameter] = Access(argument.location, local.type, local, ())
            initial_value = convert_to(argument, local.type)
            self._preceding.append(Declare(argument.location, local, initial_value))
        self._check_arrays(
            call, function, dict(zip(function.parameters, call.arguments, strict=True))
        )
        statements = remove_returns(function)
        for statement in walk_statements(statements):
            if isinstance(statement, Declare | For):
                variable = statement.variable
                if variable not in values and (
                    isinstance(statement, Declare) or statement.declares_variable
                ):
                    values[variable] = _copy_variable(variable, values)
        *body, last = statements or (Block(function.location, ()),)
        if not isinstance(last, Return):
            body.append(last)
        for statement in body:
            self._preceding.extend(self.inline_statement(substitute_statement(statement, values)))
        returned: Expression | None = None
        if isinstance(last, Return) and last.value is not None:
            returned = self.inline_value(substitute_expression(last.value, values))
        self._active.pop()
        return returned

    def _fix_address(self, array: ArrayValue) -> ArrayValue:
        """Store indices that the called function may change."""
        indices = tuple(map(self._fix_index, array.indices))
        offset = None if array.offset is None else self._fix_index(array.offset)
        return replace(array, indices=indices, offset=offset)

    def _fix_index(self, index: Expression) -> Expression:
        may_change = any(
            isinstance(part, Access) and (part.indices or part.variable.root.is_global)
            for part in walk_expression(index)
        )
        return self._declare_value(index.location, index.type, index) if may_change else index

    def _check_arrays(
        self, call: Call, function: Function, values: Mapping[Variable, Expression]
    ) -> None:
        """Check that the rows of an array have the same length in the function and in its
        caller."""
        scalars = {v: e for v, e in values.items() if not v.is_array}
        for parameter, argument in values.items():
            if not parameter.is_array or parameter in function.captured:
                continue
            if not isinstance(argument, ArrayValue):
                raise UnsupportedConstruct(
                    argument.location, f"{parameter.name} of {call.function} is an array"
                )
            if argument.is_single:
                self._check_single(call, parameter, argument)
                continue
            theirs = argument.variable.extents[len(argument.indices) :]
            ours = parameter.extents
            is_same = len(ours) == len(theirs) and all(
                _is_same_length(a, b, scalars) for a, b in zip(ours[1:], theirs[1:], strict=True)
            )
            if parameter.row_pointers:
                is_whole = not argument.indices and argument.offset is None
                is_same = is_whole and argument.variable.row_pointers == parameter.row_pointers
            type = argument.variable.type
            is_same = is_same and (type == parameter.type or is_vector_of(parameter.type, type))
            if not is_same:
                raise UnsupportedConstruct(
                    argument.location,
                    f"{argument.variable.name} has rows of different lengths than "
                    f"{parameter.name} of {call.function}",
                    "declare both with the same lengths",
                )

    def _check_single(self, call: Call, parameter: Variable, argument: ArrayValue) -> None:
        """Check that a pointer parameter points to elements of the type whose address is passed."""
        if len(parameter.extents) != 1 or argument.type != parameter.type:
            raise UnsupportedConstruct(
                argument.location,
                f"{parameter.name} of {call.function} does not point to {argument.type}",
                "declare the parameter as a pointer to this type",
            )


def _is_span(argument: Expression) -> bool:
    """Whether an argument is a std::span, whose members do not change."""
    return (
        isinstance(argument, Access)
        and isinstance(argument.type, ContainerType)
        and (argument.type.container == SPAN)
    )


def _direct_call(call: Call) -> Call:
    """Return a call through a pointer as one of the function that the pointer points to."""
    pointer, *arguments = call.arguments
    if isinstance(pointer, Access) and pointer.variable.is_parameter:
        raise UnsupportedConstruct(
            call.location, f"{pointer.variable.name} is a function that callers choose",
            "call a function of the file by its name",
        )  # fmt: skip
    if not isinstance(pointer, FunctionName):
        raise UnsupportedConstruct(
            call.location, "this call is through a function pointer that is not known",
            "call the function by its name, or choose it by if or switch",
        )  # fmt: skip
    return replace(call, function=pointer.name, arguments=tuple(arguments))


def _evaluated_parts(statement: Statement) -> Iterator[Expression]:
    """Yield the expressions that a statement evaluates before it has an effect itself."""
    roots = direct_expressions(statement)
    if isinstance(statement, Assign):
        roots = (*statement.target.indices, statement.value)
    for root in roots:
        yield from walk_expression(root)


def _copy_variable(variable: Variable, values: Mapping[Variable, Expression]) -> Expression:
    """Return a fresh copy of a function's variable for one of its calls."""
    extents = tuple(
        None if e is None else substitute_expression(e, values) for e in variable.extents
    )
    copy = replace(variable, extents=extents)
    if copy.is_array:
        return ArrayValue(copy.location, copy.type, copy, ())
    return Access(copy.location, copy.type, copy, ())


def _is_same_length(
    ours: Expression | None, theirs: Expression | None, values: Mapping[Variable, Expression]
) -> bool:
    if ours is None or theirs is None:
        return False
    left, right = (
        _strip_conversions(substitute_expression(ours, values)),
        _strip_conversions(theirs),
    )
    if isinstance(left, Literal) and isinstance(right, Literal):
        return left.value == right.value
    return left == right


def _strip_conversions(expression: Expression) -> Expression:
    while isinstance(expression, Convert):
        expression = expression.operand
    return expression


def _function_value(
    statements: Sequence[Statement], values: Mapping[Variable, Expression]
) -> Expression | None:
    """Return the value of a function without side effects as one expression."""
    known = dict(values)
    for position, statement in enumerate(statements):
        following = statements[position + 1 :]
        match statement:
            case Return(value=Expression() as value):
                return substitute_expression(value, known)
            case Block():
                return _function_value((*statement.statements, *following), known)
            case Declare(value=Expression() as value, variable=variable):
                # Where a variable is assigned, the function is not an expression.
                if variable.is_array:
                    return None
                known[variable] = substitute_expression(value, known)
            case If():
                first = _function_value((statement.then, *following), known)
                otherwise = () if statement.otherwise is None else (statement.otherwise,)
                second = _function_value((*otherwise, *following), known)
                if first is None or second is None:
                    return None
                condition = substitute_expression(statement.condition, known)
                return Conditional(statement.location, first.type, condition, first, second)
            case _:
                return None
    return None


def _has_addresses(function: Function) -> bool:
    """Whether a function passes addresses of its own variables, which values do not have."""
    return any(
        isinstance(part, ArrayValue) and not part.variable.root.is_array
        for statement in walk_statement(function.body)
        for expression in direct_expressions(statement)
        for part in walk_expression(expression)
    )


def _effects(
    function: Function, values: Mapping[Variable, Expression], functions: Mapping[str, Function]
) -> set[Variable] | None:
    """Return the variables of the caller that a function changes; None if they are not known."""
    own = {v for v in function.parameters if not v.is_array} - set(function.captured)
    for statement in walk_statement(function.body):
        if isinstance(statement, Declare | For):
            own.add(statement.variable)
    changed: set[Variable] = set()
    for statement in walk_statement(function.body):
        roots: set[Variable] = set()
        if isinstance(statement, Evaluate):
            called = _effects_of_call(statement.call, function, functions)
            if called is None:
                return None
            roots = called
        elif isinstance(statement, Assign):
            roots = {statement.target.variable.root}
        for root in roots - own:
            argument = values.get(root)
            is_variable = isinstance(argument, Access | ArrayValue)
            changed.add(argument.variable.root if is_variable else root)
    return changed


def _effects_of_call(
    call: Call, caller: Function, functions: Mapping[str, Function]
) -> set[Variable] | None:
    """Return the variables of a function that a call in it changes."""
    function = functions.get(call.function)
    if function is None or function is caller or len(function.parameters) != len(call.arguments):
        return None
    values = dict(zip(function.parameters, call.arguments, strict=True))
    inner = {name: each for name, each in functions.items() if each is not caller}
    return _effects(function, values, inner)
