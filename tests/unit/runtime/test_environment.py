"""The key of compiled code has the content of the compiler in it, whatever times its files have."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import riselang
from riselang.runtime.environment import PACKAGES, hash_compiler, hash_folder, hash_package

pytestmark = pytest.mark.rotating(3)

PACKAGE = Path(riselang.__file__).parent
CHANGED = (
    "native/llvm/temporary_pool.ll",
    "rewrite/law_cache.json",
    "notation/grammar.lark",
    "lowering/imperative.py",
    "__init__.py",
)
"""Sources and data, in folders at every depth."""
PROGRAM = """
import numpy as np, riselang as rl
x = np.arange(8, dtype=np.float32)
@rl.jit
def scaled(x: rl.Array["N", rl.f32]):
    return x | rl.map(lambda a: a * 3.0 + 1.0)
assert np.array_equal(scaled(x), x * 3 + 1)
"""


def copied(folder: Path) -> Path:
    package = folder / "riselang"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


def change(path: Path) -> None:
    """Another content of the same size and times."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    place = data.index(b"e", data.index(b"the") if b"the" in data else 0)
    data[place] = ord("E")
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert path.stat().st_mtime_ns == status.st_mtime_ns


def run(package: Path, program: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1",
        "RISE_CACHE": "1", "RISE_CACHE_DIR": str(cache), "RISE_LOG_COMPILES": "1",
    }  # fmt: skip
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.rotating(8)
def test_a_version_of_the_same_sizes_and_times_compiles_anew(tmp_path: Path) -> None:
    package, cache = copied(tmp_path), tmp_path / "cache"
    assert "compiled scaled" in run(package, PROGRAM, cache).stderr
    assert "found scaled" in run(package, PROGRAM, cache).stderr
    change(package / "native/llvm/temporary_pool.ll")
    assert "compiled scaled" in run(package, PROGRAM, cache).stderr


def test_the_content_of_every_kind_of_file_is_in_the_key(tmp_path: Path) -> None:
    package = copied(tmp_path)
    found = [hash_folder(str(package))]
    for name in CHANGED:
        change(package / name)
        found.append(hash_folder(str(package)))
    (package / "native/llvm/temporary_pool.ll").rename(package / "native/llvm/other.ll")
    found.append(hash_folder(str(package)))
    assert None not in found
    assert len(set(found)) == len(found)


def test_bytecode_and_the_place_of_the_package_are_not_in_the_key(tmp_path: Path) -> None:
    first, second = copied(tmp_path / "a"), copied(tmp_path / "b")
    (first / "__pycache__").mkdir()
    (first / "__pycache__/config.pyc").write_bytes(b"bytecode")
    assert hash_folder(str(first)) == hash_folder(str(second))


def test_a_process_that_is_older_than_its_files_shares_no_code(tmp_path: Path) -> None:
    """What it runs was replaced on disk, by an upgrade or in an editor."""
    package = str(copied(tmp_path))
    started = time.time_ns() + 10**9
    assert hash_compiler(package, started) == hash_compiler(package, started)
    started -= 10**10
    assert hash_compiler(package, started) != hash_compiler(package, started)


def test_a_compiler_without_files_shares_no_code(tmp_path: Path) -> None:
    """Such as one that was imported from an archive."""
    now = time.time_ns()
    assert hash_compiler(str(tmp_path / "no"), now) != hash_compiler(str(tmp_path / "no"), now)


@pytest.mark.parametrize("name", PACKAGES)
def test_the_packages_that_code_depends_on_are_known(name: str) -> None:
    assert len(hash_package(name)) == 64
    assert hash_package("no_package_of_this_name") == "missing"


def installed(site: Path, content: str, script: str) -> Path:
    package, info = site / "part", site / "part-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text("")
    (info / "RECORD").write_text(
        f"../bin/part,sha256={script},10\npart/__init__.py,sha256={content},0\n"
        "part/__pycache__/__init__.pyc,,\n"
    )
    return site


def test_a_wheel_of_the_same_version_with_other_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def content(site: Path) -> str:
        with monkeypatch.context() as context:
            context.syspath_prepend(site)
            return hash_package("part")

    one = content(installed(tmp_path / "one", "abc", "x"))
    assert content(installed(tmp_path / "two", "abc", "y")) == one, "scripts have a path in them"
    assert content(installed(tmp_path / "three", "def", "x")) != one


def test_a_part_that_is_no_wheel_is_known_by_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "part"
    package.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    found: list[str] = []
    for content in ("a = 1", "a = 2"):
        (package / "__init__.py").write_text(content)
        os.utime(package / "__init__.py", (0, 0))
        found.append(hash_package("part"))
    assert found[0] != found[1]
