"""Proof that isl's loops implement the model: every instance runs once, and in a valid order.

isl's code generator has been observed to omit instances where tiles meet strides. So its loops are
read back into a relation from instances to schedule vectors, which must have the domains of the
statements, and preserve every dependence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from riselang.frontends.c.emit.isl_expressions import operation_name, read_number
from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl, join_conditions
from riselang.frontends.c.model.scop import Scop

Alternatives = list[tuple[str, str]]
"""Conditions, and the value of an expression where they hold; as isl text."""
_BINARY = {
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "floor(({})/{})",
    "pdiv_q": "floor(({})/{})", "fdiv_q": "floor(({})/{})", "pdiv_r": "(({}) mod {})",
    "zdiv_r": "(({}) mod {})", "max": "max({}, {})", "min": "min({}, {})",
}  # fmt: skip
_TESTS = {"eq": "=", "le": "<=", "lt": "<", "ge": ">=", "gt": ">"}


@dataclass
class _AstReader:
    """Walks isl's loops, with the conditions that hold at the current node."""

    scop: Scop
    iterators: list[str] = field(default_factory=list[str])
    conditions: list[str] = field(default_factory=list[str])
    time: list[str] = field(default_factory=list[str])
    relations: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """For each statement in the loops: its relation, and its schedule vector."""

    def visit_node(self, node: Any) -> None:
        types = isl().ast_node_type
        kind = node.get_type()
        if kind == types.block:
            children = node.block_get_children()
            for position in range(children.n_ast_node()):
                self.time.append(str(position))
                self.visit_node(children.get_at(position))
                self.time.pop()
        elif kind == types.for_:
            self._visit_for(node)
        elif kind == types.if_:
            self._visit_if(node)
        elif kind == types.mark:
            self.visit_node(node.mark_get_node())
        else:
            self._visit_user(node.user_get_expr())

    def _visit_for(self, node: Any) -> None:
        name = node.for_get_iterator().get_id().get_name()
        first = read_value(node.for_get_init())
        if node.for_is_degenerate():
            added = [" or ".join(_exists(f"{name} = {text}", holds) for holds, text in first)]
        else:
            step = read_number(node.for_get_inc())
            begun = [
                _exists(f"{name} >= {text} and ({name} - {text}) mod {step} = 0", holds)
                for holds, text in first
            ]
            added = [" or ".join(begun), read_condition(node.for_get_cond())]
        self.iterators.append(name)
        self.conditions += added
        self.time.append(name)
        self.visit_node(node.for_get_body())
        self.time.pop()
        del self.conditions[len(self.conditions) - len(added) :]
        self.iterators.pop()

    def _visit_if(self, node: Any) -> None:
        condition = read_condition(node.if_get_cond())
        branches = [(condition, node.if_get_then_node())]
        if node.if_has_else_node():
            branches.append((f"not ({condition})", node.if_get_else_node()))
        for position, (holds, branch) in enumerate(branches):
            self.conditions.append(holds)
            self.time.append(str(position))
            self.visit_node(branch)
            self.time.pop()
            self.conditions.pop()

    def _visit_user(self, call: Any) -> None:
        name = call.get_op_arg(0).get_id().get_name()
        arguments = [
            read_value(call.get_op_arg(position)) for position in range(1, call.get_op_n_arg())
        ]
        source = f"[{', '.join(self.iterators)}]"
        for combination in product(*arguments):
            holds = join_conditions([*self.conditions, *(guard for guard, _ in combination)])
            target = ", ".join(text for _, text in combination)
            relation = f"{self.scop.prefix}{{ {source} -> {name}[{target}] : {holds} }}"
            self.relations.append((relation, f"{source}|{', '.join(self.time)}"))


def _exists(text: str, guard: str) -> str:
    return f"({join_conditions([guard, text])})"


def read_value(expression: Any) -> Alternatives:
    """Read an expression of isl's loops."""
    types = isl().ast_expr_type
    if expression.get_type() == types.id:
        return [("", expression.get_id().get_name())]
    if expression.get_type() == types.int:
        return [("", str(read_number(expression)))]
    kind = operation_name(expression)
    arguments = [expression.get_op_arg(position) for position in range(expression.get_op_n_arg())]
    if kind in ("cond", "select"):
        condition = read_condition(arguments[0])
        return [
            (join_conditions([holds, guard]), text)
            for holds, branch in ((condition, arguments[1]), (f"not ({condition})", arguments[2]))
            for guard, text in read_value(branch)
        ]
    if kind == "minus":
        return [(guard, f"(-{text})") for guard, text in read_value(arguments[0])]
    total = read_value(arguments[0])
    for argument in arguments[1:]:
        total = [
            (join_conditions([a, b]) if a or b else "", _BINARY[kind].format(left, right))
            for (a, left), (b, right) in product(total, read_value(argument))
        ]
    return total


def read_condition(expression: Any) -> str:
    """Read a condition of isl's loops."""
    if expression.get_type() == isl().ast_expr_type.int:
        return "0 = 0" if read_number(expression) else "1 = 0"
    kind = operation_name(expression)
    arguments = [expression.get_op_arg(position) for position in range(expression.get_op_n_arg())]
    if kind in ("and_", "and_then"):
        return " and ".join(f"({read_condition(each)})" for each in arguments)
    if kind in ("or_", "or_else"):
        return " or ".join(f"({read_condition(each)})" for each in arguments)
    left, right = (read_value(each) for each in arguments)
    return " or ".join(
        _exists(f"{a} {_TESTS[kind]} {b}", join_conditions([c, d]) if c or d else "")
        for (c, a), (d, b) in product(left, right)
    )


def is_faithful(scop: Scop, tree: Any) -> bool:
    """Whether isl's loops run each instance once, and after all instances that it depends on."""
    reader = _AstReader(scop)
    reader.visit_node(tree)
    order = _schedule_relation(scop, reader.relations)
    domain = scop.schedule.get_domain()
    if scop.context:
        order = order.intersect_params(scop.context_set)
        domain = domain.intersect_params(scop.context_set)
    if not order.is_single_valued() or not order.domain().is_equal(domain):
        return False
    known = dependences(scop)
    if known is None:
        return True
    pairs = known.ordered.apply_domain(order).apply_range(order)
    if pairs.is_empty():
        return True
    pair_map = isl().Map.from_union_map(pairs)
    later = isl().Map.lex_lt(pair_map.get_space().domain())
    return bool(pair_map.is_subset(later))


def _schedule_relation(scop: Scop, relations: list[tuple[str, str]]) -> Any:
    """Return the schedule of each instance; vectors are padded to the longest one."""
    length = max((time.count(",") + 1 for _, time in relations), default=0)
    union = isl().UnionMap(f"{scop.prefix}{{ }}")
    for relation, time in relations:
        source, _, point = time.partition("|")
        entries = [each for each in point.split(", ") if each]
        padded = ", ".join(f"({each})" for each in [*entries, *["0"] * (length - len(entries))])
        when = isl().Map(f"{scop.prefix}{{ {source} -> [{padded}] }}")
        part = isl().Map(relation).reverse().apply_range(when)
        union = union.union(isl().UnionMap.from_map(part))
    return union
