"""What later processes find in the cache: the CPU as LLVM detects it, and digests of files."""

from __future__ import annotations

import os
import time
from dataclasses import astuple
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from riselang.frontends.stablehlo.model import model_file
from riselang.frontends.stablehlo.model.model_file import content_digest, hash_file
from riselang.native.llvm import codegen
from riselang.native.llvm.target import Target
from riselang.runtime import environment
from riselang.runtime.cache import KernelCache
from riselang.runtime.stored_facts import facts_cache, read_fact, store_fact
from riselang.support import machine

SECOND = 1_000_000_000
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs the time when an inode changed")


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelCache:
    """An empty cache."""
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(model_file, "_MIN_STORED_BYTES", 10)
    return facts_cache(KernelCache(tmp_path / "cache", 1 << 20))


def test_facts_are_stored(facts: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_fact("a", 1) is None
    store_fact(["x", 2], "a", 1)
    assert read_fact("a", 1) == ["x", 2]
    assert read_fact("a", 2) is None
    assert read_fact("a1") is None
    (entry,) = facts.entries()
    facts.write(entry.key, b"[")
    assert read_fact("a", 1) is None
    monkeypatch.setenv("RISE_CACHE", "0")
    store_fact("x", "b")
    monkeypatch.setenv("RISE_CACHE", "1")
    assert read_fact("b") is None


# Digests of files.


class Hashes:
    """Counts the files that are read."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._hash = model_file._hash_content
        patch.setattr(model_file, "_hash_content", self)

    def __call__(self, file: FileIO) -> str:
        self.count += 1
        return self._hash(file)


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> Hashes:
    return Hashes(monkeypatch)


def wait(patch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let time pass for the code under test."""
    now = time.time_ns
    patch.setattr(time, "time_ns", lambda: now() + int(seconds * SECOND))


@POSIX
@pytest.mark.usefixtures("facts")
def test_a_file_is_hashed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: Hashes
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"one model is here")
    wait(monkeypatch, 10)
    digest = blake2b(b"one model is here", digest_size=32).hexdigest()
    assert [hash_file(path).digest for _ in range(3)] == [digest] * 3
    assert hashes.count == 1
    assert content_digest(b"one model is here") == digest
    assert hash_file(path).read() == b"one model is here"


@POSIX
@pytest.mark.usefixtures("facts")
def test_a_changed_file_with_its_old_time_is_hashed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: Hashes
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"one model is here")
    old = path.stat()
    wait(monkeypatch, 10)
    first = hash_file(path)
    time.sleep(0.05)  # more than a tick of the clock of the file system
    path.write_bytes(b"two model is here")
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert path.stat().st_mtime_ns == old.st_mtime_ns
    assert path.stat().st_size == old.st_size
    assert hash_file(path).digest == content_digest(b"two model is here") != first.digest
    assert hashes.count == 2


@POSIX
def test_a_file_that_has_just_changed_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: Hashes, facts: KernelCache
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"one model is here")
    now = path.stat().st_ctime_ns
    monkeypatch.setattr(time, "time_ns", lambda: now + SECOND // 10)
    hash_file(path)
    assert not facts.entries()
    hash_file(path)
    assert hashes.count == 2


@POSIX
def test_a_file_system_may_store_whole_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_settled(ctime: int, passed: int) -> bool:
        status: Any = type("Status", (), {"st_ctime_ns": ctime})
        return model_file._is_settled(status, ctime + passed)

    assert is_settled(5 * SECOND + 4_000_000, SECOND)
    assert not is_settled(5 * SECOND + 4_000_000, SECOND // 10)
    assert not is_settled(5 * SECOND, 2 * SECOND)
    assert is_settled(5 * SECOND, 4 * SECOND)
    assert not is_settled(5 * SECOND, -SECOND), "the clock was set back"
    monkeypatch.setattr(os, "name", "nt")
    assert not is_settled(5 * SECOND, 4 * SECOND)


@POSIX
def test_a_file_that_changes_while_it_is_read_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: KernelCache
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"one model is here")
    wait(monkeypatch, 10)
    hash_content = model_file._hash_content

    def change(file: FileIO) -> str:
        time.sleep(0.05)
        path.write_bytes(b"two model is here")
        return hash_content(file)

    with monkeypatch.context() as patch:
        patch.setattr(model_file, "_hash_content", change)
        hash_file(path)
    assert not facts.entries()
    assert hash_file(path).digest == content_digest(b"two model is here")


def test_small_files_and_those_without_a_cache_are_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: Hashes, facts: KernelCache
) -> None:
    small, large = tmp_path / "small.onnx", tmp_path / "large.onnx"
    small.write_bytes(b"small")
    large.write_bytes(b"a larger model")
    wait(monkeypatch, 10)
    for _ in range(2):
        assert hash_file(small).digest == content_digest(b"small")
    assert not facts.entries()
    monkeypatch.setenv("RISE_CACHE", "0")
    for _ in range(2):
        assert hash_file(large).digest == content_digest(b"a larger model")
    assert hashes.count == 4


