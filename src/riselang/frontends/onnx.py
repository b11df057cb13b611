"""ONNX models, converted to StableHLO by the importer of the MLIR wheel in a worker process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riselang.frontends.frameworks import require_framework
from riselang.frontends.stablehlo.model.model_reader import read_model
from riselang.native.mlir.onnx_models import import_onnx
from riselang.native.mlir.torch_modules import ONNX_PASSES, convert_to_stablehlo
from riselang.support.errors import UserError

FRONT_END = "from_onnx"


def read_onnx(source: str | Path | bytes | Any, choices: dict[str, Any]) -> Any:
    """Read the model in a file, in bytes, or an `onnx.ModelProto`; its weights are constants."""
    require_framework("onnx", "onnx", FRONT_END)
    module = import_onnx(_path_or_bytes(source), FRONT_END)
    return read_model(
        convert_to_stablehlo(module, ONNX_PASSES, FRONT_END), name="<onnx>", **choices
    )


def _path_or_bytes(source: Any) -> str | bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, str | Path):
        return str(Path(source).absolute())
    if not hasattr(source, "SerializeToString"):
        raise UserError(
            f"{FRONT_END}: expected a path, bytes or an onnx.ModelProto, "
            f"found {type(source).__name__}"
        )
    try:
        return source.SerializeToString()
    except ValueError as error:
        raise UserError(
            f"{FRONT_END}: the model is too large to be passed ({error}); save it to a file, with "
            "its weights in another one, and pass its path"
        ) from None
