"""The registry of ops, and what a conversion sees of a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from riselang.frontends.onnx.primitives.graph import Array, Graph, Value
from riselang.support.errors import LimitationError

T = TypeVar("T")
Input = Any
"""A `Value`, a list of them (a sequence), or None (an optional without an element)."""


class Subgraphs(Protocol):
    """Converts the graphs in the attributes of nodes."""

    def call(self, graph: Any, arguments: Sequence[Input]) -> list[Input]:
        """Convert the nodes of a graph for these arguments, and return its results."""
        ...

    def convert_op(
        self, op: str, inputs: Sequence[Input], attributes: Mapping[str, Any], outputs: int = 1
    ) -> list[Input]:
        """Convert an op as if it were a node."""
        ...

    def tensor(self, proto: Any) -> Value:
        """Return a constant of the model."""
        ...

    def sparse_tensor(self, proto: Any) -> Value: ...


@dataclass(frozen=True, eq=False)
class Node:
    """A node of a model."""

    op: str
    domain: str
    version: int
    """The version of its op set."""
    inputs: Sequence[Input]
    attributes: Mapping[str, Any]
    outputs: Sequence[str]
    graph: Graph
    subgraphs: Subgraphs

    def __getitem__(self, position: int) -> Value:
        """Return an input, which must be a tensor."""
        found = self.optional(position)
        if found is None:
            raise LimitationError(f"the input {position} is missing")
        return found

    def optional(self, position: int) -> Value | None:
        found = self.inputs[position] if position < len(self.inputs) else None
        if found is not None and not isinstance(found, Value):
            raise LimitationError(f"the input {position} is a sequence, not a tensor")
        return found

    def tensor(self, position: int, rank: int | None = None, least: int = 0) -> Value:
        """Return an input, which must be a tensor of this rank, or of at least some rank."""
        found = self[position]
        if (found.rank != rank) if rank is not None else (found.rank < least):
            wanted = f"{rank}" if rank is not None else f"at least {least}"
            raise LimitationError(
                f"the input {position} has the shape {found.shape}, but a tensor of rank {wanted} "
                "is expected"
            )
        return found

    def sequence(self, position: int) -> list[Any]:
        found = self.inputs[position] if position < len(self.inputs) else None
        if not isinstance(found, list):
            raise LimitationError(f"the input {position} is not a sequence")
        return list(found)

    @property
    def values(self) -> list[Value]:
        """All inputs, which are tensors."""
        return [self[k] for k in range(len(self.inputs))]

    def known(self, position: int) -> Array | None:
        """Return the known tensor of an optional input."""
        found = self.optional(position)
        return None if found is None else found.known()

    def integers(self, position: int, name: str | None = None) -> list[int] | None:
        """Return integers that are an input in newer op sets, and an attribute in older ones."""
        found = self.optional(position)
        if found is not None:
            return found.integers()
        given = self.attributes.get(name or "")
        return None if given is None else [int(each) for each in given]

    def integer(self, name: str, default: int | None = None) -> int:
        found = self.attributes.get(name, default)
        if found is None:
            raise LimitationError(f"it lacks the attribute {name}")
        return int(found)

    def number(self, name: str, default: float) -> float:
        return float(self.attributes.get(name, default))

    def text(self, name: str, default: str = "") -> str:
        found = self.attributes.get(name, default)
        return found.decode(errors="replace") if isinstance(found, bytes) else str(found)

    def choice(self, name: str, choices: Mapping[str, T], default: str = "") -> T:
        """Return what an attribute stands for, which is one of some texts."""
        found = self.text(name, default)
        if found not in choices:
            known = ", ".join(choices)
            raise LimitationError(
                f"the attribute {name} is {found!r}, but it must be one of: {known}"
            )
        return choices[found]

    def has_output(self, position: int) -> bool:
        return position < len(self.outputs) and bool(self.outputs[position])


Conversion = Callable[[Node], Any]
"""Returns a value, or a list of the outputs of a node; a sequence is in such a list."""


@dataclass(frozen=True)
class SupportedOp:
    name: str
    domain: str
    summary: str
    convert: Conversion
    keeps_small_types: bool
    """Whether the output has the type of the first input, which may be a small one."""


OPS: dict[tuple[str, str], SupportedOp] = {}


def converts(
    *names: str, summary: str, domain: str = "", keeps_small_types: bool = False
) -> Callable[[Conversion], Conversion]:
    """Register the conversion of ops."""

    def register(function: Conversion) -> Conversion:
        for name in names:
            assert (domain, name) not in OPS, name
            OPS[domain, name] = SupportedOp(name, domain, summary, function, keeps_small_types)
        return function

    return register


def register_table(
    table: Mapping[str, Any], make: Callable[[Any], Conversion], summary: str
) -> None:
    """Register ops that differ by an entry of a table."""
    for name, entry in table.items():
        converts(name, summary=summary)(make(entry))
