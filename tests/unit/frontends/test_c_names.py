"""Names of C that mean something to Python, isl, MLIR or RISE's notation."""

from __future__ import annotations

import builtins
import keyword

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.file import CFile
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.config import Options

pytestmark = pytest.mark.rotating(6)

OF_C = "break case continue default do double else enum float for if int return static struct while"
OF_PYTHON = (*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "sizes", "run", "self", "v0")
OF_ISL = "exists Exists mod MOD floor and or not min MAX ceild floord implies true rat infty NaN e0"
OF_OTHERS = "fun def then map reduce f64 i32 index idx nat x1 acc2 r memref llvm t0_ S0 a$b v1 data"
WORDS = sorted({*OF_PYTHON, *OF_ISL.split(), *OF_OTHERS.split()} - {*OF_C.split()})
EACH = 5
"""How many names one kernel has."""


def kernel(function: str, size: str, loop: str, first: str, second: str) -> str:
    """A recurrence, and a map that is lifted."""
    return (
        f"void {function}(int {size}, double {first}[{size}], double {second}[{size}]) {{\n"
        f"  for (int {loop} = 1; {loop} < {size}; {loop}++)\n"
        f"    {first}[{loop}] = {first}[{loop} - 1] + 2 * {second}[{loop}];\n"
        f"  for (int {loop} = 0; {loop} < {size}; {loop}++)\n"
        f"    {second}[{loop}] = {second}[{loop}] * 2.0;\n}}\n"
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_every_name_of_python_and_isl_may_be_one_of_c(schedule: str) -> None:
    for start in range(0, len(WORDS), EACH):
        names = [WORDS[(start + at) % len(WORDS)] for at in range(EACH)]
        scop = CFile.parse_text(kernel(*names), "names.c").model_function()
        program = make_program([scop], Options("affine", "strict"), schedule)
        assert "affine" in program.affine_text(), names
        assert "rise.map" in program.rise_text(), names


@pytest.mark.parametrize("schedule", ["source", "isl", "patterns"])
@pytest.mark.parametrize(
    "names",
    [
        ["f", "max", "range", "sizes", "None"],
        ["lambda", "fun", "map", "x1", "zip"],
        ["__import__", "é", "MOD", "ñ", "a$b"],
    ],
)
def test_functions_with_names_of_other_languages_run(names: list[str], schedule: str) -> None:
    function = rl.from_c(kernel(*names), schedule=schedule)
    first, second = np.zeros(5), np.arange(5.0)
    function(5, first, second)
    assert first.tolist() == [0, 2, 6, 12, 20]
    assert second.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("sizes", [("sizes", "range"), ("None", "max"), ("lambda", "True")])
def test_an_order_of_loops_is_compared_whatever_sizes_are_called(sizes: tuple[str, str]) -> None:
    """Their names were those of variables in Python, where the data flow is replayed."""
    n, m = sizes
    function = rl.from_c(
        f"void f(int {n}, int {m}, double a[{n}][{m}]) {{ for (int def = 1; def < {n}; def++)"
        f" for (int del = 1; del < {m}; del++) a[def][del] = a[def - 1][del] + a[def][del - 1]; }}"
    )
    array = np.ones((3, 4))
    function(3, 4, array)
    assert array.tolist() == [[1, 1, 1, 1], [1, 2, 3, 4], [1, 3, 6, 10]]


def test_a_function_whose_name_is_not_ascii_is_rejected() -> None:
    with pytest.raises(UnsupportedConstruct, match=r"<c>:1:6: error: the name é contains letters"):
        rl.from_c("void é(int n, double a[n]) { a[0] = 1; }")
