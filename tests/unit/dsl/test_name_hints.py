"""A name that riselang does not have is explained."""

from __future__ import annotations

from importlib import import_module

import pytest

import riselang as rl
from riselang.dsl.name_hints import MODULE_NAMES
from riselang.support.spelling import closest_name


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        ("riselang", "select", "use rl.where(condition, a, b)"),
        ("riselang", "exp", "use rl.math.exp"),
        ("riselang", "pmap", "use rl.vmap(f), or x | rl.map_par(f)"),
        ("riselang.numpy", "ptp", "use x.max() - x.min()"),
        ("riselang.random", "PRNGKey", "use rl.random.key(seed)"),
        ("riselang.random", "unifrom", "did you mean 'uniform'?"),
        ("riselang", "transposed", "did you mean 'transpose'?"),
        ("riselang.strategy", "tiles", "did you mean 'tile'?"),
    ],
)
def test_what_is_meant_is_said(module: str, name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(import_module(module), name)
    assert str(caught.value) == f"module '{module}' has no attribute '{name}'; {hint}"


def test_no_hint_is_about_a_name_that_exists() -> None:
    for module, names in MODULE_NAMES.items():
        assert names.keys().isdisjoint(import_module(module).__all__)
    assert not hasattr(rl, "zzzzzz")


def test_a_name_with_the_same_letters_comes_first() -> None:
    assert closest_name("mpa", ["pad", "map", "max"]) == "map"
    assert closest_name("xyz", ["Traced", "trace"]) is None
    assert closest_name("redcue", ["reduce", "reduce_seq"]) == "reduce"
