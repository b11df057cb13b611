"""What a pattern needs beside its type scheme, and the file that each of these is added to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

import riselang as rl
from making.pattern_reference import REFERENCE
from riselang.dialects.rise.pattern_ops import PATTERN_OPS
from riselang.dialects.rise.pattern_registry import LET
from riselang.dialects.rise.pattern_spec import PatternSpec, Role
from riselang.dialects.rise.types import FunType, uncurry
from riselang.dsl.pattern_functions import PatternFunction
from riselang.interpreter.pattern_semantics import MEANINGS
from riselang.lowering.imperative import _Translator, compiled_patterns
from riselang.lowering.loop_emitter import Emitter
from riselang.notation.program import parse_term
from riselang.rewrite.proving.meanings import WITH_INDICES
from riselang.rewrite.proving.view_meanings import VIEWS
from riselang.term.nodes import Pattern, subterms

SOURCES = Path(rl.__file__).parent
TRANSLATOR = _Translator(Emitter(InsertPoint.at_end(Block())), "scf")


@dataclass(frozen=True)
class Concern:
    """Something a pattern needs, where it is written, and whether it is there."""

    name: str
    file: str
    """Below src/riselang, or below docs."""
    is_covered: Callable[[PatternSpec], bool]

    @property
    def path(self) -> str:
        return self.file if self.file.startswith("docs/") else f"src/riselang/{self.file}"


def is_read(spec: PatternSpec) -> bool:
    """Whether lowering reads it; those of a GPU, only in programs for one."""
    return (spec.name in compiled_patterns()) != (spec.role is Role.GPU)


def is_view_of_one(spec: PatternSpec) -> bool:
    inputs, _ = uncurry(spec.type)
    return spec.role is Role.VIEW and len(inputs) == 1


def has_store(spec: PatternSpec) -> bool:
    """Whether a map, or a view that has a route to store, is stored without a copy."""
    is_map = spec.name.startswith("map") and spec.role is not Role.GPU
    is_needed = is_map or (spec.view is not None and spec.view.store is not None)
    return not is_needed or spec.name in TRANSLATOR.store_rules


def has_count(spec: PatternSpec) -> bool:
    """Whether it is known how often a pattern applies the functions that it takes."""
    inputs, _ = uncurry(spec.type)
    has_functions = any(isinstance(each, FunType) for each in inputs)
    return (spec.applications is not None) == has_functions


def has_sample(spec: PatternSpec) -> bool:
    """Whether the example of the reference is notation that has the pattern in it."""
    if spec.name not in REFERENCE:
        return False
    example = REFERENCE[spec.name].example
    term = parse_term(f"fun(({example.parameters}), {example.expression})")
    used = {each.spec for each in subterms(term) if isinstance(each, Pattern)}
    return spec in used


def has_python_name(spec: PatternSpec) -> bool:
    function = getattr(rl, spec.python_name, None)
    return spec is LET or (isinstance(function, PatternFunction) and function.spec is spec)


def is_in_stub(spec: PatternSpec) -> bool:
    stub = (SOURCES / "dsl" / "patterns.pyi").read_text()
    return spec is LET or f"\n{spec.python_name}: PatternFunction\n" in stub


CONCERNS = (
    Concern("an op of the dialect", "dialects/rise/pattern_registry.py",
            lambda spec: (spec.name in PATTERN_OPS) == spec.in_dialect),
    Concern("the routes of a view", "dialects/rise/pattern_registry.py",
            lambda spec: spec.view is not None or not is_view_of_one(spec)),
    Concern("laws and an example", "docs/making/pattern_reference.py",
            lambda spec: spec.name in REFERENCE and len(REFERENCE[spec.name].laws) > 0),
    Concern("an example in notation", "docs/making/pattern_reference.py", has_sample),
    Concern("a meaning on lists", "interpreter/pattern_semantics.py",
            lambda spec: spec.name in MEANINGS),
    Concern("a rule to read it", "lowering/rules", is_read),
    Concern("a rule to store it", "lowering/rules", has_store),
    Concern("a count of its applications", "dialects/rise/pattern_registry.py", has_count),
    Concern("a meaning for proofs", "rewrite/proving/view_meanings.py",
            lambda spec: (spec.name in {*VIEWS, *WITH_INDICES}) != spec.is_opaque),
    Concern("a Python function", "dsl/patterns.py", has_python_name),
    Concern("a line for type checkers (make docs-tables)", "dsl/patterns.pyi", is_in_stub),
)  # fmt: skip


def forgotten(spec: PatternSpec) -> list[str]:
    """The concerns of a pattern that nobody has taken care of, each with its file."""
    return [
        f"{spec.name} lacks {each.name}: {each.path}"
        for each in CONCERNS
        if not each.is_covered(spec)
    ]
