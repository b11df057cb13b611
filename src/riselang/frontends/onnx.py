"""ONNX models: the importer of the MLIR wheel makes StableHLO of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riselang.errors import LimitationError, UserError
from riselang.frontends.frameworks import framework
from riselang.frontends.stablehlo.reading import read_model

WHAT = "from_onnx"
PASSES = (
    "func.func(convert-torch-onnx-to-torch)",
    "torch-lower-to-backend-contract",
    "torch-backend-to-stablehlo-backend-pipeline",
)


def read_onnx(source: str | Path | bytes | Any, choices: dict[str, Any]) -> Any:
    """The model in a file, in bytes, or an `onnx.ModelProto`; its weights are constants."""
    onnx = framework("onnx", "onnx", WHAT)
    inference = framework("onnx.shape_inference", "onnx", WHAT)
    proto = inference.infer_shapes(_proto(onnx, source))
    return read_model(_stablehlo(proto), name="<onnx>", **choices)


def _proto(onnx: Any, source: Any) -> Any:
    try:
        if isinstance(source, bytes):
            return onnx.load_model_from_string(source)
        if isinstance(source, str | Path):
            return onnx.load(str(source))
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror}") from None
    except Exception as error:
        raise UserError(f"this is no ONNX model: {error}") from None
    return source


def _stablehlo(proto: Any) -> str:
    ir = framework("torch_mlir.ir", "onnx", WHAT)
    manager = framework("torch_mlir.passmanager", "onnx", WHAT)
    importer = framework("torch_mlir.extras.onnx_importer", "onnx", WHAT)
    dialect = framework("torch_mlir.dialects.torch", "onnx", WHAT)
    context = ir.Context()
    dialect.register_dialect(context)
    info = importer.ModelInfo(proto)
    module = info.create_module(context=context)
    try:
        importer.NodeImporter.define_function(info.main_graph, module.operation).import_all()
        with context:
            passes = manager.PassManager.parse(f"builtin.module({','.join(PASSES)})")
            passes.run(module.operation)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if "error:" in line] or [str(error)]
        raise LimitationError(f"{WHAT}: the model cannot become StableHLO: {lines[0]}") from None
    return str(module)
