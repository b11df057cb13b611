"""Taking a module through its stages, to text or to callable functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from riselang import config, pipelines
from riselang.api.ahead import description, header
from riselang.api.parts import parts_of
from riselang.api.signatures import Signature, is_public, open_lengths, stored
from riselang.config import Options
from riselang.dialects.module import (
    functions,
    location_of,
    make_context,
    module_text,
    verify_module,
)
from riselang.errors import LimitationError, SourceLocation, UserError
from riselang.lazy import cached_property
from riselang.lowering.checks import check_locations
from riselang.lowering.contract_rise_floats import (
    CONTRACTED,
    FLOAT_PERMISSION,
    ContractRiseFloatsPass,
)
from riselang.lowering.convert_math_to_calls import ConvertMathToCallsPass
from riselang.lowering.convert_rise_to_imperative import (
    ConvertRiseToImperativePass,
    convert_module,
)
from riselang.lowering.copies import copy_to_lower
from riselang.lowering.debug_locations import complete_locations
from riselang.lowering.distinct import called_functions, distinct_pointers, mark_distinct
from riselang.lowering.explanation import explained_text, located_lines
from riselang.lowering.poll_signals import PollSignalsPass
from riselang.lowering.resolve_rise_access import ResolveRiseAccessPass
from riselang.native import libraries, llvm
from riselang.native.build import Job
from riselang.native.guard import without_polls
from riselang.native.llvm_text import with_hidden
from riselang.native.text import native_text
from riselang.native.workers import compile_jobs
from riselang.runtime.artefact import Artefact, CompiledFunction
from riselang.runtime.executable import Executable, entry_of
from riselang.stack import deep
from riselang.term.contraction import contract
from riselang.term.from_dialect import units
from riselang.term.nodes import Term
from riselang.timing import timed

if TYPE_CHECKING:
    from riselang.api.gpu import GpuCode

STAGES = (
    "notation", "rise", "imperative", "affine", "kernels", "library", "llvm", "ptx", "asm", "obj",
)  # fmt: skip
"""The vocabulary of `as_text`, `--emit` and `--as`."""
OF_GPU = ("kernels", "ptx")
OF_PROCESSOR = ("library", "asm", "obj")


def our_passes(options: Options) -> tuple[ModulePass, ...]:
    """The passes that `pipelines.RISE_TO_LOOPS` names, and those that options ask for."""
    raising = pipelines.RAISE if options.library == "blas" else ()
    planning = pipelines.PLAN_POLYHEDRAL if options.loops == "polyhedral" else ()
    left_out = () if options.float == "relaxed" else (pipelines.APPROXIMATE,)
    last = pipelines.POLL
    if options.loops == pipelines.GPU:
        last, left_out = pipelines.OUTLINE_KERNELS, (*left_out, pipelines.CALLS)
    names = (*pipelines.RISE_TO_LOOPS, *raising, *planning, *last)
    return tuple(_our_pass(name, options) for name in names if name not in left_out)


def _our_pass(name: str, options: Options) -> ModulePass:
    """A pass; the modules of those that few programs need are loaded where they are."""
    if name == "convert-rise-to-imperative":
        return ConvertRiseToImperativePass(_dialect(options.loops))
    if name == "resolve-rise-access":
        # The host launches what stands in a function, not what functions that it calls have.
        return ResolveRiseAccessPass(splits=options.loops != pipelines.GPU)
    if name == "convert-math-to-calls":
        return ConvertMathToCallsPass()
    if name == pipelines.APPROXIMATE:
        from riselang.lowering.approximate_math import ApproximateMathPass

        return ApproximateMathPass()
    if name in pipelines.POLL:
        return PollSignalsPass()
    if name in pipelines.OUTLINE_KERNELS:
        from riselang.lowering.gpu.outline_gpu_kernels import OutlineGpuKernelsPass

        return OutlineGpuKernelsPass()
    if name in pipelines.RAISE:
        from riselang.lowering.raise_to_library_calls import RaiseToLibraryCallsPass

        return RaiseToLibraryCallsPass()
    from riselang.lowering.plan_polyhedral import PlanPolyhedralPass

    return PlanPolyhedralPass(llvm.vector_bits())


def _library_report(module: ModuleOp) -> str:
    from riselang.lowering.raise_to_library_calls import report

    return report(module)


def _dialect(loops: str) -> str:
    """The dialect of loops before MLIR gets them."""
    return "affine" if loops == "polyhedral" else loops


class Compilation:
    """A verified module and everything made from it, each stage made once and when asked for."""

    def __init__(
        self,
        module: ModuleOp,
        options: Options | None = None,
        chosen: Sequence[Operation] | None = None,
    ):
        """`chosen` are the ops of the module that are compiled; all where it is not given."""
        self.module = module
        self._chosen = chosen
        self.options = options or Options()
        self._checks: list[SourceLocation | None] = []
        """Where the checks were written that can fail when the program runs."""
        defined = functions(module) if chosen is None else [
            op for op in chosen if isinstance(op, FuncOp) and not op.is_declaration
        ]  # fmt: skip
        self._signatures = [Signature.of(function) for function in defined]

    @deep
    def explained(self, stage: str) -> str:
        """Stage imperative or affine, with the pattern and line each loop and access is for."""
        texts = {
            "imperative": lambda: explained_text(self._stages[0]),
            "affine": lambda: explained_text(self._stages[1]),
        }
        return texts[stage]() if stage in texts else self.text(stage)

    @deep
    def located(self, stage: str) -> list[tuple[str, Operation | None]]:
        """The lines of stage rise, imperative or affine, and which op begins on each."""
        modules = {
            "rise": lambda: self._contracted,
            "imperative": lambda: self._stages[0],
            "affine": lambda: self._stages[1],
        }
        return located_lines(modules[stage]())

    @deep
    def text(self, stage: str) -> str:
        if stage == "notation":
            return self.notation
        if stage not in STAGES:
            raise UserError(f"expected a stage of {', '.join(STAGES)}, but found {stage!r}")
        if stage == "obj":
            raise UserError("object code is no text; ask for asm, or use 'rise compile --emit obj'")
        if self._is_for_gpu:
            self._check_stage_of_gpu(stage)
        elif stage in OF_GPU:
            raise UserError(f'{stage} is a stage of programs for a GPU; ask with loops="gpu"')
        texts = {
            "rise": lambda: module_text(self._contracted),
            "imperative": lambda: module_text(self._stages[0]),
            "affine": lambda: module_text(self._stages[1]),
            "kernels": lambda: self.gpu.text,
            "ptx": lambda: self.gpu.ptx,
            "library": lambda: _library_report(self._stages[1]),
            "llvm": lambda: self.llvm_ir,
            "asm": lambda: llvm.assembly(self.llvm_ir),
        }
        return texts[stage]()

    @property
    def _is_for_gpu(self) -> bool:
        return self.options.loops == pipelines.GPU

    def _check_stage_of_gpu(self, stage: str) -> None:
        if stage in OF_PROCESSOR:
            raise UserError(f"{stage} is no stage of programs for a GPU; their code is ptx")

    @cached_property
    def gpu(self) -> GpuCode:
        from riselang.api.gpu import GpuCode

        return GpuCode(self.lowered, {each.name: each.written for each in self._signatures})

    @cached_property
    @deep
    def notation(self) -> str:
        """Each program of the module in functional notation."""
        from riselang.notation.printer import show_term

        texts: list[str] = []
        for signature in self._signatures:
            for _, unit in units(signature.function):
                texts.append(f"// {signature.name}\n{show_term(unit.term)}\n")
        return "\n".join(texts)

    @deep
    def term(self, name: str) -> Term:
        """The only program of a function, as it runs under the float permission."""
        (signature,) = (signature for signature in self._signatures if signature.name == name)
        ((_, unit),) = units(signature.function)
        return contract(unit.term) if self._contracts else unit.term

    @property
    def _contracts(self) -> bool:
        """Whether float contraction is still to be decided."""
        is_decided = self.options.contracted or CONTRACTED in self.module.attributes
        return self.options.float != "strict" and not is_decided

    def _marked(self, module: ModuleOp) -> ModuleOp:
        """A module that says what may be done to its float arithmetic, and what has been done."""
        module.attributes[FLOAT_PERMISSION] = StringAttr(self.options.float)
        if self.options.contracted:
            module.attributes[CONTRACTED] = UnitAttr()
        return module

    def _copy(self) -> ModuleOp:
        """The module with its float permission, for passes to work on."""
        return self._marked(self.module.clone())

    @cached_property
    @deep
    def _contracted(self) -> ModuleOp:
        """The module with what its float permission makes of it."""
        module = self._copy()
        if self._contracts:
            ContractRiseFloatsPass().apply(make_context(), module)
        return module

    @cached_property
    @deep
    def _stages(self) -> tuple[ModuleOp, ModuleOp]:
        """The module after each of our passes, to be looked at."""
        module = self._copy()
        context = make_context()
        made: list[ModuleOp] = []
        first, second, *others = our_passes(self.options)
        later = (*pipelines.MATH, *pipelines.POLL, *pipelines.OUTLINE_KERNELS)
        planning = [each for each in others if each.name not in later]
        for steps in ((first,), (second, *planning)):
            for step in steps:
                with timed("our passes"), timed(step.name):
                    step.apply(context, module)
                verify_module(module)
            made.append(module)
            module = module.clone()
            if self.options.library != "none":
                self._mark_distinct(module)
        return made[0], made[1]

    @cached_property
    @deep
    def lowered(self) -> ModuleOp:
        """The module after all of our passes, with C entry points; native MLIR verifies it."""
        with timed("our passes"), timed("copy"):
            module, found = copy_to_lower(self.module, self._chosen or list(self.module.ops))
        self._marked(module)
        context = make_context()
        first, *others = our_passes(self.options)
        with timed("our passes"), timed(first.name):
            convert_module(module, found, _dialect(self.options.loops))
        self._checks = check_locations(module)
        self._mark_distinct(module)
        for step in others:
            with timed("our passes"), timed(step.name):
                step.apply(context, module)
        for function in functions(module):
            if is_public(function) and not self._is_for_gpu:
                function.attributes["llvm.emit_c_interface"] = UnitAttr()
        if self.options.debug_info:
            complete_locations(module)
        return module

    def _mark_distinct(self, module: ModuleOp) -> None:
        """What programs write is checked at the call, if nobody else calls the function."""
        called = called_functions(module)
        written = {each.name: each.written for each in self._signatures if each.name not in called}
        for function in functions(module):
            mark_distinct(function, written.get(function.sym_name.data, ()))

    @cached_property
    @deep
    def native_text(self) -> str:
        """The module as native MLIR gets it."""
        return native_text(self.lowered)

    def _text(self, *, locations: bool) -> str:
        """The module with places, or without; with them, names of files are a part of it."""
        return native_text(self.lowered, locations=True) if locations else self.native_text

    @cached_property
    def threads(self) -> bool:
        """Whether parallel loops run on threads."""
        if "parallel" not in self.native_text or config.num_threads() == 1:
            return False
        return libraries.openmp() is not None

    @property
    def _pipeline(self) -> tuple[str, ...]:
        """The passes of native MLIR that the module gets."""
        structured = "linalg." in self.native_text or "tensor<" in self.native_text
        return pipelines.cpu(
            threads=self.threads,
            structured=structured,
            polyhedral=self.options.loops == "polyhedral",
            bf16="bf16" in self.native_text,
            debug_info=self.options.debug_info,
        )

    @cached_property
    def job(self) -> Job:
        """What native MLIR and LLVM have to do."""
        return self._job(locations=self.options.debug_info)

    def _job(self, *, locations: bool) -> Job:
        text = self._text(locations=locations)
        distinct = distinct_pointers(self.lowered)
        return Job(text, self._pipeline, distinct, self._entries, self.options.debug_info)

    @cached_property
    def _entries(self) -> str:
        return "\n".join(
            entry_of(each.name, each.parameters, fails=each.name in self._failing)
            for each in self._callable
        )

    @cached_property
    @deep
    def llvm_ir(self) -> str:
        if self._is_for_gpu:
            return self.gpu.llvm_ir
        try:
            return self.job.llvm_ir
        except UserError:
            # Once more with the places of the ops, which only an error is worth printing for.
            return self._job(locations=True).llvm_ir

    @cached_property
    @deep
    def object_code(self) -> bytes:
        """Machine code to be linked, with the functions that C calls and their description."""
        return self.linkable("")

    def linkable(self, blas_prefix: str) -> bytes:
        """`object_code` for a BLAS whose names begin with `blas_prefix`."""
        assert self.llvm_ir
        facts = description(self.compiled_functions, self.libraries, module_text(self.module))
        ir = without_polls(self.job.whole_ir)
        ir = with_hidden(ir, {each.name for each in self._callable})
        return llvm.object_code("\n".join([ir.replace("@cblas_", f"@{blas_prefix}cblas_"), facts]))

    def header(self, name: str) -> str:
        """A C header for `object_code`."""
        return header(self.compiled_functions, self.libraries, name)

    @property
    def _callable(self) -> list[Signature]:
        """The functions that can be called from outside."""
        public = [each for each in self._signatures if is_public(each.function)]
        return [each for each in public if not each.function.function_type.outputs.data]

    @cached_property
    def compiled_functions(self) -> tuple[CompiledFunction, ...]:
        """What a call has to know of each function."""
        return tuple(self._compiled(each) for each in self._callable)

    @cached_property
    def libraries(self) -> tuple[str, ...]:
        """What the code calls."""
        used = [libraries.OPENMP] if self.threads else []
        used += [libraries.BLAS] if "@cblas_" in self.native_text else []
        return tuple(used)

    @cached_property
    @deep
    def artefact(self) -> Artefact:
        """The functions of the module as machine code."""
        for signature in self._signatures:
            if is_public(signature.function) and signature not in self._callable:
                raise LimitationError(
                    f"function {signature.name} returns values; only functions that write to "
                    "buffers can be called",
                    location_of(signature.function),
                )
        if self._is_for_gpu:
            return Artefact(self.compiled_functions, (), (), self.gpu.kernels)
        parts = parts_of(self.module) if self._chosen is None else []
        if len(parts) > 1:
            return artefact_of_parts([Compilation(self.module, self.options, p) for p in parts])
        assert self.llvm_ir
        return Artefact(self.compiled_functions, (self.job.object_code(),), self.libraries)

    def _compiled(self, signature: Signature) -> CompiledFunction:
        name = signature.name
        written = signature.written | self._planned.get(name, frozenset())
        return CompiledFunction(
            name,
            tuple(
                replace(parameter, is_written=position in written)
                for position, parameter in enumerate(signature.parameters)
            ),
            open_lengths(signature.function),
            tuple(self._checks) if name in self._failing else (),
        )

    @deep
    def terms(self, name: str) -> list[Term]:
        """The programs of a function, as they were written."""
        (function,) = (each.function for each in self._signatures if each.name == name)
        return [unit.term for _, unit in units(function)]

    @cached_property
    def functions(self) -> dict[str, Executable]:
        """The functions of the module, ready to call."""
        return self.artefact.executables(self.terms)

    def declaration(self, name: str) -> SourceLocation | None:
        """Where a function is declared."""
        found = (op for op in self.module.ops if isinstance(op, FuncOp))
        return next((location_of(op) for op in found if op.sym_name.data == name), None)

    @cached_property
    def _planned(self) -> dict[str, frozenset[int]]:
        """What the functions store that have passes planned, which rely on it to be no other's."""
        return {
            function.sym_name.data: stored(function)
            for function in functions(self.lowered)
            if pipelines.PLANNED in function.attributes
        }

    @cached_property
    def _failing(self) -> set[str]:
        """The functions that take a buffer for a failure behind their parameters."""
        known = {each.name: len(each.function.function_type.inputs) for each in self._signatures}
        return {
            name
            for function in functions(self.lowered)
            if (name := function.sym_name.data) in known
            and len(function.function_type.inputs) > known[name]
        }


def artefact_of_parts(parts: Sequence[Compilation]) -> Artefact:
    """Functions that know nothing of each other, compiled by several processes."""
    objects = compile_jobs((part.job for part in parts), config.jobs())
    return Artefact(
        tuple(function for part in parts for function in part.compiled_functions),
        tuple(objects),
        tuple(dict.fromkeys(library for part in parts for library in part.libraries)),
    )
