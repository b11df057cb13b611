"""Reading and writing at indices that are computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from riselang.frontends.onnx.primitives.elementwise import wrap_index
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.shapes import index_axis, iota, reshape, stack
from riselang.support.errors import LimitationError


def take(x: Value, indices: Value, axis: int) -> Value:
    """Return the parts at indices along a dimension, which the indices' dimensions replace."""
    if x.array is not None and indices.array is not None:
        try:
            return x.graph.constant(
                np.take(x.array, indices.array.astype(np.int64), axis), x.element
            )
        except IndexError as error:
            raise LimitationError(str(error)) from None
    places = wrap_index(indices, x.shape[axis])
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    kept = [k for k in range(len(shape)) if not axis <= k < axis + indices.rank]
    sizes = [1 if k == axis else length for k, length in enumerate(x.shape)]
    return _gather(x, places, shape, kept, [axis], [axis], indices.rank, sizes)


def gather_nd(x: Value, indices: Value, batch: int = 0) -> Value:
    """Return the parts at index vectors, which are the last dimension of the indices."""
    count = indices.shape[-1]
    parts = [wrap_index(_component(indices, k), x.shape[batch + k]) for k in range(count)]
    if batch:
        lead = indices.shape[:-1]
        own = [iota(x.graph, lead, k) for k in range(batch)]
        parts = [*own, *parts]
    places = stack(parts, len(indices.shape) - 1)
    axes = list(range(batch + count))
    rest = x.shape[batch + count :]
    shape = (*indices.shape[:-1], *rest)
    kept = list(range(len(indices.shape) - 1, len(shape)))
    sizes = [*(1 for _ in axes), *rest]
    return _gather(x, places, shape, kept, axes, axes, places.rank - 1, sizes)


def _component(indices: Value, position: int) -> Value:
    return index_axis(indices, indices.rank - 1, position)


def _gather(
    x: Value,
    places: Value,
    shape: Sequence[int],
    kept: Sequence[int],
    collapsed: Sequence[int],
    start_map: Sequence[int],
    vector_dimension: int,
    sizes: Sequence[int],
) -> Value:
    numbers = {
        "offset_dims": tuple(kept), "collapsed_slice_dims": tuple(collapsed),
        "operand_batching_dims": (), "start_indices_batching_dims": (),
        "start_index_map": tuple(start_map), "index_vector_dim": vector_dimension,
    }  # fmt: skip
    if 0 in shape:
        return x.graph.full(0, shape, x.element)
    return x.graph.emit_one(
        "gather", [x, places], (tuple(shape), x.element), dimension_numbers=numbers,
        slice_sizes=tuple(sizes),
    )  # fmt: skip


def take_along_axis(x: Value, indices: Value, axis: int) -> Value:
    """Return an element for each index, at the position of the index in the other dimensions."""
    vectors = _vectors_along(x, indices, axis)
    return gather_nd(x, vectors)


def _vectors_along(x: Value, indices: Value, axis: int) -> Value:
    if indices.rank != x.rank:
        raise LimitationError(f"indices of the shape {indices.shape} do not fit {x.shape}")
    parts = [
        wrap_index(indices, x.shape[k]) if k == axis else iota(x.graph, indices.shape, k)
        for k in range(x.rank)
    ]
    return stack(parts, indices.rank)


def scatter_nd(x: Value, vectors: Value, updates: Value, op: str | None = None) -> Value:
    """Replace parts at index vectors by updates, or combine them by an op."""
    count = vectors.shape[-1]
    if updates.shape != (*vectors.shape[:-1], *x.shape[count:]) or updates.element != x.element:
        raise LimitationError(
            f"updates {updates.element}{updates.shape} do not fit {x.element}{x.shape} at indices "
            f"of the shape {vectors.shape}"
        )
    if 0 in updates.shape:
        return x
    if count:
        vectors = stack(
            [wrap_index(_component(vectors, k), x.shape[k]) for k in range(count)],
            vectors.rank - 1,
        )
    lead = vectors.rank - 1
    numbers = {
        "update_window_dims": tuple(range(lead, updates.rank)),
        "inserted_window_dims": tuple(range(count)), "input_batching_dims": (),
        "scatter_indices_batching_dims": (),
        "scattered_dims_to_operand_dims": tuple(range(count)), "index_vector_dim": lead,
    }  # fmt: skip
    kind = ((), x.element)

    def combine(old: Value, new: Value) -> Sequence[Value]:
        return [new] if op is None else x.graph.emit(op, [old, new], [kind])

    block, _, _ = x.graph.region([kind, kind], combine)
    return x.graph.emit(
        "scatter", [x, vectors, updates], [(x.shape, x.element)],
        {"scatter_dimension_numbers": numbers}, [block],
    )[0]  # fmt: skip


def scatter_along_axis(
    x: Value, indices: Value, updates: Value, axis: int, op: str | None = None
) -> Value:
    if not indices.size:
        return x
    return scatter_nd(x, _vectors_along(x, indices, axis), updates, op)


def dynamic_index(x: Value, position: Value) -> Value:
    """Return the part at an index of the first dimension."""
    graph = x.graph
    zero = graph.full(0, (), "i64")
    sizes = (1, *x.shape[1:])
    found = graph.emit_one(
        "dynamic_slice", [x, position, *[zero] * (x.rank - 1)], (sizes, x.element),
        slice_sizes=sizes,
    )  # fmt: skip
    return reshape(found, x.shape[1:])


def dynamic_update(x: Value, new: Value, position: Value) -> Value:
    """Replace the part at an index of the first dimension."""
    zero = x.graph.full(0, (), "i64")
    part = reshape(new, (1, *new.shape))
    return x.graph.emit_one(
        "dynamic_update_slice", [x, part, position, *[zero] * new.rank], (x.shape, x.element)
    )
