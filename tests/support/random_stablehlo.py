"""Random StableHLO functions of one op, with all the forms its attributes may have.

Each maker gives the types of the arguments, the text of the op with its operands `%0`, `%1`, ...,
and the types of its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

Shape = Sequence[int]
DTYPES = {"f32": np.float32, "i32": np.int32, "i1": np.bool_, "f64": np.float64, "i64": np.int64}


@dataclass(frozen=True)
class Case:
    """A function of one op, and arguments for it."""

    text: str
    arguments: tuple[Any, ...]
    plain: str
    """The same in a form that StableHLO's interpreter knows."""


@dataclass(frozen=True)
class Made:
    """The types of arguments, the text of an op, and the types of its results."""

    inputs: list[str]
    op: str
    outputs: list[str]
    plain: str = ""
    """Other ops that compute the same, if the interpreter of StableHLO needs them."""


MAKERS: dict[str, Callable[[Random], Made]] = {}


def maker(function: Callable[[Random], Made]) -> Callable[[Random], Made]:
    MAKERS[function.__name__] = function
    return function


def tensor(shape: Shape, element: str = "f32") -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def random_case(name: str, seed: int) -> Case:
    random = Random(f"{name} {seed}")
    made = MAKERS[name](random)
    arguments = tuple(random_array(random, type) for type in made.inputs)
    return Case(_function(made, made.op), arguments, _function(made, made.plain or made.op))


def _function(made: Made, op: str) -> str:
    outputs = made.outputs
    parameters = ", ".join(f"%{k}: {type}" for k, type in enumerate(made.inputs))
    results = ", ".join(f"%r#{k}" if len(outputs) > 1 else "%r" for k in range(len(outputs)))
    count = f":{len(outputs)}" if len(outputs) > 1 else ""
    body = op if op.startswith("%") else f"%r{count} = {op}"
    return (
        f"func.func @main({parameters}) -> ({', '.join(outputs)}) {{\n"
        f"  {body}\n  return {results} : {', '.join(outputs)}\n}}\n"
    )


def random_array(random: Random, type: str) -> Any:
    *lengths, element = type.removeprefix("tensor<").removesuffix(">").split("x")
    shape = [int(each) for each in lengths]
    generator = np.random.default_rng(random.randrange(1 << 30))
    if element in ("f32", "f64"):
        # Halves, so that sums are exact in any order.
        return np.asarray(generator.integers(-8, 9, shape) / 2, DTYPES[element])
    if element == "i1":
        return np.asarray(generator.integers(0, 2, shape), np.bool_)
    return np.asarray(generator.integers(-4, 7, shape), DTYPES[element])


def lengths(random: Random, rank: int, least: int = 1, most: int = 4) -> list[int]:
    return [random.randint(least, most) for _ in range(rank)]


def permutation(random: Random, rank: int) -> list[int]:
    return random.sample(range(rank), rank)


def signature(inputs: Sequence[str], outputs: Sequence[str]) -> str:
    results = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    return f"({', '.join(inputs)}) -> {results}"


def listed(values: Sequence[object]) -> str:
    return "[" + ", ".join(str(each).lower() for each in values) + "]"


def array(values: Sequence[object], kind: str = "i64") -> str:
    inner = ", ".join(str(each).lower() for each in values)
    return f"array<{kind}: {inner}>" if values else f"array<{kind}>"


@maker
def transpose(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 4))
    order = permutation(random, len(shape))
    types = [tensor(shape)], [tensor([shape[k] for k in order])]
    return Made(
        types[0], f"stablehlo.transpose %0, dims = {listed(order)} : {signature(*types)}", types[1]
    )


@maker
def broadcast_in_dim(random: Random) -> Made:
    result = lengths(random, random.randint(1, 4))
    count = random.randint(0, len(result))
    places = random.sample(range(len(result)), count)
    shape = [1 if random.random() < 0.25 else result[k] for k in places]
    inputs, outputs = [tensor(shape)], [tensor(result)]
    op = f"stablehlo.broadcast_in_dim %0, dims = {listed(places)} : {signature(inputs, outputs)}"
    return Made(inputs, op, outputs)


