"""Device functions that compute attention on tensor cores: their description.

A block computes the results of a tile of queries. It reads the keys and the values, some at a time,
and keeps for each query the largest score so far, and the sums of the weights and of the weighted
values, relative to that score.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from riselang.lowering.gpu.tensor_products import WARP_SIZE, TileOperand

ELEMENTS = ("bf16", "f16")
ELEMENT_BYTES, PART_BYTES = 2, 16
ROW_PARTS = 8
"""The 16-byte parts of which a row of an operand has a multiple: those that are permuted."""
TILE_ROWS = 16
"""The rows of a tile of an instruction."""


@dataclass(frozen=True)
class TileAttention:
    """Attention of a tile of queries: its types and sizes."""

    name: str
    """The name of the function."""
    element: str
    """The type of the elements, one of `ELEMENTS`."""
    warps: int
    row_tiles: int
    """The tiles of 16 queries of a warp."""
    step: int
    """The number of keys that the block copies at a time."""
    stages: int
    """The number of steps whose keys and values are in shared memory at a time."""
    count: int
    """The number of keys."""
    depth: int
    """The length of a query, and of a key."""
    columns: int
    """The length of a value, and of a result."""
    queries: TileOperand
    keys: TileOperand
    values: TileOperand

    @property
    def rows(self) -> int:
        return self.warps * self.row_tiles * TILE_ROWS

    @property
    def threads(self) -> int:
        return self.warps * WARP_SIZE

    @property
    def registers(self) -> int:
        """The number of results that a thread holds."""
        return self.row_tiles * self.columns // 2

    @property
    def stage_bytes(self) -> int:
        return self.step * (self.depth + self.columns) * ELEMENT_BYTES

    @property
    def shared_bytes(self) -> int:
        return self.rows * self.depth * ELEMENT_BYTES + self.stages * self.stage_bytes

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_text(text: str) -> TileAttention:
        values = json.loads(text)
        for name in ("queries", "keys", "values"):
            shape, row_dimension, depth_dimension, ends = values[name].values()
            values[name] = TileOperand(tuple(shape), row_dimension, depth_dimension, tuple(ends))
        return TileAttention(**values)

    def why_not(self) -> str | None:
        """Return why there is no function for these sizes, if there is none."""
        if self.element not in ELEMENTS:
            return f"expected elements of type {' or '.join(ELEMENTS)}, but they are {self.element}"
        if self.count % self.step or self.step % TILE_ROWS or self.stages < 2:
            return f"expected a number of keys that is a multiple of {self.step}, itself one of 16"
        for length, rows in ((self.depth, self.step), (self.columns, self.step)):
            parts = length * ELEMENT_BYTES // PART_BYTES
            if length * ELEMENT_BYTES % (ROW_PARTS * PART_BYTES):
                return "expected queries and values whose lengths are multiples of 64"
            if self.threads % (parts * 8) or rows * parts % self.threads:
                return "expected steps that all threads copy in parts of 16 bytes"
        for operand in (self.queries, self.keys, self.values):
            if not operand.is_depth_major:
                return "expected queries, keys and values that are contiguous"
            strides = map(operand.stride, range(len(operand.shape) - 1))
            if any(stride * ELEMENT_BYTES % PART_BYTES for stride in strides):
                return "expected rows that start at multiples of 16 bytes"
        return None
