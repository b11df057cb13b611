"""Programs from regions: MLIR and LLVM text, an object file with a C header, callable functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from riselang import pipelines
from riselang.api.load import term_kernel
from riselang.compiler.facts import facts_of
from riselang.dialects.module import module_text
from riselang.frontends.c.calling import CFunction, CompiledCFunction
from riselang.frontends.c.emit.bounds_checks import checked, checks_of, report_function
from riselang.frontends.c.emit.c_entry_points import (
    INNER,
    OUTER,
    PLAIN,
    is_buffer,
    llvm_entry,
    wrapper,
)
from riselang.frontends.c.emit.fma_contraction import contracted
from riselang.frontends.c.emit.functions import declarations, function_of, module_of
from riselang.frontends.c.emit.prototypes import header
from riselang.frontends.c.emit.values import Called
from riselang.frontends.c.lift.functions import function_of_patterns, lifted_function
from riselang.frontends.c.lift.lifted_statements import Lifted, lifted
from riselang.frontends.c.lift.steps import with_calls, with_structures
from riselang.frontends.c.model.aliasing import doubtful_pairs, is_told_apart
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.model_identity import identity
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.refusals import Refusal
from riselang.frontends.c.report import report
from riselang.frontends.c.schedule.isl_schedule import ISL, PATTERNS, loops
from riselang.lowering.debug_locations import complete_locations
from riselang.lowering.noalias import distinct_pointers, mark_distinct
from riselang.lowering.passes.poll_signals import poll_signals
from riselang.native.build import Job
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm import shared_libraries as libraries
from riselang.native.llvm.ir_text import with_hidden
from riselang.native.mlir.generic_printer import native_text
from riselang.runtime.cache import default_cache
from riselang.runtime.environment import fingerprint
from riselang.runtime.sealing import seal, unseal
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.lazy import cached_property
from riselang.support.recursion import deep

_KIND = "C loops"


@dataclass(frozen=True)
class CProgram:
    """Regions, and how they are compiled."""

    regions: tuple[Scop, ...]
    options: Options
    schedule: str = "source"
    checks: bool = True
    """Whether functions in this process check for out-of-bounds accesses."""

    @cached_property
    def scops(self) -> tuple[Scop, ...]:
        """The regions, transformed as the float permission allows."""
        if self.options.float == "strict":
            return self.regions
        return tuple(contracted(scop) for scop in self.regions)

    @cached_property
    def _trees(self) -> list[Any]:
        if self.options.library == "none":
            return [loops(scop, self.schedule) for scop in self.scops]
        pairs = zip(self.regions, self.scops, strict=True)
        return [with_calls(region, scop, self.options, self.schedule) for region, scop in pairs]

    @property
    def _is_arranged(self) -> bool:
        return self.schedule in (ISL, PATTERNS)

    @property
    def _is_changed(self) -> bool:
        """Whether anything runs in another order than the source."""
        return self._is_arranged or self.options.library != "none"

    @cached_property
    @deep
    def module(self) -> ModuleOp:
        """A module to print, with a function for each region."""
        return module_of(self.scops, self._trees, is_arranged=self._is_arranged)

    def affine(self) -> str:
        return module_text(self.module)

    @deep
    def linalg(self) -> str:
        """Print statements over whole arrays as structured ops, and the rest as loops."""
        steps = [with_structures(scop, self.schedule) for scop in self.scops]
        return module_text(module_of(self.scops, steps, is_arranged=self._is_arranged))

    def notation(self) -> str:
        """Print the recognized and lifted statements as programs in RISE's notation."""
        return "\n\n".join(f"def {each.name} =\n{each.term}" for each in self._programs()) + "\n"

    def rise(self) -> str:
        """Print the same as ops of the `rise` dialect, for all sizes."""
        kernels = [
            term_kernel(each.name, each.term, float=self.options.float) for each in self._programs()
        ]
        return "\n".join(kernel.lower().as_text("rise") for kernel in kernels)

    def _programs(self) -> list[Lifted]:
        found = lifted(self.regions)
        if not found:
            raise UserError(
                "no statement of these regions is lifted to patterns; --emit report says why"
            )
        return found

    def text(self, stage: str) -> str:
        """Print the regions at a stage."""
        texts = {
            "affine": self.affine,
            "linalg": self.linalg,
            "notation": self.notation,
            "rise": self.rise,
            "report": lambda: "".join(
                report(scop, self.options, self.schedule) for scop in self.regions
            ),
            "llvm": lambda: self.llvm_ir,
            "asm": self.assembly,
        }
        if stage not in texts:
            raise UserError(f"expected a stage of {', '.join(texts)}, but found {stage!r}")
        return texts[stage]()

    def _linked(self, *, is_checked: bool) -> ModuleOp:
        """Build the functions with entry points that C can call.

        If arguments are checked at the call, arrays that are written share no memory with others;
        neither do those that C declares `restrict`. Otherwise, reordered loops come with a second
        version in source order, or are not used at all if aliasing cannot be checked.
        """
        functions: list[func.FuncOp] = []
        called: Called = {}
        for position, scop in enumerate(self.scops):
            self._refuse_globals(scop)
            has_plain = self._is_changed and not is_checked and any(doubtful_pairs(scop))
            is_changed = self._is_changed and (not has_plain or is_told_apart(scop))
            has_plain = has_plain and is_changed
            tree = self._trees[position] if is_changed else self._plain_tree(scop)
            is_apart = is_checked or is_changed
            is_arranged = is_changed and self._is_arranged
            functions.append(self._function(scop, tree, INNER, called, is_arranged, is_apart))
            if has_plain:
                plain = self._plain_tree(scop)
                functions.append(self._function(scop, plain, PLAIN, called, False, False))
            functions.append(wrapper(scop, has_plain=has_plain))
        reports = [report_function()] if any(map(checks_of, self.scops)) else []
        return ModuleOp([*functions, *reports, *declarations(called)])

    @deep
    def _function(
        self,
        scop: Scop,
        tree: Any,
        prefix: str,
        called: Called,
        is_arranged: bool,
        is_apart: bool,
    ) -> func.FuncOp:
        """Build the function of a region; LLVM is told which of its arrays do not alias."""
        function, used = function_of(scop, tree, f"{prefix}{scop.name}", is_arranged=is_arranged)
        called.update(used)
        distinct = [
            at for at, variable in enumerate(scop.inputs)
            if is_buffer(scop, variable)
            and (variable.is_restrict or (is_apart and variable in scop.written))
        ]  # fmt: skip
        distinct += [len(scop.inputs)] if checks_of(scop) else []
        mark_distinct(function, distinct)
        return function

    def _plain_tree(self, scop: Scop) -> Any:
        """Return the loops in source order."""
        return loops(scop, "source")

    def _refuse_globals(self, scop: Scop) -> None:
        for variable in scop.inputs:
            if scop.is_whole and variable not in scop.function.parameters:
                raise Refusal(
                    variable.place, f"{variable.name} is not a parameter of {scop.name}",
                    "add it as a parameter",
                )  # fmt: skip

    def _job(self, *, is_checked: bool) -> Job:
        module = self._linked(is_checked=is_checked)
        if is_checked:
            poll_signals(module)
        entries = "\n".join(llvm_entry(scop) for scop in self.scops)
        pipeline = pipelines.cpu(threads=False, bf16=False)
        return self._job_of(module, pipeline, entries)

    def linked_module(self) -> ModuleOp:
        """Return the module that is compiled, with its locations, before it is passed to MLIR."""
        return self._linked(is_checked=False)

    def located_ir(self, module: ModuleOp) -> str:
        """Return the LLVM IR of `linked_module`, in which every instruction has a location."""
        complete_locations(module)
        pipeline = pipelines.cpu(threads=False, bf16=False, debug_info=True)
        return self._job_of(module, pipeline, "", debug_info=True).llvm_ir

    def _job_of(
        self,
        module: ModuleOp,
        pipeline: tuple[str, ...],
        entries: str,
        *,
        debug_info: bool = False,
    ) -> Job:
        text, facts = native_text(module, locations=debug_info), facts_of(module)
        return Job(
            text, pipeline, distinct_pointers(module), entries, debug_info, self.options.effort,
            facts.has_short_floats, facts.may_end_early,
        )  # fmt: skip

    @cached_property
    def llvm_ir(self) -> str:
        job = self._job(is_checked=False)
        names = [f"{prefix}{s.name}" for s in self.scops for prefix in (INNER, PLAIN, OUTER)]
        return with_hidden(job.whole_ir, names)

    def object_code(self) -> bytes:
        """Return machine code to be linked with C."""
        return llvm.object_code(self.llvm_ir, self.options.effort)

    def assembly(self) -> str:
        return llvm.assembly(self.llvm_ir, self.options.effort)

    def header(self, name: str) -> str:
        return header(self.scops, name)

    def _machine_code(self) -> bytes:
        """Load machine code from the cache, or compile and store it.

        The key identifies the regions, so scheduling and proofs are not repeated.
        """
        cache, key = default_cache(), self._key()
        if cache is None or key is None:
            return self._job(is_checked=True).object_code()
        code = self._kept(cache.read(key))
        if code is None:
            code = self._job(is_checked=True).object_code()
            cache.write(key, seal(_KIND, code))
        return code

    def _kept(self, data: bytes | None) -> bytes | None:
        """Return the machine code in a cache entry, if it is usable."""
        try:
            code = None if data is None else unseal(_KIND, data)
            if code is not None:
                llvm.check_objects([code], [scop.name for scop in self.scops])
        except ValueError:
            return None
        return code

    def _key(self) -> str | None:
        texts = [identity(scop) for scop in self.regions]
        if None in texts:
            return None
        return fingerprint("c", isl().version.VERSION, self.schedule, self.options, *texts)

    def functions(self) -> dict[str, CFunction]:
        """Return the functions in this process, ready to call."""
        if self.checks:
            regions = tuple(map(checked, self.regions))
            return replace(self, regions=regions, checks=False).functions()
        lifted = self._lifted() if self._is_arranged else {}
        rest = [scop for scop in self.regions if scop.name not in lifted]
        return {**lifted, **(self._loaded(rest) if rest else {})}

    def _lifted(self) -> dict[str, CFunction]:
        """Return the functions with matrix multiplications that run as patterns."""
        lift = function_of_patterns if self.schedule == PATTERNS else lifted_function
        found = [lift(scop, self.options, self._loaded) for scop in self.regions]
        return {each.__name__: each for each in found if each is not None}

    def _loaded(self, regions: Sequence[Scop]) -> dict[str, CFunction]:
        """Compile and load regions as loops."""
        program = replace(self, regions=tuple(regions))
        if self.options.library == "blas":
            libraries.prepare(libraries.BLAS)
        code = llvm.load_objects([program._machine_code()])
        return {scop.name: CompiledCFunction(scop, self._loaded, code) for scop in program.scops}


def program_of(
    scops: Sequence[Scop], options: Options, schedule: str = "source", *, checks: bool = True
) -> CProgram:
    return CProgram(tuple(scops), options, schedule, checks)