@maker
def reshape(random: Random) -> Made:
    factors = [random.choice((1, 2, 2, 3)) for _ in range(random.randint(0, 5))]

    def grouped() -> list[int]:
        shape: list[int] = []
        for factor in factors:
            if shape and random.random() < 0.5:
                shape[-1] *= factor
            else:
                shape.append(factor)
            if random.random() < 0.2:
                shape.append(1)
        return shape

    inputs, outputs = [tensor(grouped())], [tensor(grouped())]
    return Made(inputs, f"stablehlo.reshape %0 : {signature(inputs, outputs)}", outputs)


@maker
def slice_(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 3), 2, 7)
    parts: list[tuple[int, int, int]] = []
    for length in shape:
        start = random.randint(0, length - 1)
        parts.append((start, random.randint(start, length), random.randint(1, 3)))
    result = [-(-(end - start) // step) for start, end, step in parts]
    inputs, outputs = [tensor(shape)], [tensor(result)]
    spans = ", ".join(f"{start}:{end}:{step}" for start, end, step in parts)
    return Made(inputs, f"stablehlo.slice %0 [{spans}] : {signature(inputs, outputs)}", outputs)


@maker
def pad(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 3), 1, 4)
    parts = [(random.randint(-1, 2), random.randint(-1, 2), random.randint(0, 2)) for _ in shape]
    result = [
        low + high + length + (length - 1) * inner
        for length, (low, high, inner) in zip(shape, parts, strict=True)
    ]
    if any(length < 0 for length in result):
        return pad(random)
    inputs, outputs = [tensor(shape), tensor([])], [tensor(result)]
    low, high, inner = zip(*parts, strict=True)
    op = (
        f"stablehlo.pad %0, %1, low = {listed(low)}, high = {listed(high)}, "
        f"interior = {listed(inner)} : {signature(inputs, outputs)}"
    )
    return Made(inputs, op, outputs)


@maker
def reverse(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 3))
    dims = random.sample(range(len(shape)), random.randint(1, len(shape)))
    inputs = [tensor(shape)]
    return Made(inputs, f"stablehlo.reverse %0, dims = {listed(dims)} : {inputs[0]}", inputs)


@maker
def concatenate(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 3))
    dim = random.randrange(len(shape))
    shapes = [
        [random.randint(0, 3) if k == dim else length for k, length in enumerate(shape)]
        for _ in range(random.randint(1, 3))
    ]
    result = list(shape)
    result[dim] = sum(each[dim] for each in shapes)
    inputs, outputs = [tensor(each) for each in shapes], [tensor(result)]
    operands = ", ".join(f"%{k}" for k in range(len(inputs)))
    op = f"stablehlo.concatenate {operands}, dim = {dim} : {signature(inputs, outputs)}"
    return Made(inputs, op, outputs)


@maker
def dot_general(random: Random) -> Made:
    element = random.choice(("f32", "i32", "f32"))
    batch, gone = lengths(random, random.randint(0, 2)), lengths(random, random.randint(0, 2))
    sides: list[tuple[list[int], list[int], list[int]]] = []
    kept: list[list[int]] = []
    for _ in range(2):
        own = lengths(random, random.randint(0, 2))
        dims = [*batch, *gone, *own]
        order = permutation(random, len(dims))
        shape = [dims[k] for k in order]
        batches = [order.index(k) for k in range(len(batch))]
        contracted = [order.index(len(batch) + k) for k in range(len(gone))]
        # What stays is in the order of the operand.
        kept.append([shape[k] for k in range(len(shape)) if k not in (*batches, *contracted)])
        sides.append((shape, batches, contracted))
    (left, left_batch, left_gone), (right, right_batch, right_gone) = sides
    inputs = [tensor(left, element), tensor(right, element)]
    outputs = [tensor([*batch, *kept[0], *kept[1]], element)]
    batching = f"batching_dims = {listed(left_batch)} x {listed(right_batch)}, " if batch else ""
    op = (
        f"stablehlo.dot_general %0, %1, {batching}contracting_dims = {listed(left_gone)} x "
        f"{listed(right_gone)} : {signature(inputs, outputs)}"
    )
    return Made(inputs, op, outputs)


REDUCTIONS = {"f32": ("add", "maximum", "minimum", "multiply"), "i32": ("add", "maximum", "or"),
              "i1": ("and", "or")}  # fmt: skip


