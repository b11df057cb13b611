"""The kernel cache: whole entries come back, anything else is not there."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from riselang.runtime import cache as cache_module
from riselang.runtime.cache import KernelCache

KEY, OTHER = "a" * 64, "b" * 64
CONTENT = bytes(range(256)) * 5


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "deep" / "folder", 1 << 20)


def entry(cache: KernelCache, key: str = KEY) -> Path:
    return cache.folder / f"{key}.kernel"


def test_what_is_written_is_read(cache: KernelCache) -> None:
    assert cache.read(KEY) is None
    assert cache.write(KEY, CONTENT)
    assert cache.read(KEY) == CONTENT
    assert cache.read(OTHER) is None
    assert [each.key for each in cache.entries()] == [KEY]
    assert [path.name for path in cache.folder.iterdir()] == [f"{KEY}.kernel"]


def test_an_empty_entry(cache: KernelCache) -> None:
    assert cache.write(KEY, b"")
    assert cache.read(KEY) == b""


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_found(cache: KernelCache, seed: int) -> None:
    """Cut off, changed in a few bits, replaced, longer than it was."""
    rng = random.Random(seed)
    cache.write(KEY, CONTENT)
    data = bytearray(entry(cache).read_bytes())
    match seed % 4:
        case 0:
            data = data[: rng.randrange(len(data))]
        case 1:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 2:
            data = bytearray(rng.randbytes(len(data)))
        case _:
            data += rng.randbytes(1 + rng.randrange(9))
    entry(cache).write_bytes(data)
    assert cache.read(KEY) is None
    assert cache.write(KEY, CONTENT)
    assert cache.read(KEY) == CONTENT


def test_an_entry_in_the_place_of_another_is_not_read(cache: KernelCache) -> None:
    cache.write(KEY, CONTENT)
    entry(cache).rename(entry(cache, OTHER))
    assert cache.read(OTHER) is None


def test_a_file_of_another_user_is_not_read(
    cache: KernelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write(KEY, CONTENT)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache.read(KEY) is None


def _pipe(path: Path, content: bytes) -> None:
    os.mkfifo(path)


def _endless(path: Path, content: bytes) -> None:
    path.symlink_to("/dev/zero")


def _link(path: Path, content: bytes) -> None:
    """To a file with the right content."""
    other = path.parent / "elsewhere"
    other.write_bytes(content)
    path.symlink_to(other)


def _socket(path: Path, content: bytes) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as made, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # their paths may not be long
        made.bind(path.name)


def _writable_by_group(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o660)


def _writable_by_others(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o602)


def _longer_than_the_cache(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    os.truncate(path, 1 << 40)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="files of Unix")
@pytest.mark.parametrize(
    "place",
    [_pipe, _endless, _link, _socket, _writable_by_group, _writable_by_others,
     _longer_than_the_cache],
)  # fmt: skip
def test_only_plain_files_that_nobody_else_may_write_are_read(
    cache: KernelCache, place: Callable[[Path, bytes], None]
) -> None:
    """Nothing is waited for and nothing without an end is read; the entry is written anew."""
    cache.write(KEY, CONTENT)
    content = entry(cache).read_bytes()
    entry(cache).unlink()
    place(entry(cache), content)
    assert cache.read(KEY) is None
    assert [each.key for each in cache.entries()] == [KEY]
    assert cache.write(KEY, CONTENT)
    assert cache.read(KEY) == CONTENT


def test_a_second_name_of_a_file_in_a_folder_that_others_may_write(cache: KernelCache) -> None:
    """Others can link to a file of this user there, but not make one."""
    cache.write(KEY, CONTENT)
    os.link(entry(cache), cache.folder.parent / "other")
    assert cache.read(KEY) == CONTENT
    cache.folder.chmod(0o1777)
    assert cache.read(KEY) is None
    (cache.folder.parent / "other").unlink()
    assert cache.read(KEY) == CONTENT


def test_what_is_larger_than_the_cache_is_not_written(cache: KernelCache) -> None:
    assert not cache.write(KEY, bytes((1 << 20) + 1))
    assert cache.entries() == []
    assert cache.write(KEY, bytes(1 << 20))
    assert cache.read(KEY) == bytes(1 << 20)


def test_a_folder_in_the_place_of_an_entry(cache: KernelCache) -> None:
    entry(cache).mkdir(parents=True)
    assert cache.read(KEY) is None
    assert not cache.write(KEY, CONTENT)
    assert not list(cache.folder.glob("*.partial"))


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = KernelCache(tmp_path / "file" / "below", 1 << 20)
    assert not cache.write(KEY, CONTENT)
    assert cache.read(KEY) is None
    assert cache.entries() == []
    assert cache.clear() == 0


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_a_full_disk_leaves_nothing_behind(
    cache: KernelCache, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, name, full)
    assert not cache.write(KEY, CONTENT)
    assert list(cache.folder.iterdir()) == []


def test_a_write_that_is_interrupted_leaves_nothing_behind(
    cache: KernelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.write(KEY, CONTENT)
    assert list(cache.folder.iterdir()) == []


def test_what_was_not_used_for_longest_goes_first(cache: KernelCache) -> None:
    keys = [f"{number:064x}" for number in range(8)]
    for age, key in enumerate(keys):
        cache.write(key, CONTENT)
        used = time.time() - 1000 + age
        os.utime(entry(cache, key), (used, used))
    assert cache.read(keys[0]) == CONTENT, "reading counts as using"
    size = entry(cache, keys[0]).stat().st_size
    KernelCache(cache.folder, 6 * size).prune()
    assert {each.key for each in cache.entries()} == {keys[0], *keys[5:]}


def test_files_that_nobody_finishes_are_removed(cache: KernelCache) -> None:
    cache.write(KEY, CONTENT)
    old, new = cache.folder / "old.partial", cache.folder / "new.partial"
    for path in (old, new):
        path.write_bytes(b"")
    os.utime(old, (0, 0))
    cache.prune()
    assert not old.exists()
    assert new.exists()


def test_pruning_happens_now_and_then(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    pruned: list[int] = []
    monkeypatch.setattr(KernelCache, "prune", lambda self: pruned.append(1))
    monkeypatch.setattr(cache_module, "_next_prunes", {})
    for _ in range(5):
        cache.write(KEY, CONTENT)
    assert len(pruned) == 1


def test_clearing(cache: KernelCache, tmp_path: Path) -> None:
    cache.write(KEY, CONTENT)
    cache.write(OTHER, CONTENT)
    (cache.folder / "notes.txt").write_text("not ours")
    assert cache.clear() == 2
    assert [path.name for path in cache.folder.iterdir()] == ["notes.txt"]
