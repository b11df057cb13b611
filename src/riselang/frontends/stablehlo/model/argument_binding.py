"""Models with bound arguments: what depends only on these is computed once.

An example is the packing of weights into the layout that matrix multiplication reads.
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
"""The name of the function that computes the values that depend only on bound arguments."""


@dataclass(frozen=True)
class BoundCode:
    """The two stages of a program as machine code."""

    first: Compiled
    """Takes the bound arguments."""
    rest: Compiled
    """Takes all arguments and constants, then the results of the first stage."""

    def values(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the results of the first stage for the bound arguments."""
        result = self.first.run(arrays)
        return list(result) if isinstance(result, tuple) else [result]


def compile_bound(lowered: Lowered, parameters: int, known: frozenset[int]) -> BoundCode | None:
    """Compile the stages of a program; None if it has only one."""
    stages = lowered.in_stages(FIRST, parameters, known)
    return None if stages is None else BoundCode(*(each.compile() for each in stages))


def keep(cache: KernelCache, key: str, code: BoundCode | None) -> None:
    """Store the locations of the stages in the cache, or that there is only one."""
    stages = None if code is None else [_facts(each) for each in (code.first, code.rest)]
    cache.write(key, seal(_KIND, json.dumps(stages).encode()))


def _facts(stage: Compiled) -> dict[str, Any]:
    assert stage.origin is not None
    return {"key": stage.origin.key, "name": stage.function.name, "groups": stage.groups}


def kept(cache: KernelCache, key: str) -> tuple[bool, BoundCode | None]:
    """Return whether the stages are in the cache, and the stages."""
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
