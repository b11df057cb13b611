"""Converts torch dialect modules, imported from PyTorch and ONNX models, to StableHLO.

The MLIR passes for this abort on some modules, so they run in a worker process.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riselang.native.mlir.bindings import torch_wheel
from riselang.native.mlir.onnx_ops import prepare_onnx
from riselang.native.mlir.torch_ops import check_torch, floor_remainders
from riselang.native.workers.subprocess_worker import Died, call_isolated
from riselang.support.errors import LimitationError, SourceLocation
from riselang.support.profiling import timed

TORCH = (
    "func.func(torch-match-quantized-custom-ops)",
    "torchdynamo-export-to-torch-backend-pipeline",
    "torch-backend-to-stablehlo-backend-pipeline",
)
"""Passes for modules from the FX importer of PyTorch."""
ONNX = (
    "func.func(convert-torch-onnx-to-torch)",
    "torch-lower-to-backend-contract",
    "torch-backend-to-stablehlo-backend-pipeline",
)
"""Passes for modules from the ONNX importer."""
_NO_CONVERSION = "has no conversion to StableHLO for these types and attributes"
_PLACE = re.compile(r'error: "(?P<name>[^"]*)"(?::(?P<line>\d+):(?P<column>\d+))?: (?P<rest>.*)')
_LEFT = re.compile(
    r"failed to legalize operation '(?P<op>[\w.]+)'"
    r'|marked as backend illegal\s+note: .*see current operation: [^"]*"(?P<illegal>[\w.]+)"'
)
_NAME = re.compile(r'<\{name = "(?P<name>[\w.]+)"')


class NotConverted(Exception):
    """A pass fails on the module: the reason, and the location in the model's source, if any."""

    def __init__(self, reason: str, location: SourceLocation | None, is_vague: bool = False):
        super().__init__(reason, location, is_vague)
        self.reason = reason
        self.location = location
        self.is_vague = is_vague
        """Whether the op that cannot be converted is not known."""


@dataclass(frozen=True)
class OneOp:
    """A module with a single op of another module."""

    label: str
    module: bytes


def convert_to_stablehlo(module: str | bytes, passes: Sequence[str], what: str) -> str:
    """Convert a module to StableHLO text; errors refer to the importer as `what`.

    If the passes crash, the error names the op that they crash on, if it can be isolated.
    """
    try:
        with timed("MLIR"):
            return call_isolated(_converted, module, passes)
    except NotConverted as error:
        reason = error.reason
        if error.is_vague and (op := _culprit(module, passes, NotConverted)):
            reason = f"{op} {_NO_CONVERSION}"
        message = f"{what}: the model cannot be converted: {reason}"
        raise LimitationError(message, error.location) from None
    except LimitationError as error:
        raise LimitationError(f"{what}: {error.message}", error.location) from None
    except Died as error:
        op = _culprit(module, passes, Died)
        where, advice = (
            (f" on {op}", "replace that op or its type in the model")
            if op
            else ("", "convert parts of the model to find the ops that they crash on")
        )
        raise LimitationError(
            f"{what}: the MLIR passes that convert the model crash{where} ({error}); {advice}"
        ) from None


def _culprit(module: str | bytes, passes: Sequence[str], failure: type[Exception]) -> str:
    """Return the first op that fails in this way in isolation, or an empty string."""
    try:
        for each in call_isolated(_ops_alone, module):
            try:
                call_isolated(_converted, each.module, passes)
            except (Died, NotConverted, LimitationError) as error:
                if isinstance(error, failure):
                    return each.label
    except Died:
        pass
    return ""


def _converted(source: str | bytes, passes: Sequence[str]) -> str:
    wheel, context = _started()
    with context, wheel.ir.Location.unknown():
        try:
            module = wheel.ir.Module.parse(source)
            if passes == ONNX:
                prepare_onnx(wheel.ir, module)
            else:
                check_torch(wheel.ir, module)
            for each in passes:
                wheel.passmanager.PassManager.parse(f"builtin.module({each})").run(module.operation)
        except wheel.ir.MLIRError as error:
            raise _refusal(str(error)) from None
        floor_remainders(wheel.ir, module)
        return str(module)


