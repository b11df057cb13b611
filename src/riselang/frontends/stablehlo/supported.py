"""The table of supported ops."""

from __future__ import annotations

from importlib import import_module

from riselang.frontends.stablehlo.elements import ELEMENTS
from riselang.frontends.stablehlo.registry import ENTRIES, Entry

EXPANDED = (
    "chlo.acosh", "chlo.asinh", "chlo.atanh", "chlo.bessel_i1e", "chlo.digamma", "chlo.erf_inv",
    "chlo.erfc", "chlo.is_inf", "chlo.is_neg_inf", "chlo.is_pos_inf", "chlo.lgamma",
    "chlo.polygamma", "chlo.square", "chlo.top_k", "chlo.zeta",
)  # fmt: skip
"""CHLO ops that MLIR expands to StableHLO ops before lowering."""


def entries() -> list[Entry]:
    """Return the supported ops, sorted by name."""
    # Importing the modules registers the ops.
    import_module("riselang.frontends.stablehlo.lowering")
    expanded = [Entry(name, "StableHLO ops") for name in EXPANDED]
    calls = Entry("func.call", "the body of the function")
    composite = Entry("stablehlo.composite", "the body of its decomposition")
    found = {each.name: each for each in (*ENTRIES.values(), *expanded, calls, composite)}
    return [found[name] for name in sorted(found)]


def supported_table() -> str:
    """Format one line for each op, and the element types."""
    lines = [f"{each.name:34} {each.summary.replace('`', '')}" for each in entries()]
    return "\n".join([*lines, "", f"elements: {' '.join(ELEMENTS)}", ""])
