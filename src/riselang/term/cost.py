"""The cost of a program as written: its operations, and the bytes that it must move at least."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import FixedBitwidthType

from riselang.dialects.rise.types import (
    RiseType,
    VectorType,
    is_float,
    leaves,
    result_types,
    uncurry,
)
from riselang.nat import Nat
from riselang.support.html import table
from riselang.term.counting import Count, Counter, Value, as_count
from riselang.term.deep_recursion import recursive
from riselang.term.mathlib import LIBRARY_FUNCTIONS
from riselang.term.nodes import (
    Scalar,
    Term,
)

if TYPE_CHECKING:
    from riselang.term.work import Work

FLOPS: Mapping[str, int] = {
    **dict.fromkeys(("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf"), 1),
    **dict.fromkeys(("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"), 1),
    **dict.fromkeys(("math.sqrt", "math.absf"), 1),
    "math.fma": 2,
}
"""The number of floating-point operations of each arith or math op that has any."""


INDEX_BITS = 64


@dataclass(frozen=True)
class Cost:
    """The cost of a program as written, independent of optimizations."""

    flops: Count
    """Floating-point additions, multiplications and so on; a multiply-add counts as two."""
    transcendentals: Count
    """Calls of exp, sin and so on, which are not counted as flops."""
    bytes_read: Count
    """The inputs, each once."""
    bytes_written: Count
    """The results, each once."""
    is_exact: bool
    """Whether no count depends on data. The iterations of a while do, and are counted once."""
    work: Work | None = None
    """The scalar operations and accessed bytes of the program as written."""
    optimized_work: Work | None = None
    """The same for the loops that are compiled; None before the program is lowered."""

    @property
    def bytes(self) -> Count:
        return self.bytes_read + self.bytes_written

    @property
    def intensity(self) -> float | None:
        """Flops per byte; None if a count is symbolic, or if no byte is moved."""
        if isinstance(self.flops, Nat) or isinstance(self.bytes, Nat) or not self.bytes:
            return None
        return self.flops / self.bytes

    def _repr_html_(self) -> str:
        intensity = "" if self.intensity is None else f"{self.intensity:.3g}"
        names = [name for name in self.__match_args__ if getattr(self, name) is not None]
        rows = [(name, str(getattr(self, name))) for name in names]
        return table(("", "count"), [*rows, ("intensity", intensity)])


@recursive
def cost(program: Term, results: int = 1) -> Cost:
    """The cost of a program with `results` results, or of a part of a program."""
    counter = CostCounter()
    inputs, _ = uncurry(program.type)
    counter.count(program)
    return Cost(
        counter.flops,
        counter.transcendentals,
        as_count(byte_size(inputs)),
        as_count(byte_size(result_types(program.type, results))),
        counter.is_exact,
    )


class CostCounter(Counter):
    """Counts floating-point operations."""

    def __init__(self) -> None:
        super().__init__()
        self.flops: Count = 0
        self.transcendentals: Count = 0

    def count_operation(self, term: Scalar, operands: Sequence[Value]) -> None:
        type, lanes = term.operands[0].type, 1
        if isinstance(type, VectorType):
            type, lanes = type.element, as_count(type.length)
        if not is_float(type):
            return
        if term.op in LIBRARY_FUNCTIONS:
            self.transcendentals += self.times * lanes
        else:
            self.flops += self.times * lanes * FLOPS.get(term.op, 0)


def byte_size(types: Iterable[RiseType]) -> Nat:
    """The total size, in bytes, of values of these types."""
    total = Nat.const(0)
    for type in types:
        for lengths, leaf in leaves(type):
            element = leaf.element
            bits = element.bitwidth if isinstance(element, FixedBitwidthType) else INDEX_BITS
            total += prod(lengths, start=Nat.const((bits + 7) // 8))
    return total
