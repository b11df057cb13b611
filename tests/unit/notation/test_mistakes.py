"""What newcomers get wrong in notation: the whole text of each error, in mistakes.txt."""

from __future__ import annotations

from pathlib import Path

import pytest

from riselang.notation.program import parse_program
from riselang.support.errors import UserError
from support.goldens import read_goldens

MISTAKES = read_goldens(Path(__file__).with_name("mistakes.txt"))


def error_of(text: str) -> str:
    with pytest.raises(UserError) as raised:
        parse_program(text, "file.rise")
    return str(raised.value)


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_explained(text: str) -> None:
    assert error_of(text) == MISTAKES[text]


@pytest.mark.parametrize("text", MISTAKES)
def test_errors_are_one_paragraph_without_our_own_names(text: str) -> None:
    message, *rest = MISTAKES[text].splitlines()
    assert message.startswith("file.rise:")
    assert "?" not in message.replace("did you mean", "").replace("missing?", "").replace("'?", "")
    assert len(rest) <= 3
