"""The steps of `pipeline.lower`, each a small transformation of a module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from riselang import pipelines
from riselang.compiler.signatures import Signature
from riselang.dialects.module import functions, make_context
from riselang.lowering.debug_locations import complete_locations
from riselang.lowering.noalias import called_functions, mark_noalias
from riselang.lowering.passes.align_nontemporal_stores import AlignNontemporalStoresPass
from riselang.lowering.passes.check_floats import FLOAT_CHECKS
from riselang.lowering.passes.check_floats import float_checks as float_checks
from riselang.lowering.passes.contract_rise_floats import CONTRACTED, FLOAT_PERMISSION
from riselang.lowering.passes.convert_math_to_calls import ConvertMathToCallsPass
from riselang.lowering.passes.convert_rise_to_imperative import (
    ConvertRiseToImperativePass,
    Units,
    convert_module,
)
from riselang.lowering.passes.poll_signals import PollSignalsPass
from riselang.lowering.passes.resolve_rise_access import ResolveRiseAccessPass
from riselang.lowering.passes.skip_unchanged_chunks import SkipUnchangedChunksPass
from riselang.lowering.passes.split_index_sets import SplitIndexSetsPass
from riselang.lowering.runtime_checks import CHECKS
from riselang.native.llvm import codegen as llvm
from riselang.support.config import Options
from riselang.support.profiling import time_span


def mark_permission(module: ModuleOp, options: Options) -> None:
    """Set the attributes of the float permission, and of contraction that has been done."""
    module.attributes[FLOAT_PERMISSION] = StringAttr(options.float)
    if options.contracted:
        module.attributes[CONTRACTED] = UnitAttr()


def make_imperative(module: ModuleOp, programs: Mapping[FuncOp, Units], options: Options) -> None:
    """Phase 1: lower programs to loops over access paths."""
    loops = "affine" if options.loops == "polyhedral" else options.loops
    with time_span(ConvertRiseToImperativePass.name):
        convert_module(module, programs, loops)


def mark_outputs_noalias(module: ModuleOp, signatures: Sequence[Signature]) -> None:
    """Mark the parameters that programs write as `noalias`, except in functions that are called in
    the module; calls from outside check it."""
    callees = called_functions(module)
    written = {each.name: each.written for each in signatures if each.name not in callees}
    for function in functions(module):
        mark_noalias(function, written.get(function.sym_name.data, ()))


def run_passes(passes: Iterable[ModulePass], module: ModuleOp) -> None:
    context = make_context()
    for step in passes:
        with time_span(step.name):
            step.apply(context, module)


def finalize_module(module: ModuleOp, options: Options) -> None:
    """Remove attributes that native MLIR does not read, and complete debug locations."""
    for name in (CHECKS, FLOAT_CHECKS):
        module.attributes.pop(name, None)
    if options.debug_info:
        complete_locations(module)


def loop_passes(options: Options) -> list[ModulePass]:
    """Return the passes from loops over access paths to plain MLIR, which is stage `affine`."""
    raising = pipelines.RAISE_TO_CALLS if options.library == "blas" else ()
    planning = pipelines.PLAN_POLYHEDRAL if options.loops == "polyhedral" else ()
    resolving, expanding, *math = pipelines.RISE_TO_LOOPS[1:]
    checking = pipelines.CHECK_FLOATS if options.checks_floats else ()
    names = (resolving, expanding, *checking, *math, *raising, *planning)
    left_out: set[str] = set()
    is_for_gpu = options.loops == pipelines.GPU
    left_out.add(pipelines.MATH_TO_CALLS if is_for_gpu else pipelines.EXPAND_MATH)
    left_out |= {pipelines.APPROXIMATE_MATH} if options.float != "relaxed" else set()
    return [_make_pass(name, options) for name in names if name not in left_out]


def last_passes(options: Options) -> list[ModulePass]:
    """Return the passes that prepare plain MLIR for its CPU or GPU."""
    is_for_gpu = options.loops == pipelines.GPU
    cpu_passes = (
        *pipelines.SKIP_CHUNKS, *pipelines.ALIGN_STORES, *pipelines.SPLIT_INDICES,
        *pipelines.POLL_SIGNALS,
    )  # fmt: skip
    names = pipelines.OUTLINE_KERNELS if is_for_gpu else cpu_passes
    return [_make_pass(name, options) for name in names]


def _make_pass(name: str, options: Options) -> ModulePass:
    """Instantiate a pass; modules that few programs need are imported here."""
    if name == ResolveRiseAccessPass.name:
        # The host launches the kernels of one function, not those of its callees. Other loops that
        # write to the same memory would hide an assignment from later passes.
        is_for_gpu = options.loops == pipelines.GPU
        is_analyzed = options.loops == "polyhedral" or options.library != "none"
        return ResolveRiseAccessPass(splits=not is_for_gpu, shares=not (is_for_gpu or is_analyzed))
    if name == pipelines.MATH_TO_CALLS:
        return ConvertMathToCallsPass()
    if name in pipelines.SKIP_CHUNKS:
        return SkipUnchangedChunksPass()
    if name in pipelines.ALIGN_STORES:
        return AlignNontemporalStoresPass()
    if name in pipelines.SPLIT_INDICES:
        return SplitIndexSetsPass()
    if name in pipelines.POLL_SIGNALS:
        return PollSignalsPass()
    if name == pipelines.EXPAND_SMALL_FLOATS:
        from riselang.lowering.passes.expand_small_floats import ExpandSmallFloatsPass

        return ExpandSmallFloatsPass(options.loops == pipelines.GPU)
    if name == pipelines.APPROXIMATE_MATH:
        from riselang.lowering.passes.approximate_math import ApproximateMathPass

        return ApproximateMathPass()
    if name == pipelines.EXPAND_MATH:
        from riselang.lowering.passes.expand_math import ExpandMathPass

        return ExpandMathPass()
    if name in pipelines.CHECK_FLOATS:
        from riselang.lowering.passes.check_floats import CheckFloatsPass

        return CheckFloatsPass()
    if name in pipelines.OUTLINE_KERNELS:
        from riselang.lowering.gpu.outline_gpu_kernels import OutlineGpuKernelsPass
        from riselang.native.gpu_targets import gpu_target

        target = gpu_target()
        return OutlineGpuKernelsPass(
            target.shared_bytes, target.tensor_unit, target.multiprocessors
        )
    if name in pipelines.RAISE_TO_CALLS:
        from riselang.lowering.passes.raise_to_library_calls import RaiseToLibraryCallsPass

        return RaiseToLibraryCallsPass()
    from riselang.lowering.passes.plan_polyhedral import PlanPolyhedralPass

    return PlanPolyhedralPass(llvm.vector_bits())
