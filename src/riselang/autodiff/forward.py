"""Forward mode: tangents of all values of a program, from tangents of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from riselang.autodiff.building import Builder
from riselang.autodiff.evaluation import Entry, Record, refuse_foreign
from riselang.autodiff.scalar_derivatives import partials_of, scale
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.support.errors import LimitationError
from riselang.term.build import Node
from riselang.term.nodes import Scalar

Tangent = Sequence[Node | None]
"""For each scalar that a type consists of, its tangent, or None if it is zero."""
Tangents = Mapping[Entry, Tangent]
Rule = Callable[["Forward", Tangents, Entry], Tangent]
"""Returns the tangent of an entry, given those of earlier ones."""
RULES: dict[str, Rule] = {}
"""The rule of each pattern."""


def rule(*specs: PatternSpec) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for spec in specs:
            RULES[spec.name] = function
        return function

    return register


class Forward:
    """Propagates tangents through records, and builds the nodes that compute them."""

    def __init__(self, builder: Builder):
        self.builder = builder

    def run(self, record: Record, tangents: Tangents) -> Tangents:
        """Return the tangents of the values of a record, and the given ones."""
        known = dict(tangents)
        for entry in record.entries:
            with self.builder.at_location(entry.location):
                if isinstance(entry.operation, Scalar):
                    known[entry] = [self._operation_tangent(known, entry, entry.operation)]
                else:
                    known[entry] = self._rule_for(entry)(self, known, entry)
        return known

    def _rule_for(self, entry: Entry) -> Rule:
        assert entry.spec is not None
        found = RULES.get(entry.spec.name)
        refuse_foreign(entry)
        if found is None:
            raise LimitationError(
                f"'{entry.spec.name}' has no derivative; differentiate the program before a "
                "strategy introduces low-level patterns",
                entry.location,
            )
        return found

    def _operation_tangent(
        self, tangents: Tangents, entry: Entry, operation: Scalar
    ) -> Node | None:
        """Add the parts of the tangent that the operands contribute."""
        nodes = entry.nodes
        total: Node | None = None
        for operand, partial in zip(entry.operands, partials_of(operation.op), strict=True):
            assert isinstance(operand, Entry)
            (tangent,) = tangent_of(tangents, operand) or [None]
            if partial is None or tangent is None:
                continue
            part = scale(self.builder, partial, tangent, nodes, entry.node)
            total = part if total is None else self.builder.add(total, part)
        return total


def tangent_of(tangents: Tangents, entry: Entry) -> Tangent:
    """Return the tangent of a value; empty if it is zero."""
    return tangents.get(entry, ()) if entry.is_active else ()
