"""Strategies with parameters: their text, their values, and binding."""

from __future__ import annotations

import numpy as np
import pytest

import riselang.strategy as st
from riselang.support.errors import UserError

TILED = (
    st.tile(st.param("rows", st.powers_of_two(4, 16)), 32) @ st.outermost("map", nest=2)
    >> st.try_(st.alternatives("loops", st.unroll(), st.id_))
    >> st.top_down(st.rules.split_join(st.param("m", [2, 4])))
)


def test_parameters_are_listed_in_the_order_of_the_text() -> None:
    assert st.parameters_of(TILED) == {"rows": (4, 8, 16), "loops": ("unroll()", "id"), "m": (2, 4)}
    assert list(st.parameters_of(TILED)) == ["rows", "loops", "m"]
    assert st.parameters_of(st.tile(4, 4)) == {}


def test_a_strategy_with_parameters_is_parsed_as_it_is_printed() -> None:
    assert str(st.parse_strategy(str(TILED))) == str(TILED)


def test_binding_all_parameters_gives_an_ordinary_strategy() -> None:
    bound = st.bind(TILED, rows=8, loops="unroll()", m=2)
    expected = (
        st.tile(8, 32) @ st.outermost("map", nest=2)
        >> st.try_(st.unroll())
        >> st.top_down(st.rules.split_join(2))
    )
    assert bound == expected


def test_binding_some_parameters_leaves_the_others_open() -> None:
    assert list(st.parameters_of(st.bind(TILED, rows=4))) == ["loops", "m"]


def test_booleans_are_values() -> None:
    text = "register_tiles(8, 32, 16, block=32, packed=param('packed', [False, True]))"
    strategy = st.parse_strategy(text)
    assert st.parameters_of(strategy) == {"packed": (False, True)}
    assert "packed=True" in str(st.bind(strategy, packed=True))


def test_values_may_be_computed_in_text() -> None:
    strategy = st.parse_strategy("tile(param('t', multiples(8, 24)), 4)")
    assert st.parameters_of(strategy) == {"t": (8, 16, 24)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: st.bind(TILED, row=4), "has no parameter 'row'; .* did you mean 'rows'"),
        (lambda: st.bind(TILED, rows=5), "5 is not a value of the parameter 'rows'"),
        (lambda: st.param("a b", [1]), "must be an identifier"),
        (lambda: st.param("a", []), "has no values"),
        (lambda: st.powers_of_two(5, 7), "there is no power of two from 5 to 7"),
        (lambda: st.multiples(0, 7), "1 <= factor"),
        (lambda: st.alternatives("a"), "no strategies to choose from"),
        (
            lambda: st.parameters_of(
                st.tile(st.param("a", [1]), 2) >> st.tile(st.param("a", [2]), 2)
            ),
            "occurs with different values",
        ),
    ],
)
def test_misuse_is_reported(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(UserError, match=message):
        make()


def test_a_strategy_with_open_parameters_does_not_apply() -> None:
    import riselang as rl

    program = rl.jit(lambda x: x * 2, strategy=st.split(st.param("size", [2, 4])))
    with pytest.raises(UserError, match=r"has parameters without values \(size\)"):
        program.lower(np.ones(8)).as_text("notation")


def test_a_path_selects_a_subterm() -> None:
    assert str(st.split(4) @ st.path("0.1")) == "split(4) @ path('0.1')"
    assert st.parse_strategy("split(4) @ path('0.1')") == st.split(4) @ st.path("0.1")
    with pytest.raises(UserError, match="expected a path such as"):
        st.path("0.x")
