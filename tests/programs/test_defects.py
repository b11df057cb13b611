"""The defects of the first implementation of RISE in MLIR (DESIGN, section 5), one by one.

Defect 6 has its own file, `test_defects_lambdas.py`; defect 7 (no verifiers, no printer) is what
`tests/unit/dialects` is about.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from running import LOOPS, Array, assert_same_bits, checked, random_array, verified
from xdsl.dialects import affine, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import riselang as rl
from riselang.api.jit import Jitted
from riselang.compiler.compilation import Compilation
from riselang.dialects.module import parse_module
from riselang.dsl.symbolic_values import Value
from riselang.native.mlir import bindings as mlir
from riselang.support.config import Options

DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
}


def program(*types: Any) -> Callable[[Callable[..., Any]], Jitted]:
    """A jitted function whose parameters have these types."""

    def decorate(function: Callable[..., Any]) -> Jitted:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        function.__annotations__ = dict(zip(names, types, strict=True))
        return rl.jit(function)

    return decorate


def same_bits(function: Jitted, *arrays: Array) -> list[Array]:
    """The results, which compiled code and interpreter give alike, with both kinds of loops."""
    expected = rl.jit(function.function, backend="interpret")(*arrays)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    found = function(*arrays)
    found = list(found) if isinstance(found, tuple) else [found]
    assert_same_bits(found, expected)
    module = function.lower(*arrays).compilation.module
    for loops in LOOPS:
        outputs = [np.zeros_like(array) for array in expected]
        compilation = Compilation(module, function.options.with_changes(loops=loops))
        (kernel,) = compilation.functions.values()
        kernel(*outputs, *(np.ascontiguousarray(array) for array in arrays))
        assert_same_bits(outputs, expected)
    return expected


def loops_of(function: Jitted, *arrays: Array, loops: str = "affine") -> ModuleOp:
    """The module of loops, loads and stores that the function becomes."""
    module = function.lower(*arrays).compilation.module
    return parse_module(Compilation(module, Options(loops)).text("affine"))


def ops_in(module: ModuleOp, *kinds: Any) -> list[Any]:
    return [op for op in module.walk() if isinstance(op, kinds)]


# 1. f32 only


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DTYPES)
def test_1_every_scalar_type_through_map_and_reduce(name: str) -> None:
    type = rl.Array["N", getattr(rl, name)]

    @program(type, type)
    def dot(xs: Value, ys: Value) -> Any:
        products = rl.zip(xs, ys) | rl.map(rl.mult)
        return products | rl.reduce(rl.add, 0), xs | rl.map(lambda x: x + x)

    xs, ys = random_array(13, dtype=DTYPES[name]), random_array(13, dtype=DTYPES[name])
    total, doubled = same_bits(dot, xs, ys)
    assert total.dtype == doubled.dtype == xs.dtype
    if xs.dtype.kind == "i":
        assert total == (xs * ys).sum(dtype=xs.dtype)


def test_1_booleans_through_map_and_reduce() -> None:
    @program(rl.Array["N", rl.i1])
    def parity(xs: Value) -> Any:
        flipped = xs | rl.map(lambda x: x ^ True)
        return flipped | rl.reduce(lambda acc, x: x ^ acc, False), xs | rl.map(lambda x: x & x)

    xs = random_array(13, dtype=bool)
    parity_of, same = same_bits(parity, xs)
    assert parity_of == bool((~xs).sum() % 2)
    assert_same_bits([same], [xs])


def test_1_tuple_accumulators() -> None:
    @program(rl.Array["N", rl.f32], rl.Array["N", rl.i32])
    def smallest_and_sum(xs: Value, ks: Value) -> Any:
        best = rl.zip(xs, ks) | rl.reduce(
            lambda acc, pair: (rl.min(pair.fst, acc.fst), pair.snd + acc.snd), (100.0, 0)
        )
        return best.fst, best.snd

    xs, ks = random_array(11), random_array(11, dtype=np.int32)
    smallest, total = same_bits(smallest_and_sum, xs, ks)
    assert smallest == xs.min()
    assert total == ks.sum()


def test_1_nested_tuple_accumulators_of_three_types() -> None:
    @program(rl.Array["N", rl.f64])
    def statistics(xs: Value) -> Any:
        result = xs | rl.reduce(
            lambda acc, x: (acc.fst + 1, (rl.max(x, acc.snd.fst), rl.cast(x, rl.f32))),
            (0, (-1e300, 0.0)),
        )
        return result.fst, result.snd.fst, result.snd.snd

    xs = random_array(9, dtype=np.float64)
    count, largest, last = same_bits(statistics, xs)
    assert count == 9
    assert largest == xs.max()
    assert last == np.float32(xs[-1])


def test_1_arrays_as_accumulators() -> None:
    @program(rl.Array["N", "M", rl.f32], rl.Array["M", rl.f32])
    def column_sums(rows: Value, start: Value) -> Any:
        return rows | rl.reduce(lambda acc, row: rl.zip(row, acc) | rl.map(rl.add), start)

    rows, start = random_array(5, 4), random_array(4)
    (sums,) = same_bits(column_sums, rows, start)
    np.testing.assert_allclose(sums, rows.sum(axis=0) + start, rtol=1e-5, atol=1e-5)


def test_1_tuples_of_arrays_as_accumulators() -> None:
    @program(rl.Array["N", "M", rl.f32], rl.Array["M", rl.f32])
    def swap(rows: Value, start: Value) -> Any:
        final = rows | rl.reduce(
            lambda acc, row: (acc.snd, rl.zip(row, acc.fst) | rl.map(rl.sub)), (start, start)
        )
        return final.fst, final.snd

    rows, start = random_array(3, 4), random_array(4)
    first, second = same_bits(swap, rows, start)
    a = b = start
    for row in rows:
        a, b = b, row - a
    assert_same_bits([first, second], [a, b])


def test_1_tuples_in_outputs_and_inputs() -> None:
    text = """
    func.func @swap(%a : memref<3xi32>, %b : memref<3x2xf32>, %c : memref<3x2xf32>,
                    %d : memref<3xi32>) {
      %pairs = rise.in %c, %d : !rise.array<3, tuple<array<2, scalar<f32>>, scalar<i32>>>
      %f = rise.lambda (%p : !rise.tuple<array<2, scalar<f32>>, scalar<i32>>)
          -> !rise.tuple<scalar<i32>, array<2, scalar<f32>>> {
        %fst = rise.fst #rise.array<2, scalar<f32>> #rise.scalar<i32>
        %snd = rise.snd #rise.array<2, scalar<f32>> #rise.scalar<i32>
        %x = rise.apply %fst, %p
        %y = rise.apply %snd, %p
        %tuple = rise.tuple #rise.scalar<i32> #rise.array<2, scalar<f32>>
        %r = rise.apply %tuple, %y, %x
        rise.return %r : !rise.tuple<scalar<i32>, array<2, scalar<f32>>>
      }
      %map = rise.mapSeq #rise.nat<3> #rise.tuple<array<2, scalar<f32>>, scalar<i32>>
          #rise.tuple<scalar<i32>, array<2, scalar<f32>>>
      %swapped = rise.apply %map, %f, %pairs
      rise.out %a, %b <- %swapped
      func.return
    }
    """
    arrays = [
        np.zeros(3, np.int32), np.zeros((3, 2), np.float32),
        random_array(3, 2), random_array(3, dtype=np.int32),
    ]  # fmt: skip
    for loops in LOOPS:
        a, b, c, d = checked(text, "swap", arrays, loops)
        assert_same_bits([a, b], [d, c])


def test_1_unzip_and_zip_on_the_store_side() -> None:
    @program(rl.Array["N", rl.f32], rl.Array["N", rl.i32])
    def unzipped(xs: Value, ys: Value) -> Any:
        pairs = rl.zip(xs, ys) | rl.map(lambda x, y: (y + 1, x * 2.0))
        both = rl.unzip(pairs)
        return both.fst, both.snd

    xs, ys = random_array(6), random_array(6, dtype=np.int32)
    first, second = same_bits(unzipped, xs, ys)
    assert_same_bits([first, second], [ys + 1, xs * 2])


def test_1_four_outputs_of_one_program() -> None:
    @program(rl.Array["N", "M", rl.f32])
    def four(xss: Value) -> Any:
        return (
            xss | rl.map(lambda xs: xs | rl.reduce(rl.add, 0.0)),
            xss | rl.transpose,
            xss | rl.join,
            xss | rl.map(rl.map(lambda x: rl.cast(x, rl.f64))),
        )

    xss = random_array(3, 5)
    _, transposed, joined, wide = same_bits(four, xss)
    assert_same_bits([transposed, joined], [xss.T.copy(), xss.ravel()])
    assert_same_bits([wide], [xss.astype(np.float64)])


# 2. join divided by the wrong size


@pytest.mark.parametrize("shape", [(2, 7), (7, 2), (1, 5), (5, 1), (3, 3)])
def test_2_join_of_a_matrix_that_is_not_square(shape: tuple[int, int]) -> None:
    @program(rl.Array["N", "M", rl.f32])
    def joined(xss: Value) -> Any:
        return xss | rl.join, xss | rl.join | rl.map_seq(lambda x: x + x)

    xss = random_array(*shape)
    read, computed = same_bits(joined, xss)
    assert_same_bits([read, computed], [xss.ravel(), xss.ravel() * 2])


def test_2_join_inside_and_outside_of_maps() -> None:
    @program(rl.Array[2, 3, 5, rl.f32])
    def joined(x3: Value) -> Any:
        return x3 | rl.join, x3 | rl.map_seq(rl.join), x3 | rl.join | rl.join | rl.split(6)

    x3 = random_array(2, 3, 5)
    outer, inner, cut = same_bits(joined, x3)
    assert_same_bits([outer, inner, cut], [x3.reshape(6, 5), x3.reshape(2, 15), x3.reshape(5, 6)])


def test_2_join_on_the_store_side_that_is_not_square() -> None:
    @program(rl.Array[2, 7, rl.f32])
    def stored(xss: Value) -> Any:
        return xss | rl.map_seq(rl.map_seq(lambda x: x + x)) | rl.join

    xss = random_array(2, 7)
    (result,) = same_bits(stored, xss)
    assert_same_bits([result], [(xss + xss).ravel()])


# 3. indices that are not affine


@program(rl.Array[12, rl.f32])
def split_then_join(xs: Value) -> Any:
    return xs | rl.split(4) | rl.transpose | rl.join | rl.map_seq(lambda x: x + x)


@program(rl.Array[3, 4, rl.f32])
def join_then_split(xss: Value) -> Any:
    return xss | rl.join | rl.split(2) | rl.map_seq(rl.map_seq(lambda x: x + x))


@program(rl.Array[11, rl.f32])
def windows(xs: Value) -> Any:
    return xs | rl.slide(3, 2) | rl.map_seq(rl.reduce_seq(rl.add, 0.0))


@program(rl.Array[6, rl.f32])
def padded(xs: Value) -> Any:
    return xs | rl.pad(2, 3) | rl.map_seq(lambda x: x + x)


@program(rl.Array[6, 8, rl.f32])
def everything(image: Value) -> Any:
    return (
        image
        | rl.pad2d(1, 1)
        | rl.slide2d(3, 1)
        | rl.map_seq2d(lambda window: window | rl.join | rl.reduce_seq(rl.add, 0.0))
        | rl.join
        | rl.split(4)
    )


@program(rl.Array[12, rl.f32])
def stored_through_views(xs: Value) -> Any:
    return xs | rl.map_seq(lambda x: x + x) | rl.split(3) | rl.transpose


VIEWS = {
    "split_then_join": (split_then_join, (12,), lambda x: 2 * x.reshape(3, 4).T.ravel()),
    "join_then_split": (join_then_split, (3, 4), lambda x: 2 * x.reshape(6, 2)),
    "windows": (windows, (11,), lambda x: x[0:9:2] + x[1:10:2] + x[2:11:2]),
    "padded": (padded, (6,), lambda x: 2 * np.pad(x, (2, 3), mode="edge")),
    "everything": (everything, (6, 8), None),
    "stored_through_views": (stored_through_views, (12,), lambda x: 2 * x.reshape(4, 3).T),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", VIEWS)
def test_3_views_run(name: str) -> None:
    function, shape, meaning = VIEWS[name]
    xs = random_array(*shape)
    (result,) = same_bits(function, xs)
    if meaning is not None:
        np.testing.assert_allclose(result, meaning(xs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", VIEWS)
def test_3_affine_views_are_accepted_by_unmodified_mlir(name: str) -> None:
    function, shape, _ = VIEWS[name]
    module = function.lower(random_array(*shape)).compilation.module
    compilation = Compilation(module, Options("affine"))
    mlir.verify(compilation.native_text)
    mlir.verify(compilation.text("affine"))


@pytest.mark.parametrize("name", VIEWS)
def test_3_affine_views_use_affine_accesses(name: str) -> None:
    function, shape, _ = VIEWS[name]
    module = loops_of(function, random_array(*shape))
    assert not ops_in(module, memref.LoadOp, memref.StoreOp, scf.ForOp, scf.IfOp)
    assert ops_in(module, affine.LoadOp)
    assert ops_in(module, affine.StoreOp)
    has_pad = name in ("padded", "everything")
    assert bool(ops_in(module, affine.IfOp)) == has_pad


@pytest.mark.parametrize("name", VIEWS)
def test_3_scf_views_use_plain_accesses(name: str) -> None:
    function, shape, _ = VIEWS[name]
    module = loops_of(function, random_array(*shape), loops="scf")
    assert not ops_in(module, affine.LoadOp, affine.StoreOp, affine.ForOp, affine.IfOp)
    assert ops_in(module, memref.LoadOp)
    assert ops_in(module, scf.ForOp)


def test_3_loops_of_both_dialects_in_one_program() -> None:
    @program(rl.Array[4, 6, rl.f32])
    def mixed(xss: Value) -> Any:
        return xss | rl.map_seq(
            lambda xs: xs | rl.pad(1, 1) | rl.map_seq(lambda x: x + x, to="affine"), to="scf"
        )

    xss = random_array(4, 6)
    (result,) = same_bits(mixed, xss)
    assert_same_bits([result], [2 * np.pad(xss, ((0, 0), (1, 1)), mode="edge")])
    mlir.verify(mixed.lower(xss).compilation.native_text)


# 4. an allocation per reduction, never freed


@program(rl.Array[5, 6, rl.f32])
def row_sums(xss: Value) -> Any:
    return xss | rl.map_seq(lambda xs: xs | rl.reduce_seq(rl.add, 0.0))


@pytest.mark.parametrize("loops", LOOPS)
def test_4_a_reduction_carries_its_accumulator_in_registers(loops: str) -> None:
    module = loops_of(row_sums, random_array(5, 6), loops=loops)
    assert not ops_in(module, memref.AllocOp, memref.AllocaOp)
    carried = [
        len(op.iter_args if isinstance(op, scf.ForOp) else op.inits)
        for op in ops_in(module, scf.ForOp, affine.ForOp)
    ]
    assert sorted(carried) == [0, 1]
    assert len(ops_in(module, memref.StoreOp, affine.StoreOp)) == 1


def twice_used(size: int) -> Jitted:
    @program(rl.Array["K", size, rl.f32])
    def scaled(xss: Value) -> Any:
        def row(xs: Value) -> Any:
            squares = xs | rl.map(lambda x: x * x)
            return rl.zip(squares, squares) | rl.map_seq(lambda x, y: x + y)

        return xss | rl.map_seq(row)

    return scaled


@pytest.mark.parametrize("loops", LOOPS)
def test_4_temporaries_stand_outside_of_loops(loops: str) -> None:
    module = loops_of(twice_used(8), random_array(3, 8), loops=loops)
    temporaries = ops_in(module, memref.AllocOp, memref.AllocaOp)
    assert len(temporaries) == 1
    assert isinstance(temporaries[0], memref.AllocaOp)
    assert isinstance(temporaries[0].parent_op(), FuncOp)


@pytest.mark.parametrize(("length", "on_stack"), [(4096, True), (4097, False)])
def test_4_up_to_16_kib_on_the_stack(length: int, on_stack: bool) -> None:
    module = loops_of(twice_used(length), random_array(2, length))
    assert len(ops_in(module, memref.AllocaOp)) == int(on_stack)
    allocated, freed = ops_in(module, memref.AllocOp), ops_in(module, memref.DeallocOp)
    assert len(allocated) == len(freed) == int(not on_stack)
    for alloc, free in zip(allocated, freed, strict=True):
        assert free.memref is alloc.memref
        assert isinstance(free.parent_op(), FuncOp)


@pytest.mark.rotating(3)
def test_4_temporaries_of_a_parallel_loop_belong_to_its_iterations() -> None:
    @program(rl.Array[2, 4100, rl.f32])
    def scaled(xss: Value) -> Any:
        def row(xs: Value) -> Any:
            squares = xs | rl.map(lambda x: x * x)
            return rl.zip(squares, squares) | rl.map_seq(lambda x, y: x + y)

        return xss | rl.map_par(row)

    xss = random_array(2, 4100)
    for loops in LOOPS:
        module = loops_of(scaled, xss, loops=loops)
        (alloc,) = ops_in(module, memref.AllocOp)
        (free,) = ops_in(module, memref.DeallocOp)
        assert isinstance(alloc.parent_op(), scf.ParallelOp | affine.ParallelOp)
        assert free.parent is alloc.parent
    same_bits(scaled, xss)


def resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_4_memory_stays_flat_over_thousands_of_calls() -> None:
    length = 8192
    function = twice_used(length)
    xss = random_array(1, length)
    kernel = function.lower(xss).compile().function
    out = np.zeros_like(xss)
    kernel(out, xss)
    before = resident_bytes()
    for _ in range(4000):
        kernel(out, xss)
    # One lost temporary a call would be 125 MiB.
    assert resident_bytes() - before < 16 * 2**20


# 5. mapPar was sequential


@program(rl.Array["N", "M", rl.f32])
def parallel_rows(xss: Value) -> Any:
    return xss | rl.map_par(rl.map_seq(lambda x: x * 2.0 + 1.0))


@pytest.mark.parametrize("loops", LOOPS)
def test_5_map_par_is_a_parallel_loop(loops: str) -> None:
    module = loops_of(parallel_rows, random_array(4, 5), loops=loops)
    kind = affine.ParallelOp if loops == "affine" else scf.ParallelOp
    assert len(ops_in(module, kind)) == 1
    assert len(ops_in(module, scf.ForOp, affine.ForOp)) == 1


@pytest.mark.parametrize("loops", LOOPS)
def test_5_map_par_calls_the_thread_pool(loops: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_NUM_THREADS", "3")
    module = parallel_rows.lower(random_array(4, 5)).compilation.module
    assert "call void @rise_parallel" in Compilation(module, Options(loops)).llvm_ir
    monkeypatch.setenv("RISE_NUM_THREADS", "1")
    assert "@rise_parallel" not in Compilation(module, Options(loops)).llvm_ir


@pytest.mark.parametrize("threads", ["1", "2", "3", "5"])
def test_5_any_number_of_threads_gives_the_same_bits(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_NUM_THREADS", threads)
    xss = random_array(7, 5)
    (result,) = same_bits(parallel_rows, xss)
    assert_same_bits([result], [xss * 2 + 1])


def test_5_nested_parallel_maps_and_reductions_in_them() -> None:
    @program(rl.Array[3, 4, 5, rl.f32])
    def nested(x3: Value) -> Any:
        return x3 | rl.map_par(rl.map_par(rl.reduce_seq(rl.add, 0.0)))

    same_bits(nested, random_array(3, 4, 5))


def test_5_map_par_that_is_read_gets_memory() -> None:
    @program(rl.Array[6, rl.f32])
    def read(xs: Value) -> Any:
        return xs | rl.map_par(lambda x: x * x) | rl.slide(2, 1) | rl.map(rl.reduce(rl.add, 0.0))

    xs = random_array(6)
    (result,) = same_bits(read, xs)
    assert_same_bits([result], [xs[1:] ** 2 + xs[:-1] ** 2])


THREADS_SCRIPT = """
import os, numpy as np, riselang as rl
@rl.jit
def f(xss: rl.Array["N", "M", rl.f32]):
    return xss | rl.map_par(rl.map_seq(lambda x: x + x))
