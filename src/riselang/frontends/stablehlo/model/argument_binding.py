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
    """Takes the other arguments and the bound ones that it reads, then the precomputed values."""
    kept: tuple[int, ...]
    """The positions of these among all arguments and constants."""

    def bind(self, arrays: Sequence[Any]) -> list[Any]:
        """Return what the main program takes: None for arguments that are not bound."""
        return [*(arrays[each] for each in self.kept), *self.precompute(arrays)]

    def precompute(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the values that depend only on the bound arguments, which are not None."""
        result = self.precomputation.run([each for each in arrays if each is not None])
        return list(result) if isinstance(result, tuple) else [result]


def compile_bound(lowered: Lowered, parameters: int, known: frozenset[int]) -> BoundCode | None:
    """Compile the two parts of a program; None if nothing can be precomputed."""
    programs = lowered.split_by_known_parameters(PRECOMPUTATION_NAME, parameters, known)
    if programs is None:
        return None
    main_program, kept = programs[1].without_unread_parameters(parameters, known)
    return BoundCode(programs[0].compile(), main_program.compile(), kept)


def store_bound_code(cache: KernelCache, key: str, code: BoundCode | None) -> None:
    """Store the cache keys of the two parts, or that nothing can be precomputed."""
    metadata: dict[str, Any] | None = None
    if code is not None:
        programs = [_program_metadata(each) for each in (code.precomputation, code.main_program)]
        metadata = {"programs": programs, "kept": code.kept}
    cache.write(key, seal(_KIND, json.dumps(metadata).encode()))


def _program_metadata(program: Compiled) -> dict[str, Any]:
    assert program.origin is not None
    return {"key": program.origin.key, "name": program.function.name, "groups": program.groups}


def load_main_program(cache: KernelCache, key: str) -> tuple[Compiled, tuple[int, ...]] | None:
    """Return the main program, and the positions of its inputs; None if it is not in the cache."""
    data = cache.read(key)
    try:
        metadata = None if data is None else _read_metadata(data)
        if metadata is None:
            return None
        program = _load_program(metadata["programs"][1])
    except ValueError:
        return None
    return None if program is None else (program, metadata["kept"])


def _read_metadata(data: bytes) -> dict[str, Any] | None:
    with as_value_errors("two stages"):
        metadata = json.loads(unseal(_KIND, data))
        if metadata is not None:
            _, _ = metadata["programs"]
            metadata["kept"] = tuple(check_json_type(each, int) for each in metadata["kept"])
        return metadata


def load_bound_code(cache: KernelCache, key: str) -> tuple[bool, BoundCode | None]:
    """Return whether the parts are in the cache, and the parts."""
    data = cache.read(key)
    if data is None:
        return False, None
    try:
        metadata = _read_metadata(data)
        if metadata is None:
            return True, None
        precomputation, main_program = map(_load_program, metadata["programs"])
    except ValueError:
        return False, None
    if precomputation is None or main_program is None:
        return False, None
    return True, BoundCode(precomputation, main_program, metadata["kept"])


def _load_program(metadata: Mapping[str, Any]) -> Compiled | None:
    with as_value_errors("a program"):
        name, key = (check_json_type(metadata[each], str) for each in ("name", "key"))
        groups = tuple(check_json_type(each, int) for each in metadata["groups"])
    artifact = find_cached(key, name, {name: None})
    if artifact is None:
        return None
    functions = artifact.load_executables(lambda _: [])
    return Compiled(functions[name], groups)
