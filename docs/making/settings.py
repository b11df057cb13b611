"""The table of settings, made from the one that the code reads."""

from __future__ import annotations

from riselang.config import SETTINGS


def table() -> str:
    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for setting in SETTINGS:
        default = f"`{setting.default}`" if setting.default else ""
        rows.append(f"| `{setting.variable}` | {default} | {setting.summary} |")
    return "\n".join(rows)
