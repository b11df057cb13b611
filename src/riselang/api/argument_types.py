"""The types of arguments: what a call says about parameters that are not annotated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from riselang.api.binding import lengths, rank
from riselang.api.specs import ArraySpec, is_concrete
from riselang.dialects.rise.numpy_types import DTYPES
from riselang.dialects.rise.type_binding import substitute
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    RiseType,
    ScalarType,
    TypeVariable,
    i1,
    innermost,
    variable,
)
from riselang.dsl.captures import (
    as_regular_array,
    is_number_list,
    nest,
    number_class,
)
from riselang.dsl.symbolic_values import Value
from riselang.dsl.tracing import Call, trace_function
from riselang.dsl.user_locations import user_location
from riselang.nat import Nat
from riselang.runtime.arrays import as_array
from riselang.runtime.device_arrays import device_view, is_on_gpu
from riselang.runtime.shapes import SizeBinding
from riselang.support.errors import UserError


@dataclass(frozen=True)
class LeafKind:
    """What determines the type of a parameter: the annotation, or an argument."""

    spec: RiseType | None
    rank: int = 0
    element: RiseType | None = None
    """The dtype of an array; None for Python numbers, whose type is inferred."""
    number: type | None = None
    """The class of a Python number."""
    shape: tuple[int, ...] = ()
    """The shape of a list of Python numbers."""


def is_leaf(value: Any) -> bool:
    """Return whether an argument is one array, number or type, rather than a structure."""
    return (
        isinstance(
            value, np.ndarray | np.generic | complex | float | int | Value | ArraySpec | ScalarType
        )
        or is_number_list(value)
        or hasattr(value, "__dlpack__")
        or hasattr(value, "__array_interface__")
        or is_on_gpu(value)
    )


def leaf_kind(leaf: Any, spec: RiseType | None, name: str) -> LeafKind:
    """Return what an argument and its annotation determine."""
    if is_concrete(spec):
        return LeafKind(spec)
    if isinstance(leaf, ArraySpec | ScalarType):
        type = leaf.type if isinstance(leaf, ArraySpec) else leaf
        return LeafKind(type if spec is None else spec, rank(type), innermost(type))
    if isinstance(leaf, bool | int | float | complex) and not isinstance(leaf, np.generic):
        return LeafKind(spec, number=leaf.__class__)
    if is_number_list(leaf):
        array = as_regular_array(leaf, f"argument {name}")
        return LeafKind(spec, array.ndim, number=number_class(array), shape=array.shape)
    if not is_leaf(leaf):
        raise UserError(
            f"argument {name}: expected an array, a number, or a structure of these, but found "
            f"{leaf!r}; add {name} to static= to compile the function for this value",
            user_location(),
        )
    array = device_view(leaf, name) if is_on_gpu(leaf) else as_array(leaf, name)
    element = _element(array.dtype)
    if element is None:
        raise UserError(
            f"argument {name}: an array of {array.dtype} cannot be passed; convert it with astype "
            "to a type such as numpy.float32",
            user_location(),
        )
    return LeafKind(spec, array.ndim, element)


@cache
def _element(dtype: np.dtype[Any]) -> RiseType | None:
    """Return the type of the elements of arrays; None if they cannot be passed."""
    return DTYPES.get(dtype.name) if dtype.isnative else None


def leaf_shape(leaf: Any) -> tuple[int, ...] | None:
    """Return the shape of an argument; None if it is a type."""
    if isinstance(leaf, ArraySpec | ScalarType):
        return None
    return as_regular_array(leaf, "an argument").shape if is_number_list(leaf) else np.shape(leaf)


def bind_types(
    function: Callable[..., Any],
    names: Sequence[str],
    kinds: Sequence[LeafKind],
    shapes: Sequence[tuple[int, ...] | None],
    form: Call,
) -> tuple[RiseType, ...]:
    """Return the types of the parameters; the lengths of an array that no annotation names have
    names of their own, so a kernel serves all shapes.

    Python numbers have the types that are inferred for these shapes.
    """
    elements = _bind_variables(names, kinds)
    types: list[RiseType] = []
    for position, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if kind.spec is not None:
            types.append(_specified_type(kind, elements, position))
            continue
        element = kind.element or (i1 if kind.number is bool else _unknown(position))
        types.append(nest([Nat.var(f"{name}_{axis}") for axis in range(kind.rank)], element))
    if any(isinstance(innermost(type), TypeVariable) for type in types):
        sizes = _bind_shapes(names, types, shapes)
        return _infer_types(function, names, kinds, types, sizes, form)
    return tuple(types)


def _bind_variables(names: Sequence[str], kinds: Sequence[LeafKind]) -> dict[str, RiseType]:
    """Return the dtypes of the type variables in annotations; all arguments must agree."""
    elements: dict[str, tuple[RiseType, str]] = {}
    for name, kind in zip(names, kinds, strict=True):
        element = None if kind.spec is None else innermost(kind.spec)
        if not isinstance(element, TypeVariable) or kind.element is None:
            continue
        label = element.label.data
        known, origin = elements.setdefault(label, (kind.element, name))
        if known != kind.element:
            raise UserError(
                f"argument {name}: expected dtype {format_type(known)} ({label} = "
                f"{format_type(known)} from {origin}), but found {format_type(kind.element)}",
                user_location(),
            )
    return {label: element for label, (element, _) in elements.items()}


def _specified_type(kind: LeafKind, elements: dict[str, RiseType], position: int) -> RiseType:
    """Return an annotated type; a type variable that only numbers bind is inferred."""
    spec = kind.spec
    assert spec is not None
    element = innermost(spec)
    if not isinstance(element, TypeVariable):
        return spec
    label = element.label.data
    return substitute(spec, {}, {label: elements.get(label, _unknown(position))})


def _unknown(position: int) -> TypeVariable:
    """Return an unknown of inference that differs from those of a trace, `?1` and so on."""
    return variable(f"?0{position}")


def _bind_shapes(
    names: Sequence[str], types: Sequence[RiseType], shapes: Sequence[tuple[int, ...] | None]
) -> Mapping[str, Nat]:
    binding = SizeBinding()
    for name, type, shape in zip(names, types, shapes, strict=True):
        if shape is not None and len(shape) == rank(type):
            binding.bind(lengths(type), shape, name)
    return binding.finish()


def _infer_types(
    function: Callable[..., Any],
    names: Sequence[str],
    kinds: Sequence[LeafKind],
    types: Sequence[RiseType],
    sizes: Mapping[str, Nat],
    form: Call,
) -> tuple[RiseType, ...]:
    """Infer types for Python numbers from the program."""
    known = [substitute(type, sizes, {}) for type in types]
    numbers = [
        (unknown, kind.number or int)
        for unknown, kind in zip(map(innermost, types), kinds, strict=True)
        if isinstance(unknown, TypeVariable)
    ]
    _, trace, _ = trace_function(function, names, known, replace(form, numbers=numbers))
    inference = trace.inference
    results: list[RiseType] = []
    for name, type in zip(names, types, strict=True):
        element = innermost(type)
        if isinstance(element, TypeVariable):
            resolved = inference.resolve(element)
            if not isinstance(resolved, ScalarType):
                raise UserError(
                    f"argument {name}: expected {format_type(inference.resolve(type))}, since "
                    f"{name} is used as that, but found a Python number; pass an array",
                    user_location(),
                )
            type = substitute(type, {}, {element.label.data: resolved})
        results.append(type)
    return tuple(results)
