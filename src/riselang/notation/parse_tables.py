"""The parse tables of the grammar, so that a process need not compute them.

`parse_tables.json` contains the tables that lark computes from `grammar.lark`: the terminals and
rules, and one line per parser state with the action for each token. An action `n` shifts to state
`n`, and an action `-1 - n` reduces by rule `n`. The tables are used only if they are those of this
grammar and of this version of lark; otherwise lark computes them. `make docs-tables` writes the
file, and a test fails if the file is out of date.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lark import Lark, Transformer

GRAMMAR_FILE = Path(__file__).with_name("grammar.lark")
TABLES_FILE = Path(__file__).with_name("parse_tables.json")
OPTIONS: dict[str, Any] = {"parser": "lalr", "lexer": "contextual", "maybe_placeholders": True}
Table = dict[int, dict[int, tuple[int, Any]]]
"""The actions of each state, by token: (0, state) to shift, (1, rule) to reduce, as in lark."""


def load_parser(transformer: Transformer[Any, Any]) -> Lark:
    """Return a parser that calls the methods of a transformer for the rules of the grammar."""
    from lark import Lark

    grammar = GRAMMAR_FILE.read_text()
    tables = json.loads(TABLES_FILE.read_text())
    if tables["version"] != _version(grammar):
        return Lark(grammar, **OPTIONS, transformer=transformer)
    data, memo = _decode(tables)
    load: Any = getattr(Lark, "_load_from_dict")  # noqa: B009, the loader of lark's own generator
    return load(data, memo, transformer=transformer)


def format_tables() -> str:
    """Compute the tables of the grammar, and format them as the text of the file."""
    from lark import Lark
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    grammar = GRAMMAR_FILE.read_text()
    data, memo = Lark(grammar, **OPTIONS).memo_serialize([TerminalDef, Rule])
    parser = data["parser"]["parser"]
    names = parser.pop("tokens")
    states: Table = parser.pop("states")
    order = _number_states(states, parser["start_states"], names)
    for key in ("start_states", "end_states"):
        parser[key] = {rule: order[state] for rule, state in parser[key].items()}
    lines = [
        json.dumps(
            {
                names[token]: _encode(*actions[token], order)
                for token in sorted(actions, key=names.__getitem__)
            }
        )
        for actions in (states[state] for state in order)
    ]
    head = {"version": _version(grammar), "memo": list(memo.values()), "data": data}
    members = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rows = ",\n".join(lines)
    return "{\n" + ",\n".join([*members, f'"states": [\n{rows}\n]']) + "\n}\n"


def _version(grammar: str) -> str:
    import lark

    return f"{lark.__version__} {hashlib.sha256(grammar.encode()).hexdigest()}"


def _number_states(
    states: Table, start_states: dict[str, int], names: dict[int, str]
) -> dict[int, int]:
    """Number the states in breadth-first order; lark's numbers are different in each process."""
    order: dict[int, int] = {}
    queue = list(start_states.values())
    for state in queue:
        if state not in order:
            order[state] = len(order)
            actions = sorted((names[token], action) for token, action in states[state].items())
            queue += [target for _, (reduces, target) in actions if not reduces]
    return order


def _encode(reduces: int, target: Any, order: dict[int, int]) -> int:
    return -1 - target["@"] if reduces else order[target]


def _decode(tables: Any) -> tuple[Any, Any]:
    """Return the tables in the form in which lark loads them."""
    memo = dict(enumerate(tables["memo"]))
    data = tables["data"]
    names: dict[str, int] = {}
    data["parser"]["parser"]["states"] = {
        state: {
            names.setdefault(name, len(names)): (0, n) if n >= 0 else (1, {"@": -1 - n})
            for name, n in actions.items()
        }
        for state, actions in enumerate(tables["states"])
    }
    data["parser"]["parser"]["tokens"] = {token: name for name, token in names.items()}
    return data, memo
