"""Every program of examples/programs: the notation, the Python, numpy, and compiled code agree."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from running import EXAMPLES as PROGRAMS
from running import NAMES, Array, assert_same_bits, jitted, module

import riselang as rl
from riselang.api.kernel import Kernel, TermKernel
from riselang.notation.program import Program, parse_program
from riselang.support.config import Options
from riselang.term.nodes import Apply, Bound, Lambda, Term
from riselang.term.substitution import count_uses, map_children, shift
from riselang.tools import rise

FORMS = ("notation", "python")
PERMISSIONS = ("strict", "contract")

RELATIVE, ABSOLUTE = 1e-5, 1e-6
"""Of floats against numpy: relative to the element, and to the largest element of the result."""


@cache
def notation(name: str) -> Program:
    path = PROGRAMS / f"{name}.rise"
    return parse_program(path.read_text(), str(path))


def kernel(name: str, form: str, backend: str, float: str) -> Kernel:
    if form == "notation":
        return TermKernel(name, notation(name)[name], backend, Options("affine", float))
    return rl.jit(jitted(name), backend=backend, float=float, sizes=jitted(name).sizes)


def results(name: str, form: str, backend: str, float: str) -> list[Array]:
    return flat(kernel(name, form, backend, float)(*module(name).inputs()))


def distinct_forms(name: str) -> tuple[str, ...]:
    """The forms whose terms differ, be it by eta: one term need not be compiled twice."""
    return FORMS if notation(name)[name] != jitted(name).trace().term else ("python",)


def flat(value: Any) -> list[Array]:
    """The arrays of a result that may be a tuple of tuples."""
    if isinstance(value, tuple):
        return [array for part in value for array in flat(part)]
    return [np.asarray(value)]


def eta_reduced(term: Term) -> Term:
    """`fun(x, f(x))` as `f`: Python traces `map(transpose)` as `map(fun(x, transpose(x)))`."""
    term = map_children(term, eta_reduced, eta_reduced)
    match term:
        case Lambda(body=Apply(function=function, argument=Bound(index=0))) if not count_uses(
            function
        ):
            return shift(function, -1)
        case _:
            return term


def test_every_program_is_there_in_both_forms() -> None:
    assert len(NAMES) >= 20
    assert sorted(path.stem for path in PROGRAMS.glob("*.py")) == NAMES


def test_the_index_lists_every_program_with_what_it_says_of_itself() -> None:
    index = (PROGRAMS / "README.md").read_text()
    lines = re.findall(
        r"^\| \[(\w+)\]\(\1\.rise\), \[Python\]\(\1\.py\) \| (.*) \| .* \|$", index, re.M
    )
    assert dict(lines) == {name: module(name).__doc__ for name in NAMES}
    assert len(lines) == len(NAMES)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", NAMES)
def test_both_forms_are_the_same_program(name: str) -> None:
    assert notation(name).names == (name,)
    assert (PROGRAMS / f"{name}.rise").read_text().startswith(f"// {module(name).__doc__}\n")
    assert eta_reduced(jitted(name).trace().term) == eta_reduced(notation(name)[name])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(7)
def test_the_interpreter_agrees_with_numpy(name: str, form: str) -> None:
    expected = flat(module(name).expected(*module(name).inputs()))
    for permission in PERMISSIONS:
        found = results(name, form, "interpret", permission)
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            if one.dtype.kind == "f":
                np.testing.assert_allclose(one, other, RELATIVE, ABSOLUTE * np.abs(other).max())
            else:
                assert np.array_equal(one, other)


@pytest.mark.parametrize("permission", PERMISSIONS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(7)
def test_compiled_code_gives_the_bits_of_the_interpreter(name: str, permission: str) -> None:
    for form in distinct_forms(name):
        compiled = results(name, form, "compile", permission)
        assert_same_bits(compiled, results(name, form, "interpret", permission))


@pytest.mark.sampled(15)
@pytest.mark.parametrize("ending", ["rise", "py"])
@pytest.mark.parametrize("name", NAMES)
def test_rise_check_accepts_it(name: str, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    rise.main(["check", str(PROGRAMS / f"{name}.{ending}")])
    assert capsys.readouterr().err == ""
