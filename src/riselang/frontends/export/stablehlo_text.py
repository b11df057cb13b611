"""Printing StableHLO functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from riselang.native.mlir.stablehlo_graph import (
    GraphBlock,
    GraphFunction,
    GraphOp,
    GraphValue,
)
from riselang.support.errors import LimitationError

_ENUMS = ("comparison_direction",)
_DIMENSION_NUMBERS: Mapping[str, tuple[str, str]] = {
    "stablehlo.dot_general": ("dot_dimension_numbers", "dot"),
    "stablehlo.gather": ("dimension_numbers", "gather"),
}
"""The attribute with the numbers of dimensions, and its name in StableHLO."""
_NO_RANGES = ("operand_batching_dims", "start_indices_batching_dims")


class Printer:
    def __init__(self) -> None:
        self.names: dict[GraphValue, str] = {}

    def name(self, value: GraphValue) -> str:
        if value not in self.names:
            self.names[value] = f"%{len(self.names)}"
        return self.names[value]

    def function(self, function: GraphFunction) -> str:
        arguments = ", ".join(f"{self.name(x)}: {x.type}" for x in function.body.arguments)
        results = [str(x.type) for x in function.body.operations[-1].operands]
        lines = self.operations(function.body, "    ")
        head = f"  func.func public @main({arguments}) -> ({', '.join(results)}) {{"
        return "\n".join([f"module @{function.name} {{", head, *lines, "  }", "}", ""])

    def operations(self, block: GraphBlock, indent: str) -> list[str]:
        return [line for op in block.operations for line in self.operation(op, indent)]

    def operation(self, op: GraphOp, indent: str) -> list[str]:
        operands = ", ".join(map(self.name, op.operands))
        results = ", ".join(map(self.name, op.results))
        name = op.name
        types = ", ".join(str(x.type) for x in op.operands)
        if name in ("func.return", "stablehlo.return"):
            return [f'{indent}"{name}"({operands}) : ({types}) -> ()']
        outputs = ", ".join(str(x.type) for x in op.results)
        attributes = ", ".join(
            f"{key} = {_attribute(op, key, value)}" for key, value in op.attributes.items()
        )
        shown = f" <{{{attributes}}}>" if attributes else ""
        head = f'{indent}{results} = "{name}"({operands}){shown}'
        signature = f" : ({types}) -> ({outputs})"
        if not op.regions:
            return [head + signature]
        lines = [f"{head} ("]
        for number, region in enumerate(op.regions):
            arguments = ", ".join(f"{self.name(x)}: {x.type}" for x in region.arguments)
            lines += [f"{indent}{{", f"{indent}^bb0({arguments}):"]
            lines += self.operations(region, f"{indent}  ")
            lines.append(f"{indent}}}" + ("," if number + 1 < len(op.regions) else ""))
        return [*lines, f"{indent}){signature}"]


def _attribute(op: GraphOp, key: str, value: Any) -> str:
    if op.name in _DIMENSION_NUMBERS and key == _DIMENSION_NUMBERS[op.name][0]:
        return _numbers(_DIMENSION_NUMBERS[op.name][1], value)
    if key in _ENUMS:
        return f"#stablehlo<{key} {value}>"
    if isinstance(value, np.ndarray):
        return _constant(value, str(op.results[0].type))
    if isinstance(value, tuple):
        numbers: tuple[Any, ...] = value
        listed = ", ".join(map(str, numbers))
        return f"array<i64: {listed}>" if numbers else "array<i64>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value} : i64"
    raise LimitationError(f"the attribute {key} of {op.name} cannot be printed")


def _numbers(kind: str, value: Mapping[str, Any]) -> str:
    shown = ", ".join(
        f"{key} = {list(part) if isinstance(part, tuple) else part}" for key, part in value.items()
    )
    return f"#stablehlo.{kind}<{shown}>"


def _constant(array: np.ndarray[Any, Any], type: str) -> str:
    if not array.size:
        return f"dense<> : {type}"
    if array.dtype == np.bool_:
        listed = np.array2string(array, separator=", ", threshold=array.size + 1)
        return f"dense<{listed.lower()}> : {type}"
    data = np.ascontiguousarray(array).tobytes().hex().upper()
    return f'dense<"0x{data}"> : {type}'


def print_function(function: GraphFunction) -> str:
    return Printer().function(function)
