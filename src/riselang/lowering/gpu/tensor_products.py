"""Device functions that multiply tiles with tensor cores: their description, and their names.

A block computes the sums of a tile of the result. The function reads the operands from global
memory, and returns the sums that the calling thread holds: its part of a *fragment*.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from math import prod

ELEMENT_BYTES = {"bf16": 2, "f16": 2, "f32": 4, "i8": 1, "f8E4M3FN": 1, "f8E5M2": 1}
"""The bytes of each type of element that tensor cores multiply."""
MMA_ELEMENTS = ("bf16", "f16", "f32", "i8")
"""The types of elements that the instruction `mma` multiplies on all GPUs that have it."""
WARP_SIZE = 32


@dataclass(frozen=True)
class TileOperand:
    """A matrix that is a part of a buffer: rows (or columns) of the product, and its depth."""

    shape: tuple[int, ...]
    """The sizes of the buffer."""
    row_dimension: int
    depth_dimension: int
    ends: tuple[int, ...] = ()
    """The end of the matrix in each dimension, after which elements are zeros; without any, the
    matrix is the complete buffer."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of elements in each dimension up to the end of the matrix."""
        return self.ends or self.shape

    @property
    def is_depth_major(self) -> bool:
        """Whether consecutive elements of a row are contiguous."""
        return self.depth_dimension == len(self.shape) - 1

    def stride(self, dimension: int) -> int:
        return prod(self.shape[dimension + 1 :])


@dataclass(frozen=True)
class TensorProduct:
    """A product of tiles: its instruction, types and sizes."""

    name: str
    """The name of the function."""
    unit: str
    """The instruction: `wgmma` or `mma`."""
    element: str
    """The type of the elements, a key of `ELEMENT_BYTES`."""
    row_warps: int
    column_warps: int
    row_tiles: int
    """The tiles of 16 rows of a warp."""
    column_tiles: int
    """The tiles of 8 columns of a warp."""
    depth: int
    """The number of products of each sum."""
    step: int
    """The number of products of each sum that the block copies at a time."""
    stages: int
    """The number of steps whose operands are in shared memory at a time."""
    rows: TileOperand
    columns: TileOperand
    is_padded: bool = False
    """Whether zeros follow the rows of an operand's buffer."""

    @property
    def warps(self) -> int:
        """The number of warps that hold sums."""
        return self.row_warps * self.column_warps

    @property
    def row_count(self) -> int:
        return self.row_warps * self.row_tiles * 16

    @property
    def column_count(self) -> int:
        return self.column_warps * self.column_tiles * 8

    @property
    def registers(self) -> int:
        """The number of sums that a thread holds."""
        return self.row_tiles * self.column_tiles * 4

    @property
    def element_bytes(self) -> int:
        return ELEMENT_BYTES[self.element]

    @property
    def accumulator(self) -> str:
        """The LLVM type of the sums."""
        return "i32" if self.element == "i8" else "float"

    @property
    def stage_bytes(self) -> int:
        """The bytes of shared memory of the operands of a step."""
        return (self.row_count + self.column_count) * self.step * self.element_bytes

    @property
    def producer_warps(self) -> int:
        """The number of additional warps, which copy the operands."""
        return 1 if self.unit == "wgmma" else 0

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_text(text: str) -> TensorProduct:
        values = json.loads(text)
        for name in ("rows", "columns"):
            shape, row_dimension, depth_dimension, ends = values[name].values()
            values[name] = TileOperand(tuple(shape), row_dimension, depth_dimension, tuple(ends))
        return TensorProduct(**values)


SWIZZLE_BYTES = 128
"""The bytes of a row of a tile in shared memory, whose 16-byte parts are permuted."""
TILE_ALIGNMENT, BARRIER_ALIGNMENT = 1024, 64
MAX_WGMMA_COLUMNS, MAX_RANK, MAX_BOX = 256, 5, 256


def select_unit(product: TensorProduct, unit: str) -> TensorProduct | str:
    """Return a product with the fastest instruction up to `unit`; or why there is none."""
    if unit == "wgmma" and _why_not_wgmma(product) is None:
        return replace(product, unit="wgmma")
    if not unit:
        return "tensor cores require a GPU of compute capability 8.0 or later"
    return _why_not_mma(product) or replace(product, unit="mma")


