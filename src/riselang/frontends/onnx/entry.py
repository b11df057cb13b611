"""The front end of ONNX models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riselang.frontends.frameworks import require_framework
from riselang.frontends.onnx import FRONT_END
from riselang.frontends.stablehlo.model.body import ModelBody
from riselang.frontends.stablehlo.model.model import Model
from riselang.frontends.stablehlo.model.model_file import ModelFile, hash_file
from riselang.frontends.stablehlo.model.origin import ModelOrigin, model_options, model_strategy
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.recursion import with_deep_stack

EXTERNAL_FIELD = b"location"
"""The name of a field of tensors whose data are in another file."""


@with_deep_stack
def read_onnx(source: str | Path | bytes | Any, choices: dict[str, Any]) -> Any:
    """Read the model in a file, in bytes, or an `onnx.ModelProto`; its weights are constants."""
    require_framework("onnx", "onnx", FRONT_END)
    choices = dict(choices)
    if choices.pop("fallback", None) is not None:
        raise UserError(f"{FRONT_END}: there is no fallback for ops of ONNX")
    backend = choices.pop("backend", "compile")
    strategy = model_strategy(choices.pop("strategy", None))
    options = model_options(**choices)
    known = _known_content(source)
    if known is not None:
        body = ModelBody(_origin(known, options), backend, options, strategy)
        if body.is_cached:
            return Model(body)
    content = None if isinstance(known, ModelFile) else known
    if isinstance(known, ModelFile):
        found = known.read()
        # Weights in other files may change separately.
        content = None if EXTERNAL_FIELD in found else found
    # Imported only where needed: a cached model does without the conversion.
    from riselang.frontends.onnx.model import make_onnx_model
    from riselang.frontends.onnx.reading import load_proto

    proto = load_proto(source if content is None else content)
    if content is None:
        try:
            content = proto.SerializeToString()
        except ValueError as error:
            raise UserError(f"{FRONT_END}: the model is too large ({error})") from None
    return make_onnx_model(_origin(content, options), backend, options, strategy, proto)


def _origin(content: bytes | ModelFile, options: Options) -> ModelOrigin:
    return ModelOrigin(content, "<onnx>", reader="onnx", float=options.float)


def _known_content(source: Any) -> bytes | ModelFile | None:
    """Return the bytes of a model, or their file, by which the cache may know it. A file with
    another suffix may be text."""
    if isinstance(source, bytes):
        return source
    if not isinstance(source, str | Path) or Path(source).suffix != ".onnx":
        return None
    try:
        return hash_file(Path(source))
    except (OSError, ValueError):
        return None  # `load_proto` reports why it cannot be read
