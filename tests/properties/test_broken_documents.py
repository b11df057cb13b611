"""Whatever is typed, an editor gets answers, and is told what `rise check` says."""

from __future__ import annotations

import random

import pytest

from riselang.dialects.module import parse_module, verify_module
from riselang.editor.document import open_document
from riselang.editor.positions import Positions
from riselang.notation.program import parse_program
from riselang.support.errors import RiseError
from support.broken_modules import MODULES
from support.broken_notation import NOTATION
from support.fuzzing import Ran, seeds


@pytest.mark.sampled(1)
@seeds(100, nightly=150, fuzzed=20_000, batch=50)
def test_broken_notation_is_looked_at(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        text = NOTATION.broken(seed).decode(errors="replace")
        _look(text, "a.rise", seed, _problem_of_notation(text))
    ran("broken documents in notation", len(seeds))


@seeds(30, nightly=60, fuzzed=20_000, batch=30)
def test_broken_modules_are_looked_at(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        text = MODULES.broken(seed).decode(errors="replace")
        _look(text, "a.mlir", seed, _problem_of_module(text))
    ran("broken documents in MLIR", len(seeds))


def _look(text: str, name: str, seed: int, problem: str | None) -> None:
    document = open_document(text, name)
    assert document is not None
    found = [each.message for each in document.problems]
    assert problem in found if problem is not None else not found, seed
    positions, choices = Positions(text), random.Random(seed)
    for each in document.problems:
        start, end = positions.extent(each.location)
        assert 0 <= start <= end <= len(text)
    for _ in range(3):
        offset = choices.randrange(len(text) + 1)
        line, column = positions.position(offset)
        assert positions.offset(line, column) == offset or text[offset - 1 : offset + 1] == "\r\n"
        document.hover(offset)
        document.definition(offset)
        document.completions(offset)


def _problem_of_notation(text: str) -> str | None:
    try:
        parse_program(text, "a.rise")
    except RiseError as error:
        return error.message
    return None


def _problem_of_module(text: str) -> str | None:
    try:
        verify_module(parse_module(text, "a.mlir"))
    except RiseError as error:
        return error.message
    return None
