"""Recurrent networks: RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riselang.frontends.onnx.ops.activations import elu, hard_sigmoid, leaky_relu, softplus
from riselang.frontends.onnx.primitives.contractions import dot_general
from riselang.frontends.onnx.primitives.control_flow import scan
from riselang.frontends.onnx.primitives.elementwise import (
    add,
    compare,
    convert,
    divide,
    maximum,
    minimum,
    multiply,
    select,
    subtract,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.indexing import take_along_axis
from riselang.frontends.onnx.primitives.shapes import (
    broadcast_in_dim,
    index_axis,
    iota,
    reverse,
    slice_axis,
    stack,
    transpose,
)
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError

Activation = Callable[[Value], Value]
LOOP = "contractions, in a `while` over the sequence"
_ACTIVATIONS: dict[str, Callable[[Value, float, float], Value]] = {
    "relu": lambda x, a, b: maximum(x, 0),
    "tanh": lambda x, a, b: unary("tanh", x),
    "sigmoid": lambda x, a, b: unary("logistic", x),
    "affine": lambda x, a, b: add(multiply(x, a), b),
    "leakyrelu": lambda x, a, b: leaky_relu(x, a),
    "thresholdedrelu": lambda x, a, b: select(compare("GE", x, a), x, 0),
    "scaledtanh": lambda x, a, b: multiply(unary("tanh", multiply(x, b)), a),
    "hardsigmoid": lambda x, a, b: hard_sigmoid(x, a, b),
    "elu": lambda x, a, b: elu(x, a),
    "softsign": lambda x, a, b: divide(x, add(unary("abs", x), 1)),
    "softplus": lambda x, a, b: softplus(x),
}
_DEFAULTS = {
    "leakyrelu": (0.01, 0.0), "thresholdedrelu": (1.0, 0.0), "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5), "elu": (1.0, 0.0), "affine": (1.0, 0.0),
}  # fmt: skip
_TAKES_ALPHA = tuple(_DEFAULTS)
_TAKES_BETA = ("affine", "scaledtanh", "hardsigmoid")


def _activations(node: Node, defaults: list[str], directions: int) -> list[list[Activation]]:
    given: Any = node.attributes.get("activations")
    names = (
        [each.decode(errors="replace").lower() for each in given]
        if given
        else defaults * directions
    )
    alphas = list(node.attributes.get("activation_alpha") or [])
    betas = list(node.attributes.get("activation_beta") or [])
    clip = node.attributes.get("clip")
    found: list[Activation] = []
    for name in names:
        if name not in _ACTIVATIONS:
            raise LimitationError(f"the activation {name} is not known")
        alpha, beta = _DEFAULTS.get(name, (0.0, 0.0))
        if name in _TAKES_ALPHA and alphas:
            alpha = float(alphas.pop(0))
        if name in _TAKES_BETA and betas:
            beta = float(betas.pop(0))
        function = _ACTIVATIONS[name]

        def apply(x: Value, f: Any = function, a: float = alpha, b: float = beta) -> Value:
            if clip is not None:
                x = minimum(maximum(x, -float(clip)), float(clip))
            return f(x, a, b)

        found.append(apply)
    size = len(defaults)
    return [found[k * size : (k + 1) * size] for k in range(directions)]


class Cell:
    """One direction of a recurrent op."""

    def __init__(self, node: Node, direction: int, gates: int, functions: list[Activation]):
        self.node = node
        self.hidden = node.integer("hidden_size", node[2].shape[-1])
        self.functions = functions
        self.weights = index_axis(node[1], 0, direction)
        self.recurrence = index_axis(node[2], 0, direction)
        bias = node.optional(3)
        self.bias = None if bias is None else index_axis(bias, 0, direction)
        self.gates = gates

    def input_part(self, x: Value) -> Value:
        """Compute W x for all steps at once."""
        found = dot_general(x, self.weights, ((), ()), ((2,), (1,)))
        if self.bias is None:
            return found
        own = slice_axis(self.bias, 0, 0, self.gates * self.hidden)
        return add(found, own)

    def recurrent_bias(self) -> Value | None:
        if self.bias is None:
            return None
        size = self.gates * self.hidden
        return slice_axis(self.bias, 0, size, 2 * size)

    def recur(self, hidden: Value, first: int = 0, last: int | None = None) -> Value:
        """Compute R h + Rb for some of the gates."""
        last = self.gates if last is None else last
        rows = slice_axis(self.recurrence, 0, first * self.hidden, last * self.hidden)
        found = dot_general(hidden, rows, ((), ()), ((1,), (1,)))
        bias = self.recurrent_bias()
        if bias is None:
            return found
        return add(found, slice_axis(bias, 0, first * self.hidden, last * self.hidden))

    def gate(self, x: Value, number: int, count: int = 1) -> Value:
        return slice_axis(x, 1, number * self.hidden, (number + count) * self.hidden)


def _rnn_step(cell: Cell, part: Value, state: list[Value]) -> list[Value]:
    return [cell.functions[0](add(part, cell.recur(state[0])))]


def _gru_step(cell: Cell, part: Value, state: list[Value]) -> list[Value]:
    (hidden,) = state
    gate, output = cell.functions
    both = gate(add(cell.gate(part, 0, 2), cell.recur(hidden, 0, 2)))
    update, reset = cell.gate(both, 0), cell.gate(both, 1)
    if cell.node.integer("linear_before_reset", 0):
        inner = multiply(reset, cell.recur(hidden, 2, 3))
    else:
        inner = cell.recur(multiply(reset, hidden), 2, 3)
    new = output(add(cell.gate(part, 2), inner))
    return [add(multiply(subtract(1, update), new), multiply(update, hidden))]


def _lstm_step(cell: Cell, part: Value, state: list[Value]) -> list[Value]:
    hidden, memory = state
    gate, candidate, output = cell.functions
    total = add(part, cell.recur(hidden))
    peepholes: Any = getattr(cell, "peepholes", None)

    def peeked(number: int, which: int, memory: Value) -> Value:
        x = cell.gate(total, number)
        if peepholes is None:
            return x
        size = cell.hidden
        return add(x, multiply(slice_axis(peepholes, 0, which * size, (which + 1) * size), memory))

    # The gates are i, o, f, c; the peepholes i, o, f.
    enter = gate(peeked(0, 0, memory))
    if cell.node.integer("input_forget", 0):
        keep = subtract(1, enter)
    else:
        keep = gate(peeked(2, 2, memory))
    new = add(multiply(keep, memory), multiply(enter, candidate(cell.gate(total, 3))))
    leave = gate(peeked(1, 1, new))
    return [multiply(leave, output(new)), new]


_FORMS: dict[str, tuple[int, list[str], int, Any]] = {
    "RNN": (1, ["tanh"], 1, _rnn_step),
    "GRU": (3, ["sigmoid", "tanh"], 1, _gru_step),
    "LSTM": (4, ["sigmoid", "tanh", "tanh"], 2, _lstm_step),
}
"""The number of gates, the activations, the number of states, and the step of each op."""


@converts("RNN", "GRU", "LSTM", summary=LOOP)
def _recurrent(node: Node) -> list[Value]:
    gates, defaults, states, step = _FORMS[node.op]
    direction = node.text("direction", "forward")
    directions = 2 if direction == "bidirectional" else 1
    is_batch_first = bool(node.integer("layout", 0))
    x, weights = node.tensor(0, rank=3), [node.tensor(k, rank=3) for k in (1, 2)]
    if any(each.shape[0] != directions for each in weights):
        raise LimitationError(f"weights for {directions} directions are expected")
    if node.optional(3) is not None:
        node.tensor(3, rank=2)
    x = transpose(x, (1, 0, 2)) if is_batch_first else x
    length, batch = x.shape[:2]
    functions = _activations(node, defaults, directions)
    lengths = node.optional(4)
    outputs: list[Value] = []
    finals: list[list[Value]] = [[] for _ in range(states)]
    for number in range(directions):
        cell = Cell(node, number, gates, functions[number])
        if node.op == "LSTM" and node.optional(7) is not None:
            vars(cell)["peepholes"] = index_axis(node[7], 0, number)
        is_backward = direction == "reverse" or number == 1
        start = [_initial(node, 5 + k, number, (batch, cell.hidden), is_batch_first)
                 for k in range(states)]  # fmt: skip
        parts = cell.input_part(_backward(x, lengths) if is_backward else x)

        def body(place: Value, state: Any, given: Any, cell: Cell = cell) -> Any:
            new = step(cell, given[0], list(state))
            shown = new[0]
            if lengths is not None:
                ongoing = compare("LT", place, convert(lengths, "i64"))
                mask = broadcast_in_dim(ongoing, new[0].shape, [0])
                new = [select(mask, a, b) for a, b in zip(new, state, strict=True)]
                shown = select(mask, shown, 0)
            return new, [shown]

        final, (every,) = scan(body, start, [parts], length)
        outputs.append(_backward(every, lengths) if is_backward else every)
        for kept, each in zip(finals, final, strict=True):
            kept.append(each)
    results = [stack(outputs, 1), *(stack(each, 0) for each in finals)]
    if is_batch_first:
        results = [transpose(results[0], (2, 0, 1, 3)),
                   *(transpose(each, (1, 0, 2)) for each in results[1:])]  # fmt: skip
    return results


def _initial(
    node: Node, position: int, direction: int, shape: tuple[int, int], is_batch_first: bool
) -> Value:
    found = node.optional(position)
    if found is None:
        return node.graph.full(0, shape, node[0].element)
    return index_axis(found, 1 if is_batch_first else 0, direction)


def _backward(x: Value, lengths: Value | None) -> Value:
    """Reverse sequences, each from its own end."""
    if lengths is None:
        return reverse(x, [0])
    place = iota(x.graph, x.shape, 0)
    ends = broadcast_in_dim(convert(lengths, "i64"), x.shape, [1])
    flipped = subtract(subtract(ends, 1), place)
    return take_along_axis(x, select(compare("LT", place, ends), flipped, place), 0)
