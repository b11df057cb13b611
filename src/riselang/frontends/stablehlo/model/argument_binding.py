"""Models with arguments that are given for good: what depends on these alone is computed once.

Such are the weights in the layout that the loops of a product take them in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.api.compiled import Compiled
from riselang.api.lowered import Lowered
from riselang.compiler.caching import find
from riselang.runtime.cache import KernelCache
from riselang.runtime.sealing import only_value_errors, seal, typed, unseal

_KIND = "stages of a model"
FIRST = "known"
"""The name of the function that computes what is known once arguments are bound."""


@dataclass(frozen=True)
class BoundCode:
    """The two stages of a program as machine code."""

    first: Compiled
    """Takes what is bound."""
    rest: Compiled
    """Takes all arguments and constants, then what the first stage gives."""

    def values(self, arrays: Sequence[Any]) -> list[Any]:
        """What the first stage gives for what is bound."""
        result = self.first.run(arrays)
        return list(result) if isinstance(result, tuple) else [result]


def compile_bound(lowered: Lowered, parameters: int, known: frozenset[int]) -> BoundCode | None:
    """The stages of a program compiled; None where it has but one."""
    stages = lowered.in_stages(FIRST, parameters, known)
    return None if stages is None else BoundCode(*(each.compile() for each in stages))


def keep(cache: KernelCache, key: str, code: BoundCode | None) -> None:
    """Leave in the cache where the stages are, or that there is but one."""
    stages = None if code is None else [_facts(each) for each in (code.first, code.rest)]
    cache.write(key, seal(_KIND, json.dumps(stages).encode()))


def _facts(stage: Compiled) -> dict[str, Any]:
    assert stage.origin is not None
    return {"key": stage.origin.key, "name": stage.function.name, "groups": stage.groups}


def kept(cache: KernelCache, key: str) -> tuple[bool, BoundCode | None]:
    """Whether another process has left the stages, and they are there; and these."""
    data = cache.read(key)
    if data is None:
        return False, None
    try:
        with only_value_errors("two stages"):
            facts = json.loads(unseal(_KIND, data))
            if facts is None:
                return True, None
            first, rest = (_loaded(each) for each in facts)
    except ValueError:
        return False, None
    return (False, None) if first is None or rest is None else (True, BoundCode(first, rest))


def _loaded(facts: Mapping[str, Any]) -> Compiled | None:
    name = typed(facts["name"], str)
    artefact = find(typed(facts["key"], str), name, {name: None})
    if artefact is None:
        return None
    functions = artefact.executables(lambda _: [])
    return Compiled(functions[name], tuple(typed(each, int) for each in facts["groups"]))
