"""Reading models from files or text."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riselang.frontends.stablehlo.model.body import ModelBody
from riselang.frontends.stablehlo.model.dynamic_model import DynamicModel, dynamic_argument_types
from riselang.frontends.stablehlo.model.model import Model
from riselang.frontends.stablehlo.model.model_archive import load_saved_model
from riselang.frontends.stablehlo.model.origin import (
    FALLBACKS,
    READERS,
    ModelOrigin,
    model_options,
    model_strategy,
    read_source,
)
from riselang.support.config import Options
from riselang.support.errors import UserError

if TYPE_CHECKING:
    from riselang.rewrite.core import Strategy


def read_model(
    source: str | bytes | Path,
    *,
    function: str | None = None,
    name: str | None = None,
    backend: str = "compile",
    strategy: Strategy | str | None = None,
    fallback: str | None = None,
    **choices: Any,
) -> Model | DynamicModel:
    if fallback is not None and fallback not in FALLBACKS:
        raise UserError(
            f"fallback must be one of {', '.join(FALLBACKS)}, or None, but is {fallback!r}"
        )
    content, file = read_source(source)
    origin = ModelOrigin(content, name or file, function, fallback=fallback)
    return make_model(origin, backend, model_options(**choices), model_strategy(strategy))


def make_model(
    origin: ModelOrigin, backend: str, options: Options, strategy: Strategy | str | None
) -> Model | DynamicModel:
    """Create the model of an origin; raises an error for unsupported ops before compiling
    anything."""
    body = ModelBody(origin, backend, options, strategy)
    if body.is_cached:
        return Model(body)
    graph = origin.read_graph()
    kinds = dynamic_argument_types(graph)
    if kinds is not None:
        return DynamicModel(origin, kinds, backend, options, strategy)
    if origin.fallback is None:
        return Model(body.with_graph(graph))
    # Imported only where needed: models that become patterns do without it.
    from riselang.frontends.stablehlo.fallback.model_split import body_with_fallback

    return Model(body_with_fallback(origin, graph, backend, options, strategy))


def read_saved_model(
    path: str | Path,
    backend: str = "compile",
    strategy: Strategy | str | None = None,
    **choices: Any,
) -> Model | DynamicModel:
    """Read the model in a file that its `save` wrote."""
    saved = load_saved_model(path)
    options = saved.options.with_changes(**choices)
    strategy = model_strategy(strategy)
    if saved.origin.reader is None:
        model = make_model(saved.origin, backend, options, strategy)
    else:
        reader = import_module(READERS[saved.origin.reader])
        model = reader.make_onnx_model(saved.origin, backend, options, strategy)
    return model.bind(**saved.bound)


def read_static_model(source: str | bytes | Path, **choices: Any) -> Model:
    """Read a model with static shapes."""
    model = read_model(source, **choices)
    if isinstance(model, DynamicModel):
        raise UserError(
            f"{model!r} has dynamic dimensions; call it from Python, or export static ones"
        )
    return model
