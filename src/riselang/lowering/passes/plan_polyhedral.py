"""Pass `plan-polyhedral`: which of MLIR's polyhedral passes each function gets (seed 000, 5.2).

MLIR's tiling and vectorisation of affine loops do not see to it that they are right: tiling takes
nests whose loops may not change places, and vectorisation writes past a loop whose length is no
multiple of the vector. So a function gets a pass only where its precondition is proven here; the
reasons why not stay at the function as attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects import affine, arith, func, memref
from xdsl.dialects.builtin import (
    AnyFloat,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from riselang import pipelines
from riselang.dialects.module import functions
from riselang.lowering.nests import Nest, top_level
from riselang.lowering.noalias import called_functions
from riselang.support.recursion import deep

T = TypeVar("T")

NOT_TILED = "rise.not_tiled"
NOT_VECTORIZED = "rise.not_vectorized"
TILE_SIZES = (32, 16, 8, 4, 2, 1)

_MEMORY = (memref.AllocOp, memref.AllocaOp, memref.DeallocOp)
_LOOPS = (affine.ForOp, affine.LoadOp, affine.StoreOp, affine.YieldOp)


class Unproven(Exception):
    """Why a precondition is not known to hold."""


@dataclass(frozen=True)
class PlanPolyhedralPass(ModulePass):
    """Plans tiling, scalar replacement and vectorisation where they are proven to be right."""

    name = "plan-polyhedral"

    vector_bits: int = 128
    """The width of the machine's vectors."""

    @deep
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        called = called_functions(op)
        for function in functions(op):
            _plan(function, function.sym_name.data in called, self.vector_bits)


def _plan(function: func.FuncOp, is_called: bool, vector_bits: int) -> None:
    if not top_level(function.body.blocks[0]):
        return
    try:
        _check_function(function, is_called)
    except Unproven as reason:
        function.attributes[NOT_TILED] = StringAttr(str(reason))
        function.attributes[NOT_VECTORIZED] = StringAttr(str(reason))
        return
    sizes = _attempt(function, NOT_TILED, lambda: _tile_sizes(function))
    lanes = _attempt(function, NOT_VECTORIZED, lambda: _lanes(function, vector_bits, sizes))
    passes = pipelines.polyhedral(sizes, lanes)
    function.attributes[pipelines.PLANNED] = StringAttr(",".join(passes))


def _attempt(function: func.FuncOp, attribute: str, prove: Callable[[], T]) -> T | None:
    try:
        return prove()
    except Unproven as reason:
        function.attributes[attribute] = StringAttr(str(reason))
        return None


def _check_function(function: func.FuncOp, is_called: bool) -> None:
    """What all passes need: memory is reached by affine accesses alone, and under one name."""
    if is_called:
        raise Unproven("it is called with buffers that may be the same")
    for op in function.walk():
        if isinstance(op, affine.ForOp) and Nest(op).trip_count is None:
            raise Unproven("the length of a loop is not known")
    for op in function.walk():
        is_known = isinstance(op, (*_MEMORY, *_LOOPS, func.FuncOp, func.ReturnOp))
        if not is_known and not _is_elementwise(op):
            raise Unproven(f"it has {op.name}")


def _is_elementwise(op: Operation) -> bool:
    """Whether the op computes numbers from numbers, and does so for vectors, too."""
    if op.regions or op.name.split(".")[0] not in ("arith", "math"):
        return False
    values = () if isinstance(op, arith.ConstantOp) else (*op.operands, *op.results)
    return not any(isinstance(value.type, IndexType) for value in values)


def _tile_sizes(function: func.FuncOp) -> tuple[int, ...]:
    """The sizes of the tiles, from the outermost loop inwards; each divides the loops."""
    bands = [nest.band() for nest in top_level(function.body.blocks[0])]
    if any(len(band) < 2 for band in bands):
        raise Unproven("a loop has no other one directly in it to make tiles with")
    for band in bands:
        if not band[0].is_permutable():
            raise Unproven("iterations of its loops may depend on each other")
    depth = max(map(len, bands))
    return tuple(_tile_size([band[at] for band in bands if at < len(band)]) for at in range(depth))


def _tile_size(loops: Sequence[Nest]) -> int:
    counts = [loop.trip_count or 0 for loop in loops]
    return next(size for size in TILE_SIZES if all(count % size == 0 for count in counts))


def _lanes(function: func.FuncOp, vector_bits: int, sizes: tuple[int, ...] | None) -> int:
    """How many elements a vector has."""
    widths = map(_width, _element_types(function))
    lanes = vector_bits // max(widths, default=vector_bits)
    if lanes < 2:
        raise Unproven("a vector has room for one element only")
    for nest in top_level(function.body.blocks[0]):
        _check_vectors(nest, lanes, sizes or ())
    return lanes


def _element_types(function: func.FuncOp) -> list[Attribute]:
    types: list[Attribute] = []
    for op in function.walk():
        if isinstance(op, _MEMORY) and op.parent_op() is not function:
            raise Unproven("a loop in it has memory of its own")
        values = (*op.operands, *op.results)
        types += [value.type.element_type for value in values if isinstance(value.type, MemRefType)]
    return types


def _width(type: Attribute) -> int:
    if isinstance(type, Float32Type | Float64Type):
        return type.bitwidth
    if isinstance(type, IntegerType) and type.width.data in (8, 16, 32, 64):
        return type.width.data
    kind = "a float" if isinstance(type, AnyFloat) else "an element"
    raise Unproven(f"it has {kind} of type {type}")


def _check_vectors(nest: Nest, lanes: int, sizes: Sequence[int]) -> None:
    """MLIR takes the innermost loop that it finds parallel, so that must be one that it may take.

    Of the loops that tiling makes outside, whose indices are in no access, it would take any.
    """
    chain = nest.chain()
    if chain is None:
        raise Unproven("it has loops side by side in a loop")
    band = nest.band()
    for depth, loop in reversed(list(enumerate(chain))):
        accesses = loop.accesses()
        if loop.is_serial() or any(_is_across(access.mentions(loop.index), len(access.formulas))
                                   for access in accesses):  # fmt: skip
            continue
        is_along = all(
            access.advances_last(loop.index) or not access.mentions(loop.index)
            for access in accesses
        )
        if not loop.is_parallel() or not is_along:
            raise Unproven("iterations of its inner loop may depend on each other")
        is_tiled = depth < len(band) and depth < len(sizes)
        if ((sizes[depth] if is_tiled else loop.trip_count) or 0) % lanes:
            raise Unproven(f"the length of its inner loop is no multiple of {lanes}")
        return
    raise Unproven("no loop goes along the elements of its buffers")


def _is_across(mentioned: Sequence[int], rank: int) -> bool:
    """Whether an index goes across rows of a buffer, which MLIR does not vectorise."""
    return any(position < rank - 1 for position in mentioned)
