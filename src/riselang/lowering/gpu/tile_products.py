"""Lowers products of tiles in kernels to calls of device functions that use tensor cores.

All warps of a block call the function together, with the positions of the operands in their
buffers; it returns the sums that the calling lane holds. Its code is generated for the instructions
of the target. The copy engine of Hopper GPUs reads the operands through *tensor maps*, which the
host passes to the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, func, gpu, llvm, memref, scf, vector
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StringAttr,
    UnitAttr,
    VectorType,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from riselang.dialects.module import location_of
from riselang.dialects.tile import ProductOp
from riselang.lowering.gpu.kernel_memory import SHARED, SHARED_MEMORY_SPACE
from riselang.lowering.gpu.mapping import ROUNDS, WARP_SIZE, GpuIds, Launch, mapping_of
from riselang.lowering.gpu.tensor_products import (
    ELEMENT_BYTES,
    TensorProduct,
    TileOperand,
    resident_blocks,
    select_unit,
    shared_sizes,
)
from riselang.support.errors import LimitationError

TENSOR_PRODUCT = "rise.tensor_product"
"""The attribute of the declaration of a device function: its description."""
TENSOR_MAPS = "rise.tensor_maps"
"""The attribute of a kernel that numbers the buffers of its tensor maps, which it takes last."""
MAP_ALIGNMENT = 64
MANY_SUMS = 128
_Add = Callable[[Operation], SSAValue]


def find_products(ops: Sequence[Operation]) -> list[ProductOp]:
    return [each for op in ops for each in op.walk() if isinstance(each, ProductOp)]


def has_many_sums(products: Sequence[ProductOp]) -> bool:
    """Whether the sums of a product take most registers of a thread."""
    for op in products:
        _, _, _, _, row_tiles, column_tiles, _ = op.size_values
        if row_tiles * column_tiles * 4 >= MANY_SUMS:
            return True
    return False


def describe(op: ProductOp, name: str, unit: str) -> TensorProduct:
    """Return the description of a product, with the fastest instruction of a target for it."""
    step, stages, row_warps, column_warps, row_tiles, column_tiles, depth = op.size_values
    *dimensions, is_padded = op.dimension_values
    half = len(dimensions) // 2
    product = TensorProduct(
        name, "", _element_name(op), row_warps, column_warps, row_tiles, column_tiles, depth, step,
        stages, _tile_operand(op.rows, dimensions[:half]),
        _tile_operand(op.columns, dimensions[half:]), bool(is_padded),
    )  # fmt: skip
    selected = select_unit(product, unit)
    if isinstance(selected, str):
        raise LimitationError(f"tensorMMA: {selected}", location_of(op))
    return selected


def _tile_operand(buffer: SSAValue, dimensions: Sequence[int]) -> TileOperand:
    """Return an operand whose dimensions, and their ends, are given."""
    row, depth, row_end, depth_end = dimensions
    ends = list(_shape(buffer))
    ends[row], ends[depth] = row_end, depth_end
    return TileOperand(_shape(buffer), row, depth, tuple(ends))


def _shape(buffer: SSAValue) -> tuple[int, ...]:
    assert isinstance(buffer.type, MemRefType)
    return buffer.type.get_shape()


def _element_name(op: ProductOp) -> str:
    assert isinstance(op.rows.type, MemRefType)
    name = str(op.rows.type.element_type)
    if name not in ELEMENT_BYTES:
        names = ", ".join(ELEMENT_BYTES)
        raise LimitationError(
            f"tensor cores multiply {names}, but the elements of tensorMMA are {name}",
            location_of(op),
        )
    return name


def with_producers(launch: Launch, products: Sequence[ProductOp], unit: str) -> Launch:
    """Return launch dimensions with the warps that copy the operands of products."""
    if not products:
        return launch
    described = [describe(op, "", unit) for op in products]
    warps = launch.block[0] // WARP_SIZE
    if any(product.warps != warps for product in described):
        raise LimitationError(
            f"tensorMMA must be computed by all warps of a block, which has {warps}",
            location_of(products[0]),
        )
    threads = (warps + max(product.producer_warps for product in described)) * WARP_SIZE
    return Launch(launch.grid, (threads, *launch.block[1:]))


def resident_products(products: Sequence[ProductOp], unit: str, shared_bytes: int) -> int | None:
    """Return the number of blocks that run on a multiprocessor at the same time, if a warp copies
    the operands of products; None otherwise.

    More blocks than that need not be launched: while a block stores the sums of a tile, this warp
    copies the operands of the next one.
    """
    described = [describe(op, "", unit) for op in products]
    if not described or not all(product.producer_warps for product in described):
        return None
    return min(resident_blocks(product, shared_bytes) for product in described)


def check_products(products: Sequence[ProductOp], host: Block) -> None:
    """Report products in loops of a kernel, which is in a block of the host: the threads of a block
    compute a product once. A loop of the host launches the kernel in each iteration."""
    for op in products:
        parent = op.parent_op() if op.parent is not host else None
        while parent is not None:
            is_inner_loop = isinstance(parent, scf.ForOp | scf.WhileOp | scf.IfOp)
            if is_inner_loop or (isinstance(parent, scf.ParallelOp) and mapping_of(parent) is None):
                raise LimitationError(
                    "tensorMMA inside a loop of a block is not supported; compute the product "
                    "in a block of its own",
                    location_of(op),
                )
            parent = parent.parent_op() if parent.parent is not host else None


def lower_products(
    kernel: gpu.FuncOp, module: gpu.ModuleOp, ids: GpuIds, unit: str, shared_bytes: int
) -> None:
    """Replace the products of a kernel, whose loops are distributed, with calls."""
    lowering = _ProductLowering(kernel, module, ids)
    for number, op in enumerate(find_products([kernel])):
        product = describe(op, f"{kernel.sym_name.data}_product_{number}", unit)
        bytes = sum(size for size, _ in shared_sizes(product))
        if bytes > shared_bytes:
            raise LimitationError(
                f"the tiles of tensorMMA take {bytes} bytes of shared memory, more than the limit "
                f"of {shared_bytes}; choose smaller tiles or fewer stages",
                location_of(op),
            )
        lowering.lower(op, product)


class _ProductLowering:
    def __init__(self, kernel: gpu.FuncOp, module: gpu.ModuleOp, ids: GpuIds):
        self.kernel = kernel
        self.module = module
        self.ids = ids
        self.map_buffers: list[int] = []

    def lower(self, op: ProductOp, product: TensorProduct) -> None:
        block = op.parent
        assert block is not None
        ops: list[Operation] = []

        def add(new_op: Operation) -> SSAValue:
            ops.append(new_op)
            return new_op.results[0]

        operands = [self._base(buffer, product, add) for buffer in (op.rows, op.columns)]
        operands += [
            add(arith.IndexCastOp(index, i32)) for index in (*op.row_indices, *op.column_indices)
        ]
        indices = (self.ids.id_of("thread_x"), self._round(op, add))
        operands += [*(add(arith.IndexCastOp(index, i32)) for index in indices), op.init]
        type = VectorType(op.init.type, [product.registers])
        self._declare(product, [each.type for each in operands], type)
        sums = add(func.CallOp(product.name, operands, [type]))
        ops.append(vector.StoreOp(sums, op.fragment, list(op.fragment_indices)))
        block.insert_ops_before(ops, op)
        op.detach()
        op.erase()

    def _round(self, op: ProductOp, add: _Add) -> SSAValue:
        """Return the number of the tile that a block computes, of those that it computes."""
        parent = op.parent_op()
        while parent is not None and ROUNDS not in parent.attributes:
            parent = parent.parent_op()
        if parent is None:
            return self.ids.index_constant(0)
        assert isinstance(parent, scf.ForOp)
        distance = add(arith.SubiOp(parent.body.block.args[0], parent.lb))
        return add(arith.DivUIOp(distance, parent.step))

    def _base(self, buffer: SSAValue, product: TensorProduct, add: _Add) -> SSAValue:
        """Return the tensor map of a buffer, or its address."""
        if product.unit == "wgmma":
            assert isinstance(buffer, BlockArgument)
            return self._tensor_map(buffer, product)
        start = add(memref.ExtractAlignedPointerAsIndexOp.get(buffer))
        return add(llvm.IntToPtrOp(add(arith.IndexCastOp(start, i64))))

    def _tensor_map(self, buffer: BlockArgument, product: TensorProduct) -> SSAValue:
        """Add a tensor map to the parameters of the kernel."""
        block = self.kernel.body.block
        map = block.insert_arg(llvm.LLVMPointerType(), len(block.args))
        self.map_buffers.append(buffer.index)
        attributes = self.kernel.attributes["arg_attrs"]
        assert isinstance(attributes, ArrayAttr)
        alignment = DictionaryAttr({"llvm.align": IntegerAttr(MAP_ALIGNMENT, i64)})
        self.kernel.attributes["arg_attrs"] = ArrayAttr([*attributes.data, alignment])
        self.kernel.attributes[TENSOR_MAPS] = DenseArrayBase.from_list(i64, self.map_buffers)
        self.kernel.properties["function_type"] = FunctionType.from_lists(
            [argument.type for argument in block.args], []
        )
        return map

    def _declare(
        self, product: TensorProduct, inputs: Sequence[Attribute], result: Attribute
    ) -> None:
        """Declare the function, and the shared memory that it uses."""
        names: list[str] = []
        for number, (size, alignment) in enumerate(shared_sizes(product)):
            names.append(f"{self.kernel.sym_name.data}{SHARED}{product.name}_{number}")
            type = MemRefType(i8, [size], NoneAttr(), SHARED_MEMORY_SPACE)
            self.module.body.block.add_op(
                memref.GlobalOp.get(
                    StringAttr(names[-1]), type, UnitAttr(), StringAttr("private"),
                    alignment=alignment,
                )
            )  # fmt: skip
        function = func.FuncOp(product.name, (list(inputs), [result]), Region(), "private")
        function.attributes[TENSOR_PRODUCT] = StringAttr(product.to_text())
        self.module.body.block.add_op(function)
