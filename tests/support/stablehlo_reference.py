"""What StableHLO's own interpreter, which comes with the MLIR wheel, computes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def evaluate(text: str, arguments: Sequence[Any]) -> list[Any]:
    """The results of `main`; a module that the interpreter does not know takes the process down."""
    ir: Any = importlib.import_module("torch_mlir.ir")
    stablehlo: Any = importlib.import_module("torch_mlir._mlir_libs._stablehlo")
    context = ir.Context()
    stablehlo.register_dialect(context)
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        found = stablehlo.eval_module(module, [_dense(ir, each) for each in arguments])
        return [np.array(each) for each in found]


def _dense(ir: Any, array: Any) -> Any:
    if array.dtype == np.bool_:
        type = ir.RankedTensorType.get(array.shape, ir.IntegerType.get_signless(1))
        if array.size == 0:
            # MLIR takes no empty list of attributes.
            return ir.Attribute.parse(f"dense<> : {type}")
        attributes = [ir.BoolAttr.get(bool(each)) for each in array.reshape(-1)]
        return ir.DenseElementsAttr.get(attributes, type)
    if array.dtype.kind == "u":
        type = ir.IntegerType.get_unsigned(array.dtype.itemsize * 8)
        return ir.DenseElementsAttr.get(array, type=type)
    return ir.DenseElementsAttr.get(np.asarray(array, order="C"))
