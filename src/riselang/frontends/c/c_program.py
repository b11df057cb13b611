"""Programs from regions: MLIR and LLVM text, an object file with a C header, callable functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from riselang import pipelines
from riselang.api.load import term_kernel
from riselang.compiler.module_facts import collect_facts
from riselang.dialects.affine import ParallelOp
from riselang.dialects.module import module_text, walk
from riselang.frontends.c.calling import CFunction, CompiledCFunction
from riselang.frontends.c.emit.abi_entries import (
    format_abi_entry,
    format_globals,
    has_own_entry,
)
from riselang.frontends.c.emit.bounds_checks import add_checks, report_function, runtime_checks
from riselang.frontends.c.emit.c_entry_points import (
    INNER_PREFIX,
    OUTER_PREFIX,
    SOURCE_ORDER_PREFIX,
    build_wrapper,
    format_llvm_entry,
    is_buffer,
)
from riselang.frontends.c.emit.c_source import format_c
from riselang.frontends.c.emit.expression_emitter import CalledFunctions
from riselang.frontends.c.emit.fma_contraction import contract_scop
from riselang.frontends.c.emit.parallel_loops import parallelize_loops
from riselang.frontends.c.emit.prototypes import format_header
from riselang.frontends.c.emit.region_functions import (
    build_function,
    build_module,
    declare_functions,
)
from riselang.frontends.c.emit.vector_length import max_vector_bits
from riselang.frontends.c.lift.lifted_function import lift_all_statements, lift_function
from riselang.frontends.c.lift.lifted_statements import LiftedStatement, lift_statements
from riselang.frontends.c.lift.region_steps import steps_with_calls, steps_with_structured_ops
from riselang.frontends.c.model.accumulators import replace_accumulators
from riselang.frontends.c.model.aliasing import can_check_aliasing, possibly_aliasing_pairs
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.model_identity import model_text
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.model_report import format_models, format_models_as_json
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.report import format_report
from riselang.frontends.c.schedule.isl_schedule import (
    ISL,
    PATTERNS,
    SOURCE,
    find_schedules,
    loop_ast,
)
from riselang.frontends.c.schedule.jscop import format_jscops
from riselang.frontends.c.schedule.user_schedules import (
    format_schedules,
    is_schedule_text,
    read_schedule,
    region_for,
)
from riselang.lowering.debug_locations import complete_locations
from riselang.lowering.noalias import mark_noalias, noalias_pointers
from riselang.lowering.passes.poll_signals import poll_signals
from riselang.native import code_loading
from riselang.native.compile_job import Job
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm import shared_libraries as libraries
from riselang.native.llvm.ir_text import make_internal
from riselang.native.llvm.thread_pool import IS_SUPPORTED
from riselang.native.mlir.generic_printer import native_text
from riselang.runtime.cache import default_cache
from riselang.runtime.environment import fingerprint
from riselang.runtime.sealing import seal, unseal
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.lazy import cached_property
from riselang.support.machine import this_machine
from riselang.support.recursion import with_deep_stack

_KIND = "C loops"


@dataclass(frozen=True)
class CProgram:
    """Regions, and how they are compiled."""

    regions: tuple[Scop, ...]
    options: Options
    schedule: str = "source"
    checks: bool = True
    """Whether functions in this process check for out-of-bounds accesses."""
    threads: bool = False
    """Whether functions in this process run parallel loops in several threads."""
    on_gpu: bool = False
    """Whether functions in this process run on a GPU."""
    passes_globals: bool = False
    """Whether global variables become parameters of whole functions, too."""

    @cached_property
    def scops(self) -> tuple[Scop, ...]:
        """The regions, transformed as the float permission allows."""
        if self.options.float == "strict":
            return self.regions
        return tuple(contract_scop(scop) for scop in self.regions)

    @cached_property
    def _trees(self) -> list[Any]:
        if self.options.library == "none":
            return [loop_ast(scop, self.schedule) for scop in self.scops]
        pairs = zip(self.regions, self.scops, strict=True)
        return [
            steps_with_calls(region, scop, self.options, self.schedule) for region, scop in pairs
        ]

    @property
    def _is_scheduled(self) -> bool:
        return self.schedule != SOURCE

    @property
    def _is_reordered(self) -> bool:
        """Whether anything runs in another order than the source, or at the same time."""
        return self._is_scheduled or self.options.library != "none" or self.threads

    @cached_property
    @with_deep_stack
    def module(self) -> ModuleOp:
        """A module to print, with a function for each region."""
        return build_module(self.scops, self._trees, is_arranged=self._is_scheduled)

    def affine_text(self) -> str:
        return module_text(self.module)

    @with_deep_stack
    def linalg_text(self) -> str:
        """Print statements over whole arrays as structured ops, and the rest as loops."""
        steps = [steps_with_structured_ops(scop, self.schedule) for scop in self.scops]
        return module_text(build_module(self.scops, steps, is_arranged=self._is_scheduled))

    def notation_text(self) -> str:
        """Print the recognized and lifted statements as programs in RISE's notation."""
        return (
            "\n\n".join(f"def {each.name} =\n{each.term}" for each in self._lifted_programs())
            + "\n"
        )

    def rise_text(self) -> str:
        """Print the same as ops of the `rise` dialect, for all sizes."""
        kernels = [
            term_kernel(each.name, each.term, float=self.options.float)
            for each in self._lifted_programs()
        ]
        return "\n".join(kernel.lower().as_text("rise") for kernel in kernels)

    def _lifted_programs(self) -> list[LiftedStatement]:
        found = lift_statements([replace_accumulators(scop) for scop in self.regions])
        if not found:
            raise UserError(
                "no statement of these regions is lifted to patterns; --emit report says why"
            )
        return found

    @with_deep_stack
    def c_text(self) -> str:
        """Print the loops as C, with a function for each region."""
        return format_c(self.scops, self.c_loops())

    def schedule_text(self) -> str:
        """Print the schedule trees as isl's YAML, which can be changed and used."""
        return format_schedules(self.regions, self.schedule_trees())

    def jscop_text(self) -> str:
        """Print the regions and their schedules as JSCoP, which Polly reads and writes, too."""
        return format_jscops(self.regions, self.schedule_trees())

    def schedule_trees(self) -> list[Any]:
        """Return the schedule tree of each region; None for one without statements."""
        return [self._schedule_tree(scop) for scop in self.regions]

    def _schedule_tree(self, scop: Scop) -> Any:
        if scop.schedule is None or self.schedule == SOURCE:
            return scop.schedule
        if is_schedule_text(self.schedule):
            return read_schedule(scop, self.schedule)
        return next(iter(find_schedules(scop)), scop.schedule)

    def c_loops(self) -> list[Any]:
        """Return isl's loops for each region, without unrolled tiles."""
        return [loop_ast(scop, self.schedule, unrolls=False) for scop in self.scops]

    def text(self, stage: str) -> str:
        """Print the regions at a stage."""
        texts = {
            "affine": self.affine_text,
            "linalg": self.linalg_text,
            "notation": self.notation_text,
            "rise": self.rise_text,
            "c": self.c_text,
            "schedule": self.schedule_text,
            "jscop": self.jscop_text,
            "model": lambda: format_models(self.regions),
            "json": lambda: format_models_as_json(self.regions),
            "report": lambda: "".join(
                format_report(scop, self.options, self.schedule) for scop in self.regions
            ),
            "llvm": lambda: self.llvm_ir,
            "asm": self.assembly,
        }
        if stage not in texts:
            raise UserError(f"expected one of the stages {', '.join(texts)}, but found {stage!r}")
        return texts[stage]()

    def _link_module(self, *, is_checked: bool) -> ModuleOp:
        """Build the functions with entry points that C can call.

        If arguments are checked at the call, arrays that are written share no memory with others;
        neither do those that C declares `restrict`. Otherwise, reordered loops come with a second
        version in source order, or are not used at all if aliasing cannot be checked.
        """
        functions: list[func.FuncOp] = []
        called: CalledFunctions = {}
        for position, scop in enumerate(self.scops):
            self._check_globals(scop)
            has_plain = self._is_reordered and not is_checked and any(possibly_aliasing_pairs(scop))
            is_changed = self._is_reordered and (not has_plain or can_check_aliasing(scop))
            has_plain = has_plain and is_changed
            written = scop.as_written or scop
            if not is_changed:
                scop = written
            tree = self._trees[position] if is_changed else self._source_order_tree(scop)
            is_apart = is_checked or is_changed
            is_arranged = is_changed and self._is_scheduled
            functions.append(
                self._build_function(scop, tree, INNER_PREFIX, called, is_arranged, is_apart)
            )
            if has_plain:
                plain = self._source_order_tree(written)
                functions.append(
                    self._build_function(written, plain, SOURCE_ORDER_PREFIX, called, False, False)
                )
            functions.append(build_wrapper(scop, has_plain=has_plain))
        reports = [report_function()] if any(map(runtime_checks, self.scops)) else []
        return ModuleOp([*functions, *reports, *declare_functions(called)])

    @with_deep_stack
    def _build_function(
        self,
        scop: Scop,
        tree: Any,
        prefix: str,
        called: CalledFunctions,
        is_arranged: bool,
        is_apart: bool,
    ) -> func.FuncOp:
        """Build the function of a region; LLVM is told which of its arrays do not alias."""
        function, used = build_function(scop, tree, f"{prefix}{scop.name}", is_arranged=is_arranged)
        called.update(used)
        distinct = [
            position for position, variable in enumerate(scop.inputs)
            if is_buffer(scop, variable)
            and (variable.is_restrict or (is_apart and variable in scop.written_variables))
        ]  # fmt: skip
        distinct += [len(scop.inputs)] if runtime_checks(scop) else []
        mark_noalias(function, distinct)
        has_loops = self.threads and IS_SUPPORTED and prefix != SOURCE_ORDER_PREFIX
        if has_loops and not runtime_checks(scop) and (is_apart or not _may_alias(scop)):
            # Checks that fail are recorded by one thread.
            parallelize_loops(function)
        return function

    def _source_order_tree(self, scop: Scop) -> Any:
        """Return the loops in source order."""
        return loop_ast(scop, "source")

    def _check_globals(self, scop: Scop) -> None:
        for variable in scop.inputs:
            is_parameter = variable.root in scop.function.parameters or self.passes_globals
            if scop.is_whole and not is_parameter and variable.root.definition is None:
                raise UnsupportedConstruct(
                    variable.location, f"{variable.name} is not a parameter of {scop.name}",
                    "add it as a parameter",
                )  # fmt: skip

    def _compile_job(self, *, is_checked: bool, visibility: str = "") -> Job:
        module = self._link_module(is_checked=is_checked)
        if is_checked:
            poll_signals(module)
        is_own = bool(visibility)
        entries = "\n".join(
            format_abi_entry(scop) if has_own_entry(scop) and not (is_checked or is_own)
            else format_llvm_entry(scop, visibility)
            for scop in self.scops
        )  # fmt: skip
        if not (is_checked or is_own):
            entries += format_globals(self.scops)
        is_parallel = collect_facts(module).has_parallel_loops
        pipeline = pipelines.cpu_pipeline(threads=is_parallel, bf16=False)
        return self._make_job(module, pipeline, entries)

    def linked_module(self) -> ModuleOp:
        """Return the module that is compiled, with its locations, before it is passed to MLIR."""
        return self._link_module(is_checked=False)

    def located_ir(self, module: ModuleOp) -> str:
        """Return the LLVM IR of `linked_module`, in which every instruction has a location."""
        complete_locations(module)
        pipeline = pipelines.cpu_pipeline(threads=False, bf16=False, debug_info=True)
        return self._make_job(module, pipeline, "", debug_info=True).llvm_ir

    def _make_job(
        self,
        module: ModuleOp,
        pipeline: tuple[str, ...],
        entries: str,
        *,
        debug_info: bool = False,
    ) -> Job:
        text, facts = native_text(module, locations=debug_info), collect_facts(module)
        return Job(
            text, pipeline, noalias_pointers(module), entries, debug_info, self.options.effort,
            facts.has_short_floats, facts.may_end_early, max_vector_bits(module),
        )  # fmt: skip

    @cached_property
    def llvm_ir(self) -> str:
        return self._linkable_ir("")

    def _linkable_ir(self, visibility: str) -> str:
        job = self._compile_job(is_checked=False, visibility=visibility)
        names = [
            f"{prefix}{s.name}"
            for s in self.scops
            for prefix in (INNER_PREFIX, SOURCE_ORDER_PREFIX, OUTER_PREFIX)
        ]
        return make_internal(job.complete_ir, names)

    def object_code(self, target: llvm.Target | None = None, *, visibility: str = "") -> bytes:
        """Return machine code to be linked with C; the functions have LLVM's visibility."""
        ir = self._linkable_ir(visibility) if visibility else self.llvm_ir
        return llvm.object_code(ir, self.options.effort, target)

    def assembly(self) -> str:
        return llvm.assembly(self.llvm_ir, self.options.effort)

    def header(self, name: str) -> str:
        return format_header(self.scops, name, self.link_flags())

    @with_deep_stack
    def link_flags(self) -> list[str]:
        """Return the flags of the libraries that an object file needs."""
        ops = list(walk(self.linked_module()))
        calls = [op.sym_name.data for op in ops if isinstance(op, func.FuncOp)]
        blas = ["-lopenblas"] if any(name.startswith("cblas_") for name in calls) else []
        threads = ["-pthread"] if any(isinstance(op, ParallelOp) for op in ops) else []
        return [*blas, *threads, "-lm"]

    def _machine_code(self) -> bytes:
        """Load machine code from the cache, or compile and store it.

        The key identifies the regions, so scheduling and proofs are not repeated.
        """
        cache, key = default_cache(), self._cache_key()
        if cache is None or key is None:
            return self._compile_job(is_checked=True).object_code()
        code = self._usable_code(cache.read(key))
        if code is None:
            code = self._compile_job(is_checked=True).object_code()
            cache.write(key, seal(_KIND, code))
        return code

    def _usable_code(self, data: bytes | None) -> bytes | None:
        """Return the machine code in a cache entry, if it is usable."""
        try:
            code = None if data is None else unseal(_KIND, data)
            if code is not None:
                code_loading.check_objects([code], [scop.name for scop in self.scops])
        except ValueError:
            return None
        return code

    def _cache_key(self) -> str | None:
        texts = [model_text(scop) for scop in self.regions]
        if None in texts:
            return None
        version = isl().version.VERSION
        return fingerprint(
            "c", version, self.schedule, self.threads, self.options, this_machine(), *texts
        )

    def functions(self) -> dict[str, CFunction]:
        """Return the functions in this process, ready to call."""
        if self.checks:
            regions = tuple(map(add_checks, self.regions))
            return replace(self, regions=regions, checks=False).functions()
        if self.on_gpu:
            # Imported only here, since few programs run on a GPU.
            from riselang.frontends.c.gpu.gpu_function import GpuFunction

            load = replace(self, on_gpu=False)._load_functions
            return {scop.name: GpuFunction(scop, load, self.options) for scop in self.regions}
        lifted = self._lifted_functions() if self.schedule in (ISL, PATTERNS) else {}
        rest = [scop for scop in self.regions if scop.name not in lifted]
        return {**lifted, **(self._load_functions(rest) if rest else {})}

    def _lifted_functions(self) -> dict[str, CFunction]:
        """Return the functions with matrix multiplications that run as patterns."""
        lift = lift_all_statements if self.schedule == PATTERNS else lift_function
        found = [lift(scop, self.options, self._load_functions) for scop in self.regions]
        return {each.__name__: each for each in found if each is not None}

    def _load_functions(self, regions: Sequence[Scop]) -> dict[str, CFunction]:
        """Compile and load regions as loops."""
        program = replace(self, regions=tuple(regions))
        if self.options.library == "blas":
            libraries.prepare_library(libraries.BLAS)
        code = code_loading.load_objects([program._machine_code()])
        return {
            scop.name: CompiledCFunction(scop, self._load_functions, code) for scop in program.scops
        }


def _may_alias(scop: Scop) -> bool:
    return any(possibly_aliasing_pairs(scop))


def make_program(
    scops: Sequence[Scop],
    options: Options,
    schedule: str = "source",
    *,
    checks: bool = True,
    threads: bool = False,
    on_gpu: bool = False,
) -> CProgram:
    if any(variable.row_pointers for scop in scops for variable in scop.inputs):
        # Rows may overlap, so nothing is reordered.
        schedule, options, threads = "source", options.with_changes(library="none"), False
    if not on_gpu:
        scops = [region_for(scop, schedule) for scop in scops]
    return CProgram(tuple(scops), options, schedule, checks, threads, on_gpu)