def _started() -> tuple[Any, Any]:
    wheel = torch_wheel()
    context = wheel.ir.Context()
    wheel.torch.register_dialect(context)
    return wheel, context


def _refusal(error: str) -> NotConverted:
    """Return the first diagnostic, in terms of the model's ops and nodes where possible."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    first = next((line for line in lines if "error:" in line), lines[0] if lines else "no reason")
    place, left = _PLACE.search(first), _LEFT.search(error)
    location, node = None, ""
    if place and place["line"]:
        column = max(1, int(place["column"]))
        location = SourceLocation(place["name"], int(place["line"]), column)
    elif place and place["name"]:
        node = f" of the node '{place['name']}'"
    if left is None:
        where = f" ({node.strip()})" if node else ""
        return NotConverted((place["rest"] if place else first) + where, location)
    op = left["op"] or left["illegal"]
    named = _NAME.search(first) if op == "torch.operator" else None
    op = (named["name"] if named else op).removeprefix("onnx.")
    if op.startswith(("torch.constant.", "torch.vtensor.literal")):
        # An op that uses an unconverted constant is not converted either.
        return NotConverted(f"an op {_NO_CONVERSION}", location, is_vague=True)
    return NotConverted(f"{op}{node} {_NO_CONVERSION}", location)


def _ops_alone(source: str | bytes) -> list[OneOp]:
    """Isolate each op of the main function in its own module, with its constant operands."""
    wheel, context = _started()
    ir = wheel.ir
    with context, ir.Location.unknown():
        module = ir.Module.parse(source)
        function = module.body.operations[0].operation
        found = dict[str, OneOp]()
        for each in function.regions[0].blocks[0].operations:
            op = each.operation
            if op.name.startswith("torch.") and len(op.operands) and not len(op.regions):
                found.setdefault(_kind(op), OneOp(_label(op), _alone(ir, function, op)))
        return list(found.values())


def _kind(op: Any) -> str:
    """Return the name, attributes and types of an op, which determine its conversion."""
    types = [str(each.type) for each in (*op.operands, *op.results)]
    attributes = [f"{name}={op.attributes[name]}" for name in op.attributes]
    return f"{op.name} {attributes} {types}"


def _label(op: Any) -> str:
    name = op.attributes["name"].value if "name" in op.attributes else op.name
    node = re.match(r'loc\("([^"]+)"', str(op.location))
    return name.removeprefix("onnx.") + (f" of the node '{node[1]}'" if node else "")


def _alone(ir: Any, function: Any, op: Any) -> bytes:
    module = ir.Module.create()
    is_constant = [_is_constant(each.owner) for each in op.operands]
    given = [each.type for each, is_one in zip(op.operands, is_constant, strict=True) if not is_one]
    type = ir.FunctionType.get(given, [each.type for each in op.results])
    attributes = {name: function.attributes[name] for name in function.attributes}
    attributes["function_type"] = ir.TypeAttr.get(type)
    with ir.InsertionPoint(module.body):
        made = ir.Operation.create("func.func", attributes=attributes, regions=1)
    block = made.regions[0].blocks.append(*given)
    arguments = iter(list(block.arguments))
    with ir.InsertionPoint(block):
        operands = [
            each.owner.clone().results[0] if is_one else next(arguments)
            for each, is_one in zip(op.operands, is_constant, strict=True)
        ]
        copy = op.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        ir.Operation.create("func.return", operands=list(copy.results))
    data = io.BytesIO()
    module.operation.write_bytecode(data)
    return data.getvalue()


def _is_constant(owner: Any) -> bool:
    """Whether the owner of a value is an op without operands, and not a block."""
    return hasattr(owner, "operands") and not len(owner.operands)
