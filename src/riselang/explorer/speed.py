"""The speed of the versions of a program, compared with rivals and the machine's peak.

A version is a prefix of the strategy: `a`, `a >> b`, `a >> b >> c`. For a matrix multiplication
without a strategy, the versions are the rungs of the ladder in `rewrite/strategies/matmul.py`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.api.lowered import Lowered
from riselang.api.traced import Traced
from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, uncurry
from riselang.explorer.peaks import ROUNDS, peaks
from riselang.interpreter.scalars import numpy_dtype
from riselang.nat import NatError
from riselang.native.llvm import codegen as llvm
from riselang.rewrite.combinators import Sequence as InSequence
from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.derivation import attempted
from riselang.runtime.arrays import Array
from riselang.support.benchmarking import Action, calls_for, interleaved, rounds_for, seconds_of
from riselang.support.errors import UserError
from riselang.term.contraction import contract
from riselang.term.nodes import Term

Rivals = Mapping[str, Callable[..., Any]]
AS_WRITTEN = "as written"


@dataclass(frozen=True)
class _Version:
    name: str
    kind: str
    """`version`, `chosen` (the one that the page displays) or `rival`."""
    call: Action


def measured(
    traced: Traced, rivals: Rivals, rounds: int = 15, share: float = 1.0
) -> dict[str, Any]:
    """Measure each version and rival in interleaved calls with the same random arrays."""
    arrays = random_arrays(uncurry(traced.term.type)[0][: _inputs(traced)])
    versions = [*_versions(traced, arrays), *_rivals(traced, rivals, arrays)]
    most = peaks(ROUNDS if share == 1.0 else 2, share)
    for version in versions:
        version.call()
    called = [(each.call, calls_for(seconds_of(each.call))) for each in versions]
    one_round = sum(seconds_of(call, calls) * calls for call, calls in called)
    rounds = rounds_for(one_round, rounds)
    taken = interleaved(called, rounds)
    cost = traced.cost_analysis()
    flops = cost.flops if isinstance(cost.flops, int) and cost.flops > 0 else None
    moved = sum(each.nbytes for each in arrays) + _result_bytes(versions[0])
    shapes = ", ".join("x".join(map(str, each.shape)) or "scalar" for each in arrays)
    return {
        "versions": [
            _figures(version, samples, flops, moved)
            for version, samples in zip(versions, taken, strict=True)
        ],
        "peak": most.operations / 1e9,
        "bandwidths": [
            {"name": each.name, "rate": each.rate / 1e9}
            for each in sorted(most.bandwidths, key=lambda each: -each.rate)
        ],
        "intensity": flops / moved if flops is not None else None,
        "machine": llvm.host().cpu,
        "threads": most.threads,
        "rounds": rounds,
        "note": f"called with arrays of {shapes}; GB/s counts inputs and results once each",
    }  # fmt: skip


def _inputs(traced: Traced) -> int:
    return len(uncurry(traced.term.type)[0])


def _figures(
    version: _Version, samples: Sequence[float], flops: int | None, moved: int
) -> dict[str, Any]:
    median = statistics.median(samples)
    low, _, high = (
        statistics.quantiles(samples, n=4, method="inclusive")
        if len(samples) > 1
        else (median, median, median)
    )
    return {
        "name": version.name, "kind": version.kind, "median": median, "low": low, "high": high,
        "rate": None if flops is None else flops / median / 1e9,
        "bytes_rate": moved / median / 1e9,
    }  # fmt: skip


def _result_bytes(version: _Version) -> int:
    return sum(each.nbytes for each in _flat(version.call()))


def _flat(result: Any) -> list[Array]:
    if isinstance(result, tuple):
        return [array for part in result for array in _flat(part)]
    return [np.asarray(result)]


# Versions of the program


def rungs(term: Term, strategy: Strategy | None, float: str) -> list[tuple[str, Strategy | None]]:
    """Return strategies by name, from none to the chosen one, that give different programs."""
    start = term if float == "strict" else contract(term)
    seen: set[Term] = {start}
    found: list[tuple[str, Strategy | None]] = [(AS_WRITTEN, None)]
    for candidate in _candidates(strategy):
        derivation = attempted(start, candidate, Setting(float))
        if derivation is not None and derivation.end not in seen:
            seen.add(derivation.end)
            found.append((str(candidate), candidate))
    return found


def _candidates(strategy: Strategy | None) -> list[Strategy]:
    if strategy is None:
        return []
    if strategy is DEFAULT:
        from riselang.rewrite.strategies.matmul import LADDER

        return [*LADDER, DEFAULT]
    if isinstance(strategy, InSequence):
        return [InSequence(strategy.parts[:count]) for count in range(1, len(strategy.parts) + 1)]
    return [strategy]


def _versions(traced: Traced, arrays: Sequence[Array]) -> list[_Version]:
    found = rungs(traced.term, traced.strategy, traced.options.float)
    versions: list[_Version] = []
    for at, (name, strategy) in enumerate(found):
        short = _short(name, found[at - 1][0] if at else "")
        kind = "chosen" if at == len(found) - 1 else "version"
        versions.append(_Version(short, kind, _call(traced, strategy, arrays)))
    return versions


def _short(name: str, before: str) -> str:
    """Abbreviate the name of a prefix to the part that it adds."""
    return (
        f"… >> {name[len(before) + 4 :]}" if before and name.startswith(f"{before} >> ") else name
    )


def _call(traced: Traced, strategy: Strategy | None, arrays: Sequence[Array]) -> Action:
    options = traced.options
    lowered = Lowered(traced.name, traced.term, traced.results, options, strategy)
    prepared = lowered.compile().prepared()
    return lambda: prepared(arrays)


# Rivals


def _rivals(traced: Traced, rivals: Rivals, arrays: Sequence[Array]) -> list[_Version]:
    """Return the given rivals, and NumPy if the program is a matrix multiplication."""
    given = [_Version(name, "rival", _bound(rival, arrays)) for name, rival in rivals.items()]
    if _is_product(traced, arrays):
        given.append(_Version("numpy a @ b", "rival", _bound(np.matmul, arrays)))
    return given


def _bound(function: Callable[..., Any], arrays: Sequence[Array]) -> Action:
    return lambda: function(*arrays)


def _is_product(traced: Traced, arrays: Sequence[Array]) -> bool:
    """Whether the program computes the same as `np.matmul`, decided by running both."""
    if len(arrays) != 2 or any(each.ndim != 2 or each.dtype.kind != "f" for each in arrays):
        return False
    a, b = arrays
    if a.shape[1] != b.shape[0]:
        return False
    ours = _flat(_call(traced, None, arrays)())
    if len(ours) != 1 or ours[0].shape != (a.shape[0], b.shape[1]):
        return False
    return bool(np.allclose(ours[0], a @ b, rtol=1e-3, atol=1e-3 * a.shape[1]))


def random_arrays(types: Sequence[RiseType]) -> list[Array]:
    """Return random arrays for parameters of these types, whose sizes have to be constants."""
    source = np.random.default_rng(0)
    return [_random(source, type, position) for position, type in enumerate(types)]


def _random(source: np.random.Generator, type: RiseType, position: int) -> Array:
    shape: list[int] = []
    element = type
    while isinstance(element, ArrayType):
        try:
            shape.append(element.length.constant)
        except NatError:
            raise UserError(
                f"to be measured, a program needs its sizes: {element.length} is not known; give "
                "it a value, as in N=1024 or --size N=1024"
            ) from None
        element = element.element
    if not isinstance(element, ScalarType):
        raise UserError(
            f"parameter {position} is not an array of scalars, so the program cannot be measured"
        )
    dtype = numpy_dtype(element)
    if dtype.kind == "i":
        return source.integers(-8, 8, shape).astype(dtype)
    if dtype.kind == "b":
        return source.integers(0, 2, shape).astype(dtype)
    return source.random(shape).astype(dtype)
