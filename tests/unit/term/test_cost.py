"""What programs cost as they are written."""

from __future__ import annotations

import re
from typing import Any

import pytest

import riselang as rl
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import FunType, uncurry
from riselang.term.cost import Cost


def cost(text: str, **sizes: int) -> Cost:
    program: Any = rl.loads(f"def main = {text}", name="program.rise")
    return program.main.lower(**sizes).cost_analysis()


MATMUL = (
    "fun((A : N.K.f32, B : K.M.f32) => A |> map(fun(row => B |> transpose |> "
    "map(fun(column => zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"
)


def test_matmul() -> None:
    found = cost(MATMUL, N=2, K=3, M=5)
    work, loops = found.work, found.optimized_work
    assert found == Cost(2 * 2 * 3 * 5, 0, 4 * (6 + 15), 4 * 10, True, work, loops)
    assert found.bytes == 124
    assert found.intensity == 60 / 124


@pytest.mark.rotating(8)
def test_open_sizes_stay_names() -> None:
    found = cost(MATMUL)
    assert str(found.flops) == "K * M * N * 2"
    assert str(found.bytes_written) == "M * N * 4"
    assert found.intensity is None


@pytest.mark.parametrize(
    ("text", "flops", "transcendentals"),
    [
        ("fun((x : 8.f32) => x |> map(fun(a => a)))", 0, 0),
        ("fun((x : 8.f64) => x |> map(fun(a => exp(a) + pow(a, a))))", 8, 16),
        ("fun((x : 8.i32) => x |> map(fun(a => a + a)))", 0, 0),
        ("fun((x : 8.f32) => x |> slide(3, 1) |> map(reduce(add, 0.0)))", 18, 0),
        ("fun((x : 8.f32) => x |> scan(add, 0.0))", 8, 0),
        ("fun((x : 8.f32) => x |> iterate(5)(map(fun(a => a * a))))", 40, 0),
        ("fun((x : 8.f32) => x |> split(4) |> map(map(fun(a => fma(a, a, a)))) |> join)", 16, 0),
        ("fun((x : 8.f32) => x |> circularBuffer(4, 3)(fun(a => a + a)))", 8, 0),
        ("fun((x : 8.f32, y : f32) => x |> map(fun(a => a * y)))", 8, 0),
        (
            "fun((x : 2.3.2.f32, y : 2.10.f32) => mma(2, 1, fun((a, p) => a * fst(p)), 0.0, x, y))",
            60,
            0,
        ),
    ],
)
def test_counts(text: str, flops: int, transcendentals: int) -> None:
    found = cost(text)
    assert (found.flops, found.transcendentals, found.is_exact) == (flops, transcendentals, True)


def test_a_value_that_is_named_is_computed_once() -> None:
    @rl.jit
    def normalised(x: rl.Array[10, rl.f32]) -> Any:
        total = x | rl.reduce(rl.add, 0.0)
        return x | rl.map(lambda a: a / total + total)

    assert normalised.trace().cost_analysis().flops == 10 + 2 * 10


def test_rounds_that_depend_on_data_count_once() -> None:
    found = cost("fun((x : f32) => while(fun(a => a < 10.0), fun(a => a * a), x))")
    assert not found.is_exact
    assert found.flops == 1


def test_every_pattern_with_a_function_says_how_often_it_applies_it() -> None:
    for spec in PATTERNS.values():
        if any(isinstance(type, FunType) for type in uncurry(spec.type)[0]):
            assert spec.applications is not None, spec.name


def test_for_notebooks() -> None:
    shown = re.sub(r"<(\w+) [^>]*>", r"<\1>", cost(MATMUL, N=2, K=3, M=5)._repr_html_())
    assert "<td>flops</td><td>60</td>" in shown
