"""The makers of random reductions, contractions, pools and normalizations."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.random_onnx import Maker, Unfit, makes

REDUCTIONS = (
    "ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
    "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp",
)  # fmt: skip


@makes
def make_reduction(m: Maker) -> None:
    x = m.pick("f")
    rank = x.array.ndim
    axes = m.random.sample(range(-rank, 0), m.random.randint(0, rank)) if rank else []
    given = m.integers(*axes) if axes or m.random.random() < 0.3 else None
    m.node(m.random.choice(REDUCTIONS), [x, given], keepdims=m.random.randint(0, 1),
           noop_with_empty_axes=m.random.randint(0, 1))  # fmt: skip


@makes
def make_arg_extreme(m: Maker) -> None:
    x = m.pick("fi", least=1, exact=True)
    m.node(m.random.choice(("ArgMax", "ArgMin")), [x], axis=m.axis(x),
           keepdims=m.random.randint(0, 1), select_last_index=m.random.randint(0, 1))  # fmt: skip


@makes
def make_matmul(m: Maker) -> None:
    x = m.pick("f", least=1)
    inner, columns = x.shape[-1], m.random.randint(1, 4)
    form = m.random.randrange(4)
    shape = [[inner], [inner, columns], [2, inner, columns], [*x.shape[:-2], inner, columns]][form]
    if form == 2 and x.array.ndim > 2 and x.shape[-3] not in (1, 2):
        raise Unfit
    m.node("MatMul", [x, m.like(x, shape)], exact=True)


@makes
def make_gemm(m: Maker) -> None:
    rows, inner, columns = m.shape(3)
    x = m.pick("f", rank=2)
    rows, inner = x.shape
    flip_a, flip_b = m.random.randint(0, 1), m.random.randint(0, 1)
    if flip_a:
        rows, inner = inner, rows
    other = m.like(x, [columns, inner] if flip_b else [inner, columns])
    bias = m.random.choice(([rows, columns], [columns], [1, columns], [rows, 1], [], None))
    parts = [x, other, *([m.like(x, bias)] if bias is not None else [])]
    m.node("Gemm", parts, alpha=m.random.choice((1.0, 0.5)), beta=m.random.choice((1.0, -2.0)),
           transA=flip_a, transB=flip_b, exact=True)  # fmt: skip


@makes
def make_einsum(m: Maker) -> None:
    letters = "ijkl"
    sizes = {c: m.random.randint(1, 4) for c in letters}
    terms = [
        "".join(m.random.sample(letters, m.random.randint(1, 3)))
        for _ in range(m.random.randint(1, 3))
    ]
    used = sorted(set("".join(terms)))
    out = "".join(m.random.sample(used, m.random.randint(0, len(used))))
    equation = ",".join(terms) + (f"->{out}" if m.random.random() < 0.8 else "")
    parts = [m.new(m.array([sizes[c] for c in term], np.float32)) for term in terms]
    m.node("Einsum", parts, equation=equation, exact=True)


def window(m: Maker, rank: int) -> dict[str, Any]:
    found: dict[str, Any] = {"kernel_shape": [m.random.randint(1, 3) for _ in range(rank)]}
    if m.random.random() < 0.6:
        found["strides"] = [m.random.randint(1, 2) for _ in range(rank)]
    if m.random.random() < 0.4:
        found["dilations"] = [m.random.randint(1, 2) for _ in range(rank)]
    if m.random.random() < 0.5:
        found["pads"] = [m.random.randrange(k) for k in found["kernel_shape"] * 2]
    return found


@makes
def make_convolution(m: Maker) -> None:
    rank, groups = m.random.randint(1, 2), m.random.choice((1, 1, 2))
    options = window(m, rank)
    each = m.random.randint(1, 2)
    size = [m.random.randint(5, 7) for _ in range(rank)]
    x = m.new(m.array([m.random.randint(1, 2), groups * each, *size]))
    features = groups * m.random.randint(1, 2)
    w = m.new(m.array([features, each, *options["kernel_shape"]]))
    bias = m.new(m.array([features])) if m.random.random() < 0.5 else None
    if "pads" not in options and m.random.random() < 0.3:
        options["auto_pad"] = m.random.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
        if options["auto_pad"] != "VALID":
            options.pop("dilations", None)
    m.node("Conv", [x, w, *([bias] if bias else [])], group=groups, exact=True, **options)


@makes
def make_transposed_convolution(m: Maker) -> None:
    rank = m.random.randint(1, 2)
    options = window(m, rank)
    x = m.new(m.array([1, 2, *(m.random.randint(3, 5) for _ in range(rank))]))
    w = m.new(m.array([2, m.random.randint(1, 3), *options["kernel_shape"]]))
    m.node("ConvTranspose", [x, w], exact=True, **options)


@makes
def make_pool(m: Maker) -> None:
    rank = m.random.randint(1, 2)
    options = window(m, rank)
    x = m.new(m.array([1, 2, *(m.random.randint(5, 7) for _ in range(rank))]))
    op = m.random.choice(("MaxPool", "AveragePool", "LpPool"))
    if op == "AveragePool":
        options["count_include_pad"] = m.random.randint(0, 1)
    if op == "MaxPool" and "pads" in options:
        # The reference mixes up the pads of different dimensions and ends.
        options["pads"] = [min(options["kernel_shape"]) - 1] * (2 * rank)
    if op == "LpPool":
        options["p"] = m.random.randint(1, 3)
    m.node(op, [x], exact=op == "MaxPool", **options)


@makes
def make_global_pool(m: Maker) -> None:
    # The reference reduces other dimensions than these if there are not two of them.
    x = m.pick("f", rank=4)
    m.node(m.random.choice(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")), [x])


@makes
def make_normalization(m: Maker) -> None:
    x = m.pick("f", least=2)
    axis = m.random.randrange(1, x.array.ndim)
    scale = m.like(x, x.shape[axis:])
    op = m.random.choice(
        ("LayerNormalization", "LpNormalization", "LRN", "MeanVarianceNormalization")
    )
    if op == "LayerNormalization":
        m.node(op, [x, scale, m.like(x, x.shape[axis:])], axis=axis, epsilon=0.5)
    elif op == "LpNormalization":
        # The reference takes the sum of the elements, not that of their absolute values, if p is 1.
        m.node(op, [x], axis=axis, p=2)
    elif op == "LRN" and x.array.ndim == 4 and x.shape[0] == x.shape[1]:
        # The reference takes the number of images for that of the channels.
        m.node(op, [x], size=m.random.randint(1, 3), alpha=0.5)
    elif x.array.ndim == 4:
        moved = m.node("Add", [m.node("Mul", [x, x])[0], m.like(x, x.shape)])[0]
        if np.min(np.std(moved.array, (0, 2, 3))) < 0.1:
            raise Unfit
        m.node(op, [moved])


@makes
def make_channel_normalization(m: Maker) -> None:
    x = m.new(m.array([m.random.randint(1, 2), 4, m.random.randint(2, 4), 2]))
    scale, bias, mean = (m.new(m.array([4])) for _ in range(3))
    variance = m.new(np.abs(m.array([4])) + np.float32(1))
    op = m.random.choice(("BatchNormalization", "InstanceNormalization", "GroupNormalization"))
    if op == "BatchNormalization":
        m.node(op, [x, scale, bias, mean, variance], epsilon=0.25)
    elif op == "InstanceNormalization":
        m.node(op, [x, scale, bias], epsilon=0.25)
    else:
        m.node(op, [x, scale, bias], num_groups=m.random.choice((1, 2, 4)), epsilon=0.25)


@makes
def make_softmax(m: Maker) -> None:
    x = m.pick("f", least=1)
    m.node(m.random.choice(("Softmax", "LogSoftmax")), [x], axis=m.axis(x))


@makes
def make_hardmax(m: Maker) -> None:
    x = m.pick("f", least=1, exact=True)
    m.node("Hardmax", [x], axis=m.axis(x), exact=True)


@makes
def make_quantized(m: Maker) -> None:
    x = m.pick("f", exact=True)
    if x.array.dtype != np.float32:
        raise Unfit
    dtype = m.random.choice((np.int8, np.uint8))
    scale, zero = m.weight(np.float32(0.25)), m.weight(np.asarray(3, dtype))
    found = m.node("QuantizeLinear", [x, scale, zero])[0]
    m.node("DequantizeLinear", [found, scale, zero], exact=True)


@makes
def make_integer_product(m: Maker) -> None:
    rows, inner, columns = m.shape(3)
    dtype = m.random.choice((np.int8, np.uint8))
    a, b = m.new(m.array([rows, inner], dtype)), m.new(m.array([inner, columns], np.int8))
    zeros = [m.weight(np.asarray(2, dtype)), m.weight(np.asarray(-1, np.int8))]
    m.node("MatMulInteger", [a, b, *zeros[: m.random.randint(0, 2)]])
    quarter, half = m.weight(np.float32(0.25)), m.weight(np.float32(0.5))
    # An even zero point: the reference adds it before it rounds ties to even.
    y_zero = m.weight(np.asarray(2, np.int8))
    m.node("QLinearMatMul", [a, quarter, zeros[0], b, half, zeros[1], half, y_zero])
