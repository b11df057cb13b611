"""What all kernels share is compiled once, and kernels are found by every later process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from riselang.runtime.cache import KernelCache
from riselang.runtime.shared_code import shared_cache

PROGRAM = """
import numpy as np
import riselang as rl

program = rl.loads(
    "fun((x : 64.256.f32), x |> mapPar(map(fun(a, a * 2.0))))", name="p.rise", strategy="STRATEGY"
)
x = np.ones((64, 256), np.float32)
for _ in range(2):
    assert np.array_equal(program.main(x), 2 * x)
"""


def run(folder: Path, strategy: str = "none", hash_seed: int = 0) -> str:
    """Run the program in a process of its own, and return what it reports about its compilation."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("STRATEGY", strategy)],
        check=True, capture_output=True, text=True,
        env={
            **os.environ, "RISE_CACHE": "1", "RISE_CACHE_DIR": str(folder),
            "RISE_LOG_COMPILES": "1", "PYTHONHASHSEED": str(hash_seed), "RISE_NUM_THREADS": "2",
        },
    )  # fmt: skip
    return result.stderr


@pytest.mark.rotating(2)
def test_later_processes_find_the_code_whatever_their_hashes_are(tmp_path: Path) -> None:
    assert "compiled main" in run(tmp_path, "default")
    for hash_seed in (1, 2, 3):
        assert "found main in the cache" in run(tmp_path, "default", hash_seed)


@pytest.mark.rotating(5)
def test_shared_functions_are_stored_and_damaged_ones_are_compiled_again(tmp_path: Path) -> None:
    run(tmp_path)
    kept = shared_cache(KernelCache(tmp_path, 1 << 30))
    keys = {entry.key for entry in kept.entries()}
    assert len(keys) == 3, "the memory pool, the threads, and calls with arrays"
    for entry in kept.entries():
        entry.path.write_bytes(entry.path.read_bytes()[:-100])
    assert all(kept.read(key) is None for key in keys)
    run(tmp_path)
    assert all(kept.read(key) is not None for key in keys)
    assert {entry.key for entry in kept.entries()} == keys