def reducer(element: str, op: str) -> str:
    type = tensor([], element)
    return (
        f"{{ ^bb0(%a: {type}, %b: {type}):\n"
        f"    %c = stablehlo.{op} %a, %b : {type}\n"
        f'    "stablehlo.return"(%c) : ({type}) -> () }}'
    )


@maker
def reduce(random: Random) -> Made:
    element = random.choice(tuple(REDUCTIONS))
    shape = lengths(random, random.randint(1, 4), 0 if random.random() < 0.1 else 1)
    dims = sorted(random.sample(range(len(shape)), random.randint(0, len(shape))))
    result = [length for k, length in enumerate(shape) if k not in dims]
    inputs, outputs = [tensor(shape, element), tensor([], element)], [tensor(result, element)]
    body = reducer(element, random.choice(REDUCTIONS[element]))
    op = (
        f'"stablehlo.reduce"(%0, %1) ({body}) {{dimensions = {array(dims)}}} : '
        f"{signature(inputs, outputs)}"
    )
    return Made(inputs, op, outputs)


def windowed(random: Random, shape: Shape) -> tuple[list[int], ...] | None:
    """Sizes, strides, spreads, dilations, padding before and behind, and how many windows."""
    rank = len(shape)
    sizes, strides = lengths(random, rank, 1, 3), lengths(random, rank, 1, 3)
    spreads, dilations = lengths(random, rank, 1, 2), lengths(random, rank, 1, 2)
    before = [random.randint(-1 if random.random() < 0.2 else 0, 2) for _ in shape]
    after = [random.randint(0, 2) for _ in shape]
    counts: list[int] = []
    for k, length in enumerate(shape):
        spread = (length - 1) * spreads[k] + 1 + before[k] + after[k]
        span = (sizes[k] - 1) * dilations[k] + 1
        counts.append((spread - span) // strides[k] + 1)
    if any(count < 1 for count in counts):
        return None
    return sizes, strides, spreads, dilations, before, after, counts


def cumulative(random: Random, shape: Shape) -> tuple[list[int], ...]:
    """Windows that are the prefixes or the suffixes of one dimension."""
    scanned, ones, zeros = random.randrange(len(shape)), [1 for _ in shape], [0 for _ in shape]
    sizes = [length if k == scanned else 1 for k, length in enumerate(shape)]
    border = [size - 1 for size in sizes]
    before, after = (border, zeros) if random.random() < 0.5 else (zeros, border)
    return sizes, ones, ones, ones, before, after, list(shape)


def padding(before: Shape, after: Shape) -> str:
    pairs = ", ".join(f"[{a}, {b}]" for a, b in zip(before, after, strict=True))
    return f"dense<[{pairs}]> : tensor<{len(before)}x2xi64>"


@maker
def reduce_window(random: Random) -> Made:
    element = random.choice(("f32", "i32"))
    shape = lengths(random, random.randint(1, 3), 2, 5)
    is_cumulative = random.random() < 0.25
    found = cumulative(random, shape) if is_cumulative else windowed(random, shape)
    if found is None:
        return reduce_window(random)
    sizes, strides, spreads, dilations, before, after, counts = found
    inputs, outputs = [tensor(shape, element), tensor([], element)], [tensor(counts, element)]
    body = reducer(element, random.choice(REDUCTIONS[element]))
    op = (
        f'"stablehlo.reduce_window"(%0, %1) ({body}) {{window_dimensions = {array(sizes)}, '
        f"window_strides = {array(strides)}, base_dilations = {array(spreads)}, "
        f"window_dilations = {array(dilations)}, padding = {padding(before, after)}}} : "
        f"{signature(inputs, outputs)}"
    )
    return Made(inputs, op, outputs)


@maker
def convolution(random: Random) -> Made:
    rank = random.randint(1, 2)
    spatial = lengths(random, rank, 2, 5)
    found = windowed(random, spatial)
    if found is None:
        return convolution(random)
    sizes, strides, spreads, dilations, before, after, counts = found
    groups, batches = random.choice(((1, 1), (1, 1), (2, 1), (1, 2), (3, 1)))
    batch, feature = batches * random.randint(1, 2), groups * random.randint(1, 2)
    out = groups * batches * random.randint(1, 2)
    reversal = [random.random() < 0.3 for _ in range(rank)]

    def laid_out(dims: Sequence[int]) -> tuple[list[int], list[int]]:
        """A shape in any order, and where each dimension stands in it."""
        order = permutation(random, len(dims))
        return [dims[k] for k in order], [order.index(k) for k in range(len(dims))]

    image, ib = laid_out([batch, feature, *spatial])
    kernel, kb = laid_out([out, feature // groups, *sizes])
    result, rb = laid_out([batch // batches, out, *counts])

    def named(places: Sequence[int], names: str) -> str:
        texts = [""] * len(places)
        for k, place in enumerate(places):
            texts[place] = names[k] if k < 2 else str(k - 2)
        return "[" + ", ".join(texts) + "]"

    inputs, outputs = [tensor(image), tensor(kernel)], [tensor(result)]
    pads = ", ".join(f"[{a}, {b}]" for a, b in zip(before, after, strict=True))
    window = (
        f"window = {{stride = {listed(strides)}, pad = [{pads}], lhs_dilate = {listed(spreads)}, "
        f"rhs_dilate = {listed(dilations)}, reverse = {listed(reversal)}}} {{batch_group_count = "
        f"{batches} : i64, feature_group_count = {groups} : i64}}"
    )

    def op(places: Sequence[int], type: str) -> str:
        numbers = f"{named(ib, 'bf')}x{named(kb, 'oi')}->{named(places, 'bf')}"
        return (
            f"stablehlo.convolution(%0, %1) dim_numbers = {numbers}, {window} : "
            f"{signature(inputs, [type])}"
        )

    # The interpreter of StableHLO has results of one layout only.
    usual = tensor([batch // batches, out, *counts])
    order = [rb.index(k) for k in range(len(rb))]
    plain = (
        f"%p = {op(range(len(rb)), usual)}\n  %r = stablehlo.transpose %p, dims = "
        f"{listed(order)} : {signature([usual], outputs)}"
    )
    return Made(inputs, op(rb, outputs[0]), outputs, plain)


@maker
def select_and_scatter(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 2), 2, 5)
    rank = len(shape)
    sizes, strides = lengths(random, rank, 1, 3), lengths(random, rank, 1, 3)
    before = [random.randint(0, size - 1) for size in sizes]
    after = [random.randint(0, size - 1) for size in sizes]
    counts = [
        (length + before[k] + after[k] - sizes[k]) // strides[k] + 1
        for k, length in enumerate(shape)
    ]
    if any(count < 1 for count in counts):
        return select_and_scatter(random)
    inputs, outputs = [tensor(shape), tensor(counts)], [tensor(shape)]
    chooser = (
        "{ ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %c = stablehlo.compare GE, %a, %b : "
        "(tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        '    "stablehlo.return"(%c) : (tensor<i1>) -> () }'
    )
    adder = reducer("f32", "add")
    op = (
        # The start is zero: how often it is added is not agreed upon.
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        f'  %r = "stablehlo.select_and_scatter"(%0, %1, %zero) ({chooser}, {adder}) '
        f"{{window_dimensions = {array(sizes)}, window_strides = {array(strides)}, padding = "
        f"{padding(before, after)}}} : {signature([*inputs, tensor([])], outputs)}"
    )
    return Made(inputs, op, outputs)


@maker
def dynamic_slice(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 3))
    sizes = [random.randint(1, length) for length in shape]
    inputs = [tensor(shape), *[tensor([], "i32")] * len(shape)]
    outputs = [tensor(sizes)]
    operands = ", ".join(f"%{k}" for k in range(len(inputs)))
    op = f"stablehlo.dynamic_slice {operands}, sizes = {listed(sizes)} : "
    return Made(inputs, op + signature(inputs, outputs), outputs)


@maker
def dynamic_update_slice(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 3))
    sizes = [random.randint(0 if random.random() < 0.1 else 1, length) for length in shape]
    inputs = [tensor(shape), tensor(sizes), *[tensor([], "i32")] * len(shape)]
    outputs = [tensor(shape)]
    operands = ", ".join(f"%{k}" for k in range(len(inputs)))
    op = f"stablehlo.dynamic_update_slice {operands} : {signature(inputs, outputs)}"
    return Made(inputs, op, outputs)


def index_shape(random: Random, batch: Shape, count: int) -> tuple[list[int], int]:
    """The shape of indices, and which dimension is that of one vector of them."""
    place = random.randint(0, len(batch))
    if count == 1 and random.random() < 0.5:
        return list(batch), len(batch)
    return [*batch[:place], count, *batch[place:]], place


@maker
def gather(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 3))
    rank = len(shape)
    batch = lengths(random, random.randint(0, 2), 1, 3)
    shared = [k for k in range(rank) if random.random() < 0.2][: len(batch)]
    for position, k in enumerate(shared):
        batch[position] = shape[k]
    start_map = random.sample(
        [k for k in range(rank) if k not in shared], random.randint(0, rank - len(shared))
    )
    sizes = [1 if k in shared else random.randint(1, length) for k, length in enumerate(shape)]
    collapsed = [
        k for k in range(rank) if k not in shared and sizes[k] == 1 and random.random() < 0.6
    ]
    indices, vector = index_shape(random, batch, len(start_map))
    places = [k if k < vector else k + 1 for k in range(len(shared))]
    kept = [sizes[k] for k in range(rank) if k not in (*collapsed, *shared)]
    total = len(batch) + len(kept)
    offsets = sorted(random.sample(range(total), len(kept)))
    result: list[int] = []
    batches, parts = iter(batch), iter(kept)
    for k in range(total):
        result.append(next(parts) if k in offsets else next(batches))
    inputs, outputs = [tensor(shape), tensor(indices, "i32")], [tensor(result)]
    numbers = (
        f"#stablehlo.gather<offset_dims = {listed(offsets)}, collapsed_slice_dims = "
        f"{listed(collapsed)}, operand_batching_dims = {listed(shared)}, "
        f"start_indices_batching_dims = {listed(places)}, start_index_map = "
        f"{listed(start_map)}, index_vector_dim = {vector}>"
    )
    op = (
        f'"stablehlo.gather"(%0, %1) {{dimension_numbers = {numbers}, slice_sizes = '
        f"{array(sizes)}}} : {signature(inputs, outputs)}"
    )
    return Made(inputs, op, outputs)


@maker
def scatter(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 3))
    rank = len(shape)
    batch = lengths(random, random.randint(0, 2), 1, 3)
    shared = [k for k in range(rank) if random.random() < 0.2][: len(batch)]
    for position, k in enumerate(shared):
        batch[position] = shape[k]
    others = [k for k in range(rank) if k not in shared]
    mapped = random.sample(others, random.randint(0, len(others)))
    inserted = [k for k in others if random.random() < 0.5]
    # Windows of length 1 in what is indexed: whether parts of others count is not agreed upon.
    sizes = [1 if k in mapped else random.randint(1, shape[k]) for k in others if k not in inserted]
    indices, vector = index_shape(random, batch, len(mapped))
    places = [k if k < vector else k + 1 for k in range(len(shared))]
    total = len(batch) + len(sizes)
    window = sorted(random.sample(range(total), len(sizes)))
    updates: list[int] = []
    batches, parts = iter(batch), iter(sizes)
    for k in range(total):
        updates.append(next(parts) if k in window else next(batches))
    inputs = [tensor(shape), tensor(indices, "i32"), tensor(updates)]
    outputs = [tensor(shape)]
    numbers = (
        f"#stablehlo.scatter<update_window_dims = {listed(window)}, inserted_window_dims = "
        f"{listed(inserted)}, input_batching_dims = {listed(shared)}, "
        f"scatter_indices_batching_dims = {listed(places)}, scatter_dims_to_operand_dims = "
        f"{listed(mapped)}, index_vector_dim = {vector}>"
    )
    body = reducer("f32", random.choice(("add", "maximum", "multiply")))
    op = (
        f'"stablehlo.scatter"(%0, %1, %2) ({body}) {{scatter_dimension_numbers = {numbers}}} : '
        f"{signature(inputs, outputs)}"
    )
    return Made(inputs, op, outputs)


@maker
def sort(random: Random) -> Made:
    shape = lengths(random, random.randint(1, 3), 1, 6)
    dimension = random.randrange(len(shape))
    inputs = [tensor(shape, "i32"), tensor(shape)]
    body = (
        "{ ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):\n"
        "    %e = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        '    "stablehlo.return"(%e) : (tensor<i1>) -> () }'
    )
    op = (
        f'"stablehlo.sort"(%0, %1) ({body}) {{dimension = {dimension} : i64, is_stable = true}} : '
        f"{signature(inputs, inputs)}"
    )
    return Made(inputs, op, inputs)
