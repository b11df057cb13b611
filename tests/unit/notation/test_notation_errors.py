"""Common errors of new users in notation: the complete messages are in notation_errors.txt."""

from __future__ import annotations

from pathlib import Path

import pytest

from riselang.notation.program import parse_program
from riselang.support.errors import UserError
from support.goldens import read_goldens

EXAMPLES = read_goldens(Path(__file__).with_name("notation_errors.txt"))


def error_of(text: str) -> str:
    with pytest.raises(UserError) as raised:
        parse_program(text, "file.rise")
    return str(raised.value)


@pytest.mark.parametrize("text", EXAMPLES)
def test_common_errors_are_explained(text: str) -> None:
    assert error_of(text) == EXAMPLES[text]


@pytest.mark.parametrize("text", EXAMPLES)
def test_errors_are_one_paragraph_without_our_own_names(text: str) -> None:
    message, *rest = EXAMPLES[text].splitlines()
    assert message.startswith("file.rise:")
    assert "?" not in message.replace("did you mean", "").replace("missing?", "").replace("'?", "")
    assert len(rest) <= 3
