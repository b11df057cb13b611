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
from riselang.compiler.caching import find_cached
from riselang.runtime.cache import KernelCache
from riselang.runtime.sealing import as_value_errors, check_json_type, seal, unseal

_KIND = "stages of a model"
FIRST_STAGE_NAME = "known"
"""The name of the function that computes the values that depend only on bound arguments."""


@dataclass(frozen=True)
class BoundCode:
    """The two stages of a program as machine code."""

    first_stage: Compiled
    """Takes the bound arguments."""
    second_stage: Compiled
    """Takes all arguments and constants, then the results of the first stage."""

    def run_first_stage(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the results of the first stage for the bound arguments."""
        result = self.first_stage.run(arrays)
        return list(result) if isinstance(result, tuple) else [result]


def compile_bound(lowered: Lowered, parameters: int, known: frozenset[int]) -> BoundCode | None:
    """Compile the stages of a program; None if it has only one."""
    stages = lowered.split_stages(FIRST_STAGE_NAME, parameters, known)
    return None if stages is None else BoundCode(*(each.compile() for each in stages))


def store_bound_code(cache: KernelCache, key: str, code: BoundCode | None) -> None:
    """Store the locations of the stages in the cache, or that there is only one."""
    stages = (
        None
        if code is None
        else [_stage_metadata(each) for each in (code.first_stage, code.second_stage)]
    )
    cache.write(key, seal(_KIND, json.dumps(stages).encode()))


def _stage_metadata(stage: Compiled) -> dict[str, Any]:
    assert stage.origin is not None
    return {"key": stage.origin.key, "name": stage.function.name, "groups": stage.groups}


def load_bound_code(cache: KernelCache, key: str) -> tuple[bool, BoundCode | None]:
    """Return whether the stages are in the cache, and the stages."""
    data = cache.read(key)
    if data is None:
        return False, None
    try:
        with as_value_errors("two stages"):
            facts = json.loads(unseal(_KIND, data))
            if facts is None:
                return True, None
            first, rest = (_load_stage(each) for each in facts)
    except ValueError:
        return False, None
    return (False, None) if first is None or rest is None else (True, BoundCode(first, rest))


def _load_stage(facts: Mapping[str, Any]) -> Compiled | None:
    name = check_json_type(facts["name"], str)
    artifact = find_cached(check_json_type(facts["key"], str), name, {name: None})
    if artifact is None:
        return None
    functions = artifact.load_executables(lambda _: [])
    return Compiled(functions[name], tuple(check_json_type(each, int) for each in facts["groups"]))
