"""Checks and rewrites ONNX ops in torch dialect modules before the MLIR wheel converts them.

Ops that the wheel's passes are known to convert incorrectly are rewritten to other ops, or reported
as unsupported; so are element types on which the passes crash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from riselang.support.errors import LimitationError

SUPPORTED_TYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i1": "bool",
    "si8": "int8", "si16": "int16", "si32": "int32", "si64": "int64", "ui8": "uint8",
    "ui32": "uint32",
}  # fmt: skip
"""The supported element types: their names in MLIR and in ONNX."""
_UNSUPPORTED_TYPES = {
    "ui16": "uint16", "ui64": "uint64", "ui4": "uint4", "si4": "int4", "!torch.str": "string",
    "f8E4M3FN": "float8e4m3fn", "f8E4M3FNUZ": "float8e4m3fnuz", "f8E5M2": "float8e5m2",
    "f8E5M2FNUZ": "float8e5m2fnuz",
}  # fmt: skip
_TENSOR = re.compile(r"^!torch\.vtensor<(?:\[[^\]]*\],)?(?P<element>.*)>$")
_UNSUPPORTED_CONTAINERS = {"!torch.list<": "sequence", "!torch.optional<": "optional"}
_INT32 = 6
"""ONNX's number for the element type int32."""
_FLOAT = re.compile(r",b?f\d+>$")
_NODE = re.compile(r'loc\("(?P<name>[^"]+)"')


class Node:
    """An ONNX op in a module."""

    def __init__(self, ir: Any, op: Any):
        self._ir = ir
        self.op = op
        self.kind: str = op.attributes["name"].value.removeprefix("onnx.")

    @property
    def label(self) -> str:
        match = _NODE.match(str(self.op.location))
        return f"{self.kind} of the node '{match['name']}'" if match else self.kind

    @property
    def types(self) -> list[str]:
        return [str(each.type) for each in (*self.op.operands, *self.op.results)]

    def integer(self, attribute: str, default: int) -> int:
        name = f"torch.onnx.{attribute}"
        return self.op.attributes[name].value if name in self.op.attributes else default

    def integers(self, attribute: str) -> list[int]:
        """Return an attribute that is a list of integers; empty if it is absent."""
        name = f"torch.onnx.{attribute}"
        attributes = self.op.attributes
        return [each.value for each in attributes[name]] if name in attributes else []

    def text(self, attribute: str, default: str) -> str:
        name = f"torch.onnx.{attribute}"
        return self.op.attributes[name].value if name in self.op.attributes else default

    def set_integers(self, attribute: str, values: Sequence[int]) -> None:
        signed = self._ir.IntegerType.get_signed(64)
        elements = [self._ir.IntegerAttr.get(signed, value) for value in values]
        self.op.attributes[f"torch.onnx.{attribute}"] = self._ir.ArrayAttr.get(elements)

    def remove(self, attribute: str) -> None:
        del self.op.attributes[f"torch.onnx.{attribute}"]

    def add(self, kind: str, operands: list[Any], type: Any, **numbers: int) -> Any:
        """Insert an op before this one, and return its result."""
        return self._add_op({}, kind, operands, type, numbers)

    def add_like(self, kind: str, operands: list[Any], type: Any, **numbers: int) -> Any:
        """Insert an op with the attributes of this one before it, and return its result."""
        attributes = {name: self.op.attributes[name] for name in self.op.attributes}
        return self._add_op(attributes, kind, operands, type, numbers)

    def _add_op(
        self,
        attributes: dict[str, Any],
        kind: str,
        operands: list[Any],
        type: Any,
        numbers: dict[str, int],
    ) -> Any:
        ir = self._ir
        signed = ir.IntegerType.get_signed(64)
        for name, value in numbers.items():
            attributes[f"torch.onnx.{name}"] = ir.IntegerAttr.get(signed, value)
        attributes["name"] = ir.StringAttr.get(f"onnx.{kind}")
        with ir.InsertionPoint(self.op), self.op.location:
            return ir.Operation.create("torch.operator", [type], operands, attributes).results[0]

    def replace(self, *values: Any) -> None:
        for result, value in zip(self.op.results, values, strict=False):
            result.replace_all_uses_with(value)
        self.op.erase()


def prepare_onnx(ir: Any, module: Any) -> None:
    """Report or rewrite ops on which the passes crash, or which they convert incorrectly."""
    nodes: list[Node] = []

    def visit(op: Any) -> Any:
        if op.name == "torch.operator" and op.attributes["name"].value.startswith("onnx."):
            nodes.append(Node(ir, op))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for node in nodes:
        _check_types(node)
        if node.kind in _CHECKS and (reason := _CHECKS[node.kind](node)):
            raise LimitationError(f"the op {node.label} is not supported {reason}")
    for node in nodes:
        if node.kind in _REWRITES:
            _REWRITES[node.kind](node)


def _check_types(node: Node) -> None:
    for type in node.types:
        tensor = _TENSOR.match(type)
        element = tensor["element"] if tensor else ""
        name = _UNSUPPORTED_TYPES.get(element) or next(
            (each for start, each in _UNSUPPORTED_CONTAINERS.items() if type.startswith(start)),
            None,
        )
        if name is not None:
            raise LimitationError(
                f"the op {node.label} takes or returns {name} values, which are not supported; "
                f"use one of the types {', '.join(SUPPORTED_TYPES.values())}"
            )


