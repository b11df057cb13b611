"""The table of StableHLO ops, generated from their registry."""

from __future__ import annotations

from riselang.frontends.stablehlo.supported import supported_ops


def table() -> str:
    rows = ["| op | becomes |", "|---|---|"]
    rows += [f"| `{each.name}` | {each.summary} |" for each in supported_ops()]
    return "\n".join(rows)
