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
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.nat import NatError
from riselang.native.llvm import codegen as llvm
from riselang.rewrite.combinators import Sequence as InSequence
from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.derivation import try_derive
from riselang.runtime.arrays import Array
from riselang.support.benchmarking import (
    Action,
    calls_per_sample,
    round_count,
    seconds_per_call,
    time_interleaved,
)
from riselang.support.errors import UserError
from riselang.term.contraction import contract
from riselang.term.nodes import Term
from riselang.tuning.peaks import REPETITIONS, measure_peaks

Rivals = Mapping[str, Callable[..., Any]]
AS_WRITTEN = "as written"


@dataclass(frozen=True)
class _Version:
    name: str
    kind: str
    """`version`, `chosen` (the one that the page displays) or `rival`."""
    call: Action


def measure_versions(
    traced: Traced, rivals: Rivals, repetitions: int = 15, share: float = 1.0
) -> dict[str, Any]:
    """Measure each version and rival in interleaved calls with the same random arrays."""
    arrays = random_arrays(uncurry(traced.term.type)[0][: _input_count(traced)])
    versions = [*_make_versions(traced, arrays), *_make_rivals(traced, rivals, arrays)]
    most = measure_peaks(REPETITIONS if share == 1.0 else 2, share)
    for version in versions:
        version.call()
    called = [(each.call, calls_per_sample(seconds_per_call(each.call))) for each in versions]
    seconds_per_repetition = sum(seconds_per_call(call, calls) * calls for call, calls in called)
    repetitions = round_count(seconds_per_repetition, repetitions)
    taken = time_interleaved(called, repetitions)
    cost = traced.cost_analysis()
    flops = cost.flops if isinstance(cost.flops, int) and cost.flops > 0 else None
    moved = sum(each.nbytes for each in arrays) + _result_bytes(versions[0])
    shapes = ", ".join("x".join(map(str, each.shape)) or "scalar" for each in arrays)
    return {
        "versions": [
            _summarize(version, samples, flops, moved)
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
        "rounds": repetitions,
        "note": f"called with arrays of {shapes}; GB/s counts inputs and results once each",
    }  # fmt: skip


def _input_count(traced: Traced) -> int:
    return len(uncurry(traced.term.type)[0])


def _summarize(
    version: _Version, samples: Sequence[float], flops: int | None, byte_count: int
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
        "bytes_rate": byte_count / median / 1e9,
    }  # fmt: skip


def _result_bytes(version: _Version) -> int:
    return sum(each.nbytes for each in _flatten_result(version.call()))


def _flatten_result(result: Any) -> list[Array]:
    if isinstance(result, tuple):
        return [array for part in result for array in _flatten_result(part)]
    return [np.asarray(result)]


# Versions of the program


def strategy_versions(
    term: Term, strategy: Strategy | None, float: str
) -> list[tuple[str, Strategy | None]]:
    """Return strategies by name, from none to the chosen one, that give different programs."""
    start = term if float == "strict" else contract(term)
    programs: set[Term] = {start}
    versions: list[tuple[str, Strategy | None]] = [(AS_WRITTEN, None)]
    for candidate in _candidates(strategy):
        derivation = try_derive(start, candidate, Setting(float))
        if derivation is not None and derivation.end not in programs:
            programs.add(derivation.end)
            versions.append((str(candidate), candidate))
    return versions


def _candidates(strategy: Strategy | None) -> list[Strategy]:
    if strategy is None:
        return []
    if strategy is DEFAULT:
        from riselang.rewrite.strategies.matmul import LADDER

        return [*LADDER, DEFAULT]
    if isinstance(strategy, InSequence):
        return [InSequence(strategy.parts[:count]) for count in range(1, len(strategy.parts) + 1)]
    return [strategy]


def _make_versions(traced: Traced, arrays: Sequence[Array]) -> list[_Version]:
    strategies = strategy_versions(traced.term, traced.strategy, traced.options.float)
    versions: list[_Version] = []
    for index, (name, strategy) in enumerate(strategies):
        short = _abbreviate(name, strategies[index - 1][0] if index else "")
        kind = "chosen" if index == len(strategies) - 1 else "version"
        versions.append(_Version(short, kind, _compile_call(traced, strategy, arrays)))
    return versions


def _abbreviate(name: str, previous_name: str) -> str:
    """Abbreviate the name of a prefix to the part that it adds."""
    return (
        f"… >> {name[len(previous_name) + 4 :]}"
        if previous_name and name.startswith(f"{previous_name} >> ")
        else name
    )


def _compile_call(traced: Traced, strategy: Strategy | None, arrays: Sequence[Array]) -> Action:
    options = traced.options
    lowered = Lowered(traced.name, traced.term, traced.results, options, strategy)
    prepared = lowered.compile().prepare_call()
    return lambda: prepared(arrays)


# Rivals


def _make_rivals(traced: Traced, rivals: Rivals, arrays: Sequence[Array]) -> list[_Version]:
    """Return the given rivals, and NumPy if the program is a matrix multiplication."""
    versions = [
        _Version(name, "rival", _bind_arrays(rival, arrays)) for name, rival in rivals.items()
    ]
    if _is_matmul(traced, arrays):
        versions.append(_Version("numpy a @ b", "rival", _bind_arrays(np.matmul, arrays)))
    return versions


def _bind_arrays(function: Callable[..., Any], arrays: Sequence[Array]) -> Action:
    return lambda: function(*arrays)


def _is_matmul(traced: Traced, arrays: Sequence[Array]) -> bool:
    """Whether the program computes the same as `np.matmul`, decided by running both."""
    if len(arrays) != 2 or any(each.ndim != 2 or each.dtype.kind != "f" for each in arrays):
        return False
    a, b = arrays
    if a.shape[1] != b.shape[0]:
        return False
    results = _flatten_result(_compile_call(traced, None, arrays)())
    if len(results) != 1 or results[0].shape != (a.shape[0], b.shape[1]):
        return False
    return bool(np.allclose(results[0], a @ b, rtol=1e-3, atol=1e-3 * a.shape[1]))


def random_arrays(types: Sequence[RiseType]) -> list[Array]:
    """Return random arrays for parameters of these types, whose sizes have to be constants."""
    source = np.random.default_rng(0)
    return [_random_array(source, type, position) for position, type in enumerate(types)]


def _random_array(source: np.random.Generator, type: RiseType, position: int) -> Array:
    shape: list[int] = []
    element = type
    while isinstance(element, ArrayType):
        try:
            shape.append(element.length.constant)
        except NatError:
            raise UserError(
                f"to be measured, a program needs its sizes: {element.length} is not known; set "
                "it, as in N=1024 or --size N=1024"
            ) from None
        element = element.element
    if not isinstance(element, ScalarType):
        raise UserError(
            f"parameter {position} is not an array of scalars, so the program cannot be measured"
        )
    dtype = numpy_dtype(element)
    if dtype.kind == "i":
        return source.integers(-8, 8, shape).astype(dtype)
    if dtype.kind == "u":
        return source.integers(0, 16, shape).astype(dtype)
    if dtype.kind == "b":
        return source.integers(0, 2, shape).astype(dtype)
    return source.random(shape).astype(dtype)
