"""Functions on blocks of memory-mapped arrays."""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.out_of_core import parse_memory
from riselang.support.errors import UserError

Array = np.ndarray[Any, Any]


def stored(path: Path, array: Array) -> Array:
    np.save(path, array)
    return np.load(path, mmap_mode="r")


@rl.jit
def doubled(x: rl.Array["N", 3, rl.f32]):
    return x * 2.0


@rl.jit
def neighbors(x: rl.Array["N", 4, rl.f32]):
    return x | rl.slide(3, 1) | rl.map(lambda rows: rows[0] + 2.0 * rows[1] + rows[2])


@rl.jit
def added(total: rl.f32, x: rl.Array["N", rl.f32]):
    return x | rl.reduce(rl.add, total)


@pytest.mark.parametrize("memory", [1, 500, "1kB", "1GB"])
def test_a_map_in_blocks(tmp_path: Path, memory: str | int) -> None:
    x = np.arange(31 * 3, dtype=np.float32).reshape(31, 3)
    found = rl.map_blocks(
        doubled, stored(tmp_path / "x.npy", x), out=tmp_path / "y.npy", memory=memory
    )
    assert np.array_equal(found, 2 * x)
    assert np.array_equal(np.load(tmp_path / "y.npy"), 2 * x)


@pytest.mark.parametrize("memory", [100, 500, "1GB"])
def test_a_stencil_reads_overlapping_blocks(tmp_path: Path, memory: str | int) -> None:
    x = np.random.default_rng(1).random((37, 4), np.float32)
    out = np.zeros((35, 4), np.float32)
    rl.map_blocks(neighbors, stored(tmp_path / "x.npy", x), out=out, overlap=2, memory=memory)
    assert np.array_equal(out, neighbors(x))


@pytest.mark.parametrize("memory", [50, 500, "1GB"])
def test_a_reduction_adds_in_the_same_order(tmp_path: Path, memory: str | int) -> None:
    x = np.random.default_rng(2).random(1001, np.float32)
    found = rl.reduce_blocks(added, np.float32(0), stored(tmp_path / "x.npy", x), memory=memory)
    assert found == added(np.float32(0), x)


def test_a_file_is_changed_in_place(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((10, 3), np.float32))
    x = np.load(tmp_path / "x.npy", mmap_mode="r+")
    rl.map_blocks(doubled, x, out=x, memory=200)
    assert np.array_equal(np.load(tmp_path / "x.npy"), np.full((10, 3), 2, np.float32))


def test_a_copy_on_write_map_keeps_its_changes(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((10, 3), np.float32))
    x = np.load(tmp_path / "x.npy", mmap_mode="c")
    x[:] = 3.0
    assert rl.map_blocks(doubled, x, out=x, memory=200).max() == 6.0
    assert np.load(tmp_path / "x.npy").max() == 1.0


def test_a_private_map_keeps_its_changes(tmp_path: Path) -> None:
    """The pages of a map that is not of NumPy are not dropped: they may be in memory only."""
    path = tmp_path / "bytes"
    path.write_bytes(bytes(4096))
    with path.open("rb") as file:
        private = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    x = np.frombuffer(private, np.float32).reshape(-1, 4)
    x[:] = 3
    total = rl.reduce_blocks(lambda total, block: total + block.sum(), 0.0, x, memory=64)
    assert total == x.size * 3
    assert (x == 3).all()


def test_rows_of_a_part_of_an_array_are_changed_in_place() -> None:
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    expected = x[:, 3:] * 2
    rl.map_blocks(doubled, x[:, 3:], out=x[:, :3], memory=1)
    assert (x[:, :3] == expected).all()
    with pytest.raises(UserError, match="no other part of their memory"):
        rl.map_blocks(doubled, x[:3, :3], out=x[1:, :3], memory=1)


def test_no_rows_are_mapped(tmp_path: Path) -> None:
    x = np.zeros((0, 3), np.float32)
    assert rl.map_blocks(doubled, x, out=x.copy()).shape == (0, 3)
    assert rl.map_blocks(doubled, x, out=tmp_path / "out.npy").shape == (0, 3)
    assert np.load(tmp_path / "out.npy").shape == (0, 3)


def test_the_file_of_an_array_is_not_created_again(tmp_path: Path) -> None:
    x = stored(tmp_path / "x.npy", np.ones((4, 3), np.float32))
    with pytest.raises(UserError, match="out must not be the file of one of the arrays"):
        rl.map_blocks(doubled, x[1:], out=tmp_path / "x.npy", memory=1)
    assert (x == 1).all()


def test_results_that_do_not_fit_are_refused() -> None:
    x = np.ones((4, 3), np.float32)
    for other in (np.zeros((4, 2), np.float32), np.zeros((4, 3, 3), np.float32)):
        with pytest.raises(UserError, match="out has rows of shape"):
            rl.map_blocks(doubled, x, out=other)
    with pytest.raises(UserError, match="out is of int32, but the function returned float32"):
        rl.map_blocks(doubled, x, out=np.zeros((4, 3), np.int32))


def test_errors() -> None:
    x = np.ones((4, 3), np.float32)
    with pytest.raises(UserError, match="at least one array"):
        rl.map_blocks(doubled, out="y.npy")
    with pytest.raises(UserError, match="expected an array with 4 rows, but found one with 5"):
        rl.map_blocks(doubled, x, out=np.ones((5, 3), np.float32))
    with pytest.raises(UserError, match="overlap must be at least 0 and less than the 4 rows"):
        rl.map_blocks(doubled, x, out=x, overlap=4)
    with pytest.raises(UserError, match="out must not share elements"):
        rl.map_blocks(doubled, x, out=x[1:], overlap=1)
    with pytest.raises(UserError, match="must return 4 rows for 4 rows"):
        rl.map_blocks(lambda rows: rows[:1], x, out=x.copy())
    with pytest.raises(UserError, match="memory must be a number of bytes"):
        parse_memory("a lot")
    with pytest.raises(UserError, match="memory must be"):
        parse_memory(0)


LARGE = """
import resource, sys
import numpy as np
import riselang as rl

folder, rows = sys.argv[1], int(sys.argv[2])

@rl.jit
def total(sum: rl.f64, x: rl.Array["N", 1024, rl.f32]):
    return x | rl.join | rl.reduce(lambda acc, e: acc + rl.cast(e * e, rl.f64), sum)

@rl.jit
def smooth(x: rl.Array["N", 1024, rl.f32]):
    return x | rl.slide(3, 1) | rl.map(lambda rows: rows[0] + rows[1] + rows[2])

total(0.0, np.ones((4, 1024), np.float32))
smooth(np.ones((4, 1024), np.float32))
x = np.lib.format.open_memmap(f"{folder}/x.npy", "w+", np.float32, (rows, 1024))  # zeros
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
x = np.load(f"{folder}/x.npy", mmap_mode="r")
assert rl.reduce_blocks(total, 0.0, x) == 0.0
rl.map_blocks(smooth, x, out=f"{folder}/y.npy", overlap=2)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize(
    "megabytes", [pytest.param(400), pytest.param(3000, marks=pytest.mark.nightly)]
)
@pytest.mark.rotating(3)
def test_memory_is_bounded(tmp_path: Path, megabytes: int) -> None:
    """The files have holes, so that the test needs no time to write them."""
    command = [sys.executable, "-c", LARGE, str(tmp_path), str(megabytes * 1_000_000 // 4096)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(result.stdout) < 300
