"""Wrong laws are refuted, by a counterexample that is one, and never proved."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict

import laws
import pytest
from laws import Law, named, side, verdict

from riselang.dialects.rise.types import RiseType
from riselang.rewrite.proving import Status
from riselang.rewrite.proving.equations import Equation as Sides
from riselang.rewrite.proving.prover import Proof, strip_type_parameters
from riselang.rewrite.proving.trials import SEEDS, Trial
from riselang.rewrite.proving.value_comparison import Unequal

pytestmark = pytest.mark.rotating(2)

TIMEOUT_MS = 200


def proof(law: Law) -> Proof:
    parameters, left, right = law
    return Proof(
        *strip_type_parameters(side(parameters, left), side(parameters, right)), (), TIMEOUT_MS
    )


@pytest.mark.parametrize("law", named(laws.WRONG))
@pytest.mark.sampled(20)
def test_wrong_laws_are_refuted(law: Law) -> None:
    found = verdict(law)
    assert found.status is Status.REFUTED, found
    sizes = {name: int(size) for name, size in re.findall(r"(\w+) = (\d+)", found.detail)}
    differences = [proof(law)._law.difference(sizes, seed)[0] for seed in range(SEEDS)]
    assert found.detail in map(str, differences)


@pytest.mark.parametrize("law", named(laws.WRONG))
@pytest.mark.sampled(20)
def test_wrong_laws_are_not_proved_symbolically(law: Law) -> None:
    with pytest.raises(Unequal):
        proof(law).compare()


@pytest.mark.parametrize(
    ("law", "detail"),
    [
        (("x : n.t", "x |> reverse", "x"),
         "at n = 2, element [0] is x[1] on the left and x[0] on the right"),
        (("x : (n * m).t", "x |> split(n) |> transpose", "x |> split(m)"),
         "at m = 2, n = 2, element [0][1] is x[2] on the left and x[1] on the right"),
        (("f : t -> t, x : n.t", "x |> map(f)", "x"),
         "at n = 1, element [0] is f(x[0]) on the left and x[0] on the right"),
        (("f : t -> s -> t, a : t, x : n.s", "x |> reduce(f, a)", "x |> reverse |> reduce(f, a)"),
         "at n = 2, the result is f(f(a, x[0]), x[1]) on the left and "
         "f(f(a, x[1]), x[0]) on the right"),
        (("x : 2.t", "x |> reverse", "x"),
         "element [0] is x[1] on the left and x[0] on the right"),
    ],
)  # fmt: skip
def test_counterexamples_are_small_and_readable(law: Law, detail: str) -> None:
    assert verdict(law).detail == detail


def at_forty(index: int) -> Law:
    """A law that holds as long as `index` is past the end."""
    return (
        "x : (n + 1).t",
        f"x |> at(clampIdx(n + 1, {index}))", "x |> reverse |> at(clampIdx(n + 1, 0))",
    )  # fmt: skip


def test_counterexamples_of_z3_may_be_large() -> None:
    found = verdict(at_forty(40))
    assert found.status is Status.REFUTED
    (size,) = re.findall(r"n = (\d+)", found.detail)
    assert int(size) > 40


def test_counterexamples_that_are_too_large_to_run_are_only_told() -> None:
    found = verdict(at_forty(10**7))
    assert found.status is Status.OUT_OF_REACH
    assert found.detail.endswith("which is too large to run")


def mixed() -> list[Law]:
    """Any two sides of laws that are of one type, most of which are different."""
    by_type: defaultdict[tuple[str, RiseType], set[str]] = defaultdict(set)
    for parameters, *expressions in [*laws.SHAPES, *laws.ENDS]:
        for expression in expressions:
            by_type[parameters, side(parameters, expression).type].add(expression)
    return [
        (parameters, *pair)
        for (parameters, _), expressions in by_type.items()
        for pair in itertools.combinations(sorted(expressions), 2)
    ]


@pytest.mark.nightly
def test_mixed_sides_are_proved_equal_only_where_they_are() -> None:
    """What is proved, the interpreter finds no fault with."""
    found = [agree(law) for law in mixed()]
    assert found.count(True) > 20
    assert found.count(False) > 20


def agree(law: Law) -> bool:
    """Whether the sides are the same at small sizes, which is no less than what is proved."""
    one = proof(law)
    fault = Trial(Sides(*one._sides, one._conditions)).run_small()
    try:
        one.compare()
    except Unequal:
        return fault is None
    assert fault is None, f"{law} was proved, but {fault}"
    return True
