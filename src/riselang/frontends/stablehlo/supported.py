"""The table of supported ops."""

from __future__ import annotations

from importlib import import_module

from riselang.frontends.stablehlo.elements import ELEMENT_TYPES
from riselang.frontends.stablehlo.registry import SUPPORTED_OPS, SupportedOp

EXPANDED_CHLO_OPS = (
    "chlo.acosh", "chlo.asinh", "chlo.atanh", "chlo.bessel_i1e", "chlo.digamma", "chlo.erf_inv",
    "chlo.erfc", "chlo.is_inf", "chlo.is_neg_inf", "chlo.is_pos_inf", "chlo.lgamma",
    "chlo.polygamma", "chlo.square", "chlo.top_k", "chlo.zeta",
)  # fmt: skip
"""CHLO ops that MLIR expands to StableHLO ops before lowering."""


def supported_ops() -> list[SupportedOp]:
    """Return the supported ops, sorted by name."""
    # Importing the modules registers the ops.
    import_module("riselang.frontends.stablehlo.lowering")
    expanded = [SupportedOp(name, "simpler StableHLO ops") for name in EXPANDED_CHLO_OPS]
    calls = SupportedOp("func.call", "the body of the function, inlined")
    composite = SupportedOp("stablehlo.composite", "the body of its decomposition, inlined")
    found = {each.name: each for each in (*SUPPORTED_OPS.values(), *expanded, calls, composite)}
    return [found[name] for name in sorted(found)]


def format_supported_ops() -> str:
    """Format one line for each op, and the element types."""
    lines = [f"{each.name:34} {each.summary.replace('`', '')}" for each in supported_ops()]
    return "\n".join([*lines, "", f"elements: {' '.join(ELEMENT_TYPES)}", ""])
