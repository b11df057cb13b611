"""Sizes that are known only at run time, read from the shapes of the program's buffers.

All of them, and the lengths that are computed from them, are defined at the start of the function,
where affine maps may use them. A size has one value in a function: the first buffer whose shape
determines it binds it, and a call checks all other shapes against that value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from riselang.dialects.constants import index_constant
from riselang.dialects.rise.codegen import SizeOp
from riselang.dialects.rise.types import RiseType, leaves
from riselang.lowering.index_expressions import IndexEmitter
from riselang.nat import Facts, Nat, Solved, solve
from riselang.support.errors import LimitationError, UserError

Buffers = tuple[Sequence[SSAValue], RiseType]
"""The buffers that hold a value of a type, one for each scalar leaf."""


class Sizes:
    """The sizes of one function, as values at its start."""

    def __init__(self, function: FuncOp, groups: Sequence[Buffers]):
        self._block: Block = function.body.blocks[0]
        self._last: Operation | None = None
        self._values: dict[str, SSAValue] = {}
        self._lengths = IndexEmitter(self._add, self._values, _no_facts)
        self._bind(list(_dynamic_dimensions(groups)))

    def value(self, length: Nat) -> SSAValue:
        """Return a length as a value at the start of the function."""
        for name in sorted(length.variables):
            if name not in self._values:
                raise UserError(
                    f"the size {name} is not determined by the shapes of the arrays; "
                    "specify its value"
                )
        return self._lengths.value(length)

    def _bind(self, dimensions: list[tuple[SSAValue, int, Nat]]) -> None:
        """Solve lengths with a single unknown size, until no more can be solved."""
        while dimensions:
            waiting = [entry for entry in dimensions if not self._solve(*entry)]
            if len(waiting) == len(dimensions):
                return
            dimensions = waiting

    def _solve(self, buffer: SSAValue, position: int, length: Nat) -> bool:
        unknown = sorted(length.variables - self._values.keys())
        if len(unknown) != 1:
            return not unknown
        extent = Nat.var("$extent")
        answer = solve(length, extent, unknown)
        if not isinstance(answer, Solved):
            return False
        index = self._add(index_constant(position))
        values = {**self._values, "$extent": self._add(memref.DimOp(buffer, index))}
        value = IndexEmitter(self._add, values, _no_facts).value(answer.substitution[unknown[0]])
        self._values[unknown[0]] = self._add(SizeOp(unknown[0], value))
        return True

    def _add(self, op: Operation) -> SSAValue:
        if self._last is not None:
            self._block.insert_op_after(op, self._last)
        elif self._block.first_op is not None:
            self._block.insert_op_before(op, self._block.first_op)
        self._last = op
        return op.results[0]


def _no_facts(_: Nat) -> Facts:
    return Facts()


def _dynamic_dimensions(groups: Sequence[Buffers]) -> Iterator[tuple[SSAValue, int, Nat]]:
    """Iterate over the dynamic dimensions of buffers."""
    for buffers, type in groups:
        for buffer, (lengths, _) in zip(buffers, leaves(type), strict=True):
            for position, length in enumerate(lengths):
                if length.is_constant:
                    continue
                if not isinstance(buffer, BlockArgument) or buffer.block.parent_op() is None:
                    raise LimitationError(
                        f"the length {length} of a buffer that is not a parameter is not supported"
                    )
                yield buffer, position, length
