"""Maps of sequential loops over scalars, computed in the lanes of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategies.default_schedule import recognized_computations
from riselang.rewrite.strategies.loops_in_lanes import loops_in_lanes
from riselang.rewrite.traversals import top_down
from riselang.support.errors import UserError

pytestmark = pytest.mark.rotating(2)

XORSHIFT = """fun((s : {0}.i32, t : {0}.i32), s |> map(fun(a, a |> iterate(9, fun(x,
  let y = x ^ (x * 8192); let z = y ^ ((y // 131072) & 32767); z ^ (z * 32))))))"""
MANDELBROT = """fun((re : {0}.f32, im : {0}.f32), zip(re, im) |> map(fun(c,
  snd(((0.0, 0.0), 0) |> iterate(12, fun(s,
    let x = fst(fst(s)); let y = snd(fst(s)); let inside = x * x + y * y <= 4.0;
    ((select(inside, x * x - y * y + fst(c), x), select(inside, 2.0 * x * y + snd(c), y)),
      select(inside, snd(s) + 1, snd(s)))))))))"""
FORCES = """fun((x : {0}.f32, y : {0}.f32), x |> map(fun(a,
  y |> reduce(fun((acc, b), let d = a - b; acc + d / (d * d + 0.5)), 0.0))))"""
PARTS = """fun((c : {0}.2.f32, d : {0}.2.f32), zip(c, d) |> map(fun(e, (0.5, 1)
  |> iterate(12, fun(s, (fst(s) * (fst(e) |> at(0 |> clampIdx(2)))
    + (snd(e) |> at(1 |> clampIdx(2))), snd(s) + 1))) |> fst)))"""
FRACTIONS = """fun((s : {0}.i32, t : {0}.i32), s |> map(fun(a, snd((a, 0.0) |> iterate(9, fun(x,
  (fst(x) ^ (fst(x) * 8192), snd(x) + bitcast[f32]((fst(x) & 8388607) ^ 1065353216))))))))"""
NEAREST = """fun((c : {0}.2.f32, d : {0}.2.f32), c |> map(fun(e, snd(zip(
  d |> take(9) |> map(fun(f, zip(e, f) |> map(sub) |> reduce(fun((acc, x), acc + x * x), 0.0))),
  generate(fun((i : idx[9]), cast[i64](i |> fromIdx)))) |> reduce(fun((best, new),
    let is_less = fst(new) < fst(best);
    (select(is_less, fst(new), fst(best)), select(is_less, snd(new), snd(best)))),
    (9.0, 0_i64))))))"""
PROGRAMS = {
    "nearest": NEAREST,
    "fractions": FRACTIONS,
    "xorshift": XORSHIFT,
    "mandelbrot": MANDELBROT,
    "forces": FORCES,
    "parts": PARTS,
}


def inputs(name: str, count: int) -> list[np.ndarray[Any, Any]]:
    source = np.random.default_rng(4)
    if name in ("xorshift", "fractions"):
        return [source.integers(-(2**31), 2**31, count).astype(np.int32) for _ in range(2)]
    shape = (count, 2) if name in ("parts", "nearest") else (count,)
    return [(source.random(shape) * 4 - 2).astype(np.float32) for _ in range(2)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("count", "lanes"), [(32, 8), (37, 4), (9, 2)])
def test_the_bits_do_not_change(name: str, count: int, lanes: int) -> None:
    term = parse_term(PROGRAMS[name].format(count))
    arrays = inputs(name, count)
    expected = TermKernel("f", term, "interpret")(*arrays)
    result = TermKernel("f", term, strategy=top_down(loops_in_lanes(lanes)))(*arrays)
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_default_strategy_uses_lanes(name: str) -> None:
    count = 1003
    term = parse_term(PROGRAMS[name].format(count))
    (match,) = recognized_computations(term, Setting("contract"))
    assert match.description == f"loops for {count} elements"
    assert int(match.schedule.split()[0]).bit_count() == 1
    arrays = inputs(name, count)
    plain = TermKernel("f", term, strategy=None)(*arrays)
    kernel = TermKernel("f", term, strategy=DEFAULT)
    assert kernel(*arrays).tobytes() == plain.tobytes()


def test_what_is_read_element_by_element_is_stored() -> None:
    start = NEAREST.index("c |>")
    source = f"{NEAREST[:start]} let n = {NEAREST[start:-1]}; zip(n, n |> reverse) |> map(add))"
    term = parse_term(source.format(64))
    text = TermKernel("f", term, strategy=top_down(loops_in_lanes(8))).lower().as_text("affine")
    assert text.count("arith.cmpf") == 1


@pytest.mark.parametrize(
    "text",
    [
        "fun((x : 4096.f32), x |> map(fun(a, a * 2.0)))",
        "fun((x : 8.f32), x |> map(fun(a, a |> iterate(9, fun(b, b * 2.0)))))",
        "fun((x : 4096.i32), x |> map(fun(a, a |> iterate(9, fun(b, b // 3)))))",
        "fun((x : 4096.i64), x |> map(fun(a, cast[f32](a) |> iterate(9, fun(b, b * 2.0)))))",
        "fun((x : 4096.3.f32), x |> map(fun(a, a |> reduce(add, 0.0))))",
        "fun((x : 64.64.f32), x |> map(fun(a, a |> iterate(9, fun(b, b |> map(sqrt))))))",
    ],
)
def test_what_gains_nothing_is_left_alone(text: str) -> None:
    descriptions = [str(each) for each in recognized_computations(parse_term(text), Setting())]
    assert not any("loops for" in each for each in descriptions)


def test_lanes_must_be_positive() -> None:
    with pytest.raises(UserError, match="loops_in_lanes: 'lanes' must be at least 1"):
        loops_in_lanes(0)


@pytest.mark.parametrize("kind", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("exponent", [0, 1, 5, 6])
def test_a_division_by_a_power_of_two_is_a_shift(kind: str, exponent: int) -> None:
    text = f"fun((x : 16.{kind}), x |> map(fun(a, a // {2**exponent}_{kind})))"
    kernel: Any = rl.loads(text, name="shift.rise")
    numbers = [-128, -127, -65, -64, -63, -33, -2, -1, 0, 1, 2, 31, 63, 64, 65, 127]
    x = np.array(numbers, f"int{kind[1:]}")
    assert np.array_equal(kernel.main(x), x // 2**exponent)
    assert "floordivsi" not in kernel.main.lower().as_text("affine")


@pytest.mark.parametrize("shift", ["shli", "shrsi", "shrui"])
def test_shifts_of_vectors(shift: str) -> None:
    """Shifts by the width or more are defined, also in lanes."""
    text = f"""fun((x : 8.i32, n : 8.i32), zip(x |> asVector(8), n |> asVector(8))
      |> map(fun(p, {shift}(fst(p), snd(p)))) |> asScalar)"""
    compiled: Any = rl.loads(text, name="shifts.rise")
    reference: Any = rl.loads(text, name="shifts.rise", backend="interpret")
    x = np.array([1, -1, 7, -8, 2**31 - 1, -(2**31), 5, 6], np.int32)
    n = np.array([0, 1, 31, 32, 33, -1, 4, 64], np.int32)
    assert "vector<8xi32>" in compiled.main.lower().as_text("affine")
    assert np.array_equal(compiled.main(x, n), reference.main(x, n))


def test_masks_in_memory_are_not_vectors() -> None:
    """A stored vector of Booleans takes a byte for each lane."""
    text = """fun((x : 8.f32, y : 8.f32), let m = zip(x |> asVector(4), y |> asVector(4))
      |> map(fun(p, fst(p) < snd(p))) |> toMem(stack); m |> asScalar)"""
    kernel: Any = rl.loads(text, name="masks.rise")
    x = np.arange(8, dtype=np.float32)
    assert np.array_equal(kernel.main(x, np.full(8, 3.5, np.float32)), x < 3.5)
