"""The compiler from top to bottom: trace -> rewrite -> lower -> emit.

Each step is a function of immutable values. `watch` observes each stage, so a stage is printed
exactly as it is compiled. Imports that a cached program does not need are inside the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from riselang import pipelines
from riselang.compiler.default_derivations import DEFAULT, derive_by_default
from riselang.compiler.rewritten_program import Program, RewrittenProgram
from riselang.rewrite.core import Setting, Strategy
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.profiling import time_span
from riselang.support.recursion import with_deep_stack

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from riselang.compiler.lowered_module import LoweredModule
    from riselang.compiler.program_sources import Source
    from riselang.dialects.rise.types import RiseType
    from riselang.dsl.tracing import Call
    from riselang.native.compile_job import Job
    from riselang.rewrite.derivation import Derivation
    from riselang.runtime.artifact import Artifact
    from riselang.term.nodes import Term

Watch = Callable[[str, "ModuleOp"], None]
"""Called with the name of each stage and its module, which the next step modifies."""


# 1. From a function to a term


def trace(function: Callable[..., Any], name: str, names: Sequence[str],
          types: Sequence[RiseType], call: Call | None = None) -> Program:  # fmt: skip
    """Run a Python function on symbolic values, and return the closed and typed program."""
    from riselang.dsl.tracing import trace_function
    from riselang.term.finish import finish

    with time_span("trace"):
        root, traced, results = trace_function(function, names, types, call)
        return Program(name, finish(root, traced.inference), results, traced.interface_of(root))


# 2. From a term to the term that is lowered


@with_deep_stack
def rewrite(
    program: Program, strategy: Strategy | None, options: Options, *, precompute: bool = False
) -> RewrittenProgram:
    """Contract floats before applying a strategy, so that no strategy changes a result.

    With `precompute`, assume that values that depend only on known arguments are computed once.
    """
    from riselang.term.contraction import contract
    from riselang.term.outline_repeats import outline
    from riselang.term.store_reductions import store_reductions

    contracts, derivation = options.float != "strict" and not options.contracted, None
    # A user's strategy is applied to the source program, without outlining.
    is_default = strategy in (None, DEFAULT)
    is_outlined = is_default and not options.debug_info and options.effort != "max"

    def contract_and_outline(term: Term) -> Term:
        term = contract(term) if contracts else term
        return outline(term) if is_outlined else term

    with time_span("rewrite"):
        if strategy is not None and should_rewrite(strategy, program.term, options):
            setting, term = Setting(options.float, precompute), contract_and_outline(program.term)
            derivation = _derive(term, strategy, setting, options.loops)
            term = term if derivation is None else derivation.end
        else:
            term = contract_and_outline(store_reductions(options.library, program.term))
        program = prepare_for_lowering(replace(program, term=term), options)
    is_contracted = contracts or options.contracted or derivation is not None
    return RewrittenProgram(program, replace(options, contracted=is_contracted), derivation)


def should_rewrite(strategy: Strategy, term: Term, options: Options) -> bool:
    """Return whether to apply a strategy; the default one is applied only if it pays off."""
    if strategy is not DEFAULT or options.loops == pipelines.GPU:
        return True
    if options.effort == "fast" or options.library != "none" or options.loops == "polyhedral":
        return False
    return DEFAULT.is_relevant_to(term)


def _derive(term: Term, strategy: Strategy, setting: Setting, loops: str) -> Derivation | None:
    """Apply a strategy to a program; None if the default strategy does not change it."""
    if strategy is DEFAULT:
        return derive_by_default(term, setting, loops)
    from riselang.rewrite.derivation import derive

    return derive(term, strategy, setting.float)


def prepare_for_lowering(program: Program, options: Options) -> Program:
    """Store intermediate arrays as the library option requires, and normalize lets."""
    from riselang.term.lets import normalize_lets
    from riselang.term.store_reductions import store_reductions

    term = store_reductions(options.library, program.term)
    return replace(program, term=normalize_lets(term, program.results))


# 3. From terms to a module of loops, loads and stores


@with_deep_stack
def lower(
    source: Source, options: Options, watch: Watch = lambda stage, module: None
) -> LoweredModule:
    """Lower to loops (`imperative`), then to plain MLIR (`affine`); prepare it for native MLIR."""
    with time_span("import the compiler"):
        from riselang.compiler import lowering_steps
        from riselang.compiler.lowered_module import LoweredModule
        from riselang.compiler.module_facts import collect_facts
        from riselang.lowering.runtime_checks import check_locations

    with time_span("our passes"):
        with time_span("copy"):
            module, programs = source.copy_for_lowering()
        lowering_steps.mark_permission(module, options)
        lowering_steps.make_imperative(module, programs, options)
        lowering_steps.mark_outputs_noalias(module, source.signatures)
        watch("imperative", module)
        lowering_steps.run_passes(lowering_steps.loop_passes(options), module)
        watch("affine", module)
        checks = check_locations(module)
        floats = lowering_steps.float_checks(module)
        lowering_steps.run_passes(lowering_steps.last_passes(options), module)
        lowering_steps.finalize_module(module, options)
    facts = collect_facts(module)
    return LoweredModule(module, source.signatures, tuple(checks), facts, options, floats)


# 4. From a module to machine code


def emit(lowered: LoweredModule, *, locations: bool = False) -> Job:
    """Return the job for native MLIR and LLVM: the module text, the passes, and alias facts."""
    from riselang.lowering.noalias import noalias_pointers
    from riselang.native.compile_job import Job
    from riselang.native.mlir.generic_printer import native_text

    facts, options = lowered.facts, lowered.options
    passes = pipelines.cpu_pipeline(
        threads=lowered.uses_threads, structured=facts.is_structured, bf16=facts.has_bf16,
        polyhedral=options.loops == "polyhedral", debug_info=options.debug_info,
        has_descriptors=facts.has_descriptors,
    )  # fmt: skip
    noalias_parameters = noalias_pointers(lowered.module) if facts.has_descriptors else {}
    text = native_text(lowered.module, locations=locations or options.debug_info)
    return Job(
        text, passes, noalias_parameters, lowered.entry_functions_ir, options.debug_info,
        options.effort, facts.has_short_floats, facts.may_end_early,
    )  # fmt: skip


@with_deep_stack
def emit_and_verify(lowered: LoweredModule) -> Job:
    """Emit a module and run MLIR on it; report the location of an op that MLIR rejects."""
    job = emit(lowered)
    try:
        assert job.llvm_ir
    except UserError:
        # Printing the locations of the ops is slow, so they are printed only after an error.
        job = emit(lowered, locations=True)
        assert job.llvm_ir
    return job


@with_deep_stack
def compile_source(source: Source, options: Options) -> Artifact:
    """Compile the functions of a source to machine code, with the metadata that calls need."""
    from riselang.compiler.partition import compile_parts, partition_source
    from riselang.compiler.signatures import refuse_results
    from riselang.runtime.artifact import Artifact

    refuse_results(source.signatures)
    parts = [] if options.loops == pipelines.GPU else partition_source(source)
    if len(parts) > 1:
        return compile_parts(parts, lambda part: lower(part, options), emit)
    lowered = lower(source, options)
    if options.loops == pipelines.GPU:
        from riselang.compiler.gpu_code import GpuCode

        return Artifact(lowered.functions, (), (), GpuCode(lowered).kernels)
    code = emit_and_verify(lowered).object_code()
    return Artifact(lowered.functions, (code,), lowered.libraries)
