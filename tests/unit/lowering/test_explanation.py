"""Loops and accesses say which pattern they are for, and the text can still be read."""

from riselang.api.kernel import TermKernel
from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.notation.program import parse_program

PROGRAM = """def f = fun((A : N.K.f32, x : K.f32),
  A
  |> mapPar(fun(row,
    zip(row, x)
    |> map(mult)
    |> reduce(add, 0.0))))
"""


def explained(stage: str) -> str:
    term = parse_program(PROGRAM, "folder/f.rise")["f"]
    return TermKernel("f", term).lower().compilation.annotated_text(stage)


def comments(text: str, op: str) -> set[str]:
    lines = [line for line in text.splitlines() if op in line]
    assert lines
    return {line.partition("//")[2].strip() for line in lines}


def test_loops_and_accesses_are_explained() -> None:
    text = explained("affine")
    assert comments(text, "affine.parallel") == {"mapPar at f.rise:3"}
    assert comments(text, "affine.for") == {"reduce at f.rise:6"}
    assert comments(text, "affine.load") == {"reduce at f.rise:6"}
    assert comments(text, "affine.store") == {"reduce at f.rise:6"}


def test_access_paths_are_explained() -> None:
    text = explained("imperative")
    assert "rise.codegen.assign" in text
    assert comments(text, "rise.codegen.idx") == {"mapPar at f.rise:3", "reduce at f.rise:6"}


def test_the_text_can_be_read_back() -> None:
    for stage in ("imperative", "affine"):
        text = explained(stage)
        module = parse_module(text)
        verify_module(module)
        plain = "\n".join(line.partition("  //")[0] for line in text.splitlines())
        assert module_text(module).strip() == plain.strip()
