"""What `xdsl-opt` and `xdsl-gui` see of this project: the dialect, the passes and a target."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target


def _dialect() -> Dialect:
    from riselang.dialects.rise.dialect import Rise

    return Rise


def _imperative() -> type[ModulePass]:
    from riselang.lowering.convert_rise_to_imperative import ConvertRiseToImperativePass

    return ConvertRiseToImperativePass


def _access() -> type[ModulePass]:
    from riselang.lowering.resolve_rise_access import ResolveRiseAccessPass

    return ResolveRiseAccessPass


def _approximate() -> type[ModulePass]:
    from riselang.lowering.approximate_math import ApproximateMathPass

    return ApproximateMathPass


def _calls() -> type[ModulePass]:
    from riselang.lowering.convert_math_to_calls import ConvertMathToCallsPass

    return ConvertMathToCallsPass


def _contract() -> type[ModulePass]:
    from riselang.lowering.contract_rise_floats import ContractRiseFloatsPass

    return ContractRiseFloatsPass


def _polyhedral() -> type[ModulePass]:
    from riselang.lowering.plan_polyhedral import PlanPolyhedralPass

    return PlanPolyhedralPass


def _raise() -> type[ModulePass]:
    from riselang.lowering.raise_to_library_calls import RaiseToLibraryCallsPass

    return RaiseToLibraryCallsPass


def _poll() -> type[ModulePass]:
    from riselang.lowering.poll_signals import PollSignalsPass

    return PollSignalsPass


def _kernels() -> type[ModulePass]:
    from riselang.lowering.gpu.outline_gpu_kernels import OutlineGpuKernelsPass

    return OutlineGpuKernelsPass


def _rewrite() -> type[ModulePass]:
    from riselang.lowering.rise_rewrite import RiseRewritePass

    return RiseRewritePass


def _stablehlo() -> type[ModulePass]:
    from riselang.frontends.stablehlo.convert_stablehlo_to_rise import ConvertStablehloToRisePass

    return ConvertStablehloToRisePass


def _inline() -> type[ModulePass]:
    from riselang.transforms.inline import InlinePass

    return InlinePass


def _symbol_dce() -> type[ModulePass]:
    from riselang.transforms.symbol_dce import SymbolDcePass

    return SymbolDcePass


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "convert-rise-to-imperative": _imperative,
    "resolve-rise-access": _access,
    "approximate-math": _approximate,
    "convert-math-to-calls": _calls,
    "contract-rise-floats": _contract,
    "plan-polyhedral": _polyhedral,
    "raise-to-library-calls": _raise,
    "poll-signals": _poll,
    "outline-gpu-kernels": _kernels,
    "rise-rewrite": _rewrite,
    "convert-stablehlo-to-rise": _stablehlo,
    "inline": _inline,
    "symbol-dce": _symbol_dce,
}


def _native() -> type[Target]:
    from riselang.dialects.native_form import NativeTarget

    return NativeTarget


RISE_UNIVERSE = Universe(
    all_dialects={"rise": _dialect}, all_passes=PASSES, all_targets={"native": _native}
)
