"""Long functions are compiled in parts, with the same results."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.lowering import function_outlining
from support.fuzzing import SHARE

LENGTH = 3 * function_outlining.LOOPS_PER_PART + 3


def chain(inside: str = "x") -> str:
    """A chain of loops, each with a temporary of its own, and one that reads the first again."""
    steps = "".join(f" |> mapSeq(fun(a, a + {step % 7}.0))" for step in range(LENGTH))
    return f"let(x, fun(first, zip(first, {inside}{steps}) |> mapSeq(fun(p, fst(p) * snd(p)))))"


@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("size", ["6", "n"])
def test_a_long_chain(loops: str, size: str) -> None:
    program: Any = rl.loads(f"fun(x : {size}.f32, {chain()})", name="c.rise", loops=loops)
    x = np.arange(6, dtype=np.float32)
    expected = x * (x + sum(step % 7 for step in range(LENGTH)))
    assert np.array_equal(program.main(x), expected)
    text = program.main.lower(x).as_text("affine")
    assert (
        text.count("func.call @rise_part_main_") >= LENGTH // function_outlining.LOOPS_PER_PART - 1
    )


def test_a_long_chain_in_a_loop() -> None:
    program: Any = rl.loads(f"fun(xss : 3.6.f32, xss |> mapSeq(fun(x, {chain()})))", name="c.rise")
    x = np.arange(18, dtype=np.float32).reshape(3, 6)
    expected = x * (x + sum(step % 7 for step in range(LENGTH)))
    assert np.array_equal(program.main(x), expected)
    assert "func.call @rise_part_main_" in program.main.lower(x).as_text("affine")


def test_values_go_from_part_to_part() -> None:
    """Sums that are used much later are results of the parts that compute them."""
    sums = "".join(f"reduceSeq(add, {step}.0, x) + " for step in range(LENGTH))
    program: Any = rl.loads(f"fun(x : 4.f32, ({sums}reduceSeq(add, 0.0, x)))", name="c.rise",
                            float="strict")  # fmt: skip
    x = np.ones(4, np.float32)
    expected = sum(4.0 + step for step in range(LENGTH)) + 4.0
    assert program.main(x) == expected
    assert "func.call @rise_part_main_" in program.main.lower(x).as_text("affine")


def test_names_that_are_taken_are_not_used() -> None:
    text = rl.loads(f"fun(x : 6.f32, {chain()})", name="c.rise")
    main: Any = text.main
    module = main.lower().as_text("rise").replace("@main", "@f")
    taken = module.rstrip().removesuffix("}") + "func.func @rise_part_f_1() { func.return } }"
    loaded: Any = rl.loads(taken, loops="affine")
    out, x = np.zeros(6, np.float32), np.ones(6, np.float32)
    loaded.f(out, x)
    assert np.array_equal(out, x * (x + sum(step % 7 for step in range(LENGTH))))


def folds(seed: int) -> str:
    """A chain of folds whose accumulators are arrays, with other loops in between."""
    random, steps = Random(seed), ""
    for step in range(40):
        others = "".join(f" |> mapSeq(fun(v, v + {k}))" for k in range(random.randrange(3)))
        start = f"zip(a{step}{others}, x) |> mapSeq(fun(p, fst(p) + snd(p)))"
        fold = f"x |> reduce(fun((acc, e), acc |> reverse), {start})"
        steps += f"let a{step + 1} = ({fold}) |> mapSeq(fun(v, v * 3)); "
    return f"fun((x : 3.i32), let a0 = x |> scan(add, 0); {steps} a40)"


@pytest.mark.parametrize("seed", range(4 if SHARE else 2))
def test_memory_that_a_loop_gives_outlives_the_part_it_is_in(seed: int) -> None:
    # With every effort, so that folds that are computed alike are not made functions before.
    program: Any = rl.loads(folds(seed), name="c.rise", effort="max")
    expected: Any = rl.loads(folds(seed), name="c.rise", backend="interpret")
    x = np.array([3, -1, 4], np.int32)
    assert np.array_equal(program.main(x), expected.main(x))
    assert "func.call @rise_part_main_" in program.main.lower(x).as_text("affine")
