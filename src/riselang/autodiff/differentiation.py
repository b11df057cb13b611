"""Derivatives of programs: closed terms that compute a function and its derivative."""

from __future__ import annotations

from collections.abc import Sequence

# The rules of the patterns register when their modules are imported.
from riselang.autodiff import custom_rules as custom_rules
from riselang.autodiff import forward_loops as forward_loops
from riselang.autodiff import forward_views as forward_views
from riselang.autodiff import reverse_loops as reverse_loops
from riselang.autodiff import reverse_scatters as reverse_scatters
from riselang.autodiff import reverse_views as reverse_views
from riselang.autodiff import reverse_while as reverse_while
from riselang.autodiff.accumulations import dense_floats, float_nests, float_types
from riselang.autodiff.building import Builder
from riselang.autodiff.contributions import nest_of
from riselang.autodiff.copying import renumber_nodes
from riselang.autodiff.cotangents import Cotangents, Leaves
from riselang.autodiff.evaluation import Closure, Entry, Record, check_no_vectors, float_leaves
from riselang.autodiff.forward import Forward
from riselang.autodiff.forward_views import tangent_leaves
from riselang.autodiff.reverse import DerivativeStep, Reverse
from riselang.dialects.rise.types import RiseType, leaves, uncurry
from riselang.support.recursion import with_deep_stack
from riselang.term import build
from riselang.term.build import Node
from riselang.term.finish import finish
from riselang.term.nodes import Term, parameter_names


class _Program:
    """A program that is differentiated: its parameters, and variables for derivatives."""

    def __init__(self, term: Term, active: Sequence[bool]):
        self.builder = Builder()
        names = parameter_names(term)
        inputs, self.output = uncurry(term.type)
        types = inputs[: len(active)]
        for type, is_active in zip(types, active, strict=True):
            if is_active:
                check_no_vectors(type, term.location)
        self.parameters = [
            self._variable(type, name) for type, name in zip(types, names, strict=False)
        ]
        self.entries = [
            Entry(variable, float_leaves(variable.type) if is_active else ())
            for variable, is_active in zip(self.parameters, active, strict=True)
        ]
        self.names = names
        self.record = Record(self.builder)
        self.builder.location = term.location

    def run(self, term: Term) -> Entry:
        result = self.record.apply(Closure(term, None), self.entries)
        assert isinstance(result, Entry)
        return result

    def _variable(self, type: RiseType, name: str) -> build.Variable:
        return build.Variable(type, name, scope=self.builder.scope)

    def variables(self, type: RiseType, name: str) -> list[build.Variable]:
        """Return variables for the derivatives of all floats of a value."""
        return [self._variable(each, name) for each in float_types(type)]

    def close(self, variables: Sequence[build.Variable], parts: Sequence[Node]) -> Term:
        body = self.builder.tuple(parts)
        scope = self.builder.scope
        function = self.builder.close_function([*self.parameters, *variables], body, scope)
        function.scope = None
        if self.builder.has_replaced_nodes:
            renumber_nodes(function)
        return finish(function)


@with_deep_stack
def reverse_term(term: Term, active: Sequence[bool]) -> Term:
    """Return the function that computes a program and cotangents of its arguments.

    After the arguments of the program, it takes a cotangent for each float of the result. It
    returns the result, and a cotangent for each float of each active argument, as arrays.
    """
    program = _Program(term, active)
    program.builder.is_reverse = True
    result = program.run(term)
    variables = program.variables(program.output, "ct")
    leaves = float_nests(program.builder, program.output, variables)
    return program.close(variables, [result.node, *_pull_back(program, result, leaves)])


@with_deep_stack
def gradient_term(
    term: Term, active: Sequence[bool], steps: list[DerivativeStep] | None = None
) -> Term:
    """Return the function that computes a program and the gradient of the first scalar of its
    result, a float, as arrays for the floats of the active arguments.

    Each application of a rule is appended to `steps`.
    """
    program = _Program(term, active)
    program.builder.is_reverse = True
    result = program.run(term)
    one = program.builder.number(1, next(leaf for _, leaf in leaves(program.output)))
    others = [None] * (len(float_leaves(program.output)) - 1)
    seed = nest_of(program.builder, one)
    parts = _pull_back(program, result, [seed, *others], steps)
    return program.close([], [result.node, *parts])


def _pull_back(
    program: _Program, result: Entry, leaves: Leaves, steps: list[DerivativeStep] | None = None
) -> list[Node]:
    """Return the cotangents of all floats of the active arguments."""
    cotangents, reverse = Cotangents(), Reverse(program.builder, steps)
    cotangents.add(result, leaves)
    reverse.run(program.record, cotangents)
    parts: list[Node] = []
    for entry in program.entries:
        if entry.is_active:
            totals = reverse.totals(cotangents.pop(entry) or [])
            parts += dense_floats(reverse, entry.type, totals)
    return parts


@with_deep_stack
def forward_term(term: Term, active: Sequence[bool]) -> Term:
    """Return the function that computes a program and the tangent of its result.

    After the arguments of the program, it takes a tangent for each float of each active argument.
    It returns the result, and a tangent for each of its floats, as arrays.
    """
    program = _Program(term, active)
    result = program.run(term)
    variables: list[build.Variable] = []
    tangents: dict[Entry, list[Node | None]] = {}
    for entry in program.entries:
        if not entry.is_active:
            continue
        own = program.variables(entry.type, "tangent")
        variables += own
        given = iter(own)
        tangents[entry] = [
            next(given) if has_float else None for has_float in float_leaves(entry.type)
        ]
    known = Forward(program.builder).run(program.record, tangents)
    parts: list[Node] = [result.node]
    types = iter(float_types(program.output))
    for leaf, has_float in zip(
        tangent_leaves(known, result), float_leaves(program.output), strict=True
    ):
        if has_float:
            type = next(types)
            parts.append(program.builder.zeros(type) if leaf is None else leaf)
    return program.close(variables, parts)
