"""Notation of random programs is read back, and broken text is refused in a sentence."""

from __future__ import annotations

import os
import random
import re
import time
from contextlib import suppress

import pytest
from hypothesis import given

from riselang.dialects.rise.schemes import PATTERNS
from riselang.errors import LimitationError, UserError
from riselang.notation.formatting import format_program
from riselang.notation.operators import FUNCTIONS
from riselang.notation.printer import show_term
from riselang.notation.program import parse_program, parse_term
from support.fuzzing import fuzz
from support.programs import Program, programs
from support.shrinking import holds

TEXTS = [
    """fun((A : N.K.f32, B : K.M.f32), A |> map(fun(arow => B |> transpose |> map(fun(bcol,
    zip(arow, bcol) |> map(mult) |> reduce(add, 0.0))))))""",
    """def sq = fun(x, x * x)
    def twice = fun((f, x), f(f(x)))
    // the program
    def main = fun(x : 4.5.(f32 x i32), let g = map(sq); x |> map(map(fst)) |> map(g)
    |> map(map(fun(a, twice(sq, a + 1.0_f32)))) |> join |> split(4) |> slide(3, 1))""",
    """fun((f : f32 -> f32, x : N.f32, i : idx[N], v : 3.vec[4, f32]), /* c */
    if x |> at(i) < 1e-3 then cast[f64](f(1.0)) else inf_f64)""",
    """fun(x : 8.f32, generate(fun(i : idx[4], x |> at(clampIdx(8, fromIdx(i) * 2 // 3 % 4))))
    |> toMem(heap) |> mapSeq[affine](neg) |> padConst(1, N floordiv 2, -0.5)
    |> iterate(3, fun(a, a)))""",
    "let a = 1; let b = (a, 2.0, true); let(b, fst) + a & 3 | 4 ^ 5 - -a",
]
WORDS = [
    "fun", "let", "def", "if", "then", "else", "1", "0", "4.5", "N", "f32", "x", "inf", "cast",
    "idx", "vec", "99999999999999999999", "1e999", "é", *PATTERNS, *FUNCTIONS,
]  # fmt: skip
SIGNS = [
    "(", ")", ",", "|>", "=", ";", "->", "=>", "[", "]", "//", "/*", "*/", "-", "+", "<", ":", ".",
    "@", "\n", "\0", "\ud800",
]  # fmt: skip
TOKEN = re.compile(r"\s+|\w+|\|>|=>|->|//|.", re.DOTALL)
BATCHES = 5
BATCH = round(1000 * float(os.environ.get("RISE_FUZZ", "") or 1))


@fuzz(300)
@given(programs())
def test_printed_programs_are_read_back(program: Program) -> None:
    def reads_back(program: Program) -> None:
        text = show_term(program.term)
        assert parse_term(text) == program.term
        assert format_program(text) == f"{text}\n"

    holds(reads_back, program)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_broken_text_is_refused_in_a_sentence(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        text = broken(random.Random(seed))
        start = time.process_time()
        check(text)
        assert time.process_time() - start < 1, text


def check(text: str) -> None:
    """A text is a program that is read back, or is refused with a place and one paragraph."""
    program = refusal = None
    try:
        program = parse_program(text, "file.rise")
    except (UserError, LimitationError) as error:
        refusal = error
    if program is None:
        assert refusal is not None
        assert refusal.location is not None, text
        assert refusal.location.file == "file.rise"
        assert "\n" not in refusal.message, text
        return
    for definition in program:
        assert parse_term(show_term(definition.term)) == definition.term, text
    with suppress(LimitationError):  # for a comment inside an expression
        formatted = format_program(text)
        assert format_program(formatted) == formatted, text


def broken(choices: random.Random) -> str:
    kind = choices.randrange(10)
    if kind == 0:
        return bytes(choices.randrange(256) for _ in range(choices.randrange(80))).decode(
            "utf-8", "replace"
        )
    if kind == 1:
        return "".join(chr(choices.randrange(0x300)) for _ in range(choices.randrange(60)))
    if kind == 2:
        return " ".join(choices.choice([*WORDS, *SIGNS]) for _ in range(choices.randrange(30)))
    tokens = TOKEN.findall(choices.choice(TEXTS))
    for _ in range(choices.choice((1, 1, 2, 3, 8))):
        mutate(tokens, choices)
    return "".join(tokens)


def mutate(tokens: list[str], choices: random.Random) -> None:
    """Mostly another word in the place of a word, so that what is wrong is not only the syntax."""
    words = [position for position, token in enumerate(tokens) if re.match(r"\w", token)]
    place = choices.randrange(len(tokens))
    match choices.randrange(8):
        case 0:
            del tokens[place : place + 1 + choices.randrange(3)]
            tokens.append(" ")
        case 1:
            tokens.insert(place, f" {choices.choice([*WORDS, *SIGNS])} ")
        case 2:
            other = choices.randrange(len(tokens))
            tokens[place], tokens[other] = tokens[other], tokens[place]
        case 3:
            tokens[place:place] = tokens[place : place + choices.randrange(12)]
        case 4 if words:
            tokens[choices.choice(words)] = choices.choice(WORDS)
        case _ if words:
            tokens[choices.choice(words)] = tokens[choices.choice(words)]
        case _:
            tokens.append(choices.choice(SIGNS))
