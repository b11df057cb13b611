"""Models with bound arguments: computations that depend only on these run once.

An example is the packing of weights into the layout that a matrix multiplication reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from riselang.api.compiled import Compiled
from riselang.runtime.cache import KernelCache
from riselang.runtime.code_cache import find_cached
from riselang.runtime.sealing import as_value_errors, check_json_type, seal, unseal

if TYPE_CHECKING:
    from riselang.api.lowered import Lowered

_KIND = "stages of a model"
PRECOMPUTATION_NAME = "known"
"""The name of the function that computes the values that depend only on bound arguments."""


@dataclass(frozen=True)
class BoundCode:
    """The two parts of a program with bound arguments, as machine code."""

    precomputation: Compiled
    """Takes the bound arguments."""
    main_program: Compiled
    """Takes all arguments and constants, followed by the precomputed values."""

    def precompute(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the values that depend only on the bound arguments."""
        result = self.precomputation.run(arrays)
        return list(result) if isinstance(result, tuple) else [result]


def compile_bound(lowered: Lowered, parameters: int, known: frozenset[int]) -> BoundCode | None:
    """Compile the two parts of a program; None if nothing can be precomputed."""
    programs = lowered.split_by_known_parameters(PRECOMPUTATION_NAME, parameters, known)
    return None if programs is None else BoundCode(*(each.compile() for each in programs))


def store_bound_code(cache: KernelCache, key: str, code: BoundCode | None) -> None:
    """Store the cache keys of the two parts, or that nothing can be precomputed."""
    metadata = (
        None
        if code is None
        else [_program_metadata(each) for each in (code.precomputation, code.main_program)]
    )
    cache.write(key, seal(_KIND, json.dumps(metadata).encode()))


def _program_metadata(program: Compiled) -> dict[str, Any]:
    assert program.origin is not None
    return {"key": program.origin.key, "name": program.function.name, "groups": program.groups}


def load_bound_code(cache: KernelCache, key: str) -> tuple[bool, BoundCode | None]:
    """Return whether the parts are in the cache, and the parts."""
    data = cache.read(key)
    if data is None:
        return False, None
    try:
        with as_value_errors("two stages"):
            metadata = json.loads(unseal(_KIND, data))
            if metadata is None:
                return True, None
            precomputation, main_program = (_load_program(each) for each in metadata)
    except ValueError:
        return False, None
    return (
        (False, None)
        if precomputation is None or main_program is None
        else (True, BoundCode(precomputation, main_program))
    )


def _load_program(metadata: Mapping[str, Any]) -> Compiled | None:
    name = check_json_type(metadata["name"], str)
    artifact = find_cached(check_json_type(metadata["key"], str), name, {name: None})
    if artifact is None:
        return None
    functions = artifact.load_executables(lambda _: [])
    return Compiled(
        functions[name], tuple(check_json_type(each, int) for each in metadata["groups"])
    )
