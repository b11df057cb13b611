"""The front end of ONNX models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riselang.api.lowered import resolve_strategy
from riselang.frontends.frameworks import require_framework
from riselang.frontends.onnx.model import make_onnx_model
from riselang.frontends.onnx.reading import FRONT_END, load_proto
from riselang.frontends.stablehlo.model.origin import ModelOrigin, model_options
from riselang.rewrite.default import DEFAULT
from riselang.support.errors import UserError
from riselang.support.recursion import with_deep_stack


@with_deep_stack
def read_onnx(source: str | Path | bytes | Any, choices: dict[str, Any]) -> Any:
    """Read the model in a file, in bytes, or an `onnx.ModelProto`; its weights are constants."""
    require_framework("onnx", "onnx", FRONT_END)
    proto = load_proto(source)
    choices = dict(choices)
    if choices.pop("fallback", None) is not None:
        raise UserError(f"{FRONT_END}: there is no fallback for ops of ONNX")
    backend = choices.pop("backend", "compile")
    strategy = resolve_strategy(choices.pop("strategy", None), DEFAULT)
    try:
        content = source if isinstance(source, bytes) else proto.SerializeToString()
    except ValueError as error:
        raise UserError(f"{FRONT_END}: the model is too large ({error})") from None
    origin = ModelOrigin(content, "<onnx>", reader="onnx")
    return make_onnx_model(origin, backend, model_options(**choices), strategy, proto)
