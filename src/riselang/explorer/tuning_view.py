"""The view of a search for a strategy: its trials, charts of them, and the steps of the fastest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from riselang.explorer.tuning_charts import draw_curve, draw_parallel_coordinates, format_seconds
from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.parameters import Choice
from riselang.rewrite.strategy_layout import format_strategy
from riselang.rewrite.strategy_text import parse_strategy
from riselang.runtime.tuning_database import BestStrategy, Database, Trial, program_key
from riselang.support.config import Options
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.term.nodes import Term

PARAMETERS_LEGEND = (
    "green lines are fast, red ones slow, and dotted ones have no time; the thick line, if any, is "
    "the fastest strategy"
)


@dataclass(frozen=True)
class Tuning:
    """The trials of a program, and the fastest strategy; None if the search has not ended."""

    trials: tuple[Trial, ...]
    best: BestStrategy | None

    @property
    def strategy(self) -> Strategy:
        """The fastest strategy, or that of the fastest trial if the search has not ended."""
        text = self._strategy_text
        return DEFAULT if text == str(DEFAULT) else parse_strategy(text, "<tuning database>")

    @property
    def _strategy_text(self) -> str:
        if self.best is not None:
            return self.best.strategy
        measured = [each for each in self.trials if each.seconds is not None]
        fastest = min(measured, key=lambda each: each.seconds or 0.0, default=None)
        return str(DEFAULT) if fastest is None else fastest.strategy

    @property
    def default_seconds(self) -> float | None:
        return None if self.best is None else self.best.default_seconds

    def to_html(self, data: Mapping[str, Any]) -> str:
        """Return the view as HTML; `data` is that of the page of the fastest strategy."""
        if not self.trials:
            figure = _figure("Trials", "no strategy has been tried", "", "whole")
            return f'<div class="grid">{figure}</div>'
        parameters = _values_of(self.trials)
        varied = {name: each for name, each in parameters.items() if len(each) > 1}
        curve = draw_curve(self.trials, self.default_seconds)
        coordinates = draw_parallel_coordinates(self.trials, varied, self._strategy_text)
        fixed = [f"{name} = {each[0]}" for name, each in parameters.items() if len(each) == 1]
        note = f"in all trials: {', '.join(fixed)}" if fixed else ""
        parts = [
            _figure("Shortest time after each trial", _legend(self.default_seconds), curve),
            _figure("Fastest strategy", self._summary(), self._derivation(data)),
            _figure("Parameters", PARAMETERS_LEGEND, coordinates, "whole"),
            _figure("Trials", note, self._table(tuple(varied)), "whole"),
        ]  # fmt: skip
        return f'<div class="grid">{"".join(parts)}</div>'

    def _summary(self) -> str:
        measured = sum(each.seconds is not None for each in self.trials)
        text = f"{format_count(len(self.trials), 'trial')}, of which {measured} measured"
        if self.best is None:
            return f"{text}; the search has not ended"
        speedup = self.best.default_seconds / self.best.seconds
        return (
            f"{text}; {format_seconds(self.best.seconds)}, {speedup:.2f} times the speed of the "
            "default strategy"
        )

    def _derivation(self, data: Mapping[str, Any]) -> str:
        """Return the fastest strategy, and its steps, which lead to the program after each."""
        rules = [data["rules"][number] for number, _ in data["steps"]]
        items = "".join(
            f'<li><button data-step="{number}">{escape(rule["name"])}</button> '
            f"<code>{escape(rule['law'])}</code></li>"
            for number, rule in enumerate(rules, 1)
        )
        strategy = self.strategy
        text = str(strategy) if strategy is DEFAULT else format_strategy(strategy)
        summary = f"Derivation: {format_count(len(rules), 'step')}"
        return (
            f"<pre>{escape(text)}</pre><details><summary>{summary}</summary>"
            f'<ol class="derived">{items}</ol></details>'
        )

    def _table(self, names: Sequence[str]) -> str:
        head = "".join(
            f"<th>{escape(each)}</th>" for each in ("trial", "time", "speedup", *names, "outcome")
        )
        rows = "".join(self._row(number, each, names) for number, each in enumerate(self.trials, 1))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def _row(self, number: int, trial: Trial, names: Sequence[str]) -> str:
        time, speedup, outcome = "", "", trial.status
        if trial.seconds is not None:
            time = format_seconds(trial.seconds)
            if self.default_seconds is not None:
                speedup = f"{self.default_seconds / trial.seconds:.2f}"
        elif trial.reason:
            outcome = f"{trial.status}: {trial.reason}"
        values = (str(trial.choices.get(name, "")) for name in names)
        cells = "".join(
            f"<td>{escape(each)}</td>" for each in (str(number), time, speedup, *values)
        )
        kind = ' class="best"' if trial.strategy == self._strategy_text else ""
        return f'<tr{kind} title="{escape(trial.strategy)}">{cells}<td>{escape(outcome)}</td></tr>'


def read_tuning(path: Path, term: Term, options: Options) -> Tuning:
    """Read the trials of a program from a database."""
    key = program_key(term, options)
    # Connecting would create the file.
    trials = Database(path).trials(key) if path.exists() else []
    if not trials:
        raise UserError(
            f"the tuning database {path} has no trials of this program with these sizes and "
            "options on this machine; make some with 'rise tune'"
        )
    return Tuning(tuple(trials), Database(path).best(key))


def _values_of(trials: Sequence[Trial]) -> dict[str, list[Choice]]:
    """Return the values of each parameter that were tried, in increasing order."""
    found: dict[str, Counter[Choice]] = {}
    for trial in trials:
        for name, value in trial.choices.items():
            found.setdefault(name, Counter())[value] += 1
    return {
        name: sorted(each, key=lambda value: (isinstance(value, str), value))
        for name, each in found.items()
    }


def _legend(default_seconds: float | None) -> str:
    dashed = "" if default_seconds is None else "; the dashed line is the default strategy"
    return f"dots are trials, and crosses are trials without a time{dashed}"


def _figure(title: str, subtitle: str, content: str, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return (
        f"<figure{name}><figcaption>{escape(title)}<small>{escape(subtitle)}</small></figcaption>"
        f"{content}</figure>"
    )
