"""Functions on arrays in models: they are traced, and become nodes of the model's program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riselang.autodiff.building import Builder as NodeBuilder
from riselang.autodiff.instantiation import instantiate
from riselang.dialects.rise.types import COMPLEX_TYPES, ScalarType
from riselang.dsl.prelude import complex
from riselang.dsl.symbolic_values import Value
from riselang.dsl.tracing import trace_function
from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, ElementType, TensorType
from riselang.frontends.stablehlo.registry import RegionLowering
from riselang.frontends.stablehlo.tensors import Tensor, materialize, whole_tensor
from riselang.frontends.term_builder import Builder
from riselang.term.build import Node
from riselang.term.finish import finish


def apply_traced(
    regions: RegionLowering,
    function: Callable[..., Sequence[Value]],
    operands: Sequence[Tensor],
    results: Sequence[TensorType],
) -> list[Tensor]:
    """Return the results of a function from values to a sequence of values of these types."""
    builder = regions.builder
    depths = [each.rank for each in operands]
    nodes = [builder.store_if_computed(materialize(builder, each)) for each in operands]
    parts = [
        part
        for node, depth, each in zip(nodes, depths, operands, strict=True)
        for part in _split_parts(builder, node, depth, each.element)
    ]
    flags = [each.element.is_complex for each in operands]

    def call(*values: Value) -> Any:
        found = function(*_join_values(values, flags))
        return tuple(
            part
            for value, type in zip(found, results, strict=True)
            for part in ((value.real, value.imag) if type.element.is_complex else (value,))
        )

    types = [each.type for each in parts]
    root, trace, _ = trace_function(call, [f"x{k}" for k in range(len(parts))], types)
    term = finish(root, trace.inference)
    parts += [_constant(regions, each) for each in trace.interface.captured]
    inner = NodeBuilder()
    inner.scope, inner.location = builder.scope, builder.location
    count = sum(2 if each.element.is_complex else 1 for each in results)
    value = instantiate(inner, term, parts)
    pending = iter(builder.unpack_tuple(value, count))
    return [_joined_tensor(builder, each, pending) for each in results]


def _constant(regions: RegionLowering, array: Any) -> Node:
    names = [name for name, each in ELEMENT_TYPES.items() if _is_type_of(each, array)]
    type = TensorType(array.shape, ELEMENT_TYPES[names[0]])
    return materialize(regions.builder, regions.add_constant(array, type))


def _is_type_of(element: ElementType, array: Any) -> bool:
    # Deferred: it imports the library of types.
    from riselang.native.mlir.element_dtypes import dtype_of

    return dtype_of(element.name) == array.dtype


def _split_parts(builder: Builder, node: Node, depth: int, element: ElementType) -> list[Node]:
    if not element.is_complex:
        return [node]
    part = element.scalar.part
    return [
        builder.map_at(depth, lambda z, name=name: builder.operation(name, [z], part), node)
        for name in ("real", "imag")
    ]


def _join_values(values: Sequence[Value], flags: Sequence[bool]) -> list[Value]:
    pending = iter(values)
    return [
        complex(next(pending), next(pending)) if is_complex else next(pending)
        for is_complex in flags
    ]


def _joined_tensor(builder: Builder, type: TensorType, parts: Any) -> Tensor:
    node = next(parts)
    if type.element.is_complex:
        scalar: ScalarType = COMPLEX_TYPES[type.element.scalar.part]

        def join(pair: Node) -> Node:
            return builder.operation("complex", builder.unpack_tuple(pair, 2), scalar)

        node = builder.map_pairs_at(len(type.shape), join, node, next(parts))
    return whole_tensor(type.element, type.shape, node)
