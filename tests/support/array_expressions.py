"""Random expressions on arrays that NumPy and riselang both evaluate."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import riselang as rl

LEAVES = {"a": (3, 4), "b": (4,), "c": (3, 1), "d": (2, 3, 4), "s": ()}
"""The names of arrays of integers and their shapes; those of floats have capital letters."""
INTEGERS = [
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "{0} // (({1} & 7) + 1)",
    "{0} % (({1} & 7) + 1)",
    "{0} & {1}",
    "{0} | {1}",
    "{0} ^ {1}",
    "{0} << ({1} & 3)",
    "{0} >> ({1} & 3)",
    "~{0}",
    "-{0}",
    "abs({0})",
    "{0} ** 2",
    "{0} - 3",
    "5 - {0}",
]
FLOATS = [
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "{0} / (abs({1}) + 1.0)",
    "-{0}",
    "abs({0})",
    "{0} * 0.5",
    "1.5 - {0}",
    "maximum({0}, {1})",
]
COMPARISONS = ["{0} < {1}", "{0} <= {1}", "{0} == {1}", "{0} != {1}", "{0} > {1}", "{0} >= 2"]
BOOLEANS = ["{0} & {1}", "{0} | {1}", "{0} ^ {1}", "~{0}"]
VIEWS = [
    "{0}.T",
    "{0}.reshape(-1)",
    "{0}[::-1]",
    "{0}[..., ::2]",
    "{0}[-1]",
    "{0}[1:]",
    "{0}[None]",
    "{0}[..., None]",
    "{0}.max({axis})",
    "{0}.min(axis={axis}, keepdims=True)",
    "stack([{0}, {0}], {axis})",
    "concatenate([{0}, {0}[:1]])",
    "{0}[..., [0, -1]]",
    "roll({0}, 1, {axis})",
]
MAX_ELEMENTS = 400


class Expressions:
    """Random expressions; a seed makes the same ones each time."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        source = np.random.default_rng(seed)
        integers = {name: source.integers(-20, 21, shape) for name, shape in LEAVES.items()}
        self.arrays: dict[str, Any] = {
            **{name: np.asarray(array, np.int32) for name, array in integers.items()},
            **{name.upper(): np.asarray(array / 4, np.float32) for name, array in integers.items()},
        }
        self.scope = {**numpy_scope(), **self.arrays}

    def evaluate(self, text: str) -> Any:
        with np.errstate(all="ignore"):
            return eval(text, self.scope)

    def expression(self, kind: str, depth: int) -> str:
        """Return an expression that NumPy evaluates to an array of this kind of elements."""
        while True:
            text = self._expression(kind, depth)
            try:
                value = self.evaluate(text)
            except (ValueError, IndexError):  # shapes that are not broadcast, or missing axes
                continue
            if value.size <= MAX_ELEMENTS and value.ndim <= 4:
                return text

    def _expression(self, kind: str, depth: int) -> str:
        if depth == 0 and kind != "b":
            names = LEAVES if kind == "i" else [name.upper() for name in LEAVES]
            return self.random.choice(list(names))
        inner = max(depth - 1, 0)
        choice = self.random.random()
        if kind == "b" and (choice < 0.6 or depth == 0):
            operands = self.random.choice("if")
            form = self.random.choice(COMPARISONS)
        elif choice < 0.15:
            condition = self.expression("b", inner)
            values = [self.expression(kind, inner) for _ in range(2)]
            return f"where({condition}, {values[0]}, {values[1]})"
        elif choice < 0.3 and kind != "b":
            operand = self.expression(kind, inner)
            form = self.random.choice(VIEWS if self.evaluate(operand).ndim else ["{0}"])
            return form.format(f"({operand})", axis=self.random.choice((0, -1, 1)))
        else:
            operands = kind
            form = self.random.choice({"i": INTEGERS, "f": FLOATS, "b": BOOLEANS}[kind])
        values = [f"({self.expression(operands, inner)})" for _ in range(2)]
        return form.format(*values)


def numpy_scope() -> dict[str, Any]:
    return {
        "where": np.where, "stack": np.stack, "concatenate": np.concatenate, "roll": np.roll,
        "maximum": np.maximum,
    }  # fmt: skip


def riselang_scope() -> dict[str, Any]:
    return {
        "where": rl.where, "stack": rl.stack, "concatenate": rl.concatenate, "roll": rl.roll,
        "maximum": rl.max,
    }  # fmt: skip