def _why_not_wgmma(product: TensorProduct) -> str | None:
    operands = (product.rows, product.columns)
    if product.column_warps != 1 or product.row_tiles != 1 or product.row_warps % 4:
        return "expected groups of four warps with 16 rows each"
    if product.stages < 2:
        return "expected two stages or more: a stage is released during the next step"
    if product.column_count > MAX_WGMMA_COLUMNS or product.column_count % 16:
        return f"expected at most {MAX_WGMMA_COLUMNS} columns"
    if product.step * product.element_bytes != SWIZZLE_BYTES:
        return f"expected steps of {SWIZZLE_BYTES} bytes"
    if product.element_bytes != 2 and not all(each.is_depth_major for each in operands):
        return "expected rows and columns that are contiguous"
    counts = (product.row_count, product.column_count)
    reasons = (
        _why_no_map(*each, product.element_bytes) for each in zip(operands, counts, strict=True)
    )
    return next((why for why in reasons if why is not None), None)


def _why_no_map(operand: TileOperand, count: int, element_bytes: int) -> str | None:
    """Return why the copy engine cannot read an operand of `count` rows or columns."""
    if len(operand.shape) > MAX_RANK or count > MAX_BOX:
        return f"expected at most {MAX_RANK} dimensions, and {MAX_BOX} rows"
    width = SWIZZLE_BYTES // element_bytes
    if not operand.is_depth_major and (
        operand.row_dimension != len(operand.shape) - 1 or count % width
    ):
        return f"expected a contiguous dimension, of which a tile has a multiple of {width}"
    is_aligned = not _misaligned_stride(operand, element_bytes)
    return None if is_aligned else "expected rows that start at multiples of 16 bytes"


def _why_not_mma(product: TensorProduct) -> str | None:
    if product.element not in MMA_ELEMENTS:
        names = ", ".join(MMA_ELEMENTS)
        return f"expected {names}: tensor cores multiply {product.element} with wgmma"
    threads = product.warps * WARP_SIZE
    operands = ((product.rows, product.row_count), (product.columns, product.column_count))
    if product.is_padded:
        return "expected full tiles of rows and columns"
    if product.depth % product.step or product.step * product.element_bytes % 32:
        return f"expected a depth that is a multiple of {product.step}"
    if product.column_tiles % 2 or product.stages < 2:
        return "expected an even number of tiles of columns, and two stages or more"
    for operand, count in operands:
        if count * product.step * product.element_bytes % (16 * threads):
            return "expected tiles that all threads copy in parts of 16 bytes"
        if not operand.is_depth_major and (
            product.element_bytes != 2 or operand.row_dimension != len(operand.shape) - 1
        ):
            return "expected rows and columns that are contiguous"
        line = product.step if operand.is_depth_major else count
        if line * product.element_bytes // 16 not in (2, 4, 8, 16, 32):
            return "expected lines of 32, 64 or a multiple of 128 bytes"
        if _misaligned_stride(operand, product.element_bytes):
            return "expected rows that start at multiples of 16 bytes"
    return None


def _misaligned_stride(operand: TileOperand, element_bytes: int) -> bool:
    strides = map(operand.stride, range(len(operand.shape) - 1))
    return any(stride * element_bytes % 16 for stride in strides)


def shared_sizes(product: TensorProduct) -> list[tuple[int, int]]:
    """Return the sizes and alignments of the buffers in shared memory of a product."""
    tiles = (product.stages * product.stage_bytes, TILE_ALIGNMENT)
    if product.unit == "wgmma":
        return [tiles, (2 * 8 * product.stages, BARRIER_ALIGNMENT)]
    return [tiles]


REGISTERS, OTHER_REGISTERS = 65536, 48
"""The registers of a multiprocessor, and those of a thread besides its sums."""


def resident_blocks(product: TensorProduct, shared_bytes: int) -> int:
    """Return the number of blocks that run on a multiprocessor at the same time."""
    bytes = sum(size for size, _ in shared_sizes(product))
    threads = (product.warps + product.producer_warps) * WARP_SIZE
    by_registers = REGISTERS // (threads * (product.registers + OTHER_REGISTERS))
    return max(1, min(shared_bytes // bytes, by_registers))