xss = np.ones((64, 1000), np.float32)
kernel = f.lower(xss).compile().function
out = np.zeros_like(xss)
before = len(os.listdir("/proc/self/task"))
kernel(out, xss)
print(len(os.listdir("/proc/self/task")) - before, bool((out == 2).all()))
"""


@pytest.mark.rotating(4)
def test_5_several_threads_run() -> None:
    environment = {**os.environ, "RISE_NUM_THREADS": "4"}
    done = subprocess.run(
        [sys.executable, "-c", THREADS_SCRIPT], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["3", "True"]


# 8. index blow-up


def shuffled(steps: int) -> Jitted:
    @program(rl.Array[720, rl.f32])
    def chain(xs: Value) -> Any:
        for step in range(steps):
            xs = xs | rl.split((2, 3, 4, 5, 6)[step % 5]) | rl.transpose | rl.join
        return xs | rl.map_seq(lambda x: x + x)

    return chain


@pytest.mark.rotating(3)
@pytest.mark.parametrize("loops", LOOPS)
def test_8_forty_splits_transposes_and_joins_stay_small(loops: str) -> None:
    xs = random_array(720)
    for steps in (10, 40):
        lowered = shuffled(steps).lower(xs)
        text = Compilation(lowered.compilation.module, Options(loops)).text("affine")
        assert len(text) <= 1500 + 150 * steps
        assert len(list(verified(text).walk())) <= 50 + 5 * steps


def test_8_forty_splits_transposes_and_joins_run() -> None:
    xs = random_array(720)
    expected = xs
    for step in range(40):
        expected = expected.reshape(-1, (2, 3, 4, 5, 6)[step % 5]).T.ravel()
    assert_same_bits([shuffled(40)(xs)], [expected + expected])


def shifted(steps: int) -> Jitted:
    @program(rl.Array[10, rl.f32])
    def chain(xs: Value) -> Any:
        for _ in range(steps):
            xs = xs | rl.pad(1, 1) | rl.split(2) | rl.transpose | rl.join
        return xs | rl.map_seq(lambda x: x + x)

    return chain


@pytest.mark.parametrize("loops", LOOPS)
def test_8_code_grows_linearly_where_indices_do_not_simplify(loops: str) -> None:
    xs = random_array(10)
    sizes: list[int] = []
    for steps in (4, 8):
        module = shifted(steps).lower(xs).compilation.module
        sizes.append(len(Compilation(module, Options(loops)).text("affine")))
    assert sizes[1] <= 3 * sizes[0]


def test_8_indices_that_do_not_simplify_run() -> None:
    xs = random_array(10)
    expected = xs
    for _ in range(5):
        expected = np.pad(expected, 1, mode="edge").reshape(-1, 2).T.ravel()
    (result,) = same_bits(shifted(5), xs)
    assert_same_bits([result], [expected + expected])


@pytest.mark.parametrize("loops", LOOPS)
def test_8_a_sum_used_in_a_map_is_computed_once(loops: str) -> None:
    @program(rl.Array[16, rl.f32])
    def centred(xs: Value) -> Any:
        total = xs | rl.reduce_seq(rl.add, 0.0)
        return xs | rl.map_seq(lambda x: x - total)

    module = loops_of(centred, random_array(16), loops=loops)
    found = ops_in(module, scf.ForOp, affine.ForOp)
    assert len(found) == 2
    assert all(isinstance(loop.parent_op(), FuncOp) for loop in found)


def test_8_compiled_steps_grow_linearly_with_the_program() -> None:
    """A chain of computed maps is one loop whose body has one op a map."""

    def maps(count: int) -> int:
        @program(rl.Array[16, rl.f32])
        def chain(xs: Value) -> Any:
            for _ in range(count):
                xs = xs | rl.map(lambda x: x * x)
            return xs

        return len(list(loops_of(chain, random_array(16)).walk()))

    assert maps(80) - maps(40) == maps(40) - maps(0)
