"""The table of StableHLO ops, made from their registry."""

from __future__ import annotations

from riselang.frontends.stablehlo.supported import entries


def table() -> str:
    rows = ["| op | becomes |", "|---|---|"]
    rows += [f"| `{each.name}` | {each.summary} |" for each in entries()]
    return "\n".join(rows)
