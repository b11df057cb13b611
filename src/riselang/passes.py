"""The registry of passes: one `PassSpec` each, which says where the pass is defined.

The compiler, `rise-opt`, the xDSL universe and the reference documentation read this registry. A
pass has one stem everywhere: `symbol-dce` is the class `SymbolDcePass` in the module `symbol_dce`.
Nothing is imported until a pass is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.passes import ModulePass


@dataclass(frozen=True)
class PassSpec:
    """A pass: its name, the package that defines it and a one-line summary."""

    name: str
    package: str
    """The package below `riselang` that contains the pass's module."""
    summary: str

    @property
    def module(self) -> str:
        return f"riselang.{self.package}.{self.name.replace('-', '_')}"

    @property
    def class_name(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("-")) + "Pass"

    def load(self) -> type[ModulePass]:
        """Import the pass's module and return its class."""
        return getattr(import_module(self.module), self.class_name)


def _index_by_name(specs: Iterable[PassSpec]) -> dict[str, PassSpec]:
    return {spec.name: spec for spec in specs}


LOWERING = "lowering.passes"
PASSES = _index_by_name(
    (
        PassSpec(
            "convert-rise-to-imperative", LOWERING,
            "Lowers functional RISE to loops over `rise.codegen` access paths.",
        ),
        PassSpec(
            "resolve-rise-access", LOWERING,
            "Lowers `rise.codegen` access paths to loads and stores.",
        ),
        PassSpec(
            "check-floats", LOWERING,
            "Makes operations on floats report results that are NaN or infinite.",
        ),
        PassSpec(
            "expand-small-floats", LOWERING,
            "Computes floats of 8 bits as f32, and converts them by integer ops.",
        ),
        PassSpec(
            "approximate-math", LOWERING,
            "Replaces exp, log, tanh and erf with polynomial approximations.",
        ),
        PassSpec(
            "expand-math", LOWERING,
            "Computes math functions by arith ops, for devices without a math library.",
        ),
        PassSpec(
            "convert-math-to-calls", LOWERING,
            "Replaces math ops such as exp and sin with calls to the math library.",
        ),
        PassSpec(
            "contract-rise-floats", LOWERING,
            "Contracts multiplications and additions to `fma` in the source program.",
        ),
        PassSpec(
            "plan-polyhedral", LOWERING,
            "Selects tiling, scalar replacement and vectorization where they are proved correct.",
        ),
        PassSpec("raise-to-library-calls", LOWERING, "Replaces loops with calls to BLAS routines."),
        PassSpec(
            "skip-unchanged-chunks", LOWERING,
            "Skips the chunks of a loop in which no iteration changes the values that it carries.",
        ),
        PassSpec(
            "align-nontemporal-stores", LOWERING,
            "Makes nontemporal stores check their alignment, and adds the fences that they need.",
        ),
        PassSpec(
            "split-index-sets", LOWERING,
            "Splits loops where comparisons of their indices with constants change.",
        ),
        PassSpec("poll-signals", LOWERING, "Makes long loops poll for signals."),
        PassSpec(
            "outline-gpu-kernels", "lowering.gpu",
            "Outlines GPU kernels into a module `kernels`, and launches them from the functions.",
        ),
        PassSpec(
            "rise-rewrite", LOWERING,
            "Applies the given strategy, or the strategy of its function, to every program.",
        ),
        PassSpec(
            "convert-stablehlo-to-rise", "frontends.stablehlo",
            "Converts StableHLO ops to patterns, and reports each unsupported op.",
        ),
        PassSpec(
            "inline", "transforms",
            "Replaces each call with the body of its callee if that body is a single block.",
        ),
        PassSpec(
            "symbol-dce", "transforms",
            "Removes private symbols that no other symbol references.",
        ),
    )
)  # fmt: skip


def make_pass(name: str, **options: Any) -> ModulePass:
    """Instantiate a registered pass with the given options."""
    return PASSES[name].load()(**options)
