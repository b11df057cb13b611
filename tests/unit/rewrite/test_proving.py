"""Laws of views are proved for all sizes; those beyond z3 are checked up to 32."""

from __future__ import annotations

import sys

import laws
import pytest
from laws import PATIENT_MS, Law, named, side, verdict

from making.pattern_reference import REFERENCE
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import f32
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.rewrite.proving import Status, prove
from riselang.rewrite.proving.meanings import WITH_INDICES
from riselang.rewrite.proving.view_meanings import VIEWS
from riselang.support.errors import LimitationError, UserError
from riselang.term.nodes import Pattern
from support.fuzzing import IS_NIGHTLY

pytestmark = pytest.mark.rotating(2)

TRUE = [*laws.MAPS, *laws.SHAPES, *laws.ENDS, *laws.WINDOWS, *laws.INDICES, *laws.FOLDS]
NEEDS_FACTS = {
    "while", "sort", "reducePar", "scatter", "clampIdx", "checkIdx", "tensorAttention",
}  # fmt: skip
"""The patterns some of whose laws in the reference are not those of views."""
REFERENCE_LAWS = [
    (law.parameters, law.left, law.right)
    for name, entry in REFERENCE.items()
    if name not in NEEDS_FACTS
    for law in entry.laws
]


@pytest.mark.parametrize("law", named(TRUE[:: 1 if IS_NIGHTLY else 2]))
@pytest.mark.sampled(13)
def test_laws_are_proved(law: Law) -> None:
    found = verdict(law, timeout_ms=PATIENT_MS)
    assert found.status is Status.PROVED, found


@pytest.mark.parametrize("law", named(REFERENCE_LAWS))
@pytest.mark.sampled(15)
def test_laws_of_the_reference_are_proved(law: Law) -> None:
    found = verdict(law, timeout_ms=PATIENT_MS)
    assert found.status is Status.PROVED, found


@pytest.mark.parametrize("law", named(laws.CHECKED))
def test_laws_beyond_z3_are_checked(law: Law) -> None:
    found = verdict(law, timeout_ms=1)  # given longer, a quick machine proves some of them
    assert found.status is Status.CHECKED, found
    assert "up to 32" in found.detail


def test_a_check_says_what_was_run() -> None:
    found = verdict(("x : n.t", "x |> sort(fun((a, b), false))", "x"))
    assert str(found) == (
        "checked to 32: the two sides compute different values; "
        "the same for all inputs up to 32 long, at all 33 choices of n up to 32"
    )


def test_a_proof_says_for_which_sizes() -> None:
    assert verdict(("x : n.t", "x |> reverse |> reverse", "x")).detail == "for all sizes"
    found = verdict(("x : n.t", "x |> pad(l, r) |> drop(l) |> take(n)", "x"))
    assert found.detail == "for all sizes with n >= 1"


def test_assumptions_are_used() -> None:
    law = "x : n.t", "x |> pad(n - 1, 0) |> take(n)", "x |> map(fun(e, e))"
    assert verdict(law).status is Status.REFUTED
    assert verdict(law, "n < 2").status is Status.PROVED
    assert verdict(law, "n mod 2 == 0").status is Status.REFUTED


def test_assumptions_that_no_size_satisfies_prove_nothing() -> None:
    found = verdict(("x : n.t", "x |> reverse", "x"), "n > 3", "n < 3")
    assert found.status is Status.OUT_OF_REACH
    assert found.detail == "no sizes satisfy the conditions of the law"


@pytest.mark.parametrize(
    "law",
    named(
        [
            ("x : n.i32, y : n.i32", "zip(x, y) |> map(add)", "zip(y, x) |> map(add)"),
            ("x : n.i32", "x |> reduce(add, 0)", "x |> reverse |> reduce(add, 0)"),
            ("x : n.i32", "x |> reducePar(add, 0)", "x |> reduce(add, 0)"),
        ]
    ),
)
def test_facts_about_operations_are_out_of_reach(law: Law) -> None:
    found = verdict(law)
    assert found.status is Status.OUT_OF_REACH
    assert found.detail.startswith("only facts about functions could make this equal: at n = ")


@pytest.mark.parametrize(
    "law",
    named(
        [
            ("x : n.i32", "x |> reverse |> sort(fun((a, b), a < b))",
             "x |> sort(fun((a, b), a < b))"),
            ("i : idx[n]", "i |> fromIdx |> checkIdx(n)", "i"),
            ("x : n.t, p : m.idx[n]", "x |> gather(p) |> scatter(p, x)", "x"),
        ]
    ),
)  # fmt: skip
def test_what_cannot_be_run_for_all_inputs_is_out_of_reach(law: Law) -> None:
    assert verdict(law).status is Status.OUT_OF_REACH


def test_functions_without_parameters_are_compared() -> None:
    left = Pattern(PATTERNS["reverse"], [Nat.var("n"), f32])
    assert prove(left, parse_term("fun(x : n.f32, x |> reverse)")).status is Status.PROVED
    found = prove(left, parse_term("fun(x : n.f32, x)"))
    assert found.detail == "at n = 2, element [0] is input[1] on the left and input[0] on the right"


def test_parameters_of_the_same_name_are_different() -> None:
    left, right = (
        parse_term(f"fun((x : n.f32), fun((x : n.f32), zip(x, x) |> map({part})))")
        for part in ("fst", "snd")
    )
    assert prove(left, right).status is Status.PROVED
    swapped = parse_term("fun((x : n.f32), fun((y : n.f32), x))")
    assert prove(left, swapped).status is Status.REFUTED


def test_sides_of_different_types_are_refused() -> None:
    with pytest.raises(UserError, match=r"the left-hand side has the type n\.t -> n\.t and"):
        prove(side("x : n.t", "x"), side("x : n.t, y : n.t", "x"))


def test_without_z3_we_say_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(LimitationError, match=r"pip install 'riselang\[proofs\]'"):
        verdict(("x : n.t", "x |> reverse |> reverse", "x"))


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_has_a_symbolic_meaning(name: str) -> None:
    known = VIEWS.keys() | WITH_INDICES.keys()
    assert (name in known) != PATTERNS[name].is_opaque, (
        f"the prover needs a meaning of {name} in views.py or meanings.py, or `is_opaque=True`"
    )
