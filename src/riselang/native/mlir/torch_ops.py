"""Works around known errors in the MLIR passes from the torch dialect to StableHLO."""

from __future__ import annotations

import re
from typing import Any

from riselang.support.errors import LimitationError, SourceLocation

_FILE = re.compile(r'"(?P<file>[^"]*)":(?P<line>\d+):(?P<column>\d+)')
_FLOATS = re.compile(r",b?f\d+>$")


def check_torch(ir: Any, module: Any) -> None:
    """Report PyTorch ops that are converted incorrectly."""
    for op in _ops_with_prefix(ir, module, "torch.aten.fmod."):
        if _FLOATS.search(str(op.results[0].type)):
            raise LimitationError(
                f"{op.name} of floats is not supported, since MLIR's conversion of it is not "
                "exact; use torch.remainder",
                _location(op),
            )


def fix_remainder_signs(ir: Any, module: Any) -> None:
    """Give remainders the sign of the divisor, as in Python.

    `torch.aten.remainder` has this sign, but becomes `stablehlo.remainder`, which has the sign of
    the dividend. No other PyTorch or ONNX op becomes a remainder of negative numbers.
    """
    for op in _ops_with_prefix(ir, module, "stablehlo.remainder"):
        _fix_remainder_sign(ir, op)


def _fix_remainder_sign(ir: Any, op: Any) -> None:
    type = op.results[0].type
    element = str(type.element_type)
    if element.startswith("ui"):
        return
    flag = ir.RankedTensorType.get(type.shape, ir.IntegerType.get_signless(1))
    number = "0.0" if "f" in element else "0"
    with ir.InsertionPoint(op), op.location:

        def create(name: str, operands: list[Any], result: Any, **attributes: str) -> Any:
            parsed = {key: ir.Attribute.parse(text) for key, text in attributes.items()}
            return ir.Operation.create(f"stablehlo.{name}", [result], operands, parsed).results[0]

        def compare(left: Any, right: Any, how: str) -> Any:
            direction = f"#stablehlo<comparison_direction {how}>"
            return create("compare", [left, right], flag, comparison_direction=direction)

        divisor = op.operands[1]
        remainder = op.clone().results[0]
        zero = create("constant", [], type, value=f"dense<{number}> : {type}")
        signs = [compare(each, zero, "LT") for each in (remainder, divisor)]
        is_other = create("xor", signs, flag)
        is_wrong = create("and", [is_other, compare(remainder, zero, "NE")], flag)
        sum = create("add", [remainder, divisor], type)
        fixed = create("select", [is_wrong, sum, remainder], type)
    op.results[0].replace_all_uses_with(fixed)
    op.erase()


def _ops_with_prefix(ir: Any, module: Any, start: str) -> list[Any]:
    ops: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name.startswith(start):
            ops.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return ops


def _location(op: Any) -> SourceLocation | None:
    match = _FILE.search(str(op.location))
    if match is None:
        return None
    return SourceLocation(match["file"], int(match["line"]), max(1, int(match["column"])))
