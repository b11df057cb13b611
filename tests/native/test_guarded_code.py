"""Functions that call setjmp: LLVM does not coalesce registers in them, so they have no loops."""

from __future__ import annotations

import re
from typing import Any

import pytest

import riselang as rl

MATMUL = """fun((A : 384.384.f32, B : 384.384.f32),
  A |> map(fun(row, B |> transpose |> map(fun(column,
    zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
DYNAMIC = "fun((A : n.m.f32), A |> map(fun(row, row |> sort(fun((a, b), a < b)))))"


def guarded_functions(ir: str) -> list[str]:
    functions = re.findall(r"^define .*?^}", ir, re.MULTILINE | re.DOTALL)
    return [each for each in functions if "@_setjmp(" in each]


@pytest.mark.parametrize("text", [MATMUL, DYNAMIC])
def test_a_guarded_entry_point_calls_the_code_and_does_not_contain_it(text: str) -> None:
    program: Any = rl.loads(text, name="p.rise")
    ir = program.main.lower().as_text("llvm")
    guarded = guarded_functions(ir)
    assert guarded, "the program allocates memory, so its calls can end early"
    for function in guarded:
        calls = re.findall(r"call .*rise_call_\w+.*", function)
        assert len(calls) == 1
        assert "noinline" in calls[0]


def test_code_without_descriptors_is_compiled_once() -> None:
    program: Any = rl.loads(MATMUL, name="p.rise")
    assembly = program.main.lower().as_text("asm")
    functions = re.split(r"^(?=\w+:\n)", assembly, flags=re.MULTILINE)
    with_loops = [
        each.partition(":")[0] for each in functions if re.search(r"vfmadd|fmla|mulps", each)
    ]
    assert with_loops == ["main"], "entry points contain no arithmetic"
