"""Arrays of models in the kernel cache, and files of models: what is written is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16

from riselang.frontends.stablehlo.model import model_file
from riselang.frontends.stablehlo.model.model_file import content_digest, hash_file
from riselang.frontends.stablehlo.model.stored_arrays import (
    decode_arrays,
    encode_arrays,
    load_arrays,
    store_arrays,
)
from riselang.runtime.cache import KernelCache
from riselang.support.errors import UserError

ARRAYS = (
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array(True),
    np.array([1.5, -2.0], bfloat16),
    np.zeros((0, 4), np.int64),
    np.array([1 + 2j], np.complex64),
    np.arange(200_000, dtype=np.float64),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, 1 << 30)
    store_arrays(cache, "key", ARRAYS)
    found = load_arrays(cache, "key")
    assert found is not None
    for mine, wanted in zip(found, ARRAYS, strict=True):
        assert (mine.dtype, mine.shape) == (wanted.dtype, wanted.shape)
        assert mine.ctypes.data % 64 == 0 or not mine.size
        np.testing.assert_array_equal(mine, wanted)


@pytest.mark.parametrize("position", [0, 60, 200, 900_000, -1])
def test_a_damaged_entry_is_nothing(tmp_path: Path, position: int) -> None:
    cache = KernelCache(tmp_path, 1 << 30)
    store_arrays(cache, "key", ARRAYS)
    content = bytearray((tmp_path / "key.kernel").read_bytes())
    content[position] ^= 1
    (tmp_path / "key.kernel").write_bytes(content)
    assert load_arrays(cache, "key") is None
    (tmp_path / "key.kernel").write_bytes(content[:position])
    assert load_arrays(cache, "key") is None
    assert load_arrays(cache, "other") is None


@pytest.mark.parametrize("size", [0, 3, 8, 20, 300, -1])
def test_a_part_of_the_bytes_is_nothing(size: int) -> None:
    data = np.frombuffer(encode_arrays(ARRAYS), np.uint8)
    assert decode_arrays(data[:size]) is None


@pytest.mark.parametrize("size", [1, 3, 64, 1000])
def test_a_file_is_hashed_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(model_file, "_PART", size)
    path = tmp_path / "model.onnx"
    content = bytes(range(200))
    path.write_bytes(content)
    file = hash_file(path)
    assert file.digest == content_digest(content)
    assert file.read() == content


def test_a_file_that_changes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"one")
    file = hash_file(path)
    path.write_bytes(b"two")
    with pytest.raises(UserError, match=r"has changed since then; import it again"):
        file.read()
    path.unlink()
    with pytest.raises(UserError, match=r"is needed for this, and cannot be read: No such file"):
        file.read()
