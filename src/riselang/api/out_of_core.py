"""Run functions on arrays that are larger than memory, a block of rows at a time.

The laws of the language say when the results are the same: `split_join` for maps,
`overlapped_tiling` for windows, and `blocked_reduce` for reductions, which continue from the result
of the blocks before, so that the order of float operations does not change.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from riselang.runtime.arrays import Array
from riselang.support.errors import UserError
from riselang.support.tracebacks import with_short_tracebacks

DEFAULT_MEMORY = "128MB"
_MEMORY = re.compile(r"(?P<count>\d+(\.\d+)?)\s*(?P<unit>[kMG]?)B")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


@with_short_tracebacks
def map_blocks(
    function: Callable[..., Any],
    *arrays: Array,
    out: str | Path | Array,
    overlap: int = 0,
    memory: str | int = DEFAULT_MEMORY,
) -> Array:
    """Apply a function to blocks of rows of the arrays, and write its results to `out`.

    `function` takes `n + overlap` rows of each array, and returns `n` rows: with an overlap of 2,
    it computes windows of three rows. `out` is an array, such as a memory-mapped one, or the name
    of an .npy file to create. The arrays may be memory-mapped (`np.load(file, mmap_mode="r")`);
    blocks of all arrays, and pages of the files that are in memory, need about `memory` bytes.
    """
    _check_arrays(arrays)
    if overlap < 0 or (overlap and overlap >= len(arrays[0])):
        raise UserError(
            f"overlap must be at least 0 and less than the {len(arrays[0])} rows of the arrays, "
            f"but is {overlap}"
        )
    rows = len(arrays[0]) - overlap
    target = None if isinstance(out, str | Path) else out
    if target is not None:
        _check_rows(target, rows)
        if any(_is_written_before_read(target, array, overlap) for array in arrays):
            raise UserError(
                "out must not share elements with the arrays: with an overlap, it must not be one "
                "of them, and otherwise no other part of their memory"
            )
    elif any(_is_in_file(array, out) for array in arrays):
        raise UserError(f"out must not be the file of one of the arrays, but is {str(out)!r}")
    blocks = list(_blocks(arrays, rows, overlap, parse_memory(memory))) or [_Block(0, 0, 0)]
    for block in blocks:
        result = np.asarray(function(*(array[block.start : block.read_end] for array in arrays)))
        if result.ndim == 0 or len(result) != block.end - block.start:
            raise UserError(
                f"the function must return {block.end - block.start} rows for "
                f"{block.read_end - block.start} rows of the arrays, but returned an array of "
                f"shape {result.shape}"
            )
        if target is None:
            assert isinstance(out, str | Path)
            shape = (rows, *result.shape[1:])
            target = np.lib.format.open_memmap(out, "w+", result.dtype, shape)
        _check_result(target, result)
        target[block.start : block.end] = result
        _release(target, block.start, block.end)
        for array in arrays:
            _release(array, block.start, block.end)
    assert target is not None
    return target


@with_short_tracebacks
def reduce_blocks(
    function: Callable[..., Any],
    initial: Any,
    *arrays: Array,
    memory: str | int = DEFAULT_MEMORY,
) -> Any:
    """Reduce arrays a block of rows at a time: `function(accumulator, *blocks)` returns the next
    accumulator, and `initial` is the first one.

    A block that starts its reduction from the accumulator adds in the same order as one reduction
    of the complete arrays."""
    _check_arrays(arrays)
    accumulator = initial
    for block in _blocks(arrays, len(arrays[0]), 0, parse_memory(memory)):
        accumulator = function(accumulator, *(array[block.start : block.end] for array in arrays))
        for array in arrays:
            _release(array, block.start, block.end)
    return accumulator


@dataclass(frozen=True)
class _Block:
    """Rows of the result, from `start` to `end`, and the end of the rows that they depend on."""

    start: int
    end: int
    read_end: int


def parse_memory(memory: str | int) -> int:
    """Read a number of bytes, such as "128MB"."""
    if isinstance(memory, int) and memory > 0:
        return memory
    match = _MEMORY.fullmatch(str(memory))
    if match is None or float(match["count"]) <= 0:
        raise UserError(f"memory must be a number of bytes, such as '128MB', but is {memory!r}")
    return int(float(match["count"]) * _UNITS[match["unit"]])


def _check_arrays(arrays: Sequence[Array]) -> None:
    if not arrays:
        raise UserError("expected at least one array")
    for array in arrays:
        if array.ndim == 0:
            raise UserError("expected arrays with at least one dimension, but found a scalar")
        _check_rows(array, len(arrays[0]))


def _check_rows(array: Array, rows: int) -> None:
    if len(array) != rows:
        raise UserError(f"expected an array with {rows} rows, but found one with {len(array)}")


def _check_result(target: Array, result: Array) -> None:
    """Refuse rows that NumPy would repeat, or convert to a type of another kind."""
    if result.shape[1:] != target.shape[1:]:
        raise UserError(
            f"out has rows of shape {target.shape[1:]}, but the function returned rows of shape "
            f"{result.shape[1:]}"
        )
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise UserError(f"out is of {target.dtype}, but the function returned {result.dtype}")


def _is_written_before_read(target: Array, array: Array, overlap: int) -> bool:
    """Whether a block of the results may change elements of an array that a later block reads."""
    if not np.may_share_memory(target, array):
        return False
    if overlap or target.strides[0] != array.strides[0]:
        return True
    # The distance between row i of one and row j of the other depends on j - i only.
    return np.may_share_memory(target[:1], array[1:])


def _is_in_file(array: Array, name: Any) -> bool:
    """Whether an array is the memory map of a file, in any mode."""
    for each in _bases(array):
        file = each.filename if isinstance(each, np.memmap) else None
        if file is not None and os.path.exists(name) and os.path.samefile(file, name):
            return True
    return False


def _blocks(arrays: Sequence[Array], rows: int, overlap: int, memory: int) -> Iterator[_Block]:
    """Yield blocks of about the same number of rows; a block and its result take half the memory.

    The other half is for the temporaries of the function."""
    row_bytes = sum(array.nbytes // max(1, len(array)) for array in arrays) or 1
    size = max(1, memory // (4 * row_bytes) - overlap)
    count = -(-rows // size)
    # Blocks of two sizes only, so that at most two kernels are compiled.
    ends = [rows * number // count for number in range(count + 1)] if count else [0, rows]
    for start, end in pairwise(ends):
        if end > start:
            yield _Block(start, end, end + overlap)


def _release(array: Array, start: int, end: int) -> None:
    """Write the pages of some rows to the file of a memory-mapped array, and drop them."""
    file = _mapping(array)
    if file is None or not hasattr(file, "madvise"):
        return
    address = np.frombuffer(file, np.uint8, 1).__array_interface__["data"][0]
    part = array[start:end]
    first = part.__array_interface__["data"][0] - address
    page = os.sysconf("SC_PAGE_SIZE")
    low = first // page * page
    high = min(len(file), first + part.nbytes)
    if not part.flags.c_contiguous or low < 0 or high <= low:
        return
    if array.flags.writeable:
        file.flush(low, high - low)
    file.madvise(mmap.MADV_DONTNEED, low, high - low)


def _mapping(array: Array) -> mmap.mmap | None:
    """Return the memory map of a file that an array is in; None if it is in memory.

    Pages of a map that is private, as copy-on-write maps are, must not be dropped, since changes of
    them are in memory only. Only NumPy's maps tell whether they are."""
    is_shared = False
    for each in _bases(array):
        if isinstance(each, np.memmap):
            if each.mode == "c":
                return None
            is_shared = True
        elif isinstance(each, mmap.mmap):
            return each if is_shared else None
    return None


def _bases(array: Array) -> Iterator[Any]:
    """Yield an array, and the objects whose memory it is a view of."""
    base: Any = array
    while base is not None:
        yield base
        base = getattr(base, "base", None)