def test_a_stored_digest_of_another_form_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: KernelCache
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"one model is here")
    wait(monkeypatch, 10)
    hash_file(path)
    for entry in facts.entries():
        facts.write(entry.key, b"[1, 2]")
    assert hash_file(path).digest == content_digest(b"one model is here")


# The CPU.


class Detections:
    """Counts how often LLVM detects the CPU."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> Target:
        self.count += 1
        return Target("a triple", f"cpu {self.count}", "+feature")


def detected(patch: pytest.MonkeyPatch, detections: Detections, cpu: str, boot: str) -> Target:
    """The CPU that a new process finds."""
    with patch.context() as context:
        context.setattr(codegen, "host", detections)
        context.setattr(environment, "cpu_description", lambda: cpu)
        context.setattr(environment, "boot_identity", lambda: boot)
        return environment.host_target.__wrapped__()


def test_the_cpu_is_detected_once_for_each_boot(
    monkeypatch: pytest.MonkeyPatch, facts: KernelCache
) -> None:
    calls = Detections()
    first = detected(monkeypatch, calls, "flags: a b", "1")
    assert first.cpu == "cpu 1"
    assert detected(monkeypatch, calls, "flags: a b", "1") == first
    assert detected(monkeypatch, calls, "flags: a b c", "1").cpu == "cpu 2"
    assert detected(monkeypatch, calls, "flags: a b", "2").cpu == "cpu 3"
    assert detected(monkeypatch, calls, "flags: a b", "1") == first
    for entry in facts.entries():
        facts.write(entry.key, b'["a", "b"]')
    assert detected(monkeypatch, calls, "flags: a b", "1").cpu == "cpu 4"


@pytest.mark.parametrize(("cpu", "boot"), [("", "1"), ("flags: a b", ""), ("", "")])
def test_an_unknown_cpu_or_boot_is_not_stored(
    monkeypatch: pytest.MonkeyPatch, facts: KernelCache, cpu: str, boot: str
) -> None:
    calls = Detections()
    for number in (1, 2):
        assert detected(monkeypatch, calls, cpu, boot).cpu == f"cpu {number}"
    assert not facts.entries()


def test_the_stored_cpu_is_the_one_that_llvm_detects() -> None:
    assert astuple(environment.host_target()) == astuple(codegen.host())


def test_the_description_of_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "model name\t: A\nflags\t: a b\ncpu MHz\t: {}\n\nmodel name\t: A\nflags\t: a b c\n"
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(machine, "CPUINFO", path)
    found: list[str] = []
    for content in (text.format(1), text.format(2), text.replace("b c", "c")):
        path.write_text(content)
        found.append(machine.cpu_description.__wrapped__())
    assert found[0] == found[1] != found[2]
    assert "flags: a b c" in found[0]
    path.write_text("nothing here")
    assert machine.cpu_description.__wrapped__() == ""
    path.unlink()
    assert machine.cpu_description.__wrapped__() == ""
    monkeypatch.setattr(machine, "BOOT_ID", path)
    assert machine.boot_identity.__wrapped__() == ""
