"""Larger programs around an instance of a law: under other lambdas, in loops, used often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from riselang.dialects.rise.types import FunType, array, fun, idx
from riselang.rewrite.core import Path
from riselang.rewrite.paths import path_of_trail, subterms_outside_in
from riselang.term.nodes import Apply, Bound, Free, Lambda, Term, apply_all
from riselang.term.substitution import instantiate, shift
from support.choices import Choices
from support.generation.generator import Generator
from support.generation.place import Place, use
from support.programs import Program
from support.rule_instances import Instance, under_inputs

ROUNDS = 2
"""How often the loops around an instance run."""
HOLE = "hole"
Around = Callable[[Term], Term]
"""From a term in the inputs of an instance to a closed program."""


@dataclass(frozen=True)
class Context:
    """A program around a place, to which a term in the inputs of an instance can be put."""

    plug: Around
    paths: tuple[Path, ...]
    """Where the term stands then."""

    def program(self, body: Term) -> Program:
        return Program(self.plug(body), 1)


def context_of(instance: Instance, seed: int) -> Context:
    """A program around the instance."""
    choices = Choices(seed)
    kinds: list[Callable[[Instance, Choices], Around]] = [_generated, _named]
    if instance.inputs:
        kinds += [_mapped, _folded]
    if instance.float == "strict":
        # A random function can make much of the sign of a zero.
        kinds.append(_computed_with)
    for make in choices.shuffled(kinds):
        plug = make(instance, choices)
        shape = plug(Free(HOLE, instance.body.type))
        paths = tuple(
            path_of_trail(trail)
            for trail, part in subterms_outside_in(shape)
            if isinstance(part, Free)
        )
        if paths:
            return Context(plug, paths)
    raise AssertionError("a let has a place")


def _mapped(instance: Instance, choices: Choices) -> Around:
    """The body for each value of the last input."""
    *others, last = instance.inputs
    values = array(ROUNDS, last.type)

    def plug(body: Term) -> Term:
        loop = use("map", ROUNDS, last.type, body.type)
        mapped = apply_all(loop, [Lambda(last.name, last.type, body), Bound(len(others), values)])
        return Lambda("xs", values, _under(others, mapped))

    return plug


def _folded(instance: Instance, choices: Choices) -> Around:
    """The body in each round of a fold."""
    *others, last = instance.inputs
    values = array(ROUNDS, last.type)

    def plug(body: Term) -> Term:
        loop = use("reduce", ROUNDS, last.type, body.type)
        step = Lambda("acc", body.type, Lambda(last.name, last.type, shift(body, 1, 1)))
        start, xs = Bound(len(others), body.type), Bound(len(others) + 1, values)
        folded = apply_all(loop, [step, start, xs])
        return Lambda("xs", values, Lambda("start", body.type, _under(others, folded)))

    return plug


def _generated(instance: Instance, choices: Choices) -> Around:
    """The body under a lambda whose variable it does not know."""

    def plug(body: Term) -> Term:
        function = Lambda("i", idx(ROUNDS), shift(body, 1))
        return _under(instance.inputs, Apply(use("generate", ROUNDS, body.type), function))

    return plug


def _named(instance: Instance, choices: Choices) -> Around:
    """The body as the value of a let, and once more behind it."""

    def plug(body: Term) -> Term:
        type = body.type
        both = apply_all(use("tuple", type, type), [Bound(0, type), shift(body, 1)])
        let = apply_all(use("let", type, both.type), [body, Lambda("y", type, both)])
        return _under(instance.inputs, let)

    return plug


def _computed_with(instance: Instance, choices: Choices) -> Around:
    """The body wherever a random function uses its parameter."""
    generator = Generator(choices, compiled=False)
    wanted = fun(instance.body.type, generator.types.data(8, 2))
    made = generator.abstraction(wanted, Place((), 4, 24))
    own = tuple(generator.inputs)
    function = shift(under_inputs(own, made), len(instance.inputs))

    def plug(body: Term) -> Term:
        assert isinstance(function, Lambda)
        return _under(own, _under(instance.inputs, instantiate(function.body, body)))

    return plug


def _under(inputs: tuple[Free, ...] | list[Free], body: Term) -> Term:
    for variable in reversed(inputs):
        assert not isinstance(variable.type, FunType)
        body = Lambda(variable.name, variable.type, body)
    return body
