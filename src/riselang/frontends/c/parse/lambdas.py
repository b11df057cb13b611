"""Lambdas of C++ that are called by their names, or where they are written.

A lambda becomes a function of the file whose first parameters are the variables that it captures.
Each call passes them, so that the inliner finds them in functions that are inlined themselves.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from riselang.frontends.c.parse.c_types import INT
from riselang.frontends.c.parse.clang import Cursor, children, kind_name
from riselang.frontends.c.parse.class_functions import ClassReader
from riselang.frontends.c.parse.cpp_functions import is_lambda
from riselang.frontends.c.parse.declarations import value_type
from riselang.frontends.c.parse.references import split_operands, unwrapped
from riselang.frontends.c.parse.syntax import (
    Access,
    ArrayValue,
    Block,
    Call,
    Declare,
    Expression,
    For,
    Function,
    Statement,
    Variable,
    direct_expressions,
    walk_expression,
    walk_statement,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct

LAMBDA = "LAMBDA_EXPR"


@dataclass
class LambdaReader(ClassReader):
    """Reads lambdas as functions."""

    read_effect: Callable[[Cursor], Statement]
    """Reads an expression with side effects as a statement, and blocks."""
    lambdas: dict[str, Function] = field(default_factory=dict[str, Function], kw_only=True)
    """The functions of lambdas, by their names in calls."""
    _captures: dict[str, tuple[Expression, ...]] = field(
        default_factory=dict[str, tuple[Expression, ...]], kw_only=True
    )
    """What calls of lambdas pass for the variables that they capture."""

    @abstractmethod
    def fix_value(self, value: Expression) -> Expression:
        """Store a value that may change later."""

    def define_lambda(self, cursor: Cursor) -> None:
        """Read a lambda where it is written: what it copies is copied now."""
        self._read_lambda(unwrapped(cursor))

    def read_lambda_call(self, call: Cursor) -> Call:
        """Read the call of a lambda."""
        location = self.location_of(call)
        (object,), given = split_operands(call, is_member=True)
        function = self._find_lambda(object)
        arguments = tuple(self.read_arguments(call, given))
        is_void = call.type.get_canonical().kind.name == "VOID"
        result = None if is_void else value_type(call.type, location)
        self.lambdas[function.name] = replace(function, result=result)
        arguments = (*self._captures[function.name], *arguments)
        return Call(location, result or INT, function.name, arguments)

    def read_called_lvalue(self, cursor: Cursor) -> ArrayValue:
        if is_lambda_call(cursor):
            (object,), _ = split_operands(cursor, is_member=True)
            function = self._find_lambda(object)
            if self._captures[function.name] != tuple(map(_as_argument, function.captured)):
                raise UnsupportedConstruct(
                    self.location_of(cursor),
                    "this lambda copies variables, but returns a reference",
                    "capture them by reference",
                )
        return super().read_called_lvalue(cursor)

    def refuse_lambda(self, cursor: Cursor) -> Expression:
        """Refuse a lambda that is a value."""
        raise UnsupportedConstruct(
            self.location_of(cursor), "this lambda is used as a value",
            "call it by its name where it is defined, or pass a function of the file",
        )  # fmt: skip

    def _find_lambda(self, object: Cursor) -> Function:
        """Return the function of a lambda, or of a variable that is one."""
        found = unwrapped(object)
        if kind_name(found) == LAMBDA:
            return self._read_lambda(found)
        declared = found.referenced
        if declared is None or kind_name(declared) != "VAR_DECL":
            self.refuse_lambda(object)
        initial = [each for each in children(declared) if each.kind.is_expression()]
        name = self._name_of(unwrapped(initial[-1])) if initial else ""
        if name not in self.lambdas:
            self.refuse_lambda(object)
        return self.lambdas[name]

    def _name_of(self, cursor: Cursor) -> str:
        return f"the lambda at {self.location_of(cursor)}"

    def _read_lambda(self, cursor: Cursor) -> Function:
        name, location = self._name_of(cursor), self.location_of(cursor)
        copies, copied, referenced = self._capture_modes(cursor)
        parameters = [each for each in children(cursor) if kind_name(each) == "PARM_DECL"]
        body = self.read_effect(children(cursor)[-1])
        assert isinstance(body, Block)
        own = tuple(map(self.find_variable, parameters))
        captured = _free_variables(body, own)
        passed: list[Expression] = []
        for each in captured:
            is_copied = each.name in copied or (copies and each.name not in referenced)
            is_pointer = each.is_pointer and not each.is_reference
            is_same = is_pointer or not is_copied
            passed.append(_as_argument(each) if is_same else self._copy_captured(each, cursor))
        self._captures[name] = tuple(passed)
        function = Function(
            name, location, None, (*captured, *own), body,
            is_static=True, is_only_called=True, captured=captured,
        )  # fmt: skip
        self.lambdas[name] = function
        return function

    def _copy_captured(self, variable: Variable, cursor: Cursor) -> Access:
        location = self.location_of(cursor)
        if variable.is_array or variable.type.is_record:
            raise UnsupportedConstruct(
                location, f"this lambda copies {variable.name}, which is not a number",
                f"capture it by reference: [&{variable.name}]",
            )  # fmt: skip
        value = self.fix_value(Access(location, variable.type, variable, ()))
        assert isinstance(value, Access)
        return value

    def _capture_modes(self, cursor: Cursor) -> tuple[bool, set[str], set[str]]:
        """Return whether a lambda copies by default, and what it copies and references by name."""
        location = self.location_of(cursor)
        tokens = [token.spelling for token in cursor.get_tokens()]
        head = tokens[: tokens.index("]")] if "]" in tokens else []
        end = tokens.index("{") if "{" in tokens else 0
        if head[:1] != ["["] or "mutable" in tokens[:end] or "this" in head or "*" in head:
            raise UnsupportedConstruct(
                location, "the captures of this lambda cannot be modeled",
                "capture variables by name, or all of them by [&] or [=]",
            )  # fmt: skip
        copies, copied, referenced = False, set[str](), set[str]()
        for entry in " ".join(head[1:]).split(","):
            match entry.split():
                case [] | ["&"]:
                    pass
                case ["="]:
                    copies = True
                case ["&", name]:
                    referenced.add(name)
                case [name]:
                    copied.add(name)
                case _:
                    raise UnsupportedConstruct(
                        location, f"the capture {entry.strip()} has a value of its own",
                        "define a variable before the lambda, and capture it",
                    )  # fmt: skip
        return copies, copied, referenced


def is_lambda_call(call: Cursor) -> bool:
    """Whether a call is one of a lambda: its class has no name."""
    declared = call.referenced
    if declared is None or declared.spelling != "operator()":
        return False
    return is_lambda(declared.semantic_parent.type)


def _as_argument(variable: Variable) -> Expression:
    """Return a captured variable as an argument."""
    if variable.is_array:
        return ArrayValue(variable.location, variable.type, variable, ())
    return Access(variable.location, variable.type, variable, ())


def _free_variables(body: Block, own: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """Return the variables of a body that are defined outside of it."""
    declared = set(own)
    for statement in walk_statement(body):
        if isinstance(statement, Declare) or (
            isinstance(statement, For) and statement.declares_variable
        ):
            declared.add(statement.variable)
    found = dict.fromkeys(variable.root for variable in _used_variables(body))
    return tuple(each for each in found if each not in declared and not each.is_global)


def _used_variables(body: Block) -> Iterator[Variable]:
    for statement in walk_statement(body):
        roots = list(direct_expressions(statement))
        if isinstance(statement, For):
            yield statement.variable
        if isinstance(statement, Declare):
            roots += [each for each in statement.variable.extents if each is not None]
        for root in roots:
            for part in walk_expression(root):
                if isinstance(part, Access | ArrayValue):
                    yield part.variable
