"""Pass `plan-polyhedral`: plans MLIR's polyhedral passes for each function.

See Lücke et al., CC 2021, section 5.2.

MLIR's tiling and vectorization of affine loops do not check their preconditions: tiling accepts
loops that are not permutable, and vectorization writes past the end of a loop whose trip count is
not a multiple of the vector length. So a pass runs on a function only if its precondition is
proven here; otherwise, the reason is recorded as an attribute of the function.
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
from riselang.lowering.affine_nests import Nest, top_level_nests
from riselang.lowering.noalias import called_functions
from riselang.support.recursion import with_deep_stack

T = TypeVar("T")

NOT_TILED = "rise.not_tiled"
NOT_VECTORIZED = "rise.not_vectorized"
TILE_SIZES = (32, 16, 8, 4, 2, 1)

_ALLOCATION_OPS = (memref.AllocOp, memref.AllocaOp, memref.DeallocOp)
_AFFINE_OPS = (affine.ForOp, affine.LoadOp, affine.StoreOp, affine.YieldOp)


class Unproven(Exception):
    """The reason why a precondition is not proven."""


@dataclass(frozen=True)
class PlanPolyhedralPass(ModulePass):
    """Selects tiling, scalar replacement and vectorization where they are proved correct."""

    name = "plan-polyhedral"

    vector_bits: int = 128
    """The width of the target's vector registers."""

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        callees = called_functions(op)
        for function in functions(op):
            _plan_function(function, function.sym_name.data in callees, self.vector_bits)


def _plan_function(function: func.FuncOp, is_called: bool, vector_bits: int) -> None:
    if not top_level_nests(function.body.blocks[0]):
        return
    try:
        _check_function(function, is_called)
    except Unproven as reason:
        function.attributes[NOT_TILED] = StringAttr(str(reason))
        function.attributes[NOT_VECTORIZED] = StringAttr(str(reason))
        return
    sizes = _attempt(function, NOT_TILED, lambda: _tile_sizes(function))
    lanes = _attempt(function, NOT_VECTORIZED, lambda: _vector_lanes(function, vector_bits, sizes))
    passes = pipelines.polyhedral_passes(sizes, lanes)
    function.attributes[pipelines.PLANNED_PASSES] = StringAttr(",".join(passes))


def _attempt(function: func.FuncOp, attribute: str, prove: Callable[[], T]) -> T | None:
    try:
        return prove()
    except Unproven as reason:
        function.attributes[attribute] = StringAttr(str(reason))
        return None


def _check_function(function: func.FuncOp, is_called: bool) -> None:
    """Check the preconditions of all passes: only affine accesses, and no aliasing."""
    if is_called:
        raise Unproven("it is called with buffers that may be the same")
    for op in function.walk():
        if isinstance(op, affine.ForOp) and Nest(op).trip_count is None:
            raise Unproven("the trip count of a loop is not known")
    for op in function.walk():
        is_known = isinstance(op, (*_ALLOCATION_OPS, *_AFFINE_OPS, func.FuncOp, func.ReturnOp))
        if not is_known and not _is_elementwise(op):
            raise Unproven(f"it has {op.name}")


def _is_elementwise(op: Operation) -> bool:
    """Whether the op computes scalars from scalars, and applies elementwise to vectors."""
    if op.regions or op.name.split(".")[0] not in ("arith", "math"):
        return False
    values = () if isinstance(op, arith.ConstantOp) else (*op.operands, *op.results)
    return not any(isinstance(value.type, IndexType) for value in values)


def _tile_sizes(function: func.FuncOp) -> tuple[int, ...]:
    """Return the tile sizes, from the outermost loop inwards; each divides the trip counts."""
    bands = [nest.band() for nest in top_level_nests(function.body.blocks[0])]
    if any(len(band) < 2 for band in bands):
        raise Unproven("a loop has no perfectly nested loop in it to tile with")
    for band in bands:
        if not band[0].is_permutable():
            raise Unproven("iterations of its loops may depend on each other")
    depth = max(map(len, bands))
    return tuple(
        _tile_size([band[level] for band in bands if level < len(band)]) for level in range(depth)
    )


def _tile_size(loops: Sequence[Nest]) -> int:
    counts = [loop.trip_count or 0 for loop in loops]
    return next(size for size in TILE_SIZES if all(count % size == 0 for count in counts))


def _vector_lanes(function: func.FuncOp, vector_bits: int, sizes: tuple[int, ...] | None) -> int:
    """Return the number of elements in a vector."""
    widths = map(_element_bits, _element_types(function))
    lanes = vector_bits // max(widths, default=vector_bits)
    if lanes < 2:
        raise Unproven("a vector holds only one element")
    for nest in top_level_nests(function.body.blocks[0]):
        _check_vectorizable(nest, lanes, sizes or ())
    return lanes


def _element_types(function: func.FuncOp) -> list[Attribute]:
    types: list[Attribute] = []
    for op in function.walk():
        if isinstance(op, _ALLOCATION_OPS) and op.parent_op() is not function:
            raise Unproven("a loop in it allocates a buffer")
        values = (*op.operands, *op.results)
        types += [value.type.element_type for value in values if isinstance(value.type, MemRefType)]
    return types


def _element_bits(type: Attribute) -> int:
    if isinstance(type, Float32Type | Float64Type):
        return type.bitwidth
    if isinstance(type, IntegerType) and type.width.data in (8, 16, 32, 64):
        return type.width.data
    kind = "a float" if isinstance(type, AnyFloat) else "an element"
    raise Unproven(f"it has {kind} of type {type}")


def _check_vectorizable(nest: Nest, lanes: int, sizes: Sequence[int]) -> None:
    """Check the loop that MLIR would vectorize: the innermost one that it considers parallel.

    MLIR may choose any of the outer loops that tiling adds, since no access uses their indices.
    """
    chain = nest.chain()
    if chain is None:
        raise Unproven("a loop in it has several inner loops")
    band = nest.band()
    for depth, loop in reversed(list(enumerate(chain))):
        accesses = loop.accesses()
        if loop.is_serial() or any(
            _is_outer_dimension(access.dimensions_using(loop.index), len(access.expressions))
            for access in accesses
        ):
            continue
        is_along = all(
            access.has_unit_stride(loop.index) or not access.dimensions_using(loop.index)
            for access in accesses
        )
        if not loop.is_parallel() or not is_along:
            raise Unproven("iterations of its inner loop may depend on each other")
        is_tiled = depth < len(band) and depth < len(sizes)
        if ((sizes[depth] if is_tiled else loop.trip_count) or 0) % lanes:
            raise Unproven(f"the trip count of its inner loop is not a multiple of {lanes}")
        return
    raise Unproven("no loop iterates over contiguous elements of its buffers")


def _is_outer_dimension(mentioned: Sequence[int], rank: int) -> bool:
    """Whether an index iterates over an outer dimension, which MLIR does not vectorize."""
    return any(position < rank - 1 for position in mentioned)
