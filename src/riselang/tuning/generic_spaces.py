"""The space searched without `space=`: the schedules of the default strategy, with parameters."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from riselang.rewrite.combinators import Choice as AnyOf
from riselang.rewrite.core import Setting, Strategy, Success
from riselang.rewrite.normal_forms import data_flow_normal_form
from riselang.rewrite.parameters import Choice, OpenStrategy, escape_keywords
from riselang.rewrite.registry import ENTRIES
from riselang.rewrite.selectors import Position
from riselang.support.errors import UserError
from riselang.term.nodes import Term, subterms
from riselang.tuning.schedule_values import FIXED, OPENED, has_effect, values_for
from riselang.tuning.spaces import Choices, Space


def generic_space(term: Term, float: str, loops: str = "affine") -> tuple[Space, Choices]:
    """Return a space for a program without one, and the choices that the default strategy makes.

    The default strategy recognizes computations, and chooses a schedule for each. In the space,
    every number and every option of these schedules is a parameter. Choices that need many more
    registers than the machine has are excluded, and so are those that differ from others only in
    numbers without an effect.
    """
    text = gpu_text(term, float) if loops == "gpu" else default_text(term, float)
    for name, opened in OPENED.items():
        text = text.replace(name, opened)
    opener = _Opener()
    opened = opener.visit(ast.parse(escape_keywords(text)))
    calls = tuple(opener.calls)
    return Space(OpenStrategy(ast.unparse(opened)), _Fits(calls)), opener.start


def default_text(term: Term, float: str) -> str:
    """Return the text of a strategy that does what the default strategy does to a program."""
    from riselang.rewrite.strategies.default_schedule import (
        prepare_computations,
        recognized_computations,
    )

    setting = Setting(float)
    strategy: Strategy = prepare_computations()
    result = (data_flow_normal_form >> strategy).run(term, setting)
    scheduled: list[str] = []
    for computation in recognized_computations(term, setting):
        for alternative in _alternatives(computation.strategy):
            step = alternative @ Position(computation.path)
            assert isinstance(result, Success)
            next_result = step.run(result.term, setting.quiet)
            if isinstance(next_result, Success):
                result = next_result
                scheduled.append(str(step))
                break
    if not scheduled:
        raise UserError(
            "the default strategy recognizes no computation in this program, so there is no "
            "generic space for it; pass space=, a strategy with parameters"
        )
    return " >> ".join([str(strategy), *scheduled, "try(parallel_outermost())"])


def _alternatives(strategy: Strategy) -> tuple[Strategy, ...]:
    return strategy.parts if isinstance(strategy, AnyOf) else (strategy,)


def gpu_text(term: Term, float: str) -> str:
    """Return the text of a strategy for a GPU that does what the default strategy does."""
    from riselang.native.gpu_targets import gpu_target
    from riselang.rewrite.strategies.gpu_tensor_cores import tensor_strategy
    from riselang.rewrite.strategies.schedules import fuse

    setting = Setting(float, tensor_unit=gpu_target().tensor_unit)
    fused = (data_flow_normal_form >> fuse()).run(term, setting)
    parts = subterms(fused.term) if isinstance(fused, Success) else ()
    tiles = next((found for part in parts if (found := tensor_strategy(part, setting))), None)
    return (
        "on_gpu(threads=0, lanes=0, partial_sums=0)"
        if tiles is None
        else (f"fuse() >> top_down({tiles})")
    )


@dataclass(frozen=True)
class _Call:
    """A call of a schedule, the numbers that the default strategy gives it, and its parameters."""

    schedule: str
    default: Mapping[str, Any]
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    """The name of each parameter of the space by the name of the argument."""


@dataclass(frozen=True)
class _Fits:
    """Returns whether the choices for all calls fit the machine, and have an effect."""

    calls: tuple[_Call, ...]

    def __call__(self, choices: Mapping[str, Choice]) -> bool:
        return all(
            has_effect(
                call.schedule,
                {
                    name: choices.get(parameter, call.default[name])
                    for name, parameter in call.parameters.items()
                },
                call.default,
            )
            for call in self.calls
        )


class _Opener(ast.NodeTransformer):
    """Replaces the numbers and options of schedules with parameters."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.start: dict[str, Choice] = {}
        """The number or option that each parameter replaces."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        schedule = ast.unparse(node.func)
        if schedule in FIXED:
            return node
        numbers = {
            name: value.value
            for name, value in _named_arguments(schedule, node)
            if isinstance(value, ast.Constant) and isinstance(value.value, int)
        }
        parameters: dict[str, str] = {}
        for name, value in list(_named_arguments(schedule, node)):
            opened = self._open(schedule, name, numbers, parameters, value)
            for position, argument in enumerate(node.args):
                if argument is value:
                    node.args[position] = opened
            for keyword in node.keywords:
                if keyword.value is value:
                    keyword.value = opened
        if parameters:
            self.calls.append(_Call(schedule, numbers, parameters))
        return node

    def _open(
        self,
        schedule: str,
        name: str,
        numbers: Mapping[str, int],
        parameters: dict[str, str],
        value: ast.expr,
    ) -> ast.expr:
        if name not in numbers:
            return self.visit(value)
        values = values_for(schedule, name, numbers)
        if len(values) == 1:
            return value
        parameter = self._new_name(f"{schedule}_{name}".replace(".", "_"))
        parameters[name] = parameter
        self.start[parameter] = numbers[name]
        return ast.parse(f"param({parameter!r}, {values})", mode="eval").body

    def _new_name(self, name: str) -> str:
        count = 1 + sum(each == name or each.startswith(f"{name}_of_") for each in self.start)
        return name if count == 1 else f"{name}_of_{count}"


def _named_arguments(schedule: str, node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the arguments of a call with the names of the parameters of the schedule."""
    entry = ENTRIES.get(schedule)
    names = [] if entry is None else list(inspect.signature(entry.make).parameters)
    for position, value in enumerate(node.args):
        yield names[position] if position < len(names) else str(position), value
    for keyword in node.keywords:
        yield str(keyword.arg), keyword.value
