"""What programs get that come without a strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.dialects.rise.types import leaves, uncurry
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting
from riselang.rewrite.default import DEFAULT, default_derivation
from riselang.rewrite.strategies.default_schedule import recognized_computations
from riselang.support.machine import assume_machine, this_machine
from riselang.tools import rise
from support.machines import MACHINES
from support.pairwise import each_once

pytestmark = pytest.mark.rotating(4)

MATMUL = """fun((A : {0}.{1}.f32, B : {1}.{2}.f32), A |> {3}(fun(row, B |> transpose
  |> map(fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
GEMV = """fun((A : 30.{0}.f32, x : {0}.f32), A |> map(fun(row,
  zip(row, x) |> map(mult) |> reduce(add, 0.0))))"""
LARGE = MATMUL.format(40, 40, 40, "map")


def loaded(text: str, **choices: Any) -> Any:
    kernel: Any = rl.loads(text, name="program.rise", **choices)
    return kernel.main


def shapes_of(kernel: Any) -> list[tuple[int, ...]]:
    """The shapes of a program's inputs, whose sizes are numbers."""
    inputs, _ = uncurry(kernel.lower().derivation.start.type)
    return [tuple(size.constant for size in sizes) for each in inputs for sizes, _ in leaves(each)]


def recognized(text: str, float: str = "contract") -> list[str]:
    return [str(choice) for choice in recognized_computations(parse_term(text), Setting(float))]


@pytest.mark.parametrize("loop", ["map", "mapPar"])
@pytest.mark.parametrize("float", ["strict", "contract"])
def test_a_product_gets_tiles_and_keeps_its_bits(loop: str, float: str) -> None:
    text = MATMUL.format(41, 37, 43, loop)
    source = np.random.default_rng(0)
    a, b = (source.standard_normal(each).astype(np.float32) for each in ((41, 37), (37, 43)))
    kernel = loaded(text, float=float)
    assert "asVector" in kernel.lower().as_text("notation")
    plain = loaded(text, float=float, strategy="none")
    assert "asVector" not in plain.lower().as_text("notation")
    assert kernel(a, b).tobytes() == plain(a, b).tobytes()


@pytest.mark.rotating(6)
def test_products_inside_of_a_program() -> None:
    """Each is arranged by itself; what is around them stays as it is."""
    text = """fun((A : 18.19.f32, B : 18.19.f32),
      let C = A |> map(fun(r, B |> map(fun(c, zip(r, c) |> map(mult) |> reduce(add, 0.0)))));
      C |> map(fun(r, C |> map(fun(c, zip(r, c) |> map(mult) |> reduce(add, 0.0)))))
        |> map(fun(r, r |> map(sqrt))))"""
    assert len(recognized(text)) == 2
    source = np.random.default_rng(0)
    a, b = (source.random((18, 19), np.float32) for _ in range(2))
    assert loaded(text)(a, b).tobytes() == loaded(text, backend="interpret")(a, b).tobytes()


@pytest.mark.parametrize("length", [1200, 4096, 4099])
def test_relaxed_reductions_use_several_accumulators(length: int) -> None:
    text = GEMV.format(length)
    assert recognized(text) == []
    assert len(recognized(text, "relaxed")) == 1
    source = np.random.default_rng(0)
    a, x = source.random((30, length), np.float32), source.random(length, np.float32)
    kernel = loaded(text, float="relaxed")
    assert "vectorFromScalar" in kernel.lower().as_text("notation")
    np.testing.assert_allclose(kernel(a, x), a.astype(np.float64) @ x, rtol=1e-5)


@pytest.mark.parametrize(("length", "vectors"), [(24, 0), (32, 1), (35, 1), (64, 1), (128, 4)])
def test_relaxed_reductions_of_short_lines_are_vectors(length: int, vectors: int) -> None:
    text = f"""fun((x : 30.{length}.f32), x |> map(fun(row,
      (zip(row, row) |> map(mult) |> reduce(add, 0.0)) * 0.5)))"""
    with assume_machine(MACHINES["AVX-512"]):
        found = [each for each in recognized(text, "relaxed") if "reduction" in each]
    assert len(found) == (vectors > 0)
    assert all(f": {vectors} vector" in each for each in found)
    x = np.random.default_rng(0).standard_normal((30, length)).astype(np.float32)
    kernel = loaded(text, float="relaxed")
    np.testing.assert_allclose(kernel(x), (x.astype(np.float64) ** 2).sum(1) / 2, rtol=1e-5)


@pytest.mark.parametrize(("type", "count"), [("f32", 1), ("f64", 0)])
def test_short_lines_that_call_math_functions_are_scalars(type: str, count: int) -> None:
    text = f"fun((x : 30.40.{type}), x |> map(fun(row, row |> map(exp) |> reduce(add, 0.0))))"
    with assume_machine(MACHINES["AVX-512"]):
        assert len(recognized(text, "relaxed")) == count


def test_a_reduction_inside_one_that_has_no_schedule_is_scheduled() -> None:
    text = """fun((x : 500.48.f32, c : 5.48.f32), x |> reduce(fun((total, row),
      total + (c |> reduce(fun((least, each),
        min(least, zip(row, each) |> map(mult) |> reduce(add, 0.0))), inf))), 0.0))"""
    source = np.random.default_rng(0)
    x, c = source.random((500, 48), np.float32), source.random((5, 48), np.float32)
    with assume_machine(MACHINES["AVX-512"]):
        kernel = loaded(text, float="relaxed")
        assert "asVector(16)" in kernel.lower().as_text("notation")
    np.testing.assert_allclose(kernel(x, c), (x @ c.T).min(1).sum(), rtol=1e-5)


WINDOWS = {
    "a stencil": """fun((x : 301.258.f32), x |> map(slide(3, 1)) |> slide(3, 1) |> map(transpose)
      |> map(map(fun(w, (w |> join |> reduce(add, 0.0)) * 0.5))))""",
    "padded": """fun((x : 257.256.f32), x |> map(pad(1, 1)) |> pad(1, 1)
      |> map(slide(3, 1)) |> slide(3, 1) |> map(transpose)
      |> map(map(fun(w, w |> join |> reduce(add, 0.0)))))""",
    "stages": """fun((x : 261.301.f32), x |> map(slide(3, 1)) |> slide(3, 1) |> map(transpose)
      |> map(map(fun(w, w |> join |> reduce(max, -inf))))
      |> map(slide(2, 1)) |> slide(2, 1) |> map(transpose)
      |> map(map(fun(w, w |> join |> reduce(add, 0.0)))))""",
    "of products": """fun((v : 5.f32, h : 5.f32, x : 260.261.f32),
      x |> map(slide(5, 1)) |> slide(5, 1) |> map(transpose) |> map(map(fun(w,
        zip(v |> map(fun(a, h |> map(fun(b, a * b)))) |> join, w |> join) |> map(mult)
        |> reduce(add, 0.0)))))""",
    "turned round": """fun((x : 257.258.f32), x
      |> map(fun(row, row |> slide(3, 1) |> map(reduce(add, 0.0)))) |> transpose
      |> map(fun(column, column |> slide(3, 1) |> map(reduce(add, 0.0)))) |> transpose)""",
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.sampled(2)
def test_windows_are_read_in_vectors_and_keep_their_bits(name: str) -> None:
    text = WINDOWS[name]
    # On one core, columns are added row by row instead.
    with assume_machine(replace(this_machine(), cores=2)):
        assert any("windows for" in each for each in recognized(text)), name
        kernel = loaded(text)
        source = np.random.default_rng(0)
        inputs = [source.random(shape, np.float32) for shape in shapes_of(kernel)]
        assert "asVector" in kernel.lower().as_text("notation")
        assert kernel(*inputs).tobytes() == loaded(text, strategy="none")(*inputs).tobytes()


def test_sums_of_lines_where_weights_are_products_and_that_is_permitted() -> None:
    text = WINDOWS["of products"]
    kernel = loaded(text, float="relaxed")
    rules = {step.rule.name for step in kernel.lower().derivation.steps}
    assert "separate_convolution_by_columns" in rules
    source = np.random.default_rng(0)
    inputs = [source.random(shape, np.float32) for shape in shapes_of(kernel)]
    expected = loaded(text, strategy="none")(*inputs)
    np.testing.assert_allclose(kernel(*inputs), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("type", "shape"),
    each_once(["f32", "f64", "f16", "i8", "i64"], [(256, 512), (320, 384)]),
    ids=str,
)
@pytest.mark.sampled(2)
def test_arrays_are_transposed_in_registers(type: str, shape: tuple[int, int]) -> None:
    text = f"fun((A : {shape[0]}.{shape[1]}.{type}), A |> transpose)"
    (choice,) = recognized(text)
    assert choice.startswith("a transposed array at 0: tiles of ")
    kernel = loaded(text)
    assert "toMem(register)" in kernel.lower().as_text("notation")
    dtype = type.replace("f", "float").replace("i", "int")
    a = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    assert np.array_equal(kernel(a), a.T)


@pytest.mark.parametrize(("machine", "lanes"), [("Neoverse N1", 4), ("AVX2", 8), ("AVX-512", 8)])
def test_arrays_are_transposed_in_squares_of(machine: str, lanes: int) -> None:
    with assume_machine(MACHINES[machine]):
        (choice,) = recognized("fun((A : 512.512.f32), A |> transpose)")
    assert choice.endswith(f"transposed in vectors of {lanes}")


ON_THREADS = {
    "elements": ("fun((x : 200000.f32), x |> map(fun(e, e * e + 1.0)))", 1),
    "rows": ("fun((x : 600.500.f32), x |> map(reduce(add, 0.0)))", 1),
    "rows of one image": (
        "fun((x : 1.600.500.f32), x |> map(fun(image, image |> map(reduce(add, 0.0)))))",
        1,
    ),
    "what is let": (
        """fun((x : 100000.f32), let y = x |> map(exp);
      let t = y |> reduce(add, 0.0); y |> map(fun(e, e / t)))""",
        2,
    ),
}


@pytest.mark.parametrize("name", ON_THREADS)
def test_large_maps_are_on_threads(name: str) -> None:
    text, maps = ON_THREADS[name]
    kernel = loaded(text)
    arranged = kernel.lower().as_text("notation")
    assert arranged.count("mapPar") == maps
    assert "x |> mapPar(fun(image" not in arranged
    (shape,) = shapes_of(kernel)
    x = np.random.default_rng(0).random(shape, np.float32)
    assert kernel(x).tobytes() == loaded(text, strategy="none")(x).tobytes()


COPIES = {
    "a padded image": (
        """fun((x : 200.400.f32),
          x |> padConst(1, 1, generate(fun((i : idx[400]), 0.0))) |> map(fun(row,
            row |> padConst(1, 1, 0.0))) |> toMem(heap) |> slide(3, 1) |> map(fun(rows,
            rows |> map(reduce(add, 0.0)) |> reduce(add, 0.0))))""",
        1,
    ),
    "a batch of one": ("fun((x : 1.400.300.f32), (x |> map(transpose), x))", 2),
    "a small array": ("fun((x : 40.30.f32), (x |> transpose, x))", 0),
}
"""Programs that copy arrays, and the number of maps on threads."""


@pytest.mark.parametrize("name", COPIES)
def test_large_arrays_are_copied_on_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, maps = COPIES[name]
    monkeypatch.setenv("RISE_NUM_THREADS", "2")
    kernel = loaded(text)
    assert kernel.lower().as_text("notation").count("mapPar") == maps
    shape = tuple(map(int, text.partition(" : ")[2].partition(".f32")[0].split(".")))
    x = np.random.default_rng(0).random(shape, np.float32)
    found, wanted = kernel(x), loaded(text, strategy="none")(x)
    for result, other in zip(found, wanted, strict=True):
        assert result.tobytes() == other.tobytes()


@pytest.mark.parametrize("length", [1 << 18, (1 << 18) + 77])
def test_a_long_parallel_reduction_has_the_same_result(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"""fun((x : {length}.f32, y : {length}.f32),
      zip(x, y) |> map(mult) |> reduce(add, 0.0))"""
    source = np.random.default_rng(0)
    x, y = (source.random(length, np.float32) for _ in range(2))
    sums: list[float] = []
    for threads in ("1", "2"):
        monkeypatch.setenv("RISE_NUM_THREADS", threads)
        kernel = loaded(text, float="relaxed")
        assert "mapPar" in kernel.lower().as_text("notation")
        sums.append(float(kernel(x, y)))
    assert sums[0] == sums[1]
    np.testing.assert_allclose(sums[0], x.astype(np.float64) @ y, rtol=1e-6)


@pytest.mark.parametrize(
    "text", [MATMUL.format(21, 21, 21, "map"), GEMV.format(280).replace("30.", "60.")]
)
def test_programs_of_a_few_microseconds_are_scheduled(text: str) -> None:
    assert loaded(text).lower().derivation is not None


UNTOUCHED = {
    "small": MATMUL.format(4, 4, 4, "map"),
    "loops that are asked for": LARGE.replace("reduce", "reduceSeq"),
    "turned round in no tiles": "fun((A : 257.263.f32), A |> transpose)",
    "no kernel": "fun((x : 20000.f32), x |> map(fun(e, e + e)))",
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_all_else_stays_as_it_is_written(name: str) -> None:
    assert default_derivation(parse_term(UNTOUCHED[name]), Setting("contract")) is None


def test_what_other_choices_decide_is_left_to_them() -> None:
    for choice in ({"library": "blas"}, {"loops": "polyhedral"}):
        assert loaded(LARGE, **choice).lower().derivation is None
    assert loaded(LARGE, strategy="default").lower().derivation is not None
    assert loaded(LARGE, strategy="fuse()").lower().derivation.strategy == "fuse()"
    assert str(DEFAULT) == "default"


def test_a_kernel_in_the_cache_needs_no_derivation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    a = np.ones((40, 40), np.float32)
    first = loaded(LARGE)
    expected = first(a, a)
    monkeypatch.setattr("riselang.rewrite.derivation.try_derive", None)
    assert np.array_equal(loaded(LARGE)(a, a), expected)


def test_the_tool_says_what_is_chosen_and_why(
    capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    file = tmp_path / "product.rise"
    file.write_text(LARGE)
    rise.main(["derive", "--default", "--summary", str(file)])
    printed = capsys.readouterr().out
    assert "matrix multiplication of 40 x 40 by 40 x 40 at 0.0: tiles of " in printed
    assert "1. " in printed
    file.write_text(UNTOUCHED["small"])
    rise.main(["derive", "--default", "--end", str(file)])
    assert "is unchanged: it is small (" in capsys.readouterr().out
    file.write_text(UNTOUCHED["no kernel"])
    rise.main(["derive", "--default", "--end", str(file)])
    assert "no computation is recognized" in capsys.readouterr().out
