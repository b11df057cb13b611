"""C source of the loops of a region: readable, with OpenMP pragmas, and with the same results.

The loops are those of the schedule without unrolled tiles, which a C compiler unrolls itself. All
loop variables are `long`, and conversions are explicit, so that no arithmetic depends on the types
of variables that C leaves implicit.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from riselang.frontends.c.emit.c_entry_points import is_buffer
from riselang.frontends.c.emit.c_expressions import (
    HELPERS,
    LOWEST,
    UNARY,
    CExpressions,
    CText,
    IslExpressions,
    type_name,
)
from riselang.frontends.c.emit.isl_ast import callee_name, is_parallel_loop
from riselang.frontends.c.emit.isl_expressions import operation_name, read_number
from riselang.frontends.c.emit.parallel_loops import MAX_DEPTH
from riselang.frontends.c.emit.prototypes import format_prototype
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse import syntax
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Declare,
    If,
    Statement,
    Variable,
    While,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct

INDENT = "  "
_KEYWORDS = frozenset((
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
    "unsigned", "void", "volatile", "while",
))  # fmt: skip


@dataclass
class CWriter:
    """Writes the loops of a region as C."""

    scop: Scop
    is_inline: bool = False
    """Whether the text replaces the region, where its variables are in scope."""
    lines: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._depth = 1
        self._loops = 0
        self._is_parallel = False
        self._names: dict[Variable, str] = {v: v.name for v in self.scop.inputs}
        self._used = {*self._names.values(), *_KEYWORDS, *HELPERS}
        for variable in self.scop.locals:
            self._names[variable] = self._fresh(variable.ascii_name)
        self._isl_names: dict[str, CText] = {}
        self._isl = IslExpressions(self._isl_names)
        self._values = CExpressions(self._format_variable, self.scop.fixed_values)

    @property
    def helpers(self) -> list[str]:
        """The definitions of the functions that the text calls."""
        return [HELPERS[name] for name in sorted(self._isl.helpers)]

    def write_body(self, tree: Any) -> str:
        """Return the statements of the region, with the loops of isl's AST."""
        for variable in (*self.scop.inputs, *self.scop.locals):
            if variable.member is not None or variable.row_pointers or variable.type.is_complex:
                raise UnsupportedConstruct(
                    variable.root.location,
                    f"{variable.root.name} has members or row pointers, which are not written as C",
                )
        for variable in self.scop.locals:
            lengths = "".join(
                f"[{self._values.format(extent)}]" for extent in variable.extents if extent
            )
            self._add(f"{type_name(variable.type)} {self._names[variable]}{lengths};")
        for parameter in self.scop.parameters:
            self._isl_names[parameter.name] = self._format_parameter(parameter.source)
        if tree is not None:
            self._write_node(tree)
        if self.scop.result is not None:
            self._add(f"return {self._values.format(self.scop.result)};")
        return "\n".join(self.lines)

    # Names

    def _fresh(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._used:
            number += 1
            name = f"{wanted}{number}"
        self._used.add(name)
        return name

    def _format_variable(self, variable: Variable) -> str:
        if variable not in self._names:
            raise UnsupportedConstruct(
                variable.location, f"{variable.name} cannot be written as C here"
            )
        is_pointer = variable in self.scop.inputs and not variable.is_array and not self.is_inline
        if is_pointer and is_buffer(self.scop, variable):
            return f"(*{self._names[variable]})"
        return self._names[variable]

    def _format_parameter(self, source: Any) -> CText:
        if isinstance(source, tuple):
            return CText(" * ".join(self._format_linear(each) for each in source), UNARY - 2)
        if isinstance(source, Variable):
            source = Access(source.location, source.type, source, ())
        text = self._values.format(source, UNARY)
        if source.type.bits == 32 and source.type.is_signed:
            return CText(text, UNARY, is_long=False)
        return CText(f"(long){text}", UNARY)

    def _format_linear(self, linear: Linear) -> str:
        terms = [
            f"{factor} * {self._isl_names[atom].inside(UNARY)}"
            for atom, factor in linear.terms
            if isinstance(atom, str)
        ]
        if len(terms) != len(linear.terms):
            raise UnsupportedConstruct(self.scop.location, "a stride cannot be written as C")
        return f"(long)({' + '.join([*terms, str(linear.constant)])})"

    # Lines

    def _add(self, text: str) -> None:
        self.lines.append(f"{INDENT * self._depth}{text}")

    @contextmanager
    def _block(self, head: str, end: str = "}") -> Generator[None]:
        self._add(f"{head} {{")
        self._depth += 1
        yield
        self._depth -= 1
        self._add(end)

    # Loops

    def _write_node(self, node: Any) -> None:
        types, kind = isl().ast_node_type, node.get_type()
        if kind == types.block:
            children = node.block_get_children()
            for position in range(children.n_ast_node()):
                self._write_node(children.get_at(position))
        elif kind == types.for_:
            self._write_for(node)
        elif kind == types.if_:
            self._write_if(node)
        elif kind == types.mark:
            self._write_node(node.mark_get_node())
        else:
            self._write_user(node.user_get_expr())

    def _write_for(self, node: Any) -> None:
        key = node.for_get_iterator().get_id().get_name()
        outer = self._isl_names.get(key)
        first = self._isl.read(node.for_get_init())
        if node.for_is_degenerate():
            self._isl_names[key] = first
            self._write_node(node.for_get_body())
        else:
            self._write_counted(node, key, first)
        if outer is not None:
            self._isl_names[key] = outer

    def _write_counted(self, node: Any, key: str, first: CText) -> None:
        name = self._fresh(self._source_name(node, key))
        self._isl_names[key] = CText(name)
        condition = node.for_get_cond()
        test = {"le": "<=", "lt": "<"}[operation_name(condition)]
        end = self._isl.format(condition.get_op_arg(1), 11)
        step = read_number(node.for_get_inc())
        increment = f"{name}++" if step == 1 else f"{name} += {step}"
        was_parallel = self._is_parallel
        has_loops = _has_loops(node.for_get_body())
        if is_parallel_loop(node) and not has_loops:
            self._add("#pragma omp simd")
        elif is_parallel_loop(node) and not self._is_parallel and self._loops <= MAX_DEPTH:
            self._is_parallel = True
            self._add("#pragma omp parallel for")
        self._loops += 1
        with self._block(f"for (long {name} = {first.text}; {name} {test} {end}; {increment})"):
            self._write_node(node.for_get_body())
        self._loops -= 1
        self._is_parallel = was_parallel
        self._used.discard(name)

    def _source_name(self, node: Any, key: str) -> str:
        """Return the name of the C loop of which a loop is made, or one that is made of it."""
        for call in _calls(node):
            statement = self.scop.find_statement(callee_name(call))
            for position, (variable, _) in enumerate(statement.iterators):
                text = call.get_op_arg(position + 1).to_C_str()
                if text == key:
                    return variable.ascii_name
                if key in text:
                    return f"{variable.ascii_name}_{key.strip('t_')}"
        return "t"

    def _write_if(self, node: Any) -> None:
        condition = self._isl.format(node.if_get_cond())
        has_else = node.if_has_else_node()
        with self._block(f"if ({condition})", "} else {" if has_else else "}"):
            self._write_node(node.if_get_then_node())
        if has_else:
            self._depth += 1
            self._write_node(node.if_get_else_node())
            self._depth -= 1
            self._add("}")

    def _write_user(self, call: Any) -> None:
        statement = self.scop.find_statement(callee_name(call))
        self._values.counters = {
            variable: self._isl.read(call.get_op_arg(position + 1))
            for position, (variable, _) in enumerate(statement.iterators)
        }
        self._write_statement(statement.body)
        self._values.counters = {}

    # Statements

    def _write_statement(self, statement: Statement) -> None:
        match statement:
            case Assign():
                self._add(self._format_assign(statement))
            case syntax.Block():
                for inner in statement.statements:
                    self._write_statement(inner)
            case Declare(value=None):
                pass
            case Declare(variable=variable, value=syntax.Expression() as value):
                self._add(f"{self._format_variable(variable)} = {self._values.format(value)};")
            case If():
                self._write_data_if(statement)
            case syntax.For():
                self._write_data_for(statement)
            case While():
                self._write_while(statement)
            case _:
                raise UnsupportedConstruct(
                    statement.location, "this statement cannot be written as C"
                )

    def _format_assign(self, statement: Assign) -> str:
        target, value = self._values.format(statement.target), statement.value
        if isinstance(value, Binary) and value.left == statement.target:
            return f"{target} {value.operator}= {self._values.format(value.right)};"
        return f"{target} = {self._values.format(value, LOWEST)};"

    def _write_data_if(self, statement: If) -> None:
        otherwise = statement.otherwise
        end = "}" if otherwise is None else "} else {"
        with self._block(f"if ({self._values.format(statement.condition)})", end):
            self._write_statement(statement.then)
        if otherwise is not None:
            self._depth += 1
            self._write_statement(otherwise)
            self._depth -= 1
            self._add("}")

    def _write_data_for(self, loop: syntax.For) -> None:
        variable = loop.variable
        outer = self._names.get(variable)
        first = self._values.format(loop.first)
        self._names[variable] = name = self._fresh(variable.ascii_name)
        condition = self._values.format(loop.condition)
        head = f"for ({type_name(variable.type)} {name} = {first}; {condition}; {name} += "
        with self._block(f"{head}{loop.step})"):
            self._write_statement(loop.body)
        self._used.discard(name)
        if outer is not None:
            self._names[variable] = outer

    def _write_while(self, loop: While) -> None:
        condition = self._values.format(loop.condition)
        if loop.tests_last:
            with self._block("do", f"}} while ({condition});"):
                for part in (loop.body, loop.update, loop.prelude):
                    self._write_statement(part)
            return
        is_simple = not loop.prelude.statements
        with self._block(f"while ({condition})" if is_simple else "for (;;)"):
            self._write_statement(loop.prelude)
            if not is_simple:
                self._add(f"if (!({condition}))")
                self._add(f"{INDENT}break;")
            self._write_statement(loop.body)
            self._write_statement(loop.update)


def _calls(node: Any) -> list[Any]:
    """Return all calls of statements in a node."""
    types, kind = isl().ast_node_type, node.get_type()
    if kind == types.user:
        return [node.user_get_expr()]
    if kind == types.for_:
        return _calls(node.for_get_body())
    if kind == types.mark:
        return _calls(node.mark_get_node())
    if kind == types.if_:
        rest = _calls(node.if_get_else_node()) if node.if_has_else_node() else []
        return [*_calls(node.if_get_then_node()), *rest]
    children = node.block_get_children()
    return [call for at in range(children.n_ast_node()) for call in _calls(children.get_at(at))]


def _has_loops(node: Any) -> bool:
    types, kind = isl().ast_node_type, node.get_type()
    if kind == types.for_:
        return not node.for_is_degenerate() or _has_loops(node.for_get_body())
    if kind == types.mark:
        return _has_loops(node.mark_get_node())
    if kind == types.if_:
        has_else = node.if_has_else_node() and _has_loops(node.if_get_else_node())
        return _has_loops(node.if_get_then_node()) or has_else
    if kind == types.block:
        children = node.block_get_children()
        return any(_has_loops(children.get_at(at)) for at in range(children.n_ast_node()))
    return False


def format_c(scops: Sequence[Scop], trees: Iterable[Any]) -> str:
    """Return a C file with a function for each region."""
    functions: list[str] = []
    helpers: dict[str, None] = {}
    for scop, tree in zip(scops, trees, strict=True):
        writer = CWriter(scop)
        body = writer.write_body(tree)
        helpers |= dict.fromkeys(writer.helpers)
        head = f"/* {scop.location.file}:{scop.location.line} */\n{format_prototype(scop)[:-1]} {{"
        functions.append(f"{head}\n{body}\n}}\n")
    notes = ["/* Compile with -ffp-contract=off; -fopenmp runs parallel loops in threads. */",
             "#include <math.h>", "#include <string.h>"]  # fmt: skip
    return "\n".join(["\n".join([*notes, *([""] if helpers else []), *helpers]), "", *functions])
