"""Imports ONNX models to MLIR's torch dialect, in a worker process.

Each node becomes a `torch.operator` named `onnx.OP`, whose location is the node's name.
"""

from __future__ import annotations

import importlib
import io
import re
import warnings
from collections.abc import Iterator
from typing import Any

from riselang.native.mlir.bindings import torch_wheel
from riselang.native.workers.subprocess_worker import WorkerDied, call_isolated
from riselang.support.errors import LimitationError, UserError

ONNX_DOMAINS = ("", "ai.onnx")


def import_onnx(source: str | bytes, what: str) -> bytes:
    """Import a model, given by its bytes or the path of its file, and return its bytecode."""
    try:
        return call_isolated(_import_model, source, what)
    except WorkerDied as error:
        raise LimitationError(
            f"{what}: the ONNX importer crashes on the model ({error}); check it with onnx.checker"
        ) from None


def _import_model(source: str | bytes, what: str) -> bytes:
    onnx: Any = importlib.import_module("onnx")
    proto = _infer_types(onnx, _normalize_names(_load_model(onnx, source)), what)
    _check_domains(proto.graph, what)
    wheel = torch_wheel()
    importer: Any = importlib.import_module("torch_mlir.extras.onnx_importer")
    context = wheel.ir.Context()
    wheel.torch.register_dialect(context)
    info = importer.ModelInfo(proto)
    module = info.create_module(context=context)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importer.NodeImporter.define_function(info.main_graph, module.operation).import_all()
    except Exception as error:
        # The importer raises its own error, but also KeyError and others for unexpected input.
        reason = _format_reason(onnx, str(error).strip() or repr(error))
        if "Non topologically" in reason:
            raise UserError(f"{what}: the model is not valid: {reason}") from None
        raise LimitationError(f"{what}: the model cannot be imported: {reason}") from None
    data = io.BytesIO()
    module.operation.write_bytecode(data)
    return data.getvalue()


def _format_reason(onnx: Any, error: str) -> str:
    """Return the first line of an importer's error, with the names of types."""
    unknown = re.fullmatch(r"Unknown ONNX tensor element type: (\d+)", error)
    if unknown is None:
        return error.splitlines()[0]
    name = onnx.TensorProto.DataType.Name(int(unknown[1])).lower()
    return f"{name} values are not supported"


def _load_model(onnx: Any, source: str | bytes) -> Any:
    try:
        if isinstance(source, bytes):
            return onnx.load_model_from_string(source)
        return onnx.load(source)
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror or error}") from None
    except Exception as error:
        # The parsers of the file formats raise errors without a common base class.
        raise UserError(f"this is not an ONNX model: {error}") from None


def _infer_types(onnx: Any, proto: Any, what: str) -> Any:
    """Inline the model's own functions, and infer the types of all values."""
    if any(each.data_location == onnx.TensorProto.EXTERNAL for each in proto.graph.initializer):
        raise UserError(f"{what}: the weights are in another file; pass the path of the model")
    try:
        if proto.functions:
            proto = importlib.import_module("onnx.inliner").inline_local_functions(proto)
        inference = importlib.import_module("onnx.shape_inference")
        return inference.infer_shapes(proto, check_type=True)
    except Exception as error:
        # The errors of the inliner and of shape inference have no common base class.
        reason = " ".join(str(error).split())
        raise UserError(f"{what}: the model is not valid: {reason}") from None


def _all_nodes(graph: Any) -> Iterator[Any]:
    """Iterate over all nodes, including those of graphs in attributes."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _all_nodes(inner)


def _normalize_names(proto: Any) -> Any:
    """Name all nodes of a model, and normalize the name of ONNX's own domain.

    A node without a name gets the name of its first result.
    """
    for node in _all_nodes(proto.graph):
        node.name = node.name or next(filter(None, node.output), "")
        if node.domain in ONNX_DOMAINS:
            node.domain = ""
    for opset in proto.opset_import:
        if opset.domain in ONNX_DOMAINS:
            opset.domain = ""
    return proto


def _check_domains(graph: Any, what: str) -> None:
    """Report ops of other domains, which the importer would confuse with ONNX's own ops."""
    for node in _all_nodes(graph):
        if node.domain:
            raise LimitationError(
                f"{what}: the op {node.op_type} of the node '{node.name}' is from the domain "
                f"{node.domain}, and only ONNX's own ops are supported; compute it outside of the "
                "model, or define it as a function in the model"
            )