def _rewrite_mod(node: Node) -> None:
    """Rewrite `fmod` of floats, which is exact; the passes lose digits of large quotients."""
    x, y = node.op.operands
    type = node.op.results[0].type
    if not node.integer("fmod", 0) or not _FLOAT.search(str(type)):
        return
    sizes = [node.add("Abs", [each], each.type) for each in (x, y)]
    remainder = node.add("Mod", sizes, type, fmod=0)
    is_negative = node.add(
        "Less", [x, node.add("Sub", [x, x], x.type)], _with_element_type(x.type, "i1")
    )
    node.replace(
        node.add("Where", [is_negative, node.add("Neg", [remainder], type), remainder], type)
    )


def _rewrite_bool_reduction(node: Node) -> None:
    """Rewrite Boolean max and min as those of integers; the passes confuse them."""
    x, type = node.op.operands[0], node.op.results[0].type
    if not str(type).endswith(",i1>"):
        return
    operands = [node.add("Cast", [x], _with_element_type(x.type, "si32"), to=_INT32)]
    number = _with_element_type(type, "si32")
    reduced = node.add_like(node.kind, [*operands, *node.op.operands[1:]], number)
    # For an empty reduction, the result is the smallest or largest integer.
    node.replace(node.add("Greater", [reduced, node.add("Sub", [reduced, reduced], number)], type))


def _rewrite_lp_normalization(node: Node) -> None:
    """Keep zeros as zeros, even if the norm is zero."""
    (x,) = node.op.operands
    zero = node.add("Sub", [x, x], x.type)
    is_zero = node.add("Equal", [x, zero], _with_element_type(x.type, "i1"))
    scaled = node.add_like(node.kind, [x], x.type)
    node.replace(node.add("Where", [is_zero, zero, scaled], x.type))


def _rewrite_cross_entropy(node: Node) -> None:
    """Divide a weighted mean by the sum of the weights; the passes divide by zero."""
    if len(node.op.operands) < 3 or node.text("reduction", "mean") != "mean":
        return
    x, labels, weights = node.op.operands
    logarithms = node.add("LogSoftmax", [x], x.type, axis=1)
    operands = [logarithms, labels, weights]
    loss = node.add_like("NegativeLogLikelihoodLoss", operands, node.op.results[0].type)
    node.replace(loss, logarithms)


def _rewrite_max_pool(node: Node) -> None:
    """Replace `ceil_mode` by padding at the end; the passes shift the windows to the left."""
    if not node.integer("ceil_mode", 0):
        return
    kernel, pads = node.integers("kernel_shape"), node.integers("pads")
    rank = len(kernel)
    lengths, results = (
        _shape(each.type)[-rank:] for each in (node.op.operands[0], node.op.results[0])
    )
    if node.text("auto_pad", "NOTSET") != "NOTSET" or None in (*lengths, *results):
        raise LimitationError(
            f"the op {node.label} is not supported with ceil_mode=1 and auto_pad, or lengths that "
            "are not known; specify its pads, and fix the lengths of the inputs of the model"
        )
    ones = [1] * rank
    pads_before, pads_after = pads[:rank] or [0] * rank, pads[rank:] or [0] * rank
    steps, dilations = node.integers("strides") or ones, node.integers("dilations") or ones
    for dimension in range(rank):
        length, count = lengths[dimension] or 0, results[dimension] or 0
        end = (count - 1) * steps[dimension] + (kernel[dimension] - 1) * dilations[dimension] + 1
        pads_after[dimension] = max(pads_after[dimension], end - length - pads_before[dimension])
    node.set_integers("pads", [*pads_before, *pads_after])
    node.remove("ceil_mode")


def _shape(type: Any) -> list[int | None]:
    match = re.match(r"!torch\.vtensor<\[([^\]]*)\]", str(type))
    lengths = match[1].split(",") if match and match[1] else []
    return [None if length == "?" else int(length) for length in lengths]


def _with_element_type(type: Any, element: str) -> Any:
    text = str(type)
    shape = text[: text.rindex(",") + 1] if "," in text else "!torch.vtensor<"
    return type.parse(f"{shape}{element}>", type.context)


def _check_pool(node: Node) -> str:
    """Report dilations, which the passes ignore, and 3D norms, which they scale incorrectly."""
    if any(each != 1 for each in node.integers("dilations")):
        return "with dilations, which MLIR's conversion ignores"
    is_deep = node.kind == "LpPool" and len(node.integers("kernel_shape")) > 2
    return "in three dimensions, which MLIR scales wrongly" if is_deep else ""


def _check_space_to_depth(node: Node) -> str:
    is_other = node.text("mode", "DCR") != "DCR"
    return "with another mode than DCR, which MLIR's conversion ignores" if is_other else ""


def _check_grid_sample(node: Node) -> str:
    is_nearest = node.text("mode", "linear") == "nearest"
    return "with mode='nearest', which MLIR rounds otherwise; use 'linear'" if is_nearest else ""


_CHECKS: dict[str, Callable[[Node], str]] = {
    "AveragePool": _check_pool,
    "GridSample": _check_grid_sample,
    "LpPool": _check_pool,
    "SpaceToDepth": _check_space_to_depth,
}
"""Functions that return why an op is not supported, or an empty string."""
_REWRITES: dict[str, Callable[[Node], None]] = {
    "LpNormalization": _rewrite_lp_normalization,
    "MaxPool": _rewrite_max_pool,
    "Mod": _rewrite_mod,
    "ReduceMax": _rewrite_bool_reduction,
    "ReduceMin": _rewrite_bool_reduction,
    "SoftmaxCrossEntropyLoss": _rewrite_cross_entropy,
}
