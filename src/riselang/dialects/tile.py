"""The tile dialect: products of tiles, which the threads of a GPU block compute together."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i32,
    i64,
)
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)

SIZES = ("p", "q", "wr", "wc", "tm", "tn", "k")
"""The sizes of a product of tiles: the parameters of `tensorMMA`."""


@irdl_op_definition
class ProductOp(IRDLOperation):
    """Stores the sums of a product of tiles that the executing lane holds: a row of a fragment.

    All warps of a block execute it together. An operand is the part of a buffer that starts at its
    indices; `dimensions` are, for the rows and for the columns, the dimension that counts them, the
    dimension over which the product sums, and the ends of both, after which elements are zeros; and
    1 if the rows of an operand exceed its buffer, else 0.
    """

    name = "tile.product"
    fragment = operand_def(MemRefType)
    fragment_indices = var_operand_def(IndexType())
    rows = operand_def(MemRefType)
    row_indices = var_operand_def(IndexType())
    columns = operand_def(MemRefType)
    column_indices = var_operand_def(IndexType())
    init = operand_def()
    sizes = prop_def(DenseArrayBase[IntegerType])
    dimensions = prop_def(DenseArrayBase[IntegerType])
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        fragment: tuple[SSAValue, Sequence[SSAValue]],
        rows: tuple[SSAValue, Sequence[SSAValue]],
        columns: tuple[SSAValue, Sequence[SSAValue]],
        init: SSAValue,
        sizes: Sequence[int],
        dimensions: Sequence[int],
    ):
        super().__init__(
            operands=[*fragment, *rows, *columns, init],
            properties={
                "sizes": DenseArrayBase.from_list(i64, sizes),
                "dimensions": DenseArrayBase.from_list(i64, dimensions),
            },
        )

    @property
    def size_values(self) -> tuple[int, ...]:
        return tuple(map(int, self.sizes.get_values()))

    @property
    def dimension_values(self) -> tuple[int, ...]:
        return tuple(map(int, self.dimensions.get_values()))


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """Returns the value of the lane whose number differs in the bits of `distance`.

    All lanes of a warp execute it together.
    """

    name = "tile.shuffle"
    value = operand_def(i32)
    result = result_def(i32)
    distance = prop_def(IntegerAttr)

    def __init__(self, value: SSAValue, distance: int):
        super().__init__(
            operands=[value],
            result_types=[i32],
            properties={"distance": IntegerAttr(distance, i32)},
        )


ATTENTION_SIZES = ("p", "q", "w", "tm", "tn", "n", "k")
"""The sizes of attention of tiles: the parameters of `tensorAttention`."""


@irdl_op_definition
class AttentionOp(IRDLOperation):
    """Stores the results of a tile of queries that the executing lane holds.

    All warps of a block execute it together. `dimensions` are, for the queries, keys and values,
    the dimension that counts them, and the one that counts their elements.
    """

    name = "tile.attention"
    fragment = operand_def(MemRefType)
    fragment_indices = var_operand_def(IndexType())
    queries = operand_def(MemRefType)
    query_indices = var_operand_def(IndexType())
    keys = operand_def(MemRefType)
    key_indices = var_operand_def(IndexType())
    values = operand_def(MemRefType)
    value_indices = var_operand_def(IndexType())
    scale = operand_def()
    empty = operand_def()
    last = operand_def()
    sizes = prop_def(DenseArrayBase[IntegerType])
    dimensions = prop_def(DenseArrayBase[IntegerType])
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        buffers: Sequence[tuple[SSAValue, Sequence[SSAValue]]],
        scalars: Sequence[SSAValue],
        sizes: Sequence[int],
        dimensions: Sequence[int],
    ):
        """`buffers` are the fragment, the queries, the keys and the values; `scalars` are the
        scale, the result for a query whose scores are all -inf, and the last key."""
        super().__init__(
            operands=[*(part for buffer in buffers for part in buffer), *scalars],
            properties={
                "sizes": DenseArrayBase.from_list(i64, sizes),
                "dimensions": DenseArrayBase.from_list(i64, dimensions),
            },
        )

    @property
    def size_values(self) -> tuple[int, ...]:
        return tuple(map(int, self.sizes.get_values()))

    @property
    def dimension_values(self) -> tuple[int, ...]:
        return tuple(map(int, self.dimensions.get_values()))


Tile = Dialect("tile", [ProductOp, ShuffleOp, AttentionOp], [])
