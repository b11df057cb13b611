"""The registry of passes: one `PassSpec` each, which tells where the pass is defined.

The compiler, `rise-opt`, xDSL's universe and the reference read this registry. A pass has one stem
everywhere: `symbol-dce` is the class `SymbolDcePass` in a module `symbol_dce`. Nothing is imported
before a pass is loaded.
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
    """A pass: its name, the package that defines it and what it does, in one line."""

    name: str
    package: str
    """The package below `riselang` with the module of the pass."""
    summary: str

    @property
    def module(self) -> str:
        return f"riselang.{self.package}.{self.name.replace('-', '_')}"

    @property
    def class_name(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("-")) + "Pass"

    def load(self) -> type[ModulePass]:
        """The class of the pass; its module is imported here."""
        return getattr(import_module(self.module), self.class_name)


def _by_name(specs: Iterable[PassSpec]) -> dict[str, PassSpec]:
    return {spec.name: spec for spec in specs}


LOWERING = "lowering.passes"
PASSES = _by_name(
    (
        PassSpec(
            "convert-rise-to-imperative", LOWERING,
            "Turns functional RISE into loops over `rise.codegen` access paths.",
        ),
        PassSpec(
            "resolve-rise-access", LOWERING,
            "Turns `rise.codegen` access paths into loads and stores.",
        ),
        PassSpec("approximate-math", LOWERING, "Computes exp and its kind by polynomials."),
        PassSpec(
            "convert-math-to-calls", LOWERING,
            "Calls the math library for exp, sin and their kind.",
        ),
        PassSpec(
            "contract-rise-floats", LOWERING, "Decides float contraction on the source program."
        ),
        PassSpec(
            "plan-polyhedral", LOWERING,
            "Plans tiling, scalar replacement and vectorisation where they are proven to be right.",
        ),
        PassSpec("raise-to-library-calls", LOWERING, "Replaces loops by calls of BLAS routines."),
        PassSpec("poll-signals", LOWERING, "Lets long loops look for signals."),
        PassSpec(
            "outline-gpu-kernels", "lowering.gpu",
            "Makes kernels of a module `kernels`, which functions launch.",
        ),
        PassSpec(
            "rise-rewrite", LOWERING,
            "Rewrites every program by the strategy that is given, or by that of its function.",
        ),
        PassSpec(
            "convert-stablehlo-to-rise", "frontends.stablehlo",
            "Makes patterns of the ops of StableHLO; what is not supported is refused by name.",
        ),
        PassSpec(
            "inline", "transforms",
            "Replaces calls by the bodies of what they call, where these are one block.",
        ),
        PassSpec(
            "symbol-dce", "transforms",
            "Removes private symbols that are not reached from the others.",
        ),
    )
)  # fmt: skip


def make_pass(name: str, **options: Any) -> ModulePass:
    """A pass of the registry, with some of its options given."""
    return PASSES[name].load()(**options)
