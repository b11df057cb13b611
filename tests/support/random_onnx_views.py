"""The makers of random nodes that rearrange elements, and of those with indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.random_onnx import Maker, Named, Unfit, makes


def factors(number: int) -> list[int]:
    return [k for k in range(1, number + 1) if number % k == 0]


@makes
def make_reshape(m: Maker) -> None:
    x = m.pick("fib")
    rest, shape = x.array.size, list[int]()
    for _ in range(m.random.randint(0, 3)):
        part = m.random.choice(factors(rest))
        shape.append(part)
        rest //= part
    shape.append(rest)
    if m.random.random() < 0.3:
        shape[m.random.randrange(len(shape))] = -1
    m.node("Reshape", [x, m.integers(*shape)], exact=True)


@makes
def make_transpose(m: Maker) -> None:
    x = m.pick("fib", least=1)
    order = m.random.sample(range(x.array.ndim), x.array.ndim)
    m.node("Transpose", [x], perm=m.random.choice((order, None)), exact=True)


@makes
def make_flatten(m: Maker) -> None:
    x = m.pick("fib")
    m.node("Flatten", [x], axis=m.random.randint(-x.array.ndim, x.array.ndim), exact=True)


@makes
def make_squeeze(m: Maker) -> None:
    x = m.pick("fib")
    axes = sorted(m.random.sample(range(x.array.ndim + 2), 2))
    grown = m.node("Unsqueeze", [x, m.integers(*axes)], exact=True)[0]
    given = m.random.choice(axes)
    m.node("Squeeze", [grown, m.random.choice((m.integers(given), None))], exact=True)


@makes
def make_expand(m: Maker) -> None:
    x = m.pick("fib")
    shape = [m.random.randint(1, 3), *(n if n > 1 else m.random.randint(1, 3) for n in x.shape)]
    m.node("Expand", [x, m.integers(*shape[m.random.randint(0, 1) :])], exact=True)


@makes
def make_tile(m: Maker) -> None:
    x = m.pick("fib", least=1)
    m.node("Tile", [x, m.integers(*(m.random.randint(1, 3) for _ in x.shape))], exact=True)


@makes
def make_concat(m: Maker) -> None:
    x = m.pick("fib", least=1)
    axis = m.axis(x)
    parts = [x]
    for _ in range(m.random.randint(0, 2)):
        shape = list(x.shape)
        shape[axis] = m.random.randint(1, 3)
        parts.append(m.like(x, shape))
    m.random.shuffle(parts)
    m.node("Concat", parts, axis=axis, exact=True)


@makes
def make_split(m: Maker) -> None:
    x = m.pick("fib", least=1)
    axis = m.axis(x)
    length = x.shape[axis]
    if length > 1 and m.random.random() < 0.5:
        first = m.random.randint(1, length - 1)
        m.node("Split", [x, m.integers(first, length - first)], 2, True, axis=axis)
    elif length > 1:
        m.node("Split", [x], 2, True, axis=axis, num_outputs=2)


@makes
def make_slice(m: Maker) -> None:
    x = m.pick("fib", least=1)
    axes = m.random.sample(range(x.array.ndim), m.random.randint(1, x.array.ndim))
    starts, ends, steps = list[int](), list[int](), list[int]()
    for axis in axes:
        length = x.shape[axis]
        steps.append(m.random.choice((1, 1, 2, -1, -2)))
        a, b = m.random.randint(-length - 1, length), m.random.randint(-length - 2, length + 3)
        starts.append(a)
        ends.append(m.random.choice((b, 2**62 if steps[-1] > 0 else -(2**62))))
    parts = [m.integers(*each) for each in (starts, ends, axes, steps)]
    found = m.node("Slice", [x, *parts], exact=True)[0]
    if not found.array.size:
        raise Unfit


@makes
def make_pad(m: Maker) -> None:
    x = m.pick("f", least=1)
    mode = m.random.choice(("constant", "reflect", "edge", "wrap"))
    rank = x.array.ndim
    least = -1 if mode == "constant" and min(x.shape) > 2 else 0
    most = [2 if mode in ("constant", "edge") else min(2, n - 1) for n in x.shape]
    pads = [m.random.randint(least, most[k % rank]) for k in range(2 * rank)]
    value = m.weight(np.asarray(1.5, x.array.dtype)) if m.random.random() < 0.5 else None
    m.node(
        "Pad", [x, m.integers(*pads), value if mode == "constant" else None], exact=True, mode=mode
    )


@makes
def make_blocks(m: Maker) -> None:
    shape = [m.random.randint(1, 2), 4 * m.random.randint(1, 2), 2, 4]
    x = m.new(m.array(shape))
    mode = m.random.choice(("DCR", "CRD"))
    found = m.node("DepthToSpace", [x], exact=True, blocksize=2, mode=mode)[0]
    m.node("SpaceToDepth", [found], exact=True, blocksize=2)


@makes
def make_trilu(m: Maker) -> None:
    x = m.pick("fi", least=2)
    offset = m.random.choice((None, m.weight(np.asarray(m.random.randint(-2, 3), np.int64))))
    m.node("Trilu", [x, offset], exact=True, upper=m.random.randint(0, 1))


def indices(m: Maker, shape: Any, length: int) -> Named:
    found = np.array([m.random.randrange(-length, length) for _ in range(int(np.prod(shape)))])
    dtype = m.random.choice((np.int32, np.int64))
    return m.new(found.reshape(shape).astype(dtype))


@makes
def make_gather(m: Maker) -> None:
    x = m.pick("fib", least=1)
    axis = m.axis(x)
    m.node("Gather", [x, indices(m, m.shape(m.random.randint(0, 2)), x.shape[axis])],
           exact=True, axis=axis)  # fmt: skip


@makes
def make_gather_elements(m: Maker) -> None:
    x = m.pick("fi", least=1)
    axis = m.axis(x)
    shape = [m.random.randint(1, n) for n in x.shape]
    m.node("GatherElements", [x, indices(m, shape, x.shape[axis])], exact=True, axis=axis)


@makes
def make_gather_nd(m: Maker) -> None:
    x = m.pick("fi", least=1)
    batch = m.random.randint(0, min(1, x.array.ndim - 1))
    count = m.random.randint(1, x.array.ndim - batch)
    lead = [*x.shape[:batch], *m.shape(m.random.randint(0, 1))]
    parts = [
        np.array([m.random.randrange(-n, n) for _ in range(int(np.prod(lead)))]).reshape(lead)
        for n in x.shape[batch : batch + count]
    ]
    places = m.new(np.stack(parts, -1).astype(np.int64))
    m.node("GatherND", [x, places], exact=True, batch_dims=batch)


@makes
def make_scatter(m: Maker) -> None:
    x = m.pick("f", least=1)
    axis = m.axis(x)
    shape = [m.random.randint(1, n) for n in x.shape]
    length = x.shape[axis]
    reduction = m.random.choice(("none", "add", "mul", "max", "min"))
    if reduction == "none":
        # Each place once, so that the order does not matter.
        every = [length if k == axis % len(shape) else n for k, n in enumerate(shape)]
        order = np.argsort(np.random.default_rng(m.random.randrange(99)).random(every), axis)
        places = m.new(np.take(order, range(shape[axis]), axis).astype(np.int64))
    else:
        places = indices(m, shape, length)
    m.node("ScatterElements", [x, places, m.like(x, shape)], exact=True, axis=axis,
           reduction=reduction)  # fmt: skip


@makes
def make_scatter_nd(m: Maker) -> None:
    x = m.pick("f", least=1)
    count = m.random.randint(1, x.array.ndim)
    total = int(np.prod(x.shape[:count]))
    chosen = m.random.sample(range(total), m.random.randint(1, total))
    places = np.stack(np.unravel_index(chosen, x.shape[:count]), -1).astype(np.int64)
    updates = m.like(x, [len(chosen), *x.shape[count:]])
    reduction = m.random.choice(("none", "add", "mul", "max", "min"))
    m.node("ScatterND", [x, m.new(places), updates], exact=True, reduction=reduction)


@makes
def make_one_hot(m: Maker) -> None:
    places = m.new(m.array(m.shape(m.random.randint(0, 2)), np.int64))
    depth, values = m.weight(np.asarray(5, np.int64)), m.new(m.array([2], np.float32))
    m.node("OneHot", [places, depth, values], exact=True,
           axis=m.random.randint(-places.array.ndim - 1, places.array.ndim))  # fmt: skip


@makes
def make_top_k(m: Maker) -> None:
    x = m.pick("fi", least=1, exact=True)
    axis = m.axis(x)
    m.node("TopK", [x, m.integers(m.random.randint(1, x.shape[axis]))], 2, True, axis=axis,
           largest=m.random.randint(0, 1))  # fmt: skip


@makes
def make_compress(m: Maker) -> None:
    x = m.pick("fi", least=1)
    axis = m.axis(x)
    chosen = m.array([x.shape[axis]], bool)
    chosen[0] = True
    m.node("Compress", [x, m.weight(chosen)], exact=True, axis=axis)


@makes
def make_cumulative(m: Maker) -> None:
    x = m.pick("fi", least=1)
    axis = m.weight(np.asarray(m.axis(x), np.int64))
    m.node("CumSum", [x, axis], exact=True, exclusive=m.random.randint(0, 1),
           reverse=m.random.randint(0, 1))  # fmt: skip


@makes
def make_reverse_sequence(m: Maker) -> None:
    x = m.pick("f", least=2)
    batch = m.random.randint(0, 1)
    lengths = [m.random.randint(1, x.shape[1 - batch]) for _ in range(x.shape[batch])]
    m.node("ReverseSequence", [x, m.new(np.array(lengths, np.int64))], exact=True,
           batch_axis=batch, time_axis=1 - batch)  # fmt: skip


@makes
def make_crop(m: Maker) -> None:
    x = m.pick("f", least=1)
    m.node("CenterCropPad", [x, m.integers(*(m.random.randint(1, 6) for _ in x.shape))], exact=True)


@makes
def make_shape(m: Maker) -> None:
    x = m.pick("fib", least=1)
    found = m.node("Shape", [x], start=m.random.choice((None, 0, -1)))[0]
    m.node("ConstantOfShape", [found])
    m.node("EyeLike", [m.pick("f", rank=2)], k=m.random.randint(-2, 2), exact=True)


@makes
def make_range(m: Maker) -> None:
    step = m.random.choice((1, 2, -1, 3))
    parts = [m.weight(np.asarray(n, np.int64)) for n in (m.random.randint(-3, 3), 7 * step, step)]
    m.node("Range", parts)
