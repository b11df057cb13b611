"""The data of a page: a program, its derivation and its stages, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.explorer.numbering import number_parts
from riselang.explorer.source_locations import LocationTable
from riselang.explorer.stages import Stage, make_stages
from riselang.explorer.states import CONTRACTION, Line, State, make_states
from riselang.explorer.subject import SourceText, Subject
from riselang.rewrite.core import Setting, Step
from riselang.rewrite.derivation import Derivation
from riselang.rewrite.paths import format_path
from riselang.rewrite.rule import Rule
from riselang.rewrite.strategies.order_remarks import order_remarks
from riselang.support.config import Options
from riselang.support.profiling import time_span
from riselang.term.nodes import Lambda, Pattern, Scalar, Term
from riselang.version import __version__

PageData = dict[str, Any]


def explore_program(subject: Subject, speed: PageData | None = None) -> PageData:
    """Return the data of the page of a program, as JSON."""
    derivation = subject.derivation()
    last = number_parts(derivation.end)
    locations = LocationTable(subject.source)
    with time_span("print the steps"):
        states = make_states(derivation, subject.term, locations, last)
    with time_span("make the stages"):
        stages = make_stages(subject.compilation(last.term))
    return make_page_data(
        title=subject.name, source=subject.source, locations=locations, options=subject.options,
        strategy=derivation.strategy, stages=stages, speed=speed,
        sizes=dict(subject.sizes), notes=[*subject.notes, *_order_notes(subject, derivation)],
        parts=[[_part_name(part), locations.of(part)] for part in last.origins],
        lines=list(states.lines), states=[_state_data(state) for state in states.states],
        **_steps_data(derivation, contracts=subject.term != derivation.start),
    )  # fmt: skip


def _order_notes(subject: Subject, derivation: Derivation) -> list[str]:
    """Return remarks on reductions that would be faster in a different order."""
    setting = Setting(subject.options.float)
    return [str(remark) for remark in order_remarks(derivation.end, setting)]


def make_page_data(
    *,
    title: str,
    source: SourceText,
    locations: LocationTable,
    options: Options,
    strategy: str,
    stages: Sequence[Stage],
    parts: list[list[Any]],
    lines: Sequence[Line],
    states: list[list[Any]],
    rules: list[PageData],
    steps: list[list[Any]],
    sizes: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
    speed: PageData | None = None,
) -> PageData:
    """Return the data that the page reads; see `assets/model.js`."""
    return {
        "version": __version__,
        "title": title,
        "sizes": dict(sizes or {}),
        "strategy": strategy,
        "float": options.float,
        "loops": options.loops,
        "notes": list(notes),
        "patterns": sorted(PATTERNS),
        "source": {
            "file": source.file,
            "language": source.language,
            "lines": [[text, list(words)] for text, words in locations.source_lines()],
        },
        "places": locations.labels(),
        "parts": parts,
        "lines": [[text, list(words)] for text, words in lines],
        "states": states,
        "rules": rules,
        "steps": steps,
        "stages": [_stage_data(stage) for stage in stages],
        "speed": speed,
    }


def _part_name(part: Term) -> str:
    """Return the name of a part of the program."""
    match part:
        case Pattern(spec):
            return spec.name
        case Scalar(op):
            return op.partition(".")[2]
        case Lambda():
            return "fun"
        case _:
            return ""


def _state_data(state: State) -> list[Any]:
    return [state.first, state.removed, list(state.lines), state.produced, state.next]


def _steps_data(derivation: Derivation, *, contracts: bool) -> PageData:
    """Return the steps, each as the number of its rule and its path, and the rules."""
    rules: dict[str, PageData] = {}
    steps: list[list[Any]] = []
    if contracts:
        summary = "A multiplication and an addition become one operation, which rounds once."
        rules["contract"] = _rule_data(
            "contract", CONTRACTION, "float permission", "contract", summary
        )
        steps.append([0, ""])
    numbers = {name: number for number, name in enumerate(rules)}
    for step in derivation.steps:
        name = str(step.rule)
        if name not in rules:
            numbers[name] = len(rules)
            rules[name] = _step_rule_data(step)
        steps.append([numbers[name], format_path(step.path)])
    return {"rules": list(rules.values()), "steps": steps}


def _step_rule_data(step: Step) -> PageData:
    rule: Rule = step.rule
    return _rule_data(str(rule), str(rule.law), rule.family, rule.permission.value, rule.summary)


def _rule_data(name: str, law: str, family: str, permission: str, summary: str) -> PageData:
    return {
        "name": name, "law": law, "family": family, "permission": permission, "summary": summary,
    }  # fmt: skip


def _stage_data(stage: Stage) -> PageData:
    """Return a stage as JSON, with its lines as one string, which is faster to parse."""
    return {
        "key": stage.key,
        "title": stage.title,
        "language": stage.language,
        "summary": stage.summary,
        "text": "\n".join(text for text, _ in stage.lines),
        "parts": [part for _, part in stage.lines],
        "error": stage.error,
    }
