"""Every fault can be planted in the sources as they are, and patterns match what they say."""

import ast
from pathlib import Path

import pytest
from fault import Fault, MisfitError
from planted import FAULTS
from planted_c import C_FAULTS, DATA_FAULTS, LIFTING_FAULTS
from planted_c_model import ACCUMULATOR_FAULTS, EMISSION_FAULTS, MODEL_FAULTS
from planted_c_reading import JUMP_FAULTS, VALUE_FAULTS
from source_patterns import edits

READING_FAULTS = (*DATA_FAULTS, *JUMP_FAULTS, *VALUE_FAULTS)
EVERY = [
    *FAULTS, *C_FAULTS, *LIFTING_FAULTS, *READING_FAULTS, *MODEL_FAULTS,
    *ACCUMULATOR_FAULTS, *EMISSION_FAULTS,
]  # fmt: skip


@pytest.mark.sampled(80)
@pytest.mark.parametrize("fault", EVERY, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted(fault: Fault) -> None:
    try:
        fault.plant()
    except MisfitError as error:
        pytest.fail(str(error), pytrace=False)


def test_there_are_many() -> None:
    assert len({fault.name for fault in EVERY}) == len(EVERY)
    assert len(FAULTS) >= 70
    assert len(EVERY) - len(FAULTS) >= 160


def _replaced(source: str, find: str, replace: str, given: str = "") -> list[str]:
    return [edit.apply(source) for edit in edits(ast.parse(source), find, replace, given)]


def test_the_rest_stays_as_it_is() -> None:
    source = "x = [é,  # why\n     n - 1 - i]\n"
    assert _replaced(source, "$a - 1 - $b", "$a - $b") == ["x = [é,  # why\n     (n - i)]\n"]


def test_a_metavariable_is_the_same_everywhere() -> None:
    source = "f(a, b)\nf(c, c)\n"
    assert _replaced(source, "$f($x, $x)", "$x") == ["f(a, b)\n(c)\n"]


def test_identifiers_are_metavariables_as_well() -> None:
    source = "y = lambda k, i: x.first if i else x.second\n"
    found = _replaced(
        source, "lambda $p, $q: $x.$a if $q else $x.$b", "lambda $p: $x.$b if $p else $x.$a"
    )
    assert found == ["y = (lambda k: x.second if k else x.first)\n"]


def test_any_number_of_arguments_entries_and_statements() -> None:
    assert _replaced("f(1, 2, 3)", "f($$some, 3)", "f(3, $$some)") == ["(f(3, 1, 2))"]
    found = _replaced("{**a, 1: b, 2: c}", "{**$$before, 2: $_}", "{**$$before, 2: d}")
    assert found == ["({**a, 1: b, 2: d})"]
    source = "def f():\n    if x:\n        y()\n        z()\n    return x\n"
    found = _replaced(source, "if $x:\n    $$body", "if False:\n    $$body")
    assert found == ["def f():\n    if False:\n        y()\n        z()\n    return x\n"]


def test_a_case_of_a_match() -> None:
    source = "match x:\n    case A(y) if y > 0:\n        f(y)\n    case _:\n        pass\n"
    found = _replaced(source, "case $a($y) if $_: $$body", "case $a($y): $$body")
    assert found == ["match x:\n    case A(y):\n        f(y)\n    case _:\n        pass\n"]


def test_what_is_given_binds_as_well() -> None:
    source = "first, second = 1, 2\nstore(first)\n"
    found = _replaced(source, "store($a)", "store($b)", given="$a, $b = $_, $_")
    assert found == ["first, second = 1, 2\n(store(second))\n"]


def _sum_up(length: int, index: int) -> int:
    return (length - 1 - index) + (length - 1)


@pytest.mark.parametrize(
    ("find", "message"),
    [("$a * $b", "but finds none"), ("$a - 1", "but finds 2, in lines"), ("$a + $b", "nothing")],
)
def test_a_fault_that_does_not_fit_says_so(
    find: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fault.SOURCES", Path(__file__).parent)
    with pytest.raises(MisfitError, match=message) as caught:
        Fault("a fault", _sum_up, find, find).plant()
    assert "'a fault'" in str(caught.value)
    assert f"{__name__}._sum_up" in str(caught.value)
