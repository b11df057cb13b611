"""Strategies on the command line: text, a `.strategy` file, or a value in a Python file."""

from __future__ import annotations

import re
from pathlib import Path

from riselang.rewrite.core import Strategy
from riselang.rewrite.strategy_files import EXTENSION, read_strategy
from riselang.support.errors import UserError
from riselang.tools.file_reading import run_python

_IN_PYTHON = re.compile(r"(?P<path>[^()]*\.py):(?P<name>\w+)")


def select_strategy(given: str | None, file: str) -> Strategy:
    """Return the given strategy, or the one in the `.strategy` file next to the program."""
    return read_strategy(_strategy_file_for(file)) if given is None else load_strategy(given)


def load_strategy(given: str) -> Strategy:
    """Return a strategy that is given as text, in a `.strategy` file, or in a Python file."""
    found = _IN_PYTHON.fullmatch(given)
    return (
        read_strategy(given)
        if found is None
        else _strategy_from_python(found["path"], found["name"])
    )


def _strategy_file_for(file: str) -> str:
    path = Path(file).with_suffix(EXTENSION) if file != "-" else None
    if path is None or not path.exists():
        where = f", or write one into {path}" if path is not None else ""
        raise UserError(
            f"there is no strategy for {file}; pass --strategy 'tile(32, 32)', a {EXTENSION} file "
            f"or file.py:name{where}"
        )
    return str(path)


def _strategy_from_python(path: str, name: str) -> Strategy:
    """Return a strategy that a Python file defines."""
    values = run_python(path)
    if name not in values:
        known = [each for each, value in values.items() if isinstance(value, Strategy)]
        raise UserError(f"{path} has no strategy {name}; it has: {', '.join(known) or 'none'}")
    value = values[name]
    if not isinstance(value, Strategy):
        raise UserError(
            f"{path}: expected {name} to be a strategy, such as fuse() >> simplify(), but found a "
            f"{type(value).__name__}"
        )
    return value
