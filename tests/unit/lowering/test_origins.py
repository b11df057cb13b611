"""What a scalar operation becomes keeps the line of the operation, not that of a pattern."""

import riselang as rl
from riselang.api.kernel import Kernel, TermKernel
from riselang.dialects.module import functions, location_of, walk
from riselang.notation.program import parse_program

PROGRAM = """def product = fun((a, b),
  a * b)
def f = fun((x : N.f32, y : N.i32),
  zip(x, y)
  |> map(fun((a, b),
    exp(product(a, a)) - cast[f32](
      b // b)))
  |> reduce(add, 0.0))
"""


def lines(kernel: Kernel, *names: str) -> dict[str, int]:
    """The line of the last op of each name."""
    found = {
        op.name: location_of(op) for op in walk(kernel.lower().compilation.lowered_module.module)
    }
    places = {name: found[name] for name in names}
    return {name: place.line for name, place in places.items() if place is not None}


def test_operations_of_lambdas_have_their_own_lines() -> None:
    kernel = TermKernel("f", parse_program(PROGRAM, "f.rise")["f"])
    assert lines(kernel, "arith.mulf", "arith.subf", "arith.addf") == {
        "arith.mulf": 2,
        "arith.subf": 6,
        "arith.addf": 8,
    }


def test_calls_have_the_line_of_what_they_compute() -> None:
    kernel = TermKernel("f", parse_program(PROGRAM, "f.rise")["f"])
    calls = {
        str(op.properties["callee"]): place.line
        for op in walk(kernel.lower().compilation.lowered_module.module)
        if op.name == "func.call" and (place := location_of(op)) is not None
    }
    assert calls == {"@expf": 6, "@rise_floordivsi_i32": 7}


def test_functions_are_where_they_are_defined() -> None:
    kernel = TermKernel("f", parse_program(PROGRAM, "f.rise")["f"])
    module = kernel.lower().compilation.lowered_module.module
    (place,) = [location_of(each) for each in functions(module) if each.sym_name.data == "f"]
    assert str(place) == "f.rise:3:9"


@rl.jit
def smooth(x: rl.Array["N", rl.f32]):
    return (
        x
        | rl.map(
            lambda a: a * 2.0
        )
        | rl.slide(3, 1)
        | rl.map(
            rl.reduce(rl.add, 0.0)
        )
    )  # fmt: skip


def test_stages_of_a_chain_have_their_own_lines() -> None:
    first = smooth.function.__code__.co_firstlineno + 1
    found = lines(smooth, "func.func", "arith.mulf", "arith.addf")
    assert {name: line - first for name, line in found.items()} == {
        "func.func": 0,
        "arith.mulf": 4,
        "arith.addf": 7,
    }
