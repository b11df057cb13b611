"""Colours for the notation and for MLIR, and the grammars that editors read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pygments import token

from making import grammars
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.editor.pygments_lexers import MLIRLexer, RiseLexer
from riselang.editor.tokens import MLIR, NOTATION, Token

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = [*sorted(EXAMPLES.glob("programs/*.rise")), *sorted(EXAMPLES.glob("seeds/*.mlir"))]


def kinds(text: str) -> list[tuple[str, str]]:
    found = RiseLexer().get_tokens(text)
    return [(str(kind).removeprefix("Token."), piece) for kind, piece in found if piece.strip()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_text_is_coloured_from_end_to_end(path: Path) -> None:
    lexer = RiseLexer() if path.suffix == ".rise" else MLIRLexer()
    text = path.read_text()
    found = list(lexer.get_tokens(text))
    assert "".join(piece for _, piece in found) == text
    assert not [piece for kind, piece in found if kind in (token.Error, token.Text)]


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_has_its_colour(name: str) -> None:
    (found,) = kinds(name)
    assert found == (("Keyword" if name == "let" else "Name.Builtin"), name)


def test_a_division_is_no_comment() -> None:
    assert kinds("a // b")[1] == ("Operator", " //")
    assert kinds("f(a)// b")[-2:] == [("Operator", "//"), ("Name", "b")]
    assert kinds("a + // b")[-1] == ("Comment.Single", "// b")
    assert kinds("x /* two\nlines */ y")[1] == ("Comment.Multiline", "/* two\nlines */")
    assert kinds("mapSequence")[0] == ("Name", "mapSequence")


@pytest.mark.parametrize(("made", "table"), [(grammars.notation, NOTATION), (grammars.mlir, MLIR)])
def test_a_grammar_has_what_the_table_has(made: Callable[[], str], table: Sequence[Token]) -> None:
    grammar = json.loads(made())
    patterns = [each.get("match", each.get("begin")) for each in grammar["patterns"]]
    for pattern in patterns:
        re.compile(pattern)
    coloured = [each.pattern for each in table if each.kind not in grammars.PLAIN]
    assert patterns == coloured
    assert grammar["scopeName"] in ("source.rise", "source.mlir")


def test_the_extension_names_files_that_exist() -> None:
    folder = EXAMPLES.parent / "editors" / "vscode"
    extension = json.loads((folder / "package.json").read_text())
    contributed = extension["contributes"]
    paths = [each["path"] for each in contributed["grammars"]]
    paths += [each["configuration"] for each in contributed["languages"] if "configuration" in each]
    for path in [extension["main"], *paths]:
        assert (folder / path).exists(), path
    endings = {ending for each in contributed["languages"] for ending in each["extensions"]}
    assert endings == {".rise", ".mlir", ".strategy"}
