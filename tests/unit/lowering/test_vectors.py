"""Vectors are cut, moved, joined and computed with; in memory they are arrays of scalars."""

from typing import Any

import numpy as np
import pytest
from agreement import agree, text

import riselang as rl
from riselang.lowering.vector_removal import replace_unsupported_vectors, replace_vectors
from riselang.notation.program import parse_term
from riselang.support.errors import LimitationError

X = np.arange(24, dtype=np.float32)


def test_vectors_are_moved_as_a_whole() -> None:
    def turned(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.as_vector(4) | rl.reverse | rl.as_scalar

    (found,) = agree(turned, X)
    assert np.array_equal(found, X.reshape(6, 4)[::-1].ravel())
    assert "memref.alloc" not in text(turned, X)


def test_a_scalar_many_times() -> None:
    def repeated(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.map_par(lambda v: rl.vector_from_scalar(3, v * v)) | rl.as_scalar

    (found,) = agree(repeated, X, threads=(1, 2, 3))
    assert np.array_equal(found, np.repeat(X * X, 3))


def test_vectors_as_state_elements_and_results() -> None:
    def shuffled(x: rl.Array[24, rl.f32], k: rl.Array[6, rl.i64]) -> Any:
        vectors = x | rl.as_vector(4)
        picked = rl.gather(k | rl.map(rl.clamp_idx(6)), vectors)
        last = picked | rl.reduce(lambda acc, v: v, rl.vector_from_scalar(4, 0.0))
        pairs = rl.zip(k, picked) | rl.sort(lambda a, b: rl.fst(a) < rl.fst(b))
        return rl.tuple(
            rl.concat(picked | rl.scan(lambda acc, v: v, last), vectors) | rl.as_scalar,
            rl.snd(rl.unzip(pairs)) | rl.to_mem("heap") | rl.as_scalar,
        )

    agree(shuffled, X, np.array([5, 1, 1, 0, 9, 2], np.int64))


def test_vectors_in_the_buffers_of_a_function() -> None:
    text = """
    func.func @f(%out : memref<3x4xf32>, %in : memref<3x4xf32>) {
      rise.lowering_unit {
        %xs = rise.in %in : !rise.array<3, vector<4, scalar<f32>>>
        %reverse = rise.reverse #rise.nat<3> #rise.vector<4, scalar<f32>>
        %ys = rise.apply %reverse, %xs
        rise.out %out <- %ys
        rise.return
      }
      func.return
    }
    """
    x, out = X[:12].reshape(3, 4).copy(), np.zeros((3, 4), np.float32)
    for loops in ("affine", "scf"):
        rl.loads(text, loops=loops).f(out, x)
        assert np.array_equal(out, x[::-1])


LANES = {
    "one operand": (
        "fun(v : vec[4, f32], v * v + v)",
        "fun(v : 4.f32, v |> map(fun(a, a * a + a)))",
    ),
    "two operands": (
        "fun((v : vec[4, f32], w : vec[4, f32]), select(v < w, v, w))",
        "fun((v : 4.f32, w : 4.f32), zip(v, w) |> map(fun((a, b), select(a < b, a, b))))",
    ),
    "an operand that is computed twice": (
        "fun((v : vec[4, f32], a : f32), v * vectorFromScalar(4, a) / vectorFromScalar(4, a))",
        "fun((v : 4.f32, a : f32), zip(v, fun(x, generate(fun((i : idx[4]), x)))(a)) |> "
        "map(fun((b, c), b * c / c)))",
    ),
    "three operands": (
        "fun((u : vec[K, f32], v : vec[K, f32], w : vec[K, f32]), fma(u, v, w))",
        "fun((u : K.f32, v : K.f32, w : K.f32), zip(u, zip(v, w)) |> map(fun((a, b, c), "
        "fma(a, b, c))))",
    ),
}


@pytest.mark.parametrize("name", LANES)
def test_operations_on_vectors_are_maps_over_lanes(name: str) -> None:
    on_vectors, on_arrays = LANES[name]
    assert replace_vectors(parse_term(on_vectors)) == parse_term(on_arrays)


STAY = {
    "fun(v : vec[4, f32], v * v + v)": True,
    "fun(v : 3.vec[4, i64], v |> asScalar |> reverse |> asVector(2))": True,
    "fun(v : vec[4, f16], v * v)": False,
    "fun(v : vec[4, f16], sin(v))": False,
    "fun((v : vec[4, i32], w : vec[4, i32]), v // w)": False,
    "fun(v : vec[K, f32], v)": False,
}


@pytest.mark.parametrize("program", STAY)
def test_vectors_stay_where_all_can_be_done_with_them(program: str) -> None:
    term = parse_term(program)
    assert (replace_unsupported_vectors(term) == term) == STAY[program]


STAY_WITH_A_LIBRARY = {
    "fun(v : vec[4, f32], exp(v) + tanh(v) * log(v))": True,
    "fun((v : vec[4, f64], w : vec[4, f64]), pow(sin(v), w))": True,
    "fun(v : vec[4, f16], exp(v))": False,
    "fun(v : vec[K, f32], exp(v))": False,
}


@pytest.mark.parametrize("program", STAY_WITH_A_LIBRARY)
def test_vectors_stay_where_lanes_can_call_the_math_library(program: str) -> None:
    term = parse_term(program)
    assert (replace_unsupported_vectors(term) == term) == STAY_WITH_A_LIBRARY[program]
    assert replace_unsupported_vectors(term, has_library=False) != term


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_a_function_of_vectors_calls_the_library_for_each_lane(type: str) -> None:
    text = f"""fun((x : 24.{type}, y : 24.{type}), zip(x |> asVector(8), y |> asVector(8)) |> map(
        fun(p, pow(exp(fst(p)), snd(p)) + exp(fst(p)))) |> asScalar)"""
    lowered: Any = rl.loads(text, name="p.rise")
    expected: Any = rl.loads(text, name="p.rise", backend="interpret")
    x, y = (np.linspace(-2, 2, 24).astype(f"float{type[1:]}") + seed for seed in (0, 1))
    assert np.array_equal(lowered.main(x, y), expected.main(x, y))
    printed = lowered.main.lower().as_text("affine")
    suffix = "" if type == "f64" else "f"
    assert printed.count(f"func.func private @rise_lanes_exp{suffix}_8(") == 1
    assert printed.count(f"func.func private @rise_lanes_pow{suffix}_8(") == 1


@pytest.mark.parametrize("pad", ["pad", "padReflect", "padWrap"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_lanes_at_the_border_of_a_padded_array(pad: str, symbolic: bool) -> None:
    length = "4 * N" if symbolic else "32"
    text = f"""fun(x : ({length}).f32, x |> {pad}(3, 1) |> slide(5, 1) |> transpose
        |> map(fun(row, row |> asVector(4) |> map(fun(v, v * v)) |> asScalar)))"""
    lowered: Any = rl.loads(text, name="p.rise")
    expected: Any = rl.loads(text, name="p.rise", backend="interpret")
    x = np.arange(32, dtype=np.float32)
    assert np.array_equal(lowered.main(x), expected.main(x))
    if not symbolic:
        printed = lowered.main.lower().as_text("affine")
        assert (printed.count("vector.gather") > 0) == (pad != "padWrap")


def test_a_vectorised_map_is_a_loop_over_vectors_without_memory() -> None:
    def squares(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.as_vector(4) | rl.map(lambda v: v * v + v) | rl.as_scalar

    (found,) = agree(squares, X)
    assert np.array_equal(found, X * X + X)
    assert "memref.alloc" not in text(squares, X)
    assert text(squares, X).count("affine.for") == 1
    assert text(squares, X).count("vector_load") == text(squares, X).count("vector_store") == 1


def test_a_scalar_for_all_lanes_is_computed_once() -> None:
    def scaled(x: rl.Array[24, rl.f32], a: rl.Array[rl.f32]) -> Any:
        def scale(v: Any) -> Any:
            return v * rl.vector_from_scalar(4, rl.math.exp(a))

        return x | rl.as_vector(4) | rl.map(scale) | rl.as_scalar

    a = np.array(0.5, np.float32)
    agree(scaled, X, a)
    shown = text(scaled, X, a)
    assert shown.count("call @expf") == shown.count("vector.broadcast") == 1


def test_lanes_that_lie_apart_are_read_and_written_one_by_one() -> None:
    def transposed(x: rl.Array[6, 4, rl.f32]) -> Any:
        columns = x | rl.transpose | rl.map(rl.as_vector(2))
        doubled = columns | rl.map(lambda row: row | rl.map(lambda v: v + v))
        return doubled | rl.map(rl.as_scalar) | rl.transpose

    (found,) = agree(transposed, X.reshape(6, 4))
    assert np.array_equal(found, 2 * X.reshape(6, 4))
    assert text(transposed, X.reshape(6, 4)).count("affine.load") == 2


def test_lanes_of_what_is_padded_joined_and_computed() -> None:
    def mixed(x: rl.Array[22, rl.f32]) -> Any:
        padded = x | rl.pad(1, 1) | rl.as_vector(4)
        behind = rl.concat(x | rl.map(lambda e: e * 3.0), x | rl.take(2)) | rl.as_vector(4)
        pairs = rl.zip(padded, behind) | rl.map(lambda v, w: v * w)
        total = pairs | rl.as_scalar | rl.reduce(rl.add, 0.0)
        return rl.tuple(pairs | rl.as_scalar | rl.reverse, total)

    agree(mixed, X[:22])


def test_few_accumulators_stay_in_registers() -> None:
    def sums(x: rl.Array[6, 8, rl.f32]) -> Any:
        rows = x | rl.map(rl.as_vector(4))
        zeros = rl.generate(lambda i: rl.vector_from_scalar(4, 0.0), n=2)
        folded = rows | rl.reduce(
            lambda acc, row: rl.zip(row, acc) | rl.map(lambda v, a: v * v + a), zeros
        )
        return folded | rl.as_scalar

    agree(sums, X.repeat(2).reshape(6, 8))
    affine = text(sums, X.repeat(2).reshape(6, 8))
    assert affine.count("vector_store") == 2
    assert affine.count("vector<4xf32>, vector<4xf32>)") >= 1


def test_vectors_as_accumulators() -> None:
    def sums(x: rl.Array[24, rl.f32]) -> Any:
        zeros = rl.vector_from_scalar(4, 0.0)
        vectors = x | rl.as_vector(4)
        total = vectors | rl.reduce(lambda acc, v: v * v + acc, zeros)
        running = vectors | rl.scan(lambda acc, v: rl.max(v, acc) - total, zeros)
        return rl.tuple(running | rl.as_scalar, vectors | rl.reduce_par(rl.add, total))

    agree(sums, X)


@pytest.mark.rotating(3)
def test_lanes_of_every_kind_of_operation() -> None:
    def mixed(x: rl.Array[24, rl.f32], k: rl.Array[24, rl.i8]) -> Any:
        def combine(v: Any, n: Any) -> Any:
            shifted = rl.where(rl.cast(v, rl.i8) < n, n // rl.cast(v, rl.i8), -n)
            return rl.cast(shifted, rl.f32) * v, ~(shifted == n)

        pairs = rl.zip(x | rl.as_vector(3), k | rl.as_vector(3))
        results = rl.unzip(pairs | rl.map_par(combine))
        return rl.tuple(rl.fst(results) | rl.as_scalar, rl.snd(results) | rl.as_scalar)

    agree(mixed, X - 7, (np.arange(24) * 11).astype(np.int8), threads=(1, 2, 3))


def test_many_operands_do_not_make_the_term_deep() -> None:
    names = [f"v{number}" for number in range(64)]
    tree = names
    while len(tree) > 1:
        tree = [f"({left} + {right})" for left, right in zip(tree[::2], tree[1::2], strict=True)]
    parameters = ", ".join(f"{name} : vec[4, i32]" for name in names)
    lowered = replace_unsupported_vectors(parse_term(f"fun(({parameters}), {tree[0]})"))
    assert lowered.depth < 64 + 40


def test_foreign_ops_on_vectors_are_rejected_with_their_names() -> None:
    embed = (
        'embed[vec[4, f32]]("^bb0(%a: vector<4xf32>):\n'
        "%b = vector.fma %a, %a, %a : vector<4xf32>\n"
        'rise.return %b : vector<4xf32>", v)'
    )
    with pytest.raises(LimitationError, match="cannot be compiled on vectors yet"):
        replace_unsupported_vectors(parse_term(f"fun(v : vec[4, f32], {embed})"))


def test_parts_of_pairs_are_loaded_as_vectors() -> None:
    def sums(x: rl.Array[24, rl.f32]) -> Any:
        pairs = rl.zip(x, x | rl.reverse)
        first, second = (pairs | rl.map(part) | rl.as_vector(4) for part in (rl.fst, rl.snd))
        return rl.zip(first, second) | rl.map(lambda p: rl.fst(p) + rl.snd(p)) | rl.as_scalar

    agree(sums, X)

    def doubled(x: rl.Array[24, rl.f32]) -> Any:
        pairs = rl.zip(x, x) | rl.to_mem("heap")
        return pairs | rl.map(rl.snd) | rl.as_vector(4) | rl.map(lambda v: v + v) | rl.as_scalar

    agree(doubled, X)
    assert "vector.insert" not in text(doubled, X)


def test_a_reduction_in_a_reduction_carries_its_vectors_in_registers() -> None:
    def sums(x: rl.Array[6, 4, 8, rl.f32]) -> Any:
        def add(row: Any, accumulators: Any) -> Any:
            pairs = rl.zip(row, accumulators)
            return pairs | rl.map(lambda p: rl.fst(p) * rl.fst(p) + rl.snd(p))

        zeros = rl.generate(lambda i: rl.vector_from_scalar(4, 0.0))
        rows = x | rl.map(rl.map(rl.as_vector(4)))
        return (
            rows
            | rl.reduce(lambda sums, block: block | rl.reduce_seq_unroll(add, sums), zeros)
            | rl.as_scalar
        )

    M = np.random.default_rng(3).random((6, 4, 8), np.float32)
    agree(sums, M)
    assert "memref.alloc" not in text(sums, M)
