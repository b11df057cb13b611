"""Long functions are outlined into parts, with the same results."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.lowering import function_outlining
from support.fuzzing import FUZZ_FRACTION

pytestmark = pytest.mark.rotating(4)

LENGTH = 3 * function_outlining.LOOPS_PER_PART + 3


def chain() -> str:
    """Return a chain of loops, each with its own temporary, and a last one that reads `x` again."""
    steps = "".join(f" |> mapSeq(fun(a, a + {step % 7}.0))" for step in range(LENGTH))
    return f"let(x, fun(first, zip(first, x{steps}) |> mapSeq(fun(p, fst(p) * snd(p)))))"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("size", ["6", "n"])
def test_a_long_chain_is_outlined(loops: str, size: str) -> None:
    program: Any = rl.loads(f"fun(x : {size}.f32, {chain()})", name="c.rise", loops=loops)
    x = np.arange(6, dtype=np.float32)
    expected = x * (x + sum(step % 7 for step in range(LENGTH)))
    assert np.array_equal(program.main(x), expected)
    text = program.main.lower(x).as_text("affine")
    assert (
        text.count("func.call @rise_part_main_") >= LENGTH // function_outlining.LOOPS_PER_PART - 1
    )


def test_a_long_chain_inside_a_loop_is_outlined() -> None:
    program: Any = rl.loads(f"fun(xss : 3.6.f32, xss |> mapSeq(fun(x, {chain()})))", name="c.rise")
    x = np.arange(18, dtype=np.float32).reshape(3, 6)
    expected = x * (x + sum(step % 7 for step in range(LENGTH)))
    assert np.array_equal(program.main(x), expected)
    assert "func.call @rise_part_main_" in program.main.lower(x).as_text("affine")


def test_scalars_that_later_parts_use_are_results_of_their_part() -> None:
    sums = "".join(f"reduceSeq(add, {step}.0, x) + " for step in range(LENGTH))
    program: Any = rl.loads(f"fun(x : 4.f32, ({sums}reduceSeq(add, 0.0, x)))", name="c.rise",
                            float="strict")  # fmt: skip
    x = np.ones(4, np.float32)
    expected = sum(4.0 + step for step in range(LENGTH)) + 4.0
    assert program.main(x) == expected
    assert "func.call @rise_part_main_" in program.main.lower(x).as_text("affine")


def test_parts_do_not_reuse_names_in_the_module() -> None:
    program = rl.loads(f"fun(x : 6.f32, {chain()})", name="c.rise")
    main: Any = program.main
    module = main.lower().as_text("rise").replace("@main", "@f")
    with_name = module.rstrip().removesuffix("}") + "func.func @rise_part_f_1() { func.return } }"
    loaded: Any = rl.loads(with_name, loops="affine")
    out, x = np.zeros(6, np.float32), np.ones(6, np.float32)
    loaded.f(out, x)
    assert np.array_equal(out, x * (x + sum(step % 7 for step in range(LENGTH))))


def reductions(seed: int) -> str:
    """Return a chain of reductions whose accumulators are arrays, with maps between them."""
    random, steps = Random(seed), ""
    for step in range(40):
        maps = "".join(f" |> mapSeq(fun(v, v + {k}))" for k in range(random.randrange(3)))
        start = f"zip(a{step}{maps}, x) |> mapSeq(fun(p, fst(p) + snd(p)))"
        reduction = f"x |> reduce(fun((acc, e), acc |> reverse), {start})"
        steps += f"let a{step + 1} = ({reduction}) |> mapSeq(fun(v, v * 3)); "
    return f"fun((x : 3.i32), let a0 = x |> scan(add, 0); {steps} a40)"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(4 if FUZZ_FRACTION else 2))
def test_a_buffer_that_a_loop_yields_outlives_its_part(seed: int) -> None:
    # At the maximum effort, repeated computations do not become functions before outlining.
    program: Any = rl.loads(reductions(seed), name="c.rise", effort="max")
    expected: Any = rl.loads(reductions(seed), name="c.rise", backend="interpret")
    x = np.array([3, -1, 4], np.int32)
    assert np.array_equal(program.main(x), expected.main(x))
    assert "func.call @rise_part_main_" in program.main.lower(x).as_text("affine")
