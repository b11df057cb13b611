"""The table of ONNX ops, generated from their registry."""

from __future__ import annotations

from riselang.frontends.onnx.supported import supported_ops


def table() -> str:
    rows = ["| op | becomes |", "|---|---|"]
    rows += [
        f"| `{'.'.join(filter(None, (each.domain, each.name)))}` | {each.summary} |"
        for each in supported_ops()
    ]
    return "\n".join(rows)
