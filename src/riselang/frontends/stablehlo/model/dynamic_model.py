"""A model with dynamic dimensions, such as the batch: compiled for the shapes of each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import Any, cast

import numpy as np

from riselang.frontends.stablehlo.elements import ELEMENT_TYPES
from riselang.frontends.stablehlo.model.argument_names import (
    argument_names,
    array_leaves,
    bind_names,
    wrong_count,
)
from riselang.frontends.stablehlo.model.batching import DEFAULT_DELAY, BatchedModel, make_batched
from riselang.frontends.stablehlo.model.body import ModelBody
from riselang.frontends.stablehlo.model.model import Model
from riselang.frontends.stablehlo.model.model_archive import SavedModel, save_model
from riselang.frontends.stablehlo.model.origin import ModelOrigin, format_mlir_types
from riselang.native.mlir.element_dtypes import dtype_of
from riselang.native.mlir.stablehlo_graph import GraphFunction, TensorKind
from riselang.rewrite.core import Strategy
from riselang.runtime.arrays import Array, as_array
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.forking import hold_forks
from riselang.support.tracebacks import with_short_tracebacks

MAX_BOUND_MODELS = 16
"""The maximum number of shapes for which values computed from bound arguments are kept."""
_Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class DynamicModel:
    """A model for all values of its dynamic dimensions."""

    origin: ModelOrigin
    argument_types: Mapping[str, TensorKind]
    """The types of its arguments."""
    backend: str
    options: Options
    strategy: Strategy | str | None = None
    bound: Mapping[str, Array] = field(default_factory=dict[str, Array])
    _models: dict[_Shapes, Model] = field(default_factory=dict["_Shapes", Model])
    """Models by the shapes of all arguments."""
    _bound_models: dict[_Shapes, Model] = field(
        default_factory=dict["_Shapes", Model], init=False, repr=False, compare=False
    )
    """Models with their bound arguments, by the shapes of the others: those that were made last,
    since a model keeps what it computes from the bound arguments."""
    _lock: RLock = field(default_factory=RLock, init=False, repr=False, compare=False)
    """Held while models are made, inside sections that forks wait for."""

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that a call must pass."""
        return tuple(name for name in self.argument_types if name not in self.bound)

    @property
    def dtypes(self) -> Mapping[str, np.dtype[Any]]:
        """The dtypes of the arrays that a call must pass."""
        return {name: dtype_of(self.argument_types[name].element) for name in self.names}

    def bind(self, *values: Any, **named: Any) -> DynamicModel:
        """Bind some arguments."""
        given = bind_names("the model", self.names, array_leaves(values), named)
        copies = {name: as_array(value, name).copy() for name, value in given.items()}
        return replace(self, bound={**self.bound, **copies})

    def at(self, *arguments: Any) -> Model:
        """Return the model for the shapes of these arrays, or for these shapes."""
        given = [
            each if _is_shape(each) else np.shape(each) for each in _flatten_arguments(arguments)
        ]
        if len(given) != len(self.names):
            raise wrong_count("the model", self.names, len(given))
        return self._bound_model(tuple(map(tuple, given)))

    def _bound_model(self, given: _Shapes) -> Model:
        """Return the model for these shapes of the arguments that are not bound."""
        known = self._bound_models.get(given)
        if known is not None:
            return known
        with hold_forks(), self._lock:
            return self._bound_models.get(given) or self._make_bound_model(given)

    def _make_bound_model(self, given: _Shapes) -> Model:
        found = dict(zip(self.names, given, strict=True))
        shapes = tuple(
            found[name] if name in found else self.bound[name].shape for name in self.argument_types
        )
        self._check_shapes(shapes)
        if shapes not in self._models:
            self._models[shapes] = self._model_at(shapes)
        model = replace(self._models[shapes], bound=self.bound)
        while len(self._bound_models) >= MAX_BOUND_MODELS:
            self._bound_models.pop(next(iter(self._bound_models)), None)
        self._bound_models[given] = model
        return model

    def _check_shapes(self, shapes: Sequence[Sequence[int]]) -> None:
        for (name, kind), shape in zip(self.argument_types.items(), shapes, strict=True):
            fits = len(shape) == len(kind.shape) and all(
                length is None or length == given
                for length, given in zip(kind.shape, shape, strict=True)
            )
            if not fits:
                raise UserError(f"argument {name}: expected {kind}, but found shape {tuple(shape)}")

    def _model_at(self, shapes: Sequence[Sequence[int]]) -> Model:
        types = format_mlir_types([kind.element for kind in self.argument_types.values()], shapes)
        origin = replace(self.origin, types=types)
        if origin.fallback is None:
            return Model(ModelBody(origin, self.backend, self.options, self.strategy))
        from riselang.frontends.stablehlo.fallback.model_split import body_with_fallback

        graph = origin.read_graph()
        return Model(body_with_fallback(origin, graph, self.backend, self.options, self.strategy))

    @with_short_tracebacks
    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """Compute the results for these arrays, as new arrays or in `out`."""
        if out is None and not named:
            shapes = tuple(getattr(each, "shape", None) for each in arguments)
            known = self._bound_models.get(cast(_Shapes, shapes))
            if known is not None:
                return known(*arguments)
        found = bind_names("the model", self.names, array_leaves(arguments), named)
        if len(found) < len(self.names):
            raise wrong_count("the model", self.names, len(found))
        given = [found[name] for name in self.names]
        return self.at(*given)(*given, out=out)

    def batched(self, maximum: int | None = None, delay: float = DEFAULT_DELAY) -> BatchedModel:
        """Return a model that computes the requests of several threads together.

        The first dimension of all arguments and results is the batch. A request passes a row of
        each argument, and waits up to `delay` seconds for others, until there are `maximum`; it is
        compiled for batches of 1, 2, 4 and so on.
        """
        arguments = {
            name: (self.dtypes[name], self.argument_types[name].shape) for name in self.names
        }
        return make_batched(self, arguments, maximum, delay)

    def save(self, path: str | Path) -> None:
        """Write a file with the module and the bound arguments, which `rl.load_model` reads."""
        save_model(SavedModel(self.origin, self.options, self.bound), path)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} : {self.argument_types[name]}" for name in self.names)
        return f"<model ({shown})>"


def _is_shape(value: Any) -> bool:
    parts = cast(tuple[Any, ...], value) if isinstance(value, tuple) else (None,)
    return all(isinstance(each, int) for each in parts)


def _flatten_arguments(arguments: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for each in arguments:
        found += [each] if _is_shape(each) else array_leaves(each)
    return found


def dynamic_argument_types(graph: GraphFunction) -> dict[str, TensorKind] | None:
    """Return the argument types of a function with dynamic dimensions; None if it has none."""
    names = argument_names([each.name for each in graph.body.arguments])
    kinds: dict[str, TensorKind] = {}
    for name, each in zip(names, graph.body.arguments, strict=True):
        if not isinstance(each.type, TensorKind) or each.type.element not in ELEMENT_TYPES:
            return None
        kinds[name] = each.type
    is_open = any(None in kind.shape for kind in kinds.values())
    return kinds if is_open else None
