"""Innermost loops that compute a minimum or a maximum of integers, in several independent chains.

Each iteration waits for the comparison of the one before, which takes longer than everything else
that it does. Since the order of comparisons of integers does not matter, consecutive iterations
belong to different chains, which all start with the element, and are combined after the loop. Loops
along contiguous memory are left to LLVM, which vectorizes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from riselang.frontends.c.emit.loop_vectorization import (
    StatementInstance,
    access_stride,
    min_or_max,
    walk_values,
)
from riselang.frontends.c.emit.output import OpInserter
from riselang.frontends.c.emit.registers import RegisterElement
from riselang.frontends.c.parse.syntax import Access, Assign, Conditional

CHAINS = 4
"""The number of chains: a comparison and a selection take at most so many cycles."""
_OPS = {"min": arith.MinSIOp, "max": arith.MaxSIOp}


def chained_extremum(
    instances: Sequence[StatementInstance], elements: Sequence[RegisterElement], loop: str
) -> str | None:
    """Return `min` or `max` if that is all that a loop computes, for one element; else None."""
    written = [element for element in elements if element.is_written]
    if len(instances) != 1 or len(written) != 1:
        return None
    instance, body = instances[0], instances[0].statement.body
    if not isinstance(body, Assign) or not isinstance(body.value, Conditional):
        return None
    sides = (body.value.first, body.value.second)
    others = [side for side in sides if side != body.target]
    if len(others) != 1 or (kind := min_or_max(body.value)) is None:
        return None
    reads = [part for part in walk_values(others[0]) if isinstance(part, Access)]
    reads = [read for read in reads if read in instance.statement.access_relations]
    if any((read.variable, tuple(instance.indices(read) or ())) == written[0].element
           for read in reads):  # fmt: skip
        return None
    strides = {access_stride(instance, read, loop) for read in reads}
    return None if strides <= {-1, 0, 1} else kind


def combine_chains(out: OpInserter, kind: str, chains: Sequence[SSAValue]) -> SSAValue:
    """Emit the minimum or maximum of the chains."""
    return reduce(lambda first, second: out.add(_OPS[kind](first, second)), chains)
