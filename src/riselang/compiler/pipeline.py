"""The compiler from top to bottom: trace -> rewrite -> lower -> emit.

Each step is a function of values. What is shown of a program is what passes through here: `watch`
is told of each stage. What only a program that is not in the cache needs is imported by its step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from riselang import pipelines
from riselang.compiler.values import Program, Rewritten
from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.default import DEFAULT, default_derivation, gpu_derivation
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.profiling import timed
from riselang.support.recursion import deep

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from riselang.compiler.lowered_module import LoweredModule
    from riselang.compiler.sources import Source
    from riselang.dialects.rise.types import RiseType
    from riselang.native.build import Job
    from riselang.rewrite.derivation import Derivation
    from riselang.runtime.artefact import Artefact
    from riselang.term.nodes import Term

Watch = Callable[[str, "ModuleOp"], None]
"""Is told the name of each stage and its module, which the next step changes."""


# 1. From a function to a term


def trace(
    function: Callable[..., Any], name: str, names: Sequence[str], types: Sequence[RiseType]
) -> Program:
    """Run a Python function on symbolic values; what it gives, closed and typed, is the program."""
    from riselang.dsl.tracing import trace_function
    from riselang.term.finish import finish

    with timed("trace"):
        root, traced, results = trace_function(function, names, types)
        return Program(name, finish(root, traced.inference), results)


# 2. From a term to the term that is lowered


@deep
def rewrite(
    program: Program, strategy: Strategy | None, options: Options, *, ahead: bool = False
) -> Rewritten:
    """Decide float contraction, then apply a strategy: all strategies compute the same bits.

    `ahead`: what is computed of some arguments alone is computed once, and before.
    """
    from riselang.term.contraction import contract
    from riselang.term.outlining import outline
    from riselang.term.storing import stored_for

    contracts = options.float != "strict" and not options.contracted
    # A strategy of a person's own gets the program as it is written.
    is_own = strategy not in (None, DEFAULT)
    is_outlined = not (is_own or options.debug_info or options.effort == "max")
    derivation = None

    def decided(term: Term) -> Term:
        term = contract(term) if contracts else term
        return outline(term) if is_outlined else term

    with timed("rewrite"):
        if strategy is not None and applies(strategy, program.term, options):
            derivation = _derivation(decided(program.term), strategy, options, ahead)
        settled = (
            derivation.end if derivation else decided(stored_for(options.library, program.term))
        )
        program = arranged(replace(program, term=settled), options)
    is_decided = contracts or options.contracted or derivation is not None
    return Rewritten(program, replace(options, contracted=is_decided), derivation)


def applies(strategy: Strategy, term: Term, options: Options) -> bool:
    """Whether a program is rewritten: one without a strategy of its own where it is worth it."""
    if strategy is not DEFAULT or options.loops == pipelines.GPU:
        return True
    if options.effort == "fast" or options.library != "none" or options.loops == "polyhedral":
        return False
    return DEFAULT.concerns(term)


def _derivation(term: Term, strategy: Strategy, options: Options, ahead: bool) -> Derivation | None:
    """How a strategy rewrites a program; None where that of programs without one leaves it."""
    setting = Setting(options.float, ahead)
    if strategy is DEFAULT:
        is_for_gpu = options.loops == pipelines.GPU
        return (gpu_derivation if is_for_gpu else default_derivation)(term, setting)
    from riselang.rewrite.derivation import derive

    return derive(term, strategy, options.float)


def arranged(program: Program, options: Options) -> Program:
    """The program in the form that its options are for, with its lets in normal form."""
    from riselang.term.lets import with_settled_lets
    from riselang.term.storing import stored_for

    term = stored_for(options.library, program.term)
    return replace(program, term=with_settled_lets(term, program.results))


# 3. From terms to a module of loops, loads and stores


@deep
def lower(
    source: Source, options: Options, watch: Watch = lambda stage, module: None
) -> LoweredModule:
    """Make loops of programs (`imperative`), then plain MLIR (`affine`), then what MLIR gets."""
    with timed("import the compiler"):
        from riselang.compiler import steps
        from riselang.compiler.facts import facts_of
        from riselang.compiler.lowered_module import LoweredModule
        from riselang.lowering.checks import check_locations

    with timed("our passes"):
        with timed("copy"):
            module, programs = source.opened()
        steps.mark_permission(module, options)
        steps.make_imperative(module, programs, options)
        checks = check_locations(module)
        steps.mark_written(module, source.signatures)
        watch("imperative", module)
        steps.run(steps.loop_passes(options), module)
        watch("affine", module)
        steps.run(steps.last_passes(options), module)
        steps.complete(module, options)
    facts = facts_of(module)
    return LoweredModule(module, source.signatures, tuple(checks), facts, options)


# 4. From a module to machine code


def emit(lowered: LoweredModule, *, locations: bool = False) -> Job:
    """What native MLIR and LLVM do: the module as text, the passes it gets, and what LLVM knows."""
    from riselang.lowering.noalias import distinct_pointers
    from riselang.native.build import Job
    from riselang.native.mlir.generic_printer import native_text

    facts, options = lowered.facts, lowered.options
    passes = pipelines.cpu(
        threads=lowered.uses_threads, structured=facts.is_structured, bf16=facts.has_bf16,
        polyhedral=options.loops == "polyhedral", debug_info=options.debug_info,
        has_descriptors=facts.has_descriptors,
    )  # fmt: skip
    distinct = distinct_pointers(lowered.module) if facts.has_descriptors else {}
    text = native_text(lowered.module, locations=locations or options.debug_info)
    return Job(
        text, passes, distinct, lowered.entries, options.debug_info, options.effort,
        facts.has_short_floats, facts.may_end_early,
    )  # fmt: skip


@deep
def checked_job(lowered: LoweredModule) -> Job:
    """`emit` of a module that MLIR takes; what it refuses is told with its place."""
    job = emit(lowered)
    try:
        assert job.llvm_ir
    except UserError:
        # Once more with the places of the ops, which only an error is worth printing for.
        job = emit(lowered, locations=True)
        assert job.llvm_ir
    return job


@deep
def compile_source(source: Source, options: Options) -> Artefact:
    """The functions of a source as machine code, with what a call has to know of them."""
    from riselang.compiler.partition import compile_parts, parts_of
    from riselang.compiler.signatures import refuse_results
    from riselang.runtime.artefact import Artefact

    refuse_results(source.signatures)
    parts = [] if options.loops == pipelines.GPU else parts_of(source)
    if len(parts) > 1:
        return compile_parts(parts, lambda part: lower(part, options), emit)
    lowered = lower(source, options)
    if options.loops == pipelines.GPU:
        from riselang.compiler.gpu import GpuCode

        return Artefact(lowered.functions, (), (), GpuCode(lowered).kernels)
    code = checked_job(lowered).object_code()
    return Artefact(lowered.functions, (code,), lowered.libraries)
