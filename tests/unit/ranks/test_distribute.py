"""Distributed programs have the bits of the interpreter; here, one process emulates the ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.ranks.cost import communication_seconds, step_traffic
from riselang.ranks.execution import Exchange
from riselang.support.errors import UserError
from support.rank_programs import (
    JACOBI,
    MATMUL,
    SOFTMAX,
    SUM,
    RankProgram,
    check_rank_program,
    check_training_step,
    rank_programs,
)

PROGRAMS = {
    f"{position} on {count} ranks": program
    for count in range(1, 5)
    for position, program in enumerate(rank_programs(count))
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str) -> None:
    check_rank_program(PROGRAMS[name])


def run(text: str, ranks: Any, *arguments: Any, **options: Any) -> Any:
    """Run a program on ranks, and check that the interpreter agrees with it."""
    module: Any = rl.loads(text, name="program.rise", strategy="none")
    distributed = rl.distribute(module.main, ranks=ranks, **options)
    result = distributed(*arguments)
    arrays = [np.asarray(each) for each in arguments]
    expected = distributed.lower(*arguments).interpret(arrays, {})
    if isinstance(expected, tuple):
        assert all(map(np.array_equal, result, expected))
    else:
        assert np.array_equal(result, expected)
    return distributed


X = np.arange(1, 13, dtype=np.float32)
CASES = {
    "a map, with fewer ranks than blocks": (
        "fun((x : 12.f32), x |> split(3) |> mapRank(0, map(fun(e, e * 2.0))) |> join)", 3, (X,),
    ),
    "partial sums": (
        "fun((x : 12.f32), x |> split(3) |> mapRank(0, reduce(add, 0.0)) |> reduce(add, 0.0))",
        4, (X,),
    ),
    "a chain of ranks": (
        "fun((x : 12.f32), x |> shard(0) |> split(3) "
        "|> reduceRank(0, fun((a, block), block |> reduce(add, a)), 0.0))",
        4, (X,),
    ),
    "an array of odd size in blocks": (
        "fun((x : 5.7.f32), x |> shard(0) |> map(shard(1)) |> transpose)",
        (2, 3), (np.arange(35, dtype=np.float32).reshape(5, 7),),
    ),
    "pairs": (
        "fun((x : 12.f32, y : 12.i32), zip(x |> shard(0), y) |> split(4) |> mapRank(0, fun(block, "
        "block |> map(fun(p, (snd(p), fst(p) * 2.0))))) |> join)",
        3, (X, np.arange(12, dtype=np.int32)),
    ),
    "a constant around an array": (
        "fun((x : 12.f32), x |> padConst(1, 1, 5.0) |> slide(5, 3) |> mapRank(0, fun(tile, "
        "tile |> slide(3, 1) |> map(reduce(add, 0.0)))) |> join)",
        4, (X,),
    ),
    "a wrapped halo of results": (
        "fun((x : 12.f32), x |> iterate(3, fun(y, y |> padWrap(1, 1) |> slide(6, 4) "
        "|> mapRank(0, fun(tile, tile |> slide(3, 1) |> map(reduce(max, 0.0)))) |> join)))",
        3, (X,),
    ),
    "elements at constant indices": (
        "fun((x : 12.f32), generate(fun(i : idx[3], x |> split(4) |> at(i))) "
        "|> mapRank(0, fun(block, block |> reduce(add, 0.0))))",
        3, (X,),
    ),
    "views in mirror order, concatenated": (
        "fun((x : 12.f32), concat(x |> reverse |> take(6), x |> drop(8)) |> split(5) "
        "|> mapRank(0, map(fun(e, e + 1.0))) |> join |> padReflect(2, 1))",
        2, (X,),
    ),
    "a scalar of each rank": (
        "fun((x : 12.f32, c : f32), let s = x |> split(6) |> mapRank(0, reduce(add, 0.0)); "
        "s |> mapRank(0, fun(e, e * c)))",
        2, (X, np.float32(3)),
    ),
    "mapRank in a map": (
        "fun((x : 3.4.f32), x |> map(fun(row, row |> split(2) |> mapRank(0, map(neg)) |> join)))",
        2, (X.reshape(3, 4),),
    ),
    "nothing": ("fun((x : 0.f32), x |> map(fun(e, e * 2.0)))", 2, (X[:0],)),
    "padding around nothing": (
        "fun((x : 0.f32), x |> padConst(1, 2, 3.0) |> padConst(1, 0, 4.0) |> slide(2, 1) "
        "|> mapRank(0, reduce(add, 0.0)))",
        2, (X[:0],),
    ),
    "blocks of no results": (
        "fun((x : 12.f32), x |> mapRank(0, neg) |> take(0) |> split(3) "
        "|> mapRank(0, reduce(add, 0.0)) |> reduce(add, 1.0))",
        2, (X,),
    ),
    "ranks of one mesh axis in each other": (
        "fun((x : 3.4.f32), x |> mapRank(0, mapRank(0, neg)) "
        "|> mapRank(0, reduceRank(0, fun((a, e), a * 2.0 + e), 0.0)))",
        2, (X.reshape(3, 4),),
    ),
    "fewer elements than ranks": ("fun((x : 2.f32), x |> map(fun(e, e * 2.0)))", 4, (X[:2],)),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_programs_with_ranks(name: str) -> None:
    text, ranks, arguments = CASES[name]
    run(text, ranks, *arguments)


@pytest.mark.rotating(3)
def test_complex_arrays_and_numbers() -> None:
    z = (X + 1j * X[::-1]).astype(np.complex64)
    for text in (
        "fun((x : 12.complex64, c : complex64), x |> map(fun(e, e * c)))",
        "fun((x : 12.complex64, c : complex64), x |> reduce(add, c))",
        "fun((x : 12.complex64, c : complex64), x |> map(fun(e, abs(e * c))))",
    ):
        module: Any = rl.loads(text, name="program.rise")
        found, expected = rl.distribute(module.main, ranks=3)(z, 2j), module.main(z, 2j)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        assert np.array_equal(found, expected)


def test_results_are_new_arrays() -> None:
    distributed = run("fun((x : 12.f32), (x, x |> drop(2)))", 2, X)
    x = X.copy()
    first, second = distributed(x)
    assert not any(map(np.shares_memory, (first, first, second), (second, x, x)))
    (same,) = rl.distribute(lambda x: (x,), ranks=2)(x)
    same[:] = 0
    assert (x == X).all()


def test_arguments_are_converted_as_in_other_calls() -> None:
    module: Any = rl.loads("fun((x : 3.f32, c : f32), x |> map(fun(e, e * c)))", name="a.rise")
    distributed = rl.distribute(module.main, ranks=2)
    assert np.array_equal(distributed([1, 2, 3], 2), [2, 4, 6])
    with pytest.raises(UserError, match="main is called without x, c"):
        distributed()


def test_relaxed_programs_add_partial_results_in_the_order_of_the_ranks() -> None:
    x = np.random.default_rng(0).random(37, np.float32)
    distributed = run(SUM, 3, x, float="relaxed")
    assert "mapRank" in repr(distributed.lower(x).term)
    assert "reduceRank" in repr(rl.distribute(distributed.kernel, ranks=3).lower(x).term)


def test_a_product_of_parts_is_added_in_the_order_of_the_ranks() -> None:
    random = np.random.default_rng(0)
    a, b = random.random((13, 7), np.float32), random.random((7, 9), np.float32)
    strategy = 'product_parts(7) @ outermost("map")'
    run(MATMUL, 7, a, b, float="relaxed", strategy=strategy)


def test_neighbors_exchange_their_halos_only() -> None:
    program = RankProgram(JACOBI, 3)
    plan = program.distributed.plan(*program.arguments())
    for step in plan.steps[1:]:
        transfers = Exchange(plan.mesh, step.axes, step.operands).transfers
        sent = [each for each in transfers if each.source != each.target]
        assert {abs(each.source - each.target) for each in sent} == {1}
        assert {each.bytes for each in sent} == {11 * 4}


def test_tiles_of_a_mesh_have_eight_neighbors() -> None:
    program = RankProgram(JACOBI.replace("9.11", "12.12"), (3, 3))
    plan = program.distributed.plan(*program.arguments())
    traffic = step_traffic(plan, plan.steps[-1])
    assert (traffic.messages, traffic.bytes) == (8, 4 * (4 * 4 + 4))
    assert traffic.seconds(1.0, 0.5) == 8 + 40
    assert communication_seconds(plan, 1.0, 0.0) == 3 * 8


def test_a_value_for_all_ranks_is_relayed() -> None:
    text = (
        "fun((x : 8.f32, y : 8.8.f32), let blocks = x |> shard(0); "
        "y |> mapRank(0, fun(row, zip(row, blocks) |> map(mult))))"
    )
    arguments = np.ones(8, np.float32), np.ones((8, 8), np.float32)
    plan = run(text, 8, *arguments).plan(*arguments)
    traffic = step_traffic(plan, plan.steps[-1])
    # Each block goes to 7 ranks in 3 rounds.
    assert traffic.total_messages == 8 * 7
    assert traffic.messages <= 3 * 8


def test_softmax_sends_scalars_only() -> None:
    program = RankProgram(SOFTMAX.replace("37", "36"), 4)
    plan = program.distributed.plan(*program.arguments())
    for step in plan.steps:
        transfers = Exchange(plan.mesh, step.axes, step.operands).transfers
        assert all(each.bytes == 4 for each in transfers if each.source != each.target)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("ranks", [3, 4])
def test_the_gradients_of_the_ranks_are_summed_in_order(ranks: int) -> None:
    check_training_step(ranks)


@pytest.mark.parametrize("ranks", [0, (2, 0), (), "4"])
def test_a_mesh_has_ranks(ranks: Any) -> None:
    with pytest.raises(rl.UserError, match="ranks must be a number of ranks or the sizes"):
        rl.distribute(lambda x: x, ranks=ranks)


def test_errors_name_the_line() -> None:
    text = "fun((x : 4.f32), x |> mapRank(1, neg))"
    with pytest.raises(rl.UserError, match=r"1:23: error: mapRank\(1\): the mesh has no axis 1"):
        run(text, 4, X[:4])
    text = "fun((x : 4.f32), x |> scan(fun((a, e), x |> mapRank(0, neg) |> reduce(add, a)), 0.0))"
    with pytest.raises(rl.LimitationError, match="not inside of this pattern"):
        run(text, 4, X[:4])
    with pytest.raises(rl.UserError, match="results must be"):
        rl.distribute(lambda x: x, ranks=2, results="none")


def test_arguments_are_bound_as_in_a_call_of_the_function() -> None:
    @rl.jit
    def scaled(values: Any, factor: Any = 3.0) -> Any:
        return {"sum": values["x"].sum() * factor, "second": values["y"] * 2.0}

    values = {"x": np.arange(5, dtype=np.float32), "y": np.ones(4)}
    for arguments, named in (((values,), {}), ((values, 2.0), {}), ((), {"values": values})):
        expected = scaled(*arguments, **named)
        result = rl.distribute(scaled, ranks=2)(*arguments, **named)
        assert result["sum"] == expected["sum"]
        assert result["second"].tolist() == expected["second"].tolist()
    with pytest.raises(rl.UserError, match="scaled is called without values"):
        rl.distribute(scaled, ranks=2)()
