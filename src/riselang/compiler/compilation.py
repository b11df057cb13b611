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
from riselang.compiler.aot import THREADS, description, header
from riselang.compiler.lowered_module import LoweredModule
from riselang.compiler.lowering_steps import mark_permission
from riselang.compiler.program_sources import ModuleSource, Source
from riselang.dialects.module import module_text, verify_module
from riselang.lowering.explanation import format_with_comments, lines_with_ops
from riselang.lowering.loop_work import module_work
from riselang.lowering.passes.contract_rise_floats import can_contract, contract_programs
from riselang.native.compile_job import Job
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm.foreign_calls import foreign_libraries, restore_foreign_names
from riselang.native.llvm.guard import remove_polls
from riselang.native.llvm.ir_text import make_internal
from riselang.runtime.artifact import Artifact
from riselang.runtime.executable import Executable
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.lazy import cached_property
from riselang.support.recursion import with_deep_stack
from riselang.term.contraction import contract
from riselang.term.nodes import Term
from riselang.term.work import Work

if TYPE_CHECKING:
    from riselang.compiler.gpu_code import GpuCode

STAGES = (
    "notation", "rise", "imperative", "affine", "kernels", "library", "llvm", "ptx", "asm", "obj",
)  # fmt: skip
"""The vocabulary of `as_text`, `--emit` and `--as`."""
GPU_STAGES = ("kernels", "ptx")
CPU_STAGES = ("library", "asm", "obj")
MODULE_STAGES = ("rise", "imperative", "affine")
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

    @with_deep_stack
    def text(self, stage: str) -> str:
        self._check_stage(stage)
        if stage in MODULE_STAGES:
            return module_text(self._module_at(stage))
        texts = {
            "notation": lambda: self._notation_text(self.lowered_terms),
            "kernels": lambda: self.gpu.text,
            "ptx": lambda: self.gpu.ptx,
            "library": lambda: _library_report(self._module_at("affine")),
            "llvm": lambda: self.llvm_ir,
            "asm": lambda: llvm.assembly(self.llvm_ir, self.options.effort),
        }
        return texts[stage]()

    @with_deep_stack
    def annotated_text(self, stage: str) -> str:
        """Return a stage for display: source notation, and loops and accesses with comments."""
        if stage == "notation":
            return self._notation_text(self.source.terms)
        if stage in ("imperative", "affine"):
            return format_with_comments(self._module_at(stage))
        return self.text(stage)

    @with_deep_stack
    def lines_with_ops(self, stage: str) -> list[tuple[str, Operation | None]]:
        """Return the lines of stage rise, imperative or affine, with the op that begins on each."""
        return lines_with_ops(self._module_at(stage))

    def _notation_text(self, terms: Callable[[str], Sequence[Term]]) -> str:
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
            raise UserError(f"expected one of the stages {', '.join(STAGES)}, but found {stage!r}")
        if stage == "obj":
            raise UserError("obj is not text; use stage asm, or 'rise compile --emit obj'")
        if self._is_for_gpu and stage in CPU_STAGES:
            raise UserError(f"{stage} is not a stage of GPU programs; use stage ptx")
        if not self._is_for_gpu and stage in GPU_STAGES:
            raise UserError(f'{stage} is a stage of GPU programs; compile with loops="gpu"')

    @property
    def _is_for_gpu(self) -> bool:
        return self.options.loops == pipelines.GPU

    def function_work(self, name: str) -> Work:
        """Count the scalar operations and accessed bytes of the loops of a function."""
        return module_work(self._module_at("affine"), name)

    @property
    def loops(self) -> ModuleOp:
        """The module at the affine stage."""
        return self._module_at("affine")

    def _module_at(self, stage: str) -> ModuleOp:
        return self._dialect_module if stage == "rise" else self._stage_modules[stage]

    @cached_property
    @with_deep_stack
    def _dialect_module(self) -> ModuleOp:
        """The programs as ops, with their float permission, contracted if it permits that."""
        module = self.module.clone()
        mark_permission(module, self.options)
        if can_contract(module):
            contract_programs(module)
        return module

    @cached_property
    def _stage_modules(self) -> dict[str, ModuleOp]:
        """The modules of the stages of lowering."""
        recorded: dict[str, ModuleOp] = {}

        def watch(stage: str, module: ModuleOp) -> None:
            verify_module(module)
            recorded[stage] = module.clone()

        pipeline.lower(self.source, self.options, watch)
        return recorded

    # Compiled code

    @cached_property
    def lowered_module(self) -> LoweredModule:
        """The module after all riselang passes; native MLIR verifies it."""
        return pipeline.lower(self.source, self.options)

    @cached_property
    def native_text(self) -> str:
        """The module text that native MLIR parses."""
        return pipeline.emit(self.lowered_module).text

    @cached_property
    def job(self) -> Job:
        """The job for native MLIR and LLVM."""
        return pipeline.emit_and_verify(self.lowered_module)

    @cached_property
    def gpu(self) -> GpuCode:
        from riselang.compiler.gpu_code import GpuCode

        return GpuCode(self.lowered_module)

    @cached_property
    @with_deep_stack
    def llvm_ir(self) -> str:
        """The LLVM IR before optimization."""
        return self.gpu.llvm_ir if self._is_for_gpu else self.job.jit_ir

    @cached_property
    def artifact(self) -> Artifact:
        """The functions as machine code."""
        return pipeline.compile_source(self.source, self.options)

    @cached_property
    def functions(self) -> dict[str, Executable]:
        """The functions, ready to call."""
        return self.artifact.load_executables(self.source.terms)

    @with_deep_stack
    def lowered_terms(self, name: str) -> list[Term]:
        """Return the programs of a function, contracted if the float permission allows it."""
        module, programs = self.source.copy_for_lowering()
        mark_permission(module, self.options)
        units_by_function = {function.sym_name.data: units for function, units in programs.items()}
        terms = [unit.term for _, unit in units_by_function[name]]
        return [contract(term) for term in terms] if can_contract(module) else terms

    # For linking with C

    @cached_property
    def object_code(self) -> bytes:
        """An object file with the functions that C calls, and their description."""
        return self.linkable_object("")

    @with_deep_stack
    def linkable_object(self, blas_prefix: str) -> bytes:
        """Return `object_code` for a BLAS whose symbols begin with `blas_prefix`."""
        functions = self.lowered_module.functions
        facts = description(functions, self.lowered_module.libraries, module_text(self.module))
        ir = make_internal(remove_polls(self.job.complete_ir), {each.name for each in functions})
        ir = restore_foreign_names(ir)
        ir = "\n".join([ir.replace("@cblas_", f"@{blas_prefix}cblas_"), facts])
        if llvm.uses_amx(ir):
            ir = f"{ir}\n{llvm.amx_permission()}"
        return llvm.object_code(ir, self.options.effort)

    @property
    def foreign_libraries(self) -> list[str]:
        """The libraries of the C functions that the program calls."""
        return foreign_libraries(self.job.text)

    def header(self, name: str) -> str:
        """Return a C header for `object_code`."""
        lowered = self.lowered_module
        threads = (THREADS,) if lowered.uses_threads else ()
        libraries = (*threads, *lowered.libraries, *self.foreign_libraries)
        return header(lowered.functions, libraries, name)


def _library_report(module: ModuleOp) -> str:
    from riselang.lowering.passes.raise_to_library_calls import format_report

    return format_report(module)
