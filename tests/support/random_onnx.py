"""Random ONNX models, with the results of ONNX's reference implementation.

A maker adds a node to a model under construction, whose values are computed at once by
`onnx.reference`, so that the shapes and the ranges of all values are known. Ops that are not
continuous take exact values only: numbers without rounding errors.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

OPSET = 21
Array = np.ndarray[Any, Any]
FLOATS = (np.float32, np.float32, np.float64)
INTEGERS = (np.int32, np.int64, np.int8, np.uint8)
GREATEST = 1e4
"""Values beyond are dropped; in them, rounding errors would be large."""


class Unfit(Exception):
    """The random choice has no result that can be compared."""


@dataclass(frozen=True)
class Named:
    """A value of the model."""

    name: str
    array: Array
    exact: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def is_float(self) -> bool:
        return self.array.dtype.kind == "f"


@dataclass(frozen=True)
class Case:
    """A model, arguments for it, and its results."""

    proto: Any
    arguments: list[Array]
    results: list[Array]

    @property
    def text(self) -> str:
        return onnx().printer.to_text(self.proto)


def onnx() -> Any:
    importlib.import_module("onnx.reference")
    return importlib.import_module("onnx")


@dataclass
class Maker:
    """A model under construction."""

    random: Random
    nodes: list[Any] = field(default_factory=list[Any])
    values: list[Named] = field(default_factory=list[Named])
    inputs: list[Named] = field(default_factory=list[Named])
    weights: list[Named] = field(default_factory=list[Named])
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def array(self, shape: Sequence[int], dtype: Any = np.float32, low: int = -4) -> Array:
        generator = np.random.default_rng(self.random.randrange(1 << 30))
        kind = np.dtype(dtype).kind
        if kind == "b":
            return np.asarray(generator.integers(0, 2, shape), bool)
        if kind == "f":
            return np.asarray(generator.integers(2 * low, 9, shape) / 2, dtype)
        return np.asarray(generator.integers(max(low, 0) if kind == "u" else low, 7, shape), dtype)

    def new(self, array: Array) -> Named:
        """Add an input, or sometimes a weight."""
        made = Named(self.name(), array, True)
        (self.weights if self.random.random() < 0.3 else self.inputs).append(made)
        self.values.append(made)
        return made

    def weight(self, array: Any) -> Named:
        made = Named(self.name(), np.asarray(array), True)
        self.weights.append(made)
        return made

    def integers(self, *numbers: int) -> Named:
        return self.weight(np.array(numbers, np.int64))

    def shape(self, rank: int | None = None, most: int = 4) -> list[int]:
        rank = self.random.randint(0, 4) if rank is None else rank
        return [self.random.randint(1, most) for _ in range(rank)]

    def pick(
        self, kinds: str = "f", rank: int | None = None, least: int = 0, exact: bool = False
    ) -> Named:
        """Return a value of such a kind and rank: one there is, or a new input."""
        fitting = [
            each
            for each in self.values
            if each.array.dtype.kind in kinds
            and (each.array.ndim == rank if rank is not None else each.array.ndim >= least)
            and (each.exact or not exact)
        ]
        if fitting and self.random.random() < 0.75:
            # The latest are preferred, so that models are deep.
            return fitting[-1 - min(int(self.random.expovariate(0.7)), len(fitting) - 1)]
        dtypes = {"f": FLOATS, "i": INTEGERS[:3], "u": (np.uint8,), "b": (bool,)}
        dtype = self.random.choice(dtypes[self.random.choice(kinds)])
        own = max(least, self.random.randint(0, 4)) if rank is None else rank
        return self.new(self.array(self.shape(own), dtype))

    def like(self, x: Named, shape: Sequence[int] | None = None) -> Named:
        """Return a value of the same type and, unless given, the same shape or one to broadcast."""
        if shape is None:
            drop = self.random.randint(0, x.array.ndim) if self.random.random() < 0.4 else 0
            shape = [1 if self.random.random() < 0.2 else n for n in x.shape[drop:]]
        same = [
            v for v in self.values if v.shape == tuple(shape) and v.array.dtype == x.array.dtype
        ]
        if same and self.random.random() < 0.5:
            return self.random.choice(same)
        return self.new(self.array(shape, x.array.dtype))

    def axis(self, x: Named) -> int:
        rank = x.array.ndim
        if not rank:
            raise Unfit
        return self.random.randrange(-rank, rank)

    def node(
        self,
        op: str,
        inputs: Sequence[Named | None],
        count: int = 1,
        exact: bool = False,
        **more: Any,
    ) -> list[Named]:
        """Add a node; `exact` says that exact operands give exact results, if they are small."""
        lib = onnx()
        names = [self.name() for _ in range(count)]
        given = {name: value for name, value in more.items() if value is not None}
        made = lib.helper.make_node(op, [v.name if v else "" for v in inputs], names, **given)
        known = [v for v in inputs if v is not None]
        results = evaluate(made, self._infos(known), {v.name: v.array for v in known}, names)
        exact = exact and all(v.exact for v in known)
        found: list[Named] = []
        for name, result in zip(names, results, strict=True):
            array = np.asarray(result)
            check(array)
            found.append(Named(name, array, array.dtype.kind != "f" or (exact and is_exact(array))))
        self.nodes.append(made)
        self.values += found
        return found

    def _infos(self, values: Sequence[Named]) -> list[Any]:
        unique = {v.name: v for v in values}
        return [info(v.name, v.array) for v in unique.values()]

    def finish(self) -> Case:
        lib = onnx()
        used = {name for node in self.nodes for name in _names_read(node)}
        outputs = [v for v in self.values if v.name not in used and v not in self.inputs]
        outputs = [v for v in outputs if v not in self.weights]
        inputs = [v for v in self.inputs if v.name in used]
        weights = [v for v in self.weights if v.name in used]
        if not outputs or not inputs:
            raise Unfit
        graph = lib.helper.make_graph(
            self.nodes, "g", [info(v.name, v.array) for v in inputs],
            [info(v.name, v.array) for v in outputs],
            [lib.numpy_helper.from_array(v.array, v.name) for v in weights],
        )  # fmt: skip
        proto = lib.helper.make_model(graph, opset_imports=[lib.helper.make_opsetid("", OPSET)])
        return Case(proto, [v.array for v in inputs], [v.array for v in outputs])


def _names_read(node: Any) -> list[str]:
    """The names that a node and the graphs in it read."""
    inner = [n for a in node.attribute for each in a.g.node for n in _names_read(each)]
    return [*node.input, *inner]


def info(name: str, array: Array) -> Any:
    lib = onnx()
    number = lib.helper.np_dtype_to_tensor_dtype(array.dtype)
    return lib.helper.make_tensor_value_info(name, number, list(array.shape))


def evaluate(node: Any, infos: Any, given: dict[str, Array], names: Sequence[str]) -> list[Any]:
    lib = onnx()
    outputs = [lib.helper.make_empty_tensor_value_info(name) for name in names]
    graph = lib.helper.make_graph([node], "g", infos, outputs)
    proto = lib.helper.make_model(graph, opset_imports=[lib.helper.make_opsetid("", OPSET)])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            importlib.import_module("onnx.shape_inference").infer_shapes(proto, True, True)
            return lib.reference.ReferenceEvaluator(proto).run(None, given)
        except Exception:
            # Types that the op is not defined for, or forms that the reference lacks.
            raise Unfit from None


def is_exact(array: Array) -> bool:
    wide = array.astype(np.float64) * 256
    return bool(np.all(wide == np.rint(wide)) and np.all(np.abs(wide) < 1 << 20))


def check(array: Array) -> None:
    """Drop what cannot be compared: values that are huge or not finite, and large tensors."""
    if array.size > 600 or array.ndim > 6:
        raise Unfit
    if array.dtype.kind == "f" and not np.all(np.abs(array) < GREATEST):
        raise Unfit


MAKERS: dict[str, Callable[[Maker], None]] = {}


def makes(function: Callable[[Maker], None]) -> Callable[[Maker], None]:
    MAKERS[function.__name__.removeprefix("make_")] = function
    return function


def random_model(seed: int, first: str | None = None) -> Case:
    """Return a model of a few nodes, which begins with a node of a maker if that is given."""
    attempt = 0
    while True:
        maker = Maker(Random(f"{seed} {attempt} {first}"))
        attempt += 1
        names = [first] if first else []
        names += maker.random.choices(sorted(MAKERS), k=maker.random.randint(1, 6))
        done = [_added(maker, name) for name in names]
        if (first and not done[0]) or not any(done):
            continue
        try:
            return maker.finish()
        except Unfit:
            continue


def _added(maker: Maker, name: str) -> bool:
    """Add a node; leave the model as it is if the node has no result to compare."""
    nodes, values = len(maker.nodes), len(maker.values)
    try:
        MAKERS[name](maker)
    except Unfit:
        del maker.nodes[nodes:]
        kept = [v for v in maker.values[values:] if v in maker.inputs or v in maker.weights]
        maker.values[values:] = kept
        return False
    return True


for _part in ("elementwise", "views", "sums", "graphs"):
    importlib.import_module(f"support.random_onnx_{_part}")  # registers its makers
