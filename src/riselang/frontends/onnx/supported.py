"""The table of supported ops."""

from __future__ import annotations

from riselang.frontends.onnx.importer import load_ops
from riselang.frontends.onnx.registry import OPS, SupportedOp


def supported_ops() -> list[SupportedOp]:
    """Return the ops with a conversion, sorted by domain and name."""
    load_ops()
    return [OPS[key] for key in sorted(OPS)]
