"""Broken and hostile C files get a located message, and never anything else."""

from __future__ import annotations

import random
import re

import pytest

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.file import CFile
from riselang.support.config import Options
from riselang.support.errors import InternalError, RiseError
from support.c_programs import EXTRA, KERNELS
from support.fuzzing import Ran, seeds

pytestmark = pytest.mark.rotating(3)

FILES = [path.read_text() for path in sorted((*KERNELS.glob("*.c"), *EXTRA.glob("*.c")))]
WORDS = (
    "while", "break", "return", "goto", "*", "&", "->", "struct", "float", "unsigned", "char", "%",
    "/", "0", "-1", "4294967295", "99999999999", "i", "n", "[", "]", "(", ")", "{", "}", ";", "?",
    ":", "||", "!", "<<", "sizeof(int)", "1e400", "'x'", '"s"', "\\", "#define n 3\n", "NULL", "++",
    "const", "static", "volatile", "void", "_Bool", "double", "\u00e9", "__builtin_trap()", "#",
    "#pragma scop\n", "#pragma endscop\n", "/*", "inline", "n * m", "a[a[0]]", "asm(\"nop\");",
)  # fmt: skip
"""What is put where it may not belong."""


def broken(seed: int) -> str:
    choice = random.Random(seed)
    tokens = re.findall(r"\w+|\s+|[^\w\s]", choice.choice(FILES))
    for _ in range(choice.randint(1, 3)):
        at = choice.randrange(len(tokens))
        match choice.randrange(4):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, f" {choice.choice(WORDS)} ")
            case 2:
                tokens[at] = f" {choice.choice(WORDS)} "
            case _:
                other = choice.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


def look(text: str) -> None:
    """Model and emit all that can be; only located errors of ours may come out."""
    file = CFile.parse_text(text, "broken.c")
    file.marked_regions()
    for function in file.functions:
        if function.location.file == "broken.c":
            try:
                make_program(
                    [file.model_function(function.name)], Options("affine", "strict")
                ).affine_text()
            except RiseError as error:
                check(error)


def check(error: RiseError) -> None:
    if isinstance(error, InternalError):
        raise error
    if error.location is None:
        raise AssertionError(f"no location: {error}")


@seeds(20, nightly=40, fuzzed=500, batch=20)
def test_broken_files_get_a_located_message(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        text = broken(seed)
        try:
            look(text)
        except RiseError as error:
            check(error)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        ran("broken C files", 1)


HOSTILE = {
    "deep parentheses": "int f(int n) { return " + "(" * 200 + "n" + ")" * 200 + "; }",
    "deeper parentheses": "int f(int n) { return " + "(" * 5000 + "n" + ")" * 5000 + "; }",
    "a long sum": "void f(int n, int *a) { a[0] = " + " + ".join(["n"] * 3000) + "; }",
    "deep loops": "void f(int n, int *a) { "
    + "".join(f"for (int i{at} = 0; i{at} < n; i{at}++) " for at in range(40))
    + "a[0]++; }",
    "many statements": "void f(int *a) { " + "a[0]++; " * 3000 + "}",
    "a macro that grows": "#define A n + n\n#define B A + A + A + A\n#define C B + B + B + B\n"
    "#define D C + C + C + C\n#define E D + D + D + D\nvoid f(int n, int *a) { a[E] = E; }",
    "mutual recursion": "int g(int); int f(int n) { return g(n); } int g(int n) { return f(n); }",
    "calls that grow": "".join(
        f"static double f{at + 1}(double x) {{ return f{at}(x) + f{at}(x); }}\n" if at else
        "static double f1(double x) { return x + x; }\n" for at in range(30)
    )
    + "void f(double *a) { a[0] = f30(a[0]); }",
    "a file that includes itself": '#include "broken.c"\n',
    "huge bounds": "void f(long long *a) { for (long long i = -9223372036854775807LL; "
    "i < 9223372036854775807LL; i += 4611686018427387904LL) a[0] += i; }",
    "an array of no length": "void f(double a[0], double b[][0]) { a[0] = b[0][0]; }",
    "names of isl": "void f(int mod, int floor, int exists, double *and) "
    "{ for (int or = mod; or < floor + exists; or++) and[or] = or; }",
    "nothing": "",
    "no C at all": "\x7fELF\x01\x02 \n\n @@@@",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.sampled(2)
def test_hostile_files(name: str) -> None:
    try:
        look(HOSTILE[name])
    except RiseError as error:
        check(error)
