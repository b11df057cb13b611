"""Dataclasses whose methods are compiled on their first call behave like all others."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from inspect import signature
from typing import Any

import pytest

from riselang.support import lazy_dataclasses


@dataclass(frozen=True)
class Part:
    size: int
    names: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, order=True)
class Whole(Part):
    parts: tuple[Any, ...] = ()


@dataclass
class Counter:
    count: int = 0


@pytest.fixture(params=["eager", "lazy"])
def classes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[type]:
    if request.param == "eager":
        return [Part, Whole, Counter]
    lazy_dataclasses.compile_methods_lazily()
    monkeypatch.setattr(lazy_dataclasses, "PACKAGES", (__name__,))
    part: Any = dataclass(frozen=True)(type("Part", (), _members(Part)))
    whole: Any = dataclass(frozen=True, order=True)(type("Whole", (part,), _members(Whole)))
    return [part, whole, dataclass(type("Counter", (), _members(Counter)))]


def _members(cls: type) -> dict[str, Any]:
    members = {"__annotations__": cls.__annotations__, "__module__": __name__}
    defaults = {"names": field(default=(), compare=False), "parts": (), "count": 0}
    return members | {name: defaults[name] for name in cls.__annotations__ if name in defaults}


def test_values_are_compared_hashed_and_printed(classes: list[Any]) -> None:
    part, whole, counter = classes
    for _ in range(2):  # the first call and a later one
        assert part(1, ("a",)) == part(1, ("b",)) != part(2)
        assert hash(part(1, ("a",))) == hash(part(1)) == hash((1,))
        assert part(1) != whole(1) == whole(1)
        assert whole(1) < whole(2)
        assert whole(2, parts=(1,)) >= whole(2)
        assert repr(whole(1, ("a",), (part(2),))).endswith(
            "names=('a',), parts=(Part(size=2, names=()),))"
        )
        assert counter() == counter(0)
        assert counter.__hash__ is None


def test_frozen_values_do_not_change(classes: list[Any]) -> None:
    part, whole, counter = classes
    for _ in range(2):
        for value in (part(1), whole(1)):
            with pytest.raises(FrozenInstanceError, match="size"):
                value.size = 2
            with pytest.raises(FrozenInstanceError, match="size"):
                del value.size
            assert replace(value, size=3).size == 3
    changed = counter()
    changed.count = 4
    assert changed == counter(4)


def test_the_methods_are_those_of_the_class(classes: list[Any]) -> None:
    part, whole, _ = classes
    assert hash(whole(1)) != hash(part(1))
    assert whole.__hash__ is not part.__hash__
    assert part.__hash__.__qualname__.endswith("Part.__hash__")
    assert list(signature(part).parameters) == ["size", "names"]


def test_a_class_of_riselang_is_pickled() -> None:
    from riselang.support.config import Options

    assert pickle.loads(pickle.dumps(Options("affine"))) == Options("affine")
