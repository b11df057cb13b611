"""Programs with their options: runs the pipeline as far as a stage that is requested.

The text of a stage is recorded while the pipeline runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from riselang import pipelines
from riselang.compiler import pipeline
from riselang.compiler.aot import description, header
from riselang.compiler.lowered_module import LoweredModule
from riselang.compiler.sources import ModuleSource, Source
from riselang.compiler.steps import mark_permission
from riselang.dialects.module import module_text, verify_module
from riselang.lowering.explanation import explained_text, located_lines
from riselang.lowering.passes.contract_rise_floats import contract_programs, contracts
from riselang.native.build import Job
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm.guard import without_polls
from riselang.native.llvm.ir_text import with_hidden
from riselang.runtime.artefact import Artefact
from riselang.runtime.executable import Executable
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.lazy import cached_property
from riselang.support.recursion import deep
from riselang.term.contraction import contract
from riselang.term.nodes import Term

if TYPE_CHECKING:
    from riselang.compiler.gpu import GpuCode

STAGES = (
    "notation", "rise", "imperative", "affine", "kernels", "library", "llvm", "ptx", "asm", "obj",
)  # fmt: skip
"""The vocabulary of `as_text`, `--emit` and `--as`."""
OF_GPU = ("kernels", "ptx")
OF_CPU = ("library", "asm", "obj")
MODULES = ("rise", "imperative", "affine")
"""Stages that are MLIR modules."""


class Compilation:
    """A source with options; each of its stages is computed once, on first use."""

    def __init__(self, source: Source | ModuleOp, options: Options | None = None):
        """Take a source, or a module that has been verified."""
        self.source = ModuleSource(source) if isinstance(source, ModuleOp) else source
        self.options = options or Options()

    @property
    def module(self) -> ModuleOp:
        """The programs as ops of the dialect."""
        return self.source.module

    # Stages as text

    @deep
    def text(self, stage: str) -> str:
        self._check_stage(stage)
        if stage in MODULES:
            return module_text(self._module_at(stage))
        texts = {
            "notation": lambda: self._notation(self.lowered_terms),
            "kernels": lambda: self.gpu.text,
            "ptx": lambda: self.gpu.ptx,
            "library": lambda: _library_report(self._module_at("affine")),
            "llvm": lambda: self.llvm_ir,
            "asm": lambda: llvm.assembly(self.llvm_ir, self.options.effort),
        }
        return texts[stage]()

    @deep
    def explained(self, stage: str) -> str:
        """Return a stage for display: source notation, and loops and accesses with comments."""
        if stage == "notation":
            return self._notation(self.source.terms)
        if stage in ("imperative", "affine"):
            return explained_text(self._module_at(stage))
        return self.text(stage)

    @deep
    def located(self, stage: str) -> list[tuple[str, Operation | None]]:
        """Return the lines of stage rise, imperative or affine, with the op that begins on each."""
        return located_lines(self._module_at(stage))

    def _notation(self, terms: Callable[[str], Sequence[Term]]) -> str:
        """Return the programs of each function in notation."""
        from riselang.notation.printer import show_term

        texts = [
            f"// {signature.name}\n{show_term(term)}\n"
            for signature in self.source.signatures
            for term in terms(signature.name)
        ]
        return "\n".join(texts)

    def _check_stage(self, stage: str) -> None:
        if stage not in STAGES:
            raise UserError(f"expected a stage of {', '.join(STAGES)}, but found {stage!r}")
        if stage == "obj":
            raise UserError("obj is not text; use stage asm, or 'rise compile --emit obj'")
        if self._is_for_gpu and stage in OF_CPU:
            raise UserError(f"{stage} is not a stage of GPU programs; use stage ptx")
        if not self._is_for_gpu and stage in OF_GPU:
            raise UserError(f'{stage} is a stage of GPU programs; compile with loops="gpu"')

    @property
    def _is_for_gpu(self) -> bool:
        return self.options.loops == pipelines.GPU

    def _module_at(self, stage: str) -> ModuleOp:
        return self._dialect if stage == "rise" else self._recorded[stage]

    @cached_property
    @deep
    def _dialect(self) -> ModuleOp:
        """The programs as ops, with their float permission, contracted if it permits that."""
        module = self.module.clone()
        mark_permission(module, self.options)
        if contracts(module):
            contract_programs(module)
        return module

    @cached_property
    def _recorded(self) -> dict[str, ModuleOp]:
        """The modules of the stages of lowering."""
        recorded: dict[str, ModuleOp] = {}

        def watch(stage: str, module: ModuleOp) -> None:
            verify_module(module)
            recorded[stage] = module.clone()

        pipeline.lower(self.source, self.options, watch)
        return recorded

    # Compiled code

    @cached_property
    def lowered(self) -> LoweredModule:
        """The module after all riselang passes; native MLIR verifies it."""
        return pipeline.lower(self.source, self.options)

    @cached_property
    def native_text(self) -> str:
        """The module text that native MLIR parses."""
        return pipeline.emit(self.lowered).text

    @cached_property
    def job(self) -> Job:
        """The job for native MLIR and LLVM."""
        return pipeline.checked_job(self.lowered)

    @cached_property
    def gpu(self) -> GpuCode:
        from riselang.compiler.gpu import GpuCode

        return GpuCode(self.lowered)

    @cached_property
    @deep
    def llvm_ir(self) -> str:
        """The LLVM IR before optimization."""
        return self.gpu.llvm_ir if self._is_for_gpu else self.job.loaded_ir

    @cached_property
    def artefact(self) -> Artefact:
        """The functions as machine code."""
        return pipeline.compile_source(self.source, self.options)

    @cached_property
    def functions(self) -> dict[str, Executable]:
        """The functions, ready to call."""
        return self.artefact.executables(self.source.terms)

    @deep
    def lowered_terms(self, name: str) -> list[Term]:
        """Return the programs of a function, contracted if the float permission allows it."""
        module, programs = self.source.opened()
        mark_permission(module, self.options)
        found = {function.sym_name.data: units for function, units in programs.items()}
        terms = [unit.term for _, unit in found[name]]
        return [contract(term) for term in terms] if contracts(module) else terms

    # For linking with C

    @cached_property
    def object_code(self) -> bytes:
        """An object file with the functions that C calls, and their description."""
        return self.linkable("")

    @deep
    def linkable(self, blas_prefix: str) -> bytes:
        """Return `object_code` for a BLAS whose symbols begin with `blas_prefix`."""
        functions = self.lowered.functions
        facts = description(functions, self.lowered.libraries, module_text(self.module))
        ir = with_hidden(without_polls(self.job.whole_ir), {each.name for each in functions})
        ir = "\n".join([ir.replace("@cblas_", f"@{blas_prefix}cblas_"), facts])
        return llvm.object_code(ir, self.options.effort)

    def header(self, name: str) -> str:
        """Return a C header for `object_code`."""
        return header(self.lowered.functions, self.lowered.libraries, name)


def _library_report(module: ModuleOp) -> str:
    from riselang.lowering.passes.raise_to_library_calls import report

    return report(module)
