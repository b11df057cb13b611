"""Comparison of two orders of a region: their data flow at some sizes, without the arithmetic.

The loops become Python code, in which the names of the C program are numbered (`_Variables`). It
executes each statement's accesses: every read records which instance wrote the element. Two orders
are equivalent if the same instances run once each, every read sees the same instance, and every
element is last written by the same one. Consecutive updates of an element that commute count as one
write by all of these instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from riselang.frontends.c.emit.isl_expressions import operation_name, read_number
from riselang.frontends.c.model.commuting_updates import commuting_operation
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear, Quotient
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.syntax import Assign

MAX_INSTANCES = 60_000
"""The limit on executed instances, over all sizes."""
PARAMETER_VALUES = (
    (7, 6, 9, 5, 8), (3, 4, 2, 5, 3), (1, 1, 1, 1, 1), (13, 11, 4, 10, 12), (35, 34, 3, 36, 33),
    (2, 35, 34, 5, 4), (260, 3, 5, 4, 6), (5, 260, 3, 6, 4), (4, 3, 260, 5, 6), (6, 5, 4, 260, 3),
)  # fmt: skip
"""The parameter values to try, in this order: small ones, and some that exceed a tile."""
_BINARY = {
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "({} // {})",
    "pdiv_q": "({} // {})", "fdiv_q": "({} // {})", "pdiv_r": "({} % {})", "zdiv_r": "({} % {})",
    "max": "max({}, {})", "min": "min({}, {})", "eq": "({} == {})", "le": "({} <= {})",
    "lt": "({} < {})", "ge": "({} >= {})", "gt": "({} > {})", "and_": "({} and {})",
    "and_then": "({} and {})", "or_": "({} or {})", "or_else": "({} or {})",
}  # fmt: skip
Run = Callable[[Mapping[str, int]], Iterator[tuple[str, tuple[int, ...]]]]


def has_same_data_flow(scop: Scop, first: Any, second: Any) -> bool | None:
    """Whether two ASTs of isl's loops have the same data flow at the sizes that are tried; None if
    the sizes that the user promises are all too large."""
    variables = _Variables()
    runs = [_compile_generator(scop, tree, variables) for tree in (first, second)]
    flow = _DataFlow(scop, variables)
    left = MAX_INSTANCES
    for values in PARAMETER_VALUES:
        sizes = _promised_sizes(
            scop,
            {p.name: values[position % len(values)] for position, p in enumerate(scop.parameters)},
        )
        if sizes is None:
            return None
        found: list[Any] = []
        for run in runs:
            instances = _take_up_to(run(sizes), left)
            if instances is None:
                # The first values are small; later ones may exceed the limit.
                is_first = values is PARAMETER_VALUES[0]
                return (None if scop.context else False) if is_first else True
            found.append(flow.trace(instances, sizes))
            left -= len(instances)
        if found[0] != found[1]:
            return False
    return True


def _promised_sizes(scop: Scop, sizes: dict[str, int]) -> dict[str, int] | None:
    """Return sizes that the user promises, which are at least these if possible."""
    if not scop.context:
        return sizes
    larger = " and ".join(f"{name} >= {value}" for name, value in sizes.items())
    for conditions in (f"({scop.context}) and {larger}", scop.context):
        found = isl().Set(f"{{ [{', '.join(sizes)}] : {conditions} }}")
        if not found.is_empty():
            point = (found.lexmin() if larger in conditions else found).sample_point()
            kind = isl().dim_type.set
            return {
                name: point.get_coordinate_val(kind, position).to_python()
                for position, name in enumerate(sizes)
            }
    return None


def _take_up_to(run: Iterator[Any], most: int) -> list[Any] | None:
    """Return all items of a run; None if there are more than `most`."""
    found: list[Any] = []
    for instance in run:
        found.append(instance)
        if len(found) > most:
            return None
    return found


class _Variables:
    """Python variables for C names, which may be any word: `None`, `range`, `lambda`."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        return self._known.setdefault(name, f"v{len(self._known)}")


class _Updated(NamedTuple):
    """The instances that updated an element by a commuting operation, in any order."""

    operation: str
    start: int
    """The number of what wrote the element before them."""
    sum: int
    """The sum of their keys, which are random."""


