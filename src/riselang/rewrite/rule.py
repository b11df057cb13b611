"""Rules: laws that are applied from left to right, with a name, conditions and a permission."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from typing import Any

from xdsl.utils.exceptions import VerifyException

from riselang.nat import Nat, NatError, as_nat, parse_nat
from riselang.rewrite.core import (
    CONDITION,
    HEAD,
    NOTHING,
    Failure,
    Result,
    Setting,
    Step,
    Strategy,
    Success,
)
from riselang.rewrite.law_definition import Definition
from riselang.rewrite.law_matching import ApplicationForm, Match, NoMatch, may_match
from riselang.rewrite.laws import UNKNOWN, Form, Law
from riselang.rewrite.parameters import open_call
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.support.lazy import cached_property
from riselang.term.nodes import Apply, Free, Term, subterms


class Permission(Enum):
    """The effect of a rule on float arithmetic."""

    STRICT = "strict"
    """Results are bitwise identical."""
    RELAXED = "relaxed"
    """It adds or multiplies floats in a different order, which only relaxed programs permit."""


class Unmet(Exception):
    """A side condition of a rule that does not hold, and why."""


Value = Nat | int | str
"""The argument for a parameter of a rule: a size, or its text."""


@dataclass(frozen=True)
class Condition:
    """A side condition on the unknowns of a law."""

    text: str
    """The condition in words, for the documentation."""
    check: Callable[[Match, Setting], None]
    """Raises Unmet if the condition does not hold."""
    unknowns: tuple[str, ...] = ()
    """The unknowns that the condition constrains; tests choose values for them."""
    decides_floats: bool = False
    """Whether it fails if a strict program would compute different bits."""


Bindings = Mapping[str, Term]
"""The unknown functions and values of a law, by name."""
Rewrite = Callable[..., Term | Bindings]
"""A function from a term, and the arguments of a rule by name, to the unknowns of its law or to
the right-hand side.

