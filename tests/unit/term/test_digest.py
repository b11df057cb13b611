"""Names of terms: equal for equal terms in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import riselang as rl
from riselang.notation.program import parse_term
from riselang.term.digest import PartDigests, digest
from riselang.term.nodes import Term

pytestmark = pytest.mark.rotating(6)

SCRIPT = """
import riselang as rl
from riselang.notation.program import parse_term
from riselang.term.digest import PartDigests, digest
program = rl.loads(PROGRAM, name="program.rise")
print(digest(program.main.lower(N=8).source))
"""
MATMUL = (
    "def main = fun((A : N.4.f32, b : 4.f32) => "
    "A |> map(fun(row => zip(row, b) |> map(mult) |> reduce(add, 0.0))))"
)


def term(text: str, **sizes: int) -> Term:
    program: Any = rl.loads(text, name="program.rise")
    return program.main.lower(**sizes).source


def test_the_same_program_has_the_same_name_in_every_process() -> None:
    names: set[str] = set()
    for seed in ("0", "1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.replace("PROGRAM", repr(MATMUL))],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        names.add(done.stdout.strip())
    assert names == {digest(term(MATMUL, N=8))}


def test_other_programs_have_other_names() -> None:
    programs = [
        term(MATMUL, N=8),
        term(MATMUL, N=9),
        term(MATMUL),
        term(MATMUL.replace("0.0", "-0.0"), N=8),
        term(MATMUL.replace("f32", "f64").replace("0.0", "0.0_f64"), N=8),
        term(MATMUL.replace("mult", "add"), N=8),
        term(MATMUL.replace("map(fun", "mapSeq(fun"), N=8),
        term(MATMUL.replace("(A :", "(B :").replace("A |>", "B |>"), N=8),
        term("def main = fun((x : 4.i32) => x |> map(fun(a => a + 1)))"),
        term("def main = fun((x : 4.i32) => x |> map(fun(a => a + a)))"),
    ]
    assert len({digest(program) for program in programs}) == len(programs)


def test_names_of_elements_do_not_matter() -> None:
    assert digest(term(MATMUL)) == digest(term(MATMUL.replace("row", "line")))


def test_the_place_of_a_check_matters() -> None:
    text = "def main = fun((x : 4.f32, i : i32) => at(checkIdx(4)(i), x))"
    assert digest(term(text)) != digest(term("\n" + text))
    unchecked = MATMUL
    assert digest(term(unchecked)) == digest(term("\n" + unchecked))


def test_digests_of_parts_distinguish_terms() -> None:
    texts = [
        "fun((x : 4.f32), x |> map(fun(e, e + 1.0)))",
        "fun((x : 4.f32), x |> map(fun(e, e + 2.0)))",
        "fun((x : 4.f32), x |> map(fun(e, 1.0 + e)))",
        "fun((x : 5.f32), x |> map(fun(e, e + 1.0)))",
        "fun((x : 4.f32), x |> mapSeq(fun(e, e + 1.0)))",
        "fun((x : f32, y : f32), x - y)",
        "fun((x : f32, y : f32), y - x)",
        "fun((x : f32, y : f32), x - x)",
    ]
    digests = PartDigests()
    found = [digests.digest_of(parse_term(text)) for text in texts]
    assert len(set(found)) == len(texts)
    assert found == [PartDigests().digest_of(parse_term(text)) for text in texts]
    assert found[0] == digests.digest_of(parse_term("fun((y : 4.f32), y |> map(fun(z, z + 1.0)))"))