class _DataFlow:
    """The accesses of statements, as functions of their iterators and of parameters."""

    def __init__(self, scop: Scop, variables: _Variables):
        self._variables = variables
        self._blurred = {
            access.variable
            for statement in scop.statements
            for access, subscript in statement.access_relations.items()
            if subscript.indices is None
        }
        self._operations = {s.name: commuting_operation(s) for s in scop.statements}
        self._reads = {s.name: self._elements(s, self._operands(s)) for s in scop.statements}
        self._writes = {s.name: self._elements(s, s.writes) for s in scop.statements}
        self._numbers: dict[Any, int] = {}
        self._keys: dict[Any, int] = {}
        self._random = Random(0)

    def _operands(self, statement: ModelStatement) -> Any:
        """Return what a statement reads, without the element of a commuting update."""
        if self._operations[statement.name] is None:
            return statement.reads
        assert isinstance(statement.body, Assign)
        return statement.reads - {statement.body.target}

    def _elements(self, statement: ModelStatement, accesses: Any) -> Any:
        parts: list[str] = []
        ordered = sorted(accesses, key=lambda access: (access.variable.name, str(access.location)))
        for access in ordered:
            subscript = statement.access_relations[access]
            indices = [] if access.variable in self._blurred else subscript.indices or ()
            texts = [
                repr(id(access.variable)),
                *(_format_linear(index, self._variables) for index in indices),
            ]
            parts.append(f"({', '.join(texts)},)")
        names = ", ".join(self._variables[name] for _, name in statement.iterators)
        body = f"({''.join(f'{part}, ' for part in parts)})"
        return f"lambda {names}: {body}"

    def trace(
        self, instances: Sequence[tuple[str, tuple[int, ...]]], sizes: Mapping[str, int]
    ) -> Any:
        """Return the writer of each value that an instance reads, and the last writer of each
        element."""
        known = {self._variables[name]: value for name, value in sizes.items()}
        reads = {name: eval(text, dict(known)) for name, text in self._reads.items()}
        writes = {name: eval(text, dict(known)) for name, text in self._writes.items()}
        last: dict[Any, Any] = {}
        seen: dict[Any, Any] = {}
        for instance in instances:
            name, point = instance
            sources = tuple(last.get(element) for element in reads[name](*point))
            seen.setdefault(instance, []).append(sources)
            operation = self._operations[name]
            for element in writes[name](*point):
                previous = last.get(element)
                last[element] = (
                    instance
                    if operation is None
                    else self._add_update(operation, previous, instance)
                )
        return seen, last

    def _add_update(self, operation: str, previous: Any, instance: Any) -> _Updated:
        """Return the writer of an element after an update, which is the same in any order of
        commuting ones."""
        if not isinstance(previous, _Updated) or previous.operation != operation:
            previous = _Updated(operation, self._number(previous), 0)
        key = self._keys.setdefault(instance, self._random.getrandbits(64))
        return previous._replace(sum=previous.sum + key)

    def _number(self, writer: Any) -> int:
        """Return the number of a writer: others that contain it stay small."""
        return self._numbers.setdefault(writer, len(self._numbers))


def _format_linear(linear: Linear, variables: _Variables) -> str:
    parts = [str(linear.constant)]
    for atom, factor in linear.terms:
        if isinstance(atom, str):
            text = variables[atom]
        else:
            sign = "//" if isinstance(atom, Quotient) else "%"
            text = f"(({_format_linear(atom.dividend, variables)}) {sign} {atom.divisor})"
        parts.append(f"{factor} * {text}")
    return " + ".join(parts)


def _compile_generator(scop: Scop, tree: Any, variables: _Variables) -> Run:
    """Compile an AST of loops to a Python generator of instances."""
    lines = ["def run(sizes):"]
    lines += [f"    {variables[p.name]} = sizes[{p.name!r}]" for p in scop.parameters]
    _emit_lines(tree, 1, lines, variables)
    lines.append("    yield from ()")
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    return names["run"]


def _emit_lines(node: Any, indent: int, lines: list[str], variables: _Variables) -> None:
    types = isl().ast_node_type
    space = "    " * indent
    kind = node.get_type()
    if kind == types.block:
        children = node.block_get_children()
        for position in range(children.n_ast_node()):
            _emit_lines(children.get_at(position), indent, lines, variables)
    elif kind == types.for_:
        name = variables[node.for_get_iterator().get_id().get_name()]
        first = _format_expression(node.for_get_init(), variables)
        if node.for_is_degenerate():
            lines.append(f"{space}{name} = {first}")
            _emit_lines(node.for_get_body(), indent, lines, variables)
            return
        condition = node.for_get_cond()
        extra = " + 1" if operation_name(condition) == "le" else ""
        end = f"{_format_expression(condition.get_op_arg(1), variables)}{extra}"
        step = read_number(node.for_get_inc())
        lines.append(f"{space}for {name} in range({first}, {end}, {step}):")
        _emit_lines(node.for_get_body(), indent + 1, lines, variables)
    elif kind == types.if_:
        lines.append(f"{space}if {_format_expression(node.if_get_cond(), variables)}:")
        _emit_lines(node.if_get_then_node(), indent + 1, lines, variables)
        if node.if_has_else_node():
            lines.append(f"{space}else:")
            _emit_lines(node.if_get_else_node(), indent + 1, lines, variables)
    elif kind == types.mark:
        _emit_lines(node.mark_get_node(), indent, lines, variables)
    else:
        call = node.user_get_expr()
        name = call.get_op_arg(0).get_id().get_name()
        arguments = [
            _format_expression(call.get_op_arg(position), variables)
            for position in range(1, call.get_op_n_arg())
        ]
        lines.append(f"{space}yield {name!r}, ({''.join(f'{each}, ' for each in arguments)})")


def _format_expression(expression: Any, variables: _Variables) -> str:
    types = isl().ast_expr_type
    if expression.get_type() == types.id:
        return variables[expression.get_id().get_name()]
    if expression.get_type() == types.int:
        return str(read_number(expression))
    kind = operation_name(expression)
    arguments = [
        _format_expression(expression.get_op_arg(position), variables)
        for position in range(expression.get_op_n_arg())
    ]
    if kind in ("cond", "select"):
        return f"({arguments[1]} if {arguments[0]} else {arguments[2]})"
    if kind == "minus":
        return f"(-{arguments[0]})"
    total = arguments[0]
    for argument in arguments[1:]:
        total = _BINARY[kind].format(total, argument)
    return total
