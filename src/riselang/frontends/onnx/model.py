"""Callable ONNX models whose programs depend on the arguments of a call.

A model with dynamic dimensions is compiled for the shapes of each call. Inputs whose values
determine shapes, such as the new shape of `Reshape`, are compiled in: the model is compiled for
each value. So are the lengths of sequences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from riselang.frontends.frameworks import require_framework
from riselang.frontends.onnx import FRONT_END
from riselang.frontends.onnx.element_types import small_dtype
from riselang.frontends.onnx.known_calls import KnownCall, KnownCalls
from riselang.frontends.onnx.primitives.graph import UnknownValueError
from riselang.frontends.onnx.reading import (
    ConvertedGraph,
    InputType,
    Leaf,
    blaming_invalid_models,
    convert_graph,
    input_types,
    load_proto,
)
from riselang.frontends.stablehlo.model.argument_names import bind_names, wrong_count
from riselang.frontends.stablehlo.model.batching import DEFAULT_DELAY, BatchedModel, make_batched
from riselang.frontends.stablehlo.model.body import ModelBody
from riselang.frontends.stablehlo.model.model import Model
from riselang.frontends.stablehlo.model.model_archive import SavedModel, save_model
from riselang.frontends.stablehlo.model.origin import ModelOrigin
from riselang.native.mlir.element_dtypes import dtype_of
from riselang.native.mlir.stablehlo_graph import GraphFunction
from riselang.rewrite.core import Strategy
from riselang.support.config import Options
from riselang.support.errors import LimitationError, UserError
from riselang.support.forking import hold_forks
from riselang.support.tracebacks import with_short_tracebacks

MAX_PROGRAMS = 64
"""How many programs a model keeps: those for the arguments of the last calls."""


@dataclass
class _Program:
    """The program for one set of shapes and known values."""

    model: Model | None
    """None if all results are known."""
    results: Sequence[Any]


@dataclass(frozen=True)
class OnnxModel:
    """A model that is compiled for the shapes, and for some of the values, of its arguments."""

    origin: ModelOrigin
    proto: Any
    types: Sequence[InputType]
    backend: str
    options: Options
    strategy: Strategy | str | None
    bound: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _compiled_in: set[str] = field(default_factory=set[str])
    _programs: dict[Any, _Program] = field(default_factory=dict[Any, _Program])
    _known_calls: KnownCalls = field(default_factory=KnownCalls)
    _lock: RLock = field(default_factory=RLock, init=False, repr=False, compare=False)
    """Held while programs are made, inside sections that forks wait for."""

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that a call must pass."""
        return tuple(each.name for each in self.types if each.name not in self.bound)

    @property
    def compiled_in(self) -> tuple[str, ...]:
        """The arguments whose values are compiled in, as far as calls have shown."""
        return tuple(each.name for each in self.types if each.name in self._compiled_in)

    @property
    def dtypes(self) -> Mapping[str, np.dtype[Any]]:
        """The dtypes of the arrays that a call must pass."""
        return {each.name: _dtype(each) for each in self.types if each.name in self.names}

    def bind(self, *values: Any, **named: Any) -> OnnxModel:
        """Bind some arguments: the first ones, or those passed by name."""
        given = self._given(values, named)
        types = {each.name: each for each in self.types}
        copies = {name: deepcopy(_argument(types[name], value)) for name, value in given.items()}
        caches: dict[str, Any] = {"_programs": {}, "_known_calls": KnownCalls()}
        return replace(self, bound={**self.bound, **copies}, **caches)

    def _given(self, values: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        return bind_names("the model", self.names, values, named)

    @with_short_tracebacks
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compute the results for these arrays, as new arrays."""
        result = None if named else self._known_calls.run(arguments)
        if result is not None:
            return result
        given = self._given(arguments, named)
        optional = [each.name for each in self.types if each.form == "optional"]
        missing = [name for name in self.names if name not in given and name not in optional]
        if missing:
            raise wrong_count("the model", self.names, len(given))
        values = [
            self.bound[each.name]
            if each.name in self.bound
            else _argument(each, given.get(each.name))
            for each in self.types
        ]
        _check_lengths(self.types, values)
        program, passed = self._program_for(values)
        if not named and len(arguments) == len(self.names):
            self._remember_call(arguments, program)
        found: Any = ()
        if program.model is not None:
            found = program.model(*_leaves(passed))
            found = found if isinstance(found, tuple) else (found,)
        results = tuple(_assemble(each, found) for each in program.results)
        return results[0] if len(results) == 1 else results

    def _remember_call(self, arguments: Sequence[Any], program: _Program) -> None:
        """Let calls with such arrays run the program at once, if it depends only on their shapes
        and their results are its own."""
        results, names = program.results, self.names
        converts = any(each.small_type for each in self.types if each.name in names)
        is_plain = all(
            isinstance(each, Leaf) and each.array is None and not each.small_type
            for each in results
        )
        if program.model is None or converts or not is_plain or self._compiled_in & {*names}:
            return
        passed = [each.name for each in self.types if each.name not in self._compiled_in]
        slots = [names.index(name) if name in names else self.bound[name] for name in passed]
        if all(isinstance(each, int | np.ndarray) for each in slots):
            positions = tuple(each.position for each in results)
            self._known_calls.add(arguments, KnownCall(program.model, slots, positions))

    def at(self, *arguments: Any) -> Model:
        """Return the model for these arguments, or shapes of them."""
        values = [
            tuple(each) if isinstance(each, tuple) else _argument(type, each)
            for type, each in zip(self.types, arguments, strict=True)
        ]
        model = self._program_for(values)[0].model
        if model is None:
            raise UserError("the results of the model are constants")
        return model

    def _program_for(self, values: Sequence[Any]) -> tuple[_Program, list[Any]]:
        """Return the program for these arguments, and those of them that it takes."""
        while True:
            compiled_in = frozenset(self._compiled_in)
            known = [
                value if type.name in compiled_in else _shapes(value)
                for type, value in zip(self.types, values, strict=True)
            ]
            key = tuple(map(_key, known))
            passed = [
                value
                for type, value in zip(self.types, values, strict=True)
                if type.name not in compiled_in
            ]
            program = self._programs.get(key) or self._add_program(known, key, compiled_in)
            if program is not None:
                return program, passed

    @hold_forks()
    def _add_program(
        self, known: Sequence[Any], key: Any, compiled_in: Set[str]
    ) -> _Program | None:
        """Make and keep a program; None if more arguments must be compiled in first."""
        with self._lock:
            if key in self._programs:
                return self._programs[key]
            try:
                program = self._make_program(known, key)
            except UnknownValueError as error:
                if not error.inputs - compiled_in:
                    raise _unknown_value(error) from None
                self._compiled_in.update(error.inputs)
                return None
            if len(self._programs) >= MAX_PROGRAMS:
                self._known_calls.clear()
            while len(self._programs) >= MAX_PROGRAMS:
                self._programs.pop(next(iter(self._programs)), None)
            self._programs[key] = program
            return program

    def _make_program(self, arguments: Sequence[Any], key: Any) -> _Program:
        with blaming_invalid_models(self.proto):
            converted = convert_graph(self.proto, self.types, arguments, self.options.float)
            if not converted.function.body.operations[-1].operands:
                return _Program(None, converted.results)
            origin = replace(self.origin, types=(str(key),))
            body = ModelBody(origin, self.backend, self.options, self.strategy)
            return _Program(Model(_lowered(body, converted.function)), converted.results)

    def batched(self, maximum: int | None = None, delay: float = DEFAULT_DELAY) -> BatchedModel:
        """Return a model that computes the requests of several threads together.

        The first dimension of all arguments and results is the batch. A request passes a row of
        each argument, and waits up to `delay` seconds for others, until there are `maximum`; it is
        compiled for batches of 1, 2, 4 and so on.
        """
        arguments = {
            each.name: (_dtype(each), _lengths(each))
            for each in self.types
            if each.name in self.names
        }
        return make_batched(self, arguments, maximum, delay)

    def save(self, path: str | Path) -> None:
        """Write a file with the model and the bound arguments, which `rl.load_model` reads."""
        save_model(SavedModel(self.origin, self.options, self.bound), path)

    def __repr__(self) -> str:
        shown = ", ".join(f"{each.name} : {each}" for each in self.types if each.name in self.names)
        return f"<model ({shown})>"


def _lowered(body: ModelBody, function: GraphFunction) -> ModelBody:
    """Lower a graph to patterns; errors name the node that an op comes from."""
    try:
        return body.with_graph(function)
    except LimitationError as error:
        label = getattr(getattr(error, "op", None), "label", "")
        if not label:
            raise
        raise LimitationError(f"the op {label} is not supported here: {error.message}") from None


def _unknown_value(error: UnknownValueError) -> LimitationError:
    return LimitationError(
        f"{error.node} is not supported here: its program depends on values that are computed from "
        "the inputs"
    )


def _lengths(type: InputType) -> Sequence[int | None]:
    if type.form != "tensor" or type.shape is None:
        raise UserError(f"the argument {type.name} has no known rank, so its rows are not known")
    return [each if isinstance(each, int) else None for each in type.shape]


def _dtype(type: InputType) -> np.dtype[Any]:
    return small_dtype(type.small_type) if type.small_type else dtype_of(type.element)


def _argument(type: InputType, value: Any) -> Any:
    """Return an argument as an array of the type that the program holds."""
    if value is None:
        if type.form != "optional":
            raise UserError(f"the argument {type.name} is missing")
        return None
    if isinstance(value, list) and type.form != "tensor":
        parts: list[Any] = value
        return [_argument(type, each) for each in parts]
    array = np.asarray(value)
    wanted, held = _dtype(type), dtype_of(type.element)
    if array.dtype != wanted:
        raise UserError(
            f"argument {type.name}: expected elements {wanted}, but found {array.dtype}"
        )
    return array.astype(held) if wanted != held else array


def _check_lengths(types: Sequence[InputType], values: Sequence[Any]) -> None:
    """Check the shapes of tensors; dimensions of one name have one length."""
    lengths: dict[str, int] = {}
    for type, value in zip(types, values, strict=True):
        if type.shape is None or type.form != "tensor":
            continue
        shape = np.shape(value)
        fits = len(shape) == len(type.shape) and all(
            lengths.setdefault(wanted, found) == found
            if isinstance(wanted, str)
            else wanted in (None, found)
            for wanted, found in zip(type.shape, shape, strict=True)
        )
        if not fits:
            named = [f"{name} = {length}" for name, length in lengths.items() if name in type.shape]
            where = f" (with {', '.join(named)})" if named else ""
            raise UserError(
                f"argument {type.name}: expected {type}{where}, but found shape {tuple(shape)}"
            )


def _shapes(value: Any) -> Any:
    """Return the shapes of an argument."""
    if isinstance(value, list):
        parts: list[Any] = value
        return [_shapes(each) for each in parts]
    return value if value is None or isinstance(value, tuple) else np.shape(value)


def _key(value: Any) -> Any:
    if isinstance(value, list):
        parts: list[Any] = value
        return ("list", *map(_key, parts))
    if isinstance(value, np.ndarray):
        digest = sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return ("value", value.shape, str(value.dtype), digest)
    return value


def _leaves(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for each in values:
        if isinstance(each, list):
            parts: list[Any] = each
            found += _leaves(parts)
        elif each is not None:
            found.append(each)
    return found


def _assemble(result: Any, found: Sequence[Any]) -> Any:
    """Return a result of the model from the results of its program."""
    if isinstance(result, list):
        parts: list[Any] = result
        return [_assemble(each, found) for each in parts]
    if not isinstance(result, Leaf):
        return None
    array = found[result.position] if result.array is None else np.array(result.array)
    return array.astype(small_dtype(result.small_type)) if result.small_type else array


def _is_plain(converted: ConvertedGraph) -> bool:
    """Whether all results are computed tensors of types that programs have."""
    return all(
        isinstance(each, Leaf) and each.array is None and not each.small_type
        for each in converted.results
    )


def make_onnx_model(
    origin: ModelOrigin,
    backend: str,
    options: Options,
    strategy: Strategy | str | None,
    proto: Any = None,
) -> Model | OnnxModel:
    """Create the model of an origin; one with static shapes is converted at once."""
    require_framework("onnx", "onnx", FRONT_END)
    proto = load_proto(origin.content) if proto is None else proto
    types = input_types(proto)
    model = OnnxModel(origin, proto, types, backend, options, strategy)
    if not all(each.form == "tensor" and each.is_static for each in types):
        return model
    body = ModelBody(origin, backend, options, strategy)
    if body.is_cached:
        return Model(body)
    try:
        with blaming_invalid_models(proto):
            converted = convert_graph(proto, types, [each.shape for each in types], options.float)
    except UnknownValueError as error:
        if not error.inputs:
            raise _unknown_value(error) from None
        model._compiled_in.update(error.inputs)  # pyright: ignore[reportPrivateUsage]
        return model
    if any(each.small_type for each in types) or not types or not _is_plain(converted):
        return model
    with blaming_invalid_models(proto):
        return Model(_lowered(body, converted.function))


def read_graph(origin: ModelOrigin) -> GraphFunction:
    """Return the graph of a model with static shapes."""
    require_framework("onnx", "onnx", FRONT_END)
    proto = load_proto(origin.content)
    types = input_types(proto)
    try:
        shapes = [each.shape for each in types]
        return convert_graph(proto, types, shapes, origin.float).function
    except UnknownValueError as error:
        raise _unknown_value(error) from None
