"""Every stage's text, read back through the stages behind it, becomes the same machine code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import llvmlite.binding as binding
import pytest

import riselang as rl
from riselang.api.load import LoadedModule
from riselang.api.lowered import Lowered
from riselang.compiler import lowering_steps
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm import shared_libraries as libraries
from riselang.term.nodes import Term

pytestmark = pytest.mark.rotating(6)

STAGES = ("notation", "rise", "imperative", "affine", "llvm")


def matmul(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]) -> Any:
    return A | rl.map(
        lambda row: (
            B
            | rl.transpose
            | rl.map(lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


def stencil(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.pad(1, 1) | rl.slide(3, 1) | rl.map(lambda w: w | rl.reduce(rl.add, 0.0))


def threads(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map_par(lambda a: rl.math.exp(a) * 2.0 + 1.0)


def brain_floats(x: rl.Array["N", rl.bf16], y: rl.Array["N", rl.bf16]) -> Any:
    return rl.zip(x, y) | rl.map(lambda a, b: a * b + a)


def half_floats(x: rl.Array["N", rl.f16]) -> Any:
    return x | rl.map(lambda a: a * a + a)


def pick(xs: rl.Array[16, rl.f32], at: rl.Array["M", rl.i32]) -> Any:
    return at | rl.map(lambda k: xs | rl.at(rl.check_idx(16, k)))


def two_results(x: rl.Array["N", rl.f32]) -> Any:
    squares = x | rl.map(lambda a: a * a)
    return squares | rl.map(lambda a: a + 1.0), squares | rl.reduce(rl.add, 0.0)


def unzipped(x: rl.Array["N", rl.f32]) -> Any:
    pairs = x | rl.map(lambda a: rl.tuple(a + 1.0, a * a))
    return pairs | rl.map(rl.fst), pairs | rl.map(rl.snd)


def normalised(x: rl.Array["N", rl.f32]) -> Any:
    squares = x | rl.map(lambda a: a * a + 1.0) | rl.to_mem("heap")
    total = squares | rl.reduce(rl.add, 0.0)
    return squares | rl.map(lambda a: a / total * total + 1.0)


def two_layers(
    A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32], C: rl.Array["M", "L", rl.f32]
) -> Any:
    return matmul(matmul(A, B) | rl.map(rl.map(lambda x: rl.max(x - 1.0, 0.0))), C)


@dataclass(frozen=True)
class Case:
    function: Callable[..., Any]
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    options: dict[str, Any] = field(default_factory=dict[str, Any])


needs_blas = pytest.mark.skipif(not libraries.is_installed(libraries.BLAS), reason="needs a BLAS")
CUBE = {"N": 48, "K": 48, "M": 48}
CASES = {
    "default strategy": Case(matmul, CUBE),
    "small": Case(matmul, {"N": 4, "K": 5, "M": 6}),
    "open sizes": Case(matmul),
    "strict": Case(matmul, CUBE, {"float": "strict"}),
    "relaxed": Case(matmul, CUBE, {"float": "relaxed"}),
    "polyhedral": Case(matmul, CUBE, {"loops": "polyhedral"}),
    "scf": Case(matmul, CUBE, {"loops": "scf", "strategy": "none"}),
    "blas": Case(two_layers, {"N": 4, "K": 5, "M": 6, "L": 7}, {"library": "blas"}),
    "stencil": Case(stencil, {"N": 1000}),
    "open stencil": Case(stencil),
    "threads": Case(threads, {"N": 1000}),
    "approximations": Case(threads, {"N": 1000}, {"float": "relaxed"}),
    "bf16": Case(brain_floats, {"N": 64}),
    "f16": Case(half_floats, {"N": 64}),
    "checks": Case(pick, {"M": 5}),
    "two results": Case(two_results, {"N": 100}),
    "pairs": Case(unzipped, {"N": 100}),
    "let": Case(normalised, {"N": 100}),
    "open let": Case(normalised),
    "fast": Case(matmul, CUBE, {"effort": "fast"}),
    "max": Case(stencil, {"N": 1000}, {"effort": "max"}),
}


@pytest.fixture(autouse=True)
def without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_CACHE", "0")


def read_back(lowered: Lowered, stage: str) -> tuple[bytes, ...]:
    """The machine code of a stage's text, under the options of the program."""
    text, options = lowered.as_text(stage), lowered.compilation.options
    if stage == "llvm":
        binding.parse_assembly(text).verify()
        return (llvm.jit_object(text, options.effort),)
    given: dict[str, Any] = {
        "loops": options.loops, "float": options.float, "library": options.library,
        "effort": options.effort,
    }  # fmt: skip
    if stage != "notation":
        loaded: Any = rl.loads(text, **given)
        return loaded._compilation.artifact.objects
    program: Any = rl.loads(
        f"def {lowered.name} = {text}", name="stage.rise", strategy="none",
        contracted=options.contracted, **given,
    )  # fmt: skip
    again = replace(getattr(program, lowered.name).lower(), results=lowered.results)
    assert again.term == lowered.term
    return again.compilation.artifact.objects


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs_blas if name == "blas" else ()) for name in CASES]
)
@pytest.mark.sampled(4)
def test_each_stage_becomes_the_same_machine_code(name: str) -> None:
    case = CASES[name]
    lowered = rl.jit(case.function, **case.options).lower(**case.sizes)
    expected = lowered.compilation.artifact.objects
    assert expected
    differing = [stage for stage in STAGES if read_back(lowered, stage) != expected]
    assert not differing


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", CASES)
def test_the_notation_shows_the_very_term_that_is_lowered(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    lowered = rl.jit(case.function, **case.options).lower(**case.sizes)
    seen: list[Term] = []
    before = lowering_steps.make_imperative

    def noted(module: Any, programs: Any, options: Any) -> None:
        seen.extend(unit.term for units in programs.values() for _, unit in units)
        before(module, programs, options)

    monkeypatch.setattr(lowering_steps, "make_imperative", noted)
    assert lowered.compilation.lowered_module
    (term,) = seen
    assert term is lowered.term
    assert lowered.as_text("notation") == repr(term)


@pytest.mark.parametrize("name", CASES)
def test_the_text_of_the_dialect_reads_back_as_the_same_term(name: str) -> None:
    case = CASES[name]
    lowered = rl.jit(case.function, **case.options).lower(**case.sizes)
    again = rl.loads(lowered.as_text("rise"))
    assert isinstance(again, LoadedModule)
    assert again._compilation.source.terms(lowered.name) == [lowered.term]
