"""The makers of random nodes with graphs, and of large ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.random_onnx import Maker, Named, Unfit, info, is_exact, makes, onnx


@makes
def make_recurrent(m: Maker) -> None:
    op, gates = m.random.choice((("RNN", 1), ("GRU", 3), ("LSTM", 4)))
    length, batch, size, hidden = m.shape(4, 3)
    x = m.new(m.array([length, batch, size]))
    w, r = m.new(m.array([1, gates * hidden, size])), m.new(m.array([1, gates * hidden, hidden]))
    bias = m.new(m.array([1, 2 * gates * hidden]))
    inputs = [x, w, r, *([bias] if m.random.random() < 0.5 else [])]
    more: dict[str, Any] = {"linear_before_reset": m.random.randint(0, 1)} if op == "GRU" else {}
    m.node(op, inputs, 2, hidden_size=hidden, **more)


@makes
def make_resize(m: Maker) -> None:
    x = m.new(m.array([1, 1, m.random.randint(2, 4), m.random.randint(2, 4)]))
    mode = m.random.choice(("nearest", "linear", "cubic"))
    more: dict[str, Any] = {"mode": mode}
    more["coordinate_transformation_mode"] = m.random.choice(
        ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    )
    if mode == "nearest":
        more["coordinate_transformation_mode"] = "asymmetric"
        more["nearest_mode"] = m.random.choice(("floor", "ceil", "round_prefer_floor"))
    if m.random.random() < 0.5:
        scales = np.array([1, 1, m.random.choice((1, 2, 1.5)), 2], np.float32)
        m.node("Resize", [x, None, m.weight(scales)], **more)
    else:
        # The reference deviates from the specification of pytorch_half_pixel at the length 1.
        sizes = m.integers(1, 1, m.random.randint(2, 6), m.random.randint(2, 6))
        m.node("Resize", [x, None, None, sizes], **more)


@makes
def make_transform(m: Maker) -> None:
    x = m.new(m.array([1, m.random.randint(1, 6), m.random.randint(1, 2)]))
    onesided = m.random.randint(0, 1) if x.shape[-1] == 1 else 0
    m.node("DFT", [x], inverse=0 if onesided else m.random.randint(0, 1), onesided=onesided)
    m.node(
        m.random.choice(("HannWindow", "HammingWindow", "BlackmanWindow")),
        [m.weight(np.asarray(5, np.int64))],
    )


@makes
def make_grid_sample(m: Maker) -> None:
    x = m.new(m.array([1, 2, 3, 4]))
    grid = m.new(m.array([1, 2, 3, 2]) / np.float32(8))
    m.node("GridSample", [x, grid], mode="linear", align_corners=m.random.randint(0, 1),
           padding_mode=m.random.choice(("zeros", "border", "reflection")))  # fmt: skip


def branch(m: Maker, op: str, x: Named, shape: Any) -> Any:
    helper = onnx().helper
    name = m.name()
    node = helper.make_node(op, [x.name, x.name], [name])
    return helper.make_graph([node], op, [], [info(name, np.zeros(shape, x.array.dtype))])


@makes
def make_if(m: Maker) -> None:
    x = m.pick("f", exact=True)
    condition = m.new(np.asarray(m.random.random() < 0.5))
    helper = onnx().helper
    name = m.name()
    then, other = branch(m, "Add", x, x.shape), branch(m, "Mul", x, x.shape)
    made = helper.make_node("If", [condition.name], [name], then_branch=then, else_branch=other)
    result = x.array + x.array if condition.array else x.array * x.array
    if not np.all(np.abs(result) < 1000):
        raise Unfit
    m.nodes.append(made)
    m.values.append(Named(name, np.asarray(result), True))


@makes
def make_loop(m: Maker) -> None:
    """A state that grows by a part of itself, and its values."""
    x = m.pick("f")
    helper, n = onnx().helper, m.name()
    array, dtype = x.array, x.array.dtype
    half = helper.make_node(
        "Constant", [], [f"{n}c"], value=onnx().numpy_helper.from_array(np.asarray(0.5, dtype))
    )
    body = helper.make_graph(
        [
            half, helper.make_node("Mul", [f"{n}s", f"{n}c"], [f"{n}t"]),
            helper.make_node("Identity", [f"{n}t"], [f"{n}o"]),
            helper.make_node("Identity", [f"{n}b"], [f"{n}e"]),
        ],
        "body",
        [info(f"{n}i", np.asarray(0)), info(f"{n}b", np.asarray(True)), info(f"{n}s", array)],
        [info(f"{n}e", np.asarray(True)), info(f"{n}t", array), info(f"{n}o", array)],
    )  # fmt: skip
    count = m.random.randint(1, 4)
    inputs = [m.weight(np.asarray(count)), m.weight(np.asarray(True)), x]
    names = [m.name(), m.name()]
    m.nodes.append(helper.make_node("Loop", [each.name for each in inputs], names, body=body))
    # The reference concatenates the outputs of the iterations, which have a new dimension.
    states = [np.asarray(array * dtype.type(0.5) ** k) for k in range(1, count + 1)]
    for name, result in zip(names, (states[-1], np.stack(states)), strict=True):
        m.values.append(Named(name, result, x.exact and is_exact(result)))


@makes
def make_scan(m: Maker) -> None:
    x = m.pick("f", least=1)
    helper, n = onnx().helper, m.name()
    part = np.zeros(x.shape[1:], x.array.dtype)
    start = m.like(x, part.shape)
    body = helper.make_graph(
        [
            helper.make_node("Add", [f"{n}s", f"{n}x"], [f"{n}t"]),
            helper.make_node("Identity", [f"{n}t"], [f"{n}o"]),
        ],
        "body",
        [info(f"{n}s", part), info(f"{n}x", part)], [info(f"{n}t", part), info(f"{n}o", part)],
    )  # fmt: skip
    m.node("Scan", [start, x], 2, True, body=body, num_scan_inputs=1,
           scan_input_directions=[0], scan_output_directions=[0])  # fmt: skip


@makes
def make_parts(m: Maker) -> None:
    """A sequence of parts, and one of them."""
    x = m.pick("f", least=1)
    axis, helper = m.axis(x), onnx().helper
    sequence, name = m.name(), m.name()
    place = m.random.randrange(-x.shape[axis], x.shape[axis])
    m.nodes.append(helper.make_node("SplitToSequence", [x.name], [sequence], axis=axis, keepdims=0))
    position = m.weight(np.asarray(place, np.int64))
    m.nodes.append(helper.make_node("SequenceAt", [sequence, position.name], [name]))
    m.values.append(Named(name, np.take(x.array, place, axis), x.exact))
