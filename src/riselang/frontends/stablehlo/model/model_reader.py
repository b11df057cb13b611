"""Reading models from files or text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riselang.api.lowered import as_strategy
from riselang.frontends.stablehlo.model.body import Body
from riselang.frontends.stablehlo.model.dynamic_model import OpenModel, open_kinds
from riselang.frontends.stablehlo.model.model import Model
from riselang.frontends.stablehlo.model.model_archive import load_saved_model
from riselang.frontends.stablehlo.model.origin import FALLBACKS, Origin, contents, model_options
from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT
from riselang.support.config import Options
from riselang.support.errors import UserError


def read_model(
    source: str | bytes | Path,
    *,
    function: str | None = None,
    name: str | None = None,
    backend: str = "compile",
    strategy: Strategy | str | None = None,
    fallback: str | None = None,
    **choices: Any,
) -> Model | OpenModel:
    if fallback is not None and fallback not in FALLBACKS:
        raise UserError(
            f"fallback must be one of {', '.join(FALLBACKS)}, or None, but is {fallback!r}"
        )
    content, file = contents(source)
    origin = Origin(content, name or file, function, fallback=fallback)
    return model_of(origin, backend, model_options(**choices), as_strategy(strategy, DEFAULT))


def model_of(
    origin: Origin, backend: str, options: Options, strategy: Strategy | None
) -> Model | OpenModel:
    """Create the model of an origin; raises an error for unsupported ops before compiling
    anything."""
    body = Body(origin, backend, options, strategy)
    if body.is_kept:
        return Model(body)
    graph = origin.graph()
    kinds = open_kinds(graph)
    if kinds is not None:
        return OpenModel(origin, kinds, backend, options, strategy)
    if origin.fallback is None:
        return Model(body.read(graph))
    # Imported only where needed: models that become patterns do without it.
    from riselang.frontends.stablehlo.fallback.model_split import body_with_fallback

    return Model(body_with_fallback(origin, graph, backend, options, strategy))


def read_saved_model(
    path: str | Path, backend: str, strategy: Strategy | str | None, **choices: Any
) -> Model | OpenModel:
    """Read the model in a file that its `save` wrote."""
    saved = load_saved_model(path)
    options = saved.options.changed(**choices)
    model = model_of(saved.origin, backend, options, as_strategy(strategy, DEFAULT))
    return model.bind(**saved.bound)


def read_closed_model(source: str | bytes | Path, **choices: Any) -> Model:
    """Read a model with static shapes."""
    model = read_model(source, **choices)
    if isinstance(model, OpenModel):
        raise UserError(
            f"{model!r} has dynamic dimensions; call it from Python, or export static ones"
        )
    return model