It may also take the setting. It raises NoMatch or Unmet if the rule does not apply.
"""
RULES: dict[str, Rule] = {}
"""Every rule by name, in order of definition."""


@dataclass(frozen=True, repr=False)
class Rule(Strategy):
    """A law that is applied from left to right."""

    name: str
    law: Law
    module: str
    """The module that defines it."""
    parameters: tuple[str, ...] = ()
    """The sizes that the user chooses, such as the one in `split_join(m=32)`."""
    conditions: tuple[Condition, ...] = ()
    permission: Permission = Permission.STRICT
    rewrite: Rewrite | None = field(default=None, compare=False)
    """Finds the unknowns of the law, or computes the right-hand side, if matching cannot."""
    arguments: tuple[tuple[str, Nat], ...] = ()
    summary: str = field(default="", compare=False)
    head: str | None = field(default=None, compare=False)
    """The head pattern of the terms it applies to, "" for none, if the law does not say."""

    def __call__(self, *values: Value, **named: Value) -> Any:
        """Return the rule with arguments for its parameters; it is open if one is a `param`."""
        if (open_strategy := open_call(self.name, values, named)) is not None:
            return open_strategy
        if len(values) > len(self.parameters):
            raise UserError(
                f"{self.name} takes {_format_parameters(self.parameters)}, but got {len(values)}"
            )
        for name in named:
            if name not in self.parameters:
                parameter_names = ", ".join(self.parameters) or "none"
                raise UserError(f"{self.name} has no parameter {name}; it has: {parameter_names}")
        arguments = dict(self.arguments)
        for name, value in (*zip(self.parameters, values, strict=False), *named.items()):
            arguments[name] = self._parse_size(name, value)
        ordered = tuple((name, arguments[name]) for name in self.parameters if name in arguments)
        return replace(self, arguments=ordered)

    def _parse_size(self, name: str, value: Value) -> Nat:
        try:
            size = parse_nat(value) if isinstance(value, str) else as_nat(value)
        except (NatError, TypeError):
            raise UserError(f"{self.name}: {name} must be a size, but is {value!r}") from None
        is_marked = any(name.startswith(UNKNOWN) for name in size.variables)
        if is_marked or (size.is_constant and size.constant < 0):
            raise UserError(f"{self.name}: {name} must be a size, but is {size}")
        return size

    @property
    def family(self) -> str:
        """The module of `rules/` that defines it."""
        return self.module.rpartition(".")[2]

    @property
    def is_built_in(self) -> bool:
        """Whether it is built in; built-in rules are tested on random instances."""
        return self.module.startswith("riselang.")

    @cached_property
    def is_relaxed_only(self) -> bool:
        """Whether it applies only to relaxed programs: it is relaxed, and no condition decides
        where its results are bitwise identical anyway, such as for integers."""
        has_float_condition = any(condition.decides_floats for condition in self.conditions)
        return self.permission is Permission.RELAXED and not has_float_condition

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={_format_argument(size)}" for name, size in self.arguments)
        return f"{self.name}({arguments})" if arguments else self.name

    def can_match(self, head: str) -> bool:
        return self._head in (None, head)

    def can_apply(self, head: str) -> bool:
        return self.can_match(head) and self.head in (None, head)

    @cached_property
    def _head(self) -> str | None:
        """The head pattern of the left-hand side; None if it may be any."""
        if self.law.form is Form.WRITTEN or not self.law.outline:
            return None
        return self.law.outline[0]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.module, self.arguments))

    def run(self, term: Term, setting: Setting) -> Result:
        return (
            self._run_with_reason(term, setting)
            if setting.explains
            else self._run_without_reason(term, setting)
        )

    def _run_without_reason(self, term: Term, setting: Setting) -> Result:
        """Rewrite the term; a failure has no reason."""
        failures = setting.failures.get(self)
        if failures is None:
            failures = setting.failures[self] = {}
        failure = failures.get(term)
        if failure is not None:
            return failure
        if self.rewrite is None and not may_match(self.law.sides[0], term):
            result: Result = Failure(self, "", term)
        else:
            result = self._run_with_reason(term, setting)
        if isinstance(result, Failure):
            failures[term] = result
        return result

    def _run_with_reason(self, term: Term, setting: Setting) -> Result:
        outline = () if self.rewrite is not None else self.law.outline
        for depth, (expected_name, name) in enumerate(
            zip(outline, _applied_patterns(term), strict=False)
        ):
            if expected_name != name and depth == 0:
                return Failure(self, f"this is not {self.law.left}", term, closeness=NOTHING)
            if expected_name != name:
                return Failure(self, f"expected {expected_name}", term, closeness=HEAD)
        if self.is_relaxed_only and setting.float != "relaxed":
            reason = 'it may change float results, which only float="relaxed" permits'
            return Failure(self, reason, term, closeness=CONDITION)
        try:
            result = self._apply(term, setting)
        except NoMatch as error:
            reason = str(error) if setting.explains else ""
            return Failure(self, reason, term, closeness=HEAD)
        except (Unmet, VerifyException) as error:
            reason = str(error) if setting.explains else ""
            return Failure(self, reason, term, closeness=CONDITION)
        if result.type != term.type:
            return Failure(self, "the types of both sides cannot be proved equal", term,
                           closeness=CONDITION)  # fmt: skip
        return Success(result, (Step(self, (), term, result),))

    def _apply(self, term: Term, setting: Setting) -> Term:
        arguments = dict(self.arguments)
        for name in self.parameters:
            if name not in arguments:
                raise Unmet(f"it needs a value for {name}")
        if self.rewrite is None:
            match = self._match_term(term)
        else:
            extra: dict[str, Any] = {"setting": setting} if _takes_setting(self.rewrite) else {}
            result = self.rewrite(term, **arguments, **extra)
            if isinstance(result, Term):
                return result
            match = self._match_bindings(result)
            if match.build(self.law.sides[0], form=ApplicationForm.REPEATED) != term:
                raise NoMatch(f"this is not {self.law.left}")
        for condition in self.conditions:
            condition.check(match, setting)
        match.location = term.location
        return match.build(self.law.sides[1])

    def _start_match(self) -> Match:
        return Match({UNKNOWN + name: size for name, size in self.arguments})

    def _match_term(self, term: Term) -> Match:
        """Match a term with the left-hand side of the law; raises NoMatch."""
        match = self._start_match()
        match.match(self.law.sides[0], term)
        _finish_match(match)
        return match

    def _match_bindings(self, bindings: Bindings) -> Match:
        """Solve for the sizes and types of the law, given its functions and values."""
        match = self._start_match()
        for unknown in self._unknowns:
            match.match(unknown, bindings[unknown.name.removeprefix(UNKNOWN)])
        _finish_match(match)
        return match

    @cached_property
    def _unknowns(self) -> tuple[Free, ...]:
        """The unknown functions and values of the law."""
        parts = [each for side in self.law.sides for each in subterms(side)]
        return tuple({each.name: each for each in parts if isinstance(each, Free)}.values())

    def reversed(self, name: str) -> Rule:
        """Define a rule that applies the law from right to left."""
        if self.rewrite is not None:
            raise UserError(f"{self.name} is matched by a function, so it cannot be reversed")
        law = replace(
            self.law,
            left=self.law.right,
            right=self.law.left,
            definition=self.law.definition and replace(self.law.definition, name=name),
        )
        return _add_rule(replace(self, name=name, law=law, summary=""))


@cache
def _takes_setting(rewrite: Rewrite) -> bool:
    return "setting" in inspect.signature(rewrite).parameters


def _applied_patterns(term: Term) -> Iterator[str]:
    """Yield the patterns that a term applies, the last one first, and then "" for no pattern."""
    while isinstance(term, Apply) and term.head is not None:
        yield term.head.name
        term = term.argument
    yield ""


def _finish_match(match: Match) -> None:
    try:
        match.finish()
    except NoMatch as error:
        raise Unmet(str(error)) from None


def law(
    parameters: str,
    *conditions: Condition,
    choose: str = "",
    permission: Permission = Permission.STRICT,
) -> Callable[[Callable[[], None]], Rule]:
    """Define a rule by the docstring of a function: the law is its first paragraph.

    `parameters` are the unknowns with their types; `choose` lists the sizes that the user chooses.
    """

    def define(function: Callable[[], None]) -> Rule:
        return _register(function, parameters, conditions, choose, permission, None)

    return define


def rule(
    parameters: str,
    *conditions: Condition,
    choose: str = "",
    condition: str = "",
    permission: Permission = Permission.STRICT,
    form: Form = Form.NORMAL,
    head: str | None = None,
) -> Callable[[Rewrite], Rule]:
    """Define a rule by a function that finds the unknowns of the law in its docstring.

    The left-hand side with these unknowns must be equal to the term. If the function returns the
    right-hand side itself, this is not checked.
    """

    def define(function: Rewrite) -> Rule:
        described_conditions = (
            (Condition(condition, lambda match, setting: None),) if condition else ()
        )
        all_conditions = (*conditions, *described_conditions)
        return _register(
            function, parameters, all_conditions, choose, permission, function, form, head
        )

    return define


def _register(
    function: Callable[..., Any],
    parameters: str,
    conditions: Sequence[Condition],
    choose: str,
    permission: Permission,
    rewrite: Rewrite | None,
    form: Form = Form.NORMAL,
    head: str | None = None,
) -> Rule:
    text, _, description = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
    name, chosen_sizes = function.__name__.rstrip("_"), tuple(choose.split())
    definition = Definition(name, function.__code__, chosen_sizes, is_matched=rewrite is None)
    rule = Rule(
        name,
        Law.parse(parameters, " ".join(text.split()), form, definition),
        function.__module__,
        chosen_sizes,
        tuple(conditions),
        permission,
        rewrite,
        summary=" ".join(description.split()),
        head=head,
    )
    return _add_rule(rule)


def _add_rule(rule: Rule) -> Rule:
    """Register a rule; a user's may replace one of the same name and module, as in notebooks."""
    if not rule.is_built_in:
        # Built-in laws are parsed when they are used; an error in a user's law is reported at once.
        rule.law.check()
    previous_rule = RULES.get(rule.name)
    if previous_rule is not None and not _replaces(rule, previous_rule):
        raise _duplicate_error(rule, previous_rule)
    RULES[rule.name] = rule
    return rule


def _replaces(made: Rule, known: Rule) -> bool:
    """Whether a rule is a new version of a known one, not another rule of the same name."""
    is_same = str(made.law.definition) == str(known.law.definition)
    return made.module == known.module and (is_same or not made.is_built_in)


def _duplicate_error(made: Rule, known: Rule) -> UserError:
    message = (
        f"there is already a rule {made.name}, at {known.law.definition}: {known.law}; "
        "use that rule, or choose another name"
    )
    definition = made.law.definition
    return UserError(message, definition.location if definition is not None else None)


def _format_argument(size: Nat) -> str:
    return str(size) if size.is_constant else repr(str(size))


def _format_parameters(names: Sequence[str]) -> str:
    return (
        f"{format_count(len(names), 'parameter')} ({', '.join(names)})"
        if names
        else "no parameters"
    )
