"""Helpers for tests about the text of the dialect."""

from textwrap import dedent

import pytest
from xdsl.dialects.builtin import ModuleOp

from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.support.errors import UserError
from riselang.support.recursion import with_deep_stack

FILE = "program.mlir"
MARK = "¦"


def read(text: str) -> ModuleOp:
    """The verified module that `text` says."""
    module = parse_module(dedent(text), FILE)
    verify_module(module)
    return module


def printed(text: str) -> str:
    """The ops of `text` as they are printed again, without the module around them."""
    lines = module_text(read(text)).strip().splitlines()
    assert lines[0] == "builtin.module {"
    assert lines[-1] == "}"
    return dedent("\n".join(lines[1:-1]))


def assert_round_trip(text: str) -> None:
    """Custom and generic form both give back the same module and the same text."""
    module = read(text)
    custom = module_text(module)
    for form in (custom, module_text(module, generic=True)):
        again = read(form)
        assert with_deep_stack(again.is_structurally_equivalent)(module)
        assert module_text(again) == custom


def assert_prints_as_written(text: str) -> None:
    """`text` is in the form we print, and every form of it reads back to the same module."""
    assert printed(text) == dedent(text).strip()
    assert_round_trip(text)


def refusal(text: str) -> UserError:
    """The error that reading or verifying `text` gives."""
    with pytest.raises(UserError) as caught:
        read(text)
    return caught.value


def assert_refused(text: str, message: str) -> None:
    """Refused with `message` in its text, at the place that `¦` marks in the text."""
    clean = dedent(text)
    position = clean.index(MARK)
    clean = clean.replace(MARK, "")
    error = refusal(clean)
    assert message in error.message
    assert error.location is not None
    line = clean.count("\n", 0, position) + 1
    column = position - (clean.rfind("\n", 0, position) + 1) + 1
    assert (error.location.file, error.location.line, error.location.column) == (FILE, line, column)
    head = str(error).splitlines()[0]
    assert head.startswith(f"{FILE}:{line}:{column}: error: ")
