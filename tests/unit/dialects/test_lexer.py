"""The fast lexer gives the tokens of xDSL's."""

from __future__ import annotations

import random

import pytest
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from riselang.dialects.lexer import FastLexer
from riselang.dialects.module import module_text
from support.checking import module_of
from support.programs import seeded_program

TEXTS = (
    "0 00 007 0x1F 0xi32 0x 1.0 1. 1.5e-3 12 3.e4",
    '{-# #-} { -# #} -> - > --> <= >= %0 %a-b %0a #a.b !x$ ^bb0 @f @"g"',
    'a.b _c$ "s\\n" // comment\n "t" : , ( ) [ ] = + * ? | / ...',
    "%-1 #-x !_ ^ 1x2x?xf32 é",
    "a//b\n\t\v\fc",
)
PIECES = ("%", "#", "!", "^", "@", "0", "x", "7", ".", "e", "-", ">", "{", "}", "a", '"', " ", "\n",
          "/", "_", "$", "\x0b", "é", "²")  # fmt: skip


def tokens(lexer: MLIRLexer) -> list[object]:
    found: list[object] = []
    while True:
        try:
            token = lexer.lex()
        except ParseError as error:
            return [*found, (error.span.start, error.span.end, error.msg)]
        found.append((token.kind, token.span.start, token.span.end))
        if token.kind is MLIRTokenKind.EOF:
            return found


def check(text: str) -> None:
    assert tokens(FastLexer(Input(text, "t"))) == tokens(MLIRLexer(Input(text, "t"))), text


@pytest.mark.parametrize("text", TEXTS)
def test_each_kind_of_token(text: str) -> None:
    check(text)


def test_modules() -> None:
    check(module_text(module_of([seeded_program(seed) for seed in range(20)])))


def test_random_characters() -> None:
    source = random.Random(0)
    for _ in range(2000):
        check("".join(source.choices(PIECES, k=source.randrange(1, 9))))
