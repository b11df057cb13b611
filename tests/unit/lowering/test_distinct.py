"""What is written is told to LLVM to be nowhere else, where that is known."""

from __future__ import annotations

from typing import Any

import riselang as rl
from riselang.dialects.module import functions, parse_module
from riselang.lowering.noalias import is_noalias, noalias_pointers
from riselang.native.llvm.ir_text import mark_noalias_pointers

PROGRAM = "fun((x : 64.f32, y : 64.f32), zip(x, y) |> map(mult))"


def definition(text: str, name: str) -> str:
    (line,) = (line for line in text.splitlines() if f"@{name}(" in line and "define" in line)
    return line


def test_the_result_is_marked_and_the_inputs_are_not() -> None:
    program: Any = rl.loads(PROGRAM, name="p.rise")
    line = definition(program.main.lower().as_text("llvm"), "main")
    assert line.count("noalias") == 1
    assert "ptr noalias %0" in line


def test_small_arrays_are_computed_in_vectors() -> None:
    """Loops that are unrolled have no checks at run time, so LLVM must know it."""
    program: Any = rl.loads("fun(x : 64.f32, x |> map(fun(a, a + a)))", name="p.rise")
    assembly = program.main.lower().as_text("asm")
    assert "fadd\ts" not in assembly  # AArch64
    assert "addss" not in assembly  # x86


def test_a_function_that_others_call_is_not_marked() -> None:
    program: Any = rl.loads(PROGRAM, name="p.rise")
    module = program.main.lower().as_text("rise").rstrip().removesuffix("}")
    type = "memref<64xf32>"
    caller = f"""func.func @g(%a : {type}) {{
      func.call @main(%a, %a, %a) : ({type}, {type}, {type}) -> () func.return }} }}"""
    text = rl.loads(module + caller).as_text("llvm")
    assert "noalias" not in definition(text, "main")


def test_only_named_functions_and_positions_are_marked() -> None:
    ir = "define void @f(ptr %0, ptr %1, i64 %2) {\n}\ndefine void @g(ptr %0) {\n}\n"
    marked = mark_noalias_pointers(ir, {"f": [1]})
    assert "@f(ptr %0, ptr noalias %1, i64 %2)" in marked
    assert "@g(ptr %0)" in marked


def test_parameters_without_the_attribute_may_overlap() -> None:
    type = "memref<4xf32>"
    module = parse_module(
        f"func.func @f(%out : {type} {{llvm.noalias}}, %x : {type}, %y : {type} {{llvm.noalias}})"
        " { func.return }"
    )
    (function,) = functions(module)
    assert [is_noalias(each) for each in function.body.blocks[0].args] == [True, False, True]
    assert noalias_pointers(module) == {"f": [1, 11]}
