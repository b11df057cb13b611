"""PyTorch modules, converted to StableHLO by torch.export and the importer of the MLIR wheel.

The passes of the wheel run in a worker process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riselang.api.specs import ArraySpec
from riselang.dialects.rise.types import ScalarType
from riselang.frontends.framework_types import constant_shape
from riselang.frontends.frameworks import import_framework
from riselang.frontends.stablehlo.model.model_reader import read_model
from riselang.native.mlir.torch_modules import (
    TORCH_PASSES,
    convert_to_stablehlo,
    export_torch_module,
)
from riselang.support.errors import LimitationError

FRONT_END = "from_torch"


def read_torch(module: Any, arguments: Sequence[Any], choices: dict[str, Any]) -> Any:
    """Create the model of a module for arguments like these; its weights are constants."""
    torch = import_framework("torch", "torch", FRONT_END)
    given = [_example_tensor(torch, each) for each in arguments]
    try:
        with torch.no_grad():
            exported = export_torch_module(module, given)
    except Exception as error:  # from PyTorch, torch-mlir or the module itself: any type
        raise LimitationError(
            f"{FRONT_END}: PyTorch cannot export the module: {failure_reason(error)}"
        ) from error
    text = convert_to_stablehlo(exported, TORCH_PASSES, FRONT_END)
    return read_model(text, name="<torch>", **choices)


def failure_reason(error: Exception) -> str:
    """The first line of the message of an error."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else repr(error)


def _example_tensor(torch: Any, value: Any) -> Any:
    if isinstance(value, ArraySpec | ScalarType):
        shape, dtype = constant_shape(value, FRONT_END)
        return torch.zeros(shape, dtype=getattr(torch, np.dtype(dtype).name))
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value
