"""Derivations: a program, the steps that rewrote it, and the result.

A derivation is a value. It can be printed step by step, saved as JSON, replayed from that, and
compared with others. The JSON has the program and, for each step, the rule and the path, since a
rule has one result at a path; digests detect where a replay deviates.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from riselang.rewrite.core import Failure, Path, Setting, Step, Strategy
from riselang.rewrite.normal_forms import data_flow_normal_form
from riselang.rewrite.paths import Cursor, format_path, replace_at, subterm_at
from riselang.rewrite.rule import Rule
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.support.html import code, details, paragraph
from riselang.support.lazy import cached_property
from riselang.support.recursion import with_deep_stack
from riselang.term.digest import PartDigests, digest
from riselang.term.nodes import Term
from riselang.term.size_substitution import term_names

VERSION = 1
MAX_HTML_STEPS = 60
"""The number of steps in the HTML representation."""


@dataclass(frozen=True, repr=False)
class Derivation:
    """A program and the steps that rewrote it."""

    start: Term
    steps: tuple[Step, ...]
    end: Term
    strategy: str
    """The text of the strategy."""
    float: str = "contract"
    """The float permission of the program."""

    def __len__(self) -> int:
        return len(self.steps)

    def terms(self) -> Iterator[Term]:
        """Yield the program before the first step, and after each."""
        term = self.start
        yield term
        for step in self.steps:
            term = replace_at(term, step.path, step.after)
            yield term

    @with_deep_stack
    def show(self) -> str:
        """Format every step, with the rewritten subterm between marks."""
        lines = [f"{self.start}\n"]
        for number, (step, term) in enumerate(
            zip(self.steps, self._terms_after_steps, strict=True), 1
        ):
            lines.append(f"-- {number}. {step.rule}: {step.rule.law}")
            lines.append(f"{mark_subterm(term, step.path)}\n")
        return "\n".join(lines)

    @cached_property
    def _terms_after_steps(self) -> list[Term]:
        return list(self.terms())[1:]

    def __str__(self) -> str:
        return self.show()

    def __repr__(self) -> str:
        return f"<derivation of {format_count(len(self), 'step')} by {self.strategy}>"

    def _repr_html_(self) -> str:
        return self.as_html()

    @with_deep_stack
    def as_html(self) -> str:
        """Format every step as a collapsible section; of very many, only the first ones."""
        from riselang.notation.layout import MARK

        parts = [
            paragraph(format_count(len(self), "step"), strong=self.strategy),
            code(str(self.start)),
        ]
        pairs = list(zip(self.steps, self.terms(), strict=False))[:MAX_HTML_STEPS]
        for number, (step, term) in enumerate(pairs, 1):
            marked_term = mark_subterm(replace_at(term, step.path, step.after), step.path)
            inner = paragraph(str(step.rule.law)) + code(str(marked_term), MARK)
            parts.append(details(f"{number}. {step.rule}", inner))
        if len(self) > MAX_HTML_STEPS:
            note = f"and {len(self) - MAX_HTML_STEPS} more, which rl.explore shows"
            parts.append(paragraph(note))
        return "".join([*parts, code(str(self.end))])

    # JSON

    @with_deep_stack
    def to_json(self) -> str:
        """Serialize the derivation as text that `replay` reads."""
        digests = PartDigests()
        steps = [
            {
                "rule": str(step.rule),
                "path": list(step.path),
                "result": digests.digest_of(step.after),
            }
            for step in self.steps
        ]
        document = {
            "version": VERSION, "program": str(self.start), "float": self.float,
            "strategy": self.strategy, "steps": steps, "end": digest(self.end),
        }  # fmt: skip
        return json.dumps(document, indent=1) + "\n"

    def diff(self, other: Derivation) -> str:
        """Format the steps of both, with those that only one of them has after - or +."""
        own_steps, other_steps = (
            [_format_step(step) for step in derivation.steps] for derivation in (self, other)
        )
        lines: list[str] = []
        matcher = SequenceMatcher(None, own_steps, other_steps, autojunk=False)
        for kind, first, last, other_first, other_last in matcher.get_opcodes():
            if kind == "equal":
                lines += [f"  {derivation}" for derivation in own_steps[first:last]]
                continue
            lines += [f"- {derivation}" for derivation in own_steps[first:last]]
            lines += [f"+ {derivation}" for derivation in other_steps[other_first:other_last]]
        summary = "the same program" if self.end == other.end else "different programs"
        return (
            "\n".join([*lines, f"both give {summary}" if self.end == other.end else summary]) + "\n"
        )


def _format_step(step: Step) -> str:
    return f"{step.rule} at {format_path(step.path)}"


def mark_subterm(term: Term, path: Path) -> Term:
    """Mark the subterm at a path."""
    from riselang.notation.printer import mark

    return replace_at(term, path, mark(subterm_at(term, path)))


@with_deep_stack
def derive(term: Term, strategy: Strategy, float: str = "contract") -> Derivation:
    """Rewrite a program, after bringing it into data-flow normal form.

    If the strategy does not apply, the error says which rule failed, where and why.
    """
    result = (data_flow_normal_form >> strategy).run(term, Setting(float))
    if isinstance(result, Failure):
        raise failure_error(result, term, strategy)
    if unknown := term_names(result.term) - term_names(term):
        raise UserError(f"the strategy {strategy} uses {', '.join(sorted(unknown))}, "
                        "which is not a size of the program")  # fmt: skip
    return Derivation(term, result.steps, result.term, str(strategy), float)


@with_deep_stack
def try_derive(term: Term, strategy: Strategy, setting: Setting) -> Derivation | None:
    """Rewrite a program as `derive` does; return None if the strategy does not apply."""
    result = (data_flow_normal_form >> strategy).run(term, setting.quiet)
    if isinstance(result, Failure):
        return None
    return Derivation(term, result.steps, result.term, str(strategy), setting.float)


def failure_error(failure: Failure, start: Term, strategy: Strategy) -> UserError:
    """Convert a failure to an error, with the subterm where it occurred marked in the program."""
    program = start
    for step in failure.steps:
        program = replace_at(program, step.path, step.after)
    failed_strategy = failure.strategy
    notes = [f"this is where it was tried:\n{mark_subterm(program, failure.path)}"]
    if isinstance(failed_strategy, Rule):
        notes.append(f"{failed_strategy.name} is the law {failed_strategy.law}")
    if isinstance(strategy, Rule):
        notes.append(f"a rule alone applies to the whole program; top_down({strategy}) looks for "
                     "a subterm to which it applies")  # fmt: skip
    if failure.steps:
        verb = "was" if len(failure.steps) == 1 else "were"
        count = format_count(len(failure.steps), "step")
        notes.append(f"{count} {verb} applied before this one")
    return UserError(
        f"the strategy {strategy} does not apply: {failed_strategy} failed, since {failure.reason}",
        failure.term.location,
        *notes,
    )


@with_deep_stack
def replay(text: str, name: str = "<derivation>") -> Derivation:
    """Repeat the derivation that was saved as JSON."""
    from riselang.notation.program import parse_term

    document = _parse_json(text, name)
    start, setting = parse_term(document["program"], name), Setting(document["float"])
    cursor, replayer = Cursor(start), _Replayer(setting)
    steps = [
        replayer.replay_step(each, cursor, f"{name}: step {number}")
        for number, each in enumerate(document["steps"], 1)
    ]
    end = cursor.root()
    if digest(end) != document["end"]:
        raise UserError(f"{name}: the steps result in a different program than the saved one")
    return Derivation(start, tuple(steps), end, document["strategy"], document["float"])


class _Replayer:
    """Repeats saved steps."""

    def __init__(self, setting: Setting):
        self.setting = setting
        self.rules: dict[str, Rule] = {}
        self.digests = PartDigests()

    def replay_step(self, saved_step: dict[str, Any], cursor: Cursor, location: str) -> Step:
        path = tuple(saved_step["path"])
        try:
            cursor.move(path)
        except IndexError:
            raise UserError(f"{location}: the program has no subterm at this path") from None
        result = _parse_rule(saved_step["rule"], self.rules, location).run(
            cursor.subterm, self.setting
        )
        if isinstance(result, Failure):
            raise UserError(
                f"{location}: {saved_step['rule']} does not apply, since {result.reason}"
            )
        (step,) = result.steps
        if self.digests.digest_of(step.after) != saved_step["result"]:
            raise UserError(
                f"{location}: {saved_step['rule']} has a different result than the saved one"
            )
        cursor.subterm = step.after
        return step.prefix_path(path)


def _parse_rule(text: str, rules: dict[str, Rule], location: str) -> Rule:
    from riselang.rewrite.strategy_text import parse_strategy

    if text not in rules:
        rule = parse_strategy(text, location)
        if not isinstance(rule, Rule):
            raise UserError(f"{location}: {text} is not a rule")
        rules[text] = rule
    return rules[text]


def _parse_json(text: str, name: str) -> dict[str, Any]:
    """Parse the JSON of a derivation, and check its fields."""
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name} is not a derivation: {error}") from None
    text_fields = ("program", "float", "strategy", "end")
    is_valid = isinstance(document, dict) and all(
        isinstance(document.get(key), str) for key in text_fields
    )
    if not is_valid or not isinstance(document.get("steps"), list):
        raise UserError(f"{name} is not a derivation: it needs {', '.join(text_fields)} and steps")
    if document.get("version") != VERSION:
        raise UserError(
            f"{name} has version {document.get('version')}, but expected version {VERSION}"
        )
    for step in document["steps"]:
        if not _is_step(step):
            raise UserError(f"{name} is not a derivation: a step needs a rule, a path and a result")
    return document


def _is_step(step: Any) -> bool:
    return (
        isinstance(step, dict)
        and all(isinstance(step.get(key), str) for key in ("rule", "result"))
        and isinstance(step.get("path"), list)
        and all(type(position) is int and position >= 0 for position in step["path"])
    )
