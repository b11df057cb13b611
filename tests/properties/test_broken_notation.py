"""Broken `.rise` files are refused in a sentence with a place, or are programs after all."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from riselang.notation.formatting import format_program
from riselang.notation.printer import show_term
from riselang.notation.program import parse_program, parse_term
from riselang.support.errors import LimitationError
from riselang.tools import rise
from support.broken_notation import NOTATION
from support.fuzzing import Ran, seeds
from support.small_runs import run_small
from support.tool_runs import SECONDS, called, limited

pytestmark = pytest.mark.rotating(6)


@seeds(1000, nightly=5000, fuzzed=50_000, batch=500)
def test_broken_notation_is_rejected_with_a_location(
    seeds: range, tmp_path: Path, ran: Ran
) -> None:
    accepted = small = 0
    for seed in seeds:
        path = tmp_path / f"broken{seed}.rise"
        path.write_bytes(NOTATION.broken(seed))
        outcome = called(rise.main, ["check", str(path)])
        outcome.check(path)
        if outcome.code == 0:
            accepted += 1
            small += check_program(path.read_bytes().decode(), seed)
        path.unlink()
    ran("broken .rise files", len(seeds))
    ran("broken .rise files that are programs after all", accepted)
    ran("programs in broken .rise files, interpreted", small)


def check_program(text: str, seed: int) -> int:
    """What is accepted is printed and read back, formatted once and for all, and runs."""
    count = 0
    with limited(SECONDS):
        for definition in parse_program(text, "file.rise"):
            assert parse_term(show_term(definition.term)) == definition.term, text
            count += run_small(definition.term, seed)
        with suppress(LimitationError):  # for a comment inside an expression
            formatted = format_program(text)
            assert format_program(formatted) == formatted, text
    return count
