"""Broken `.mlir` files."""

from __future__ import annotations

import re
from pathlib import Path

from riselang.dialects.module import module_text
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.term.to_dialect import program_module
from support.mutation import Language
from support.programs import seeded_program

ROOT = Path(__file__).parents[2]
LONGEST = 4000
"""Longer texts take longer to read, and have no other tokens."""
WORDS = [
    "%0", "%1", "%x", "@f", "^bb0", "0", "1", "4", "1024", "-1", "1.0", "f32", "i32", "index",
    "memref<4xf32>", "memref<?xf32>", "!rise.scalar<f32>", "!rise.array<4, scalar<f32>>",
    "!rise.fun<scalar<f32> -> scalar<f32>>", "!rise.idx<4>", "!rise.vector<4, scalar<f32>>",
    "!rise.tuple<scalar<f32>, scalar<i32>>", '!rise.var<"t">', "#rise.nat<4>", "#rise.nat<N>",
    "#rise.lit<0.0>", "#rise.lit<1, scalar<i32>>", "scalar<f32>", "array", "tuple", "nat", "lit",
    "func.func", "return", "module", "builtin.module", "arith.addf", "arith.constant", "scf.for",
    "affine.for", "memref.load", "memref.alloc", "affine_map<(d0) -> (d0)>", "dense<0>", "to",
    '"affine"', '"rise.apply"', "99999999999999999999", "1e999", "é",
    "rise.in", "rise.out", "rise.lambda", "rise.apply", "rise.return", "rise.embed",
    "rise.literal", "rise.lowering_unit", "rise.codegen.assign", "rise.codegen.idx",
    *(f"rise.{name}" for name in PATTERNS),
]  # fmt: skip
SIGNS = [
    "(", ")", "{", "}", "[", "]", "<", ">", ",", ":", "=", "->", "<-", "%", "@", "#", "!", "^",
    '"', "//", "\n", "\0", "\ud800", "?", "-", "\\",
]  # fmt: skip


def written_modules() -> list[str]:
    """The parts of the examples and of the inputs of the filechecks."""
    folders = ROOT / "examples" / "seeds", ROOT / "tests" / "filecheck"
    paths = sorted(path for folder in folders for path in folder.rglob("*.mlir"))
    return [part for path in paths for part in path.read_text().split("// -----")]


def random_modules() -> list[str]:
    texts: list[str] = []
    for seed in range(60):
        program = seeded_program(seed)
        module = program_module(program.term, "f", program.results)
        texts.append(module_text(module, generic=seed % 3 == 0))
    return texts


MODULES = Language(
    lambda: [text for text in (*written_modules(), *random_modules()) if len(text) < LONGEST],
    re.compile(r"\s+|[%#!@^]?[\w.$]+|->|<-|//|.", re.DOTALL),
    WORDS,
    SIGNS,
)
