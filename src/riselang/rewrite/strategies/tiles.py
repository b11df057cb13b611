"""The shape of a matrix multiplication, and the tiles that a strategy uses for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

MIN_PARALLEL_PRODUCTS = 1 << 20
"""The minimum number of multiplications for which parallel loops are worth their overhead."""
MIN_PARALLEL_BYTES = 1 << 20
"""The same for the bytes of the right matrix, each of which is read from memory for few products if
the left matrix has few rows."""
TYPICAL_SIZES = (32, 64, 96, 256, 512, 1000, 1024, 2048)
"""The sizes for which tiles are chosen if a dimension is known only at run time."""


@dataclass(frozen=True)
class MatmulShape:
    """The sizes of a matrix multiplication, in elements, and the bytes of an element."""

    rows: int
    columns: int
    depth: int
    """The common dimension of both matrices."""
    bytes: int
    is_row_major: bool = True
    """Whether the rows of the right matrix are contiguous."""
    symbolic: frozenset[str] = frozenset()
    """The dimensions that are known only at run time; their sizes here are typical ones."""
    has_stored_rows: bool = True
    """Whether the left matrix is stored, and its rows are contiguous."""
    has_stored_columns: bool = False
    """Whether the right matrix is stored, and its rows are contiguous."""
    has_epilogue: bool = False
    """Whether elements of the result are computed from the sums."""

    @property
    def products(self) -> int:
        return self.rows * self.columns * self.depth

    @property
    def is_parallel(self) -> bool:
        right_bytes = self.columns * self.depth * self.bytes
        return self.products >= MIN_PARALLEL_PRODUCTS or right_bytes >= MIN_PARALLEL_BYTES

    @property
    def typical_shapes(self) -> tuple[MatmulShape, ...]:
        """Shapes that a call may have: this one if all dimensions are known at compile time."""
        if not self.symbolic:
            return (self,)
        return tuple(replace(self, **dict.fromkeys(self.symbolic, size)) for size in TYPICAL_SIZES)


@dataclass(frozen=True)
class Tiles:
    """The tile sizes for a machine and a shape."""

    rows: int
    """The rows of a register tile; `columns` are its columns."""
    columns: int
    lanes: int
    """The columns in a vector."""
    block: int
    """The number of tiles in a block of rows, for which a loop iterates over all columns. If it is
    0, the loop iterates over all rows for a tile of columns, and the rows that do not fill a tile
    form a smaller one."""
    loads_rows_in_vectors: bool
    """Whether the rows of a tile are loaded in vectors."""
    is_packed: bool
    is_parallel: bool
    is_transposed: bool
    """Whether rows are packed in squares that are transposed in registers."""
    depth: int = 0
    """How many products are added to each sum before the loop continues with the next tile; 0 means
    all of them."""
    columns_per_thread: int = 0
    """How many columns a thread computes at a time, if the right matrix is read row by row."""
    rows_ahead: int = 0
    """How many products before their use the rows of a tile are prefetched; `columns_ahead` is the
    same for its columns."""
    columns_ahead: int = 0
    packs_rows: bool = True
    """Whether rows are packed as well as columns."""
    piece: int = 0
    """The number of column tiles in a piece: threads share the pieces of all blocks. 0 means all
    of them."""
    packs_pieces: bool = False
    """Whether the columns of each piece are packed where they are used."""

    @property
    def is_streamed(self) -> bool:
        """Whether the right matrix is read row by row, without packing."""
        return self.columns_per_thread != 0

    @property
    def is_by_columns(self) -> bool:
        return self.block == 0 and not self.is_streamed

    @property
    def peels_columns(self) -> bool:
        """Whether columns that do not fill a tile are multiplied in narrower tiles, if their number
        is known only at run time. Otherwise they are padded when they are packed."""
        return self.is_by_columns and not self.is_packed

    @property
    def narrower(self) -> Tiles:
        """The tiles for columns that do not fill these: half as wide, and packed with padding if
        they are narrower than a vector."""
        if self.vectors == 1:
            return replace(self, is_packed=True, is_parallel=False)
        return replace(self, columns=self.vectors // 2 * self.lanes)

    @property
    def vectors(self) -> int:
        return self.columns // self.lanes

    def __str__(self) -> str:
        copies = "packed" if self.packs_rows else "packed columns"
        copies += " of each piece" if self.packs_pieces else ""
        copies = copies if self.is_packed else "in place"
        threads = "in parallel" if self.is_parallel else "on one thread"
        blocks = "all rows" if self.is_by_columns else f"blocks of {self.block * self.rows} rows"
        if self.piece:
            blocks += f" and {self.piece * self.columns} columns"
        if self.is_streamed:
            blocks = f"{self.depth} products of each sum at a time"
        elif self.depth:
            blocks += f", {self.depth} products of each sum at a time"
        return (
            f"tiles of {self.rows} x {self.columns} in vectors of {self.lanes}, "
            f"{blocks}, {copies}, {threads}"
        )
