"""Chains of 10,000 patterns and 1,000 nested lambdas work, or are refused by a limit with a place.

How long they take is measured by `benchmarks/scaling.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import riselang as rl
from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.interpreter.evaluate import run_term
from riselang.notation.printer import show_term
from riselang.notation.program import parse_program, parse_term
from riselang.support.errors import LimitationError
from riselang.term.nodes import Term
from riselang.term.to_dialect import program_module
from riselang.tools import rise
from support.checking import term_in
from support.deep_programs import (
    chain_module,
    chain_notation,
    chain_python,
    nested_module,
    nested_notation,
    nested_python,
)
from support.fuzzing import IS_NIGHTLY
from support.tool_runs import called

pytestmark = pytest.mark.rotating(6)

LENGTH, DEPTH = 10_000 if IS_NIGHTLY else 4_000, 1_000
VALUES = [1.0, 2.0, 3.0, 4.0]


def test_a_long_chain_in_notation() -> None:
    term = parse_term(chain_notation(LENGTH))
    assert run_term(term, [VALUES]) == VALUES
    assert show_term(term).count("reverse") == LENGTH


def test_a_long_chain_in_a_module() -> None:
    module = parse_module(chain_module(LENGTH))
    verify_module(module)
    assert run_term(term_in(module), [VALUES]) == VALUES
    assert module_text(module).count("rise.apply") == LENGTH


def test_a_long_chain_in_python() -> None:
    term = rl.jit(chain_python(LENGTH)).trace().term
    assert run_term(term, [VALUES]) == VALUES


def test_nested_lambdas_in_notation() -> None:
    term = parse_term(nested_notation(DEPTH))
    assert run_term(term, [2.0]) == 2.0
    assert parse_term(show_term(term)) == term


def definition() -> Term:
    (found,) = parse_program(nested_notation(DEPTH), "deep.rise")
    return found.term


@pytest.mark.parametrize(
    ("file", "refused"),
    [
        ("deep.rise", lambda: program_module(definition(), "f")),
        ("deep.mlir", lambda: parse_module(nested_module(DEPTH), "deep.mlir")),
        ("deep_programs.py", lambda: rl.jit(nested_python(DEPTH)).trace()),
    ],
)
def test_nested_lambdas_are_rejected_with_a_location(
    file: str, refused: Callable[[], object]
) -> None:
    with pytest.raises(LimitationError, match="nest") as caught:
        refused()
    assert caught.value.location is not None
    assert Path(caught.value.location.file).name == file


@pytest.mark.parametrize("command", ["check", "run", "show"])
@pytest.mark.parametrize(
    ("ending", "text"), [(".rise", nested_notation(DEPTH)), (".mlir", nested_module(DEPTH))]
)
@pytest.mark.sampled(1)
def test_the_commands_take_nested_lambdas_or_reject_them(
    command: str, ending: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / f"deep{ending}"
    path.write_text(text)
    called(rise.main, [command, str(path)]).check(path)
