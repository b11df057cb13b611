"""Entries of the cache and saved programs whose checksums are right and whose content is not.

They are compiled again, or refused. Each test is a process of its own: what LLVM makes of a bad
object ends it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.rotating(6)

COMMON = """
import json, os, random, struct, sys
import numpy as np
import riselang as rl
from riselang.runtime.code_cache import find_cached
from riselang.api.lowered import Lowered
from riselang.runtime.artifact import Artifact
from riselang.runtime.cache import default_cache
from riselang.runtime.sealing import seal, unseal

KIND = "compiled module"
x = np.arange(24, dtype=np.float32)

@rl.jit(sizes="symbolic")
def scaled(x: rl.Array["N", rl.f32], i: rl.Array[2, rl.i32]):
    return x | rl.map(lambda a: a * 3.0 + 1.0)

indices = np.zeros(2, np.int32)
lowered = scaled.lower()
assert np.array_equal(lowered.compile()(x, indices), 3 * x + 1)
cache, key = default_cache(), lowered.key
whole = cache.read(key)
head, _, code = unseal(KIND, whole).partition(b"\\n")
facts = json.loads(head)
assert find_cached(key, "scaled", {"scaled": lowered._buffer_types}) is not None
rng = random.Random(int(sys.argv[1]))
refused = accepted = 0

def try_entry(content, *, compile):
    global refused, accepted
    assert cache.write(key, content)
    found = find_cached(key, "scaled", {"scaled": lowered._buffer_types})
    if found is None:
        refused += 1
    else:
        accepted += 1
    if compile or found is not None:
        again = Lowered("scaled", lowered.source, 1, lowered.options, lowered.strategy).compile()
        assert np.array_equal(again(x, indices), 3 * x + 1)
"""
BYTES = """
def changed(data):
    data = bytearray(data)
    match rng.randrange(5):
        case 0: return bytes(data[: rng.randrange(len(data))])
        case 1: data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 2: return rng.randbytes(rng.randrange(4000))
        case 3: data += rng.randbytes(5)
        case _:
            start = rng.randrange(len(data))
            data[start : start + 8] = rng.choice([bytes(8), b"\\xff" * 8, rng.randbytes(8)])
    return bytes(data)

for number in range(300):
    content = changed(whole)
    if content != whole:
        try_entry(content, compile=number % 60 == 0)
assert accepted == 0
"""
SEALED_JSON = """
DEEP = "[" * 100_000 + "]" * 100_000
VALUES = [None, True, -1, 0, 1 << 70, 1e300, "", "x" * 5000, "scaled"]
VALUES += [[], [[]], {}, {"a": 1}, [None]]

def places(value, path=()):
    yield path
    if isinstance(value, list):
        value = dict(enumerate(value))
    for at, inner in value.items() if isinstance(value, dict) else ():
        yield from places(inner, (*path, at))

def replaced(value, path, new):
    if not path:
        return new
    value = dict(value) if isinstance(value, dict) else list(value)
    value[path[0]] = replaced(value[path[0]], path[1:], new)
    return value

every = list(places(facts))
for number in range(600):
    path, value = rng.choice(every), rng.choice(VALUES)
    if path[2:3] == ("open",) and len(path) > 4:
        continue  # what lengths are to each other follows from the program alone
    text = json.dumps(replaced(facts, path, value)).encode()
    if json.loads(text) != facts:
        try_entry(seal(KIND, text + b"\\n" + code), compile=False)
texts = [DEEP, '{"functions": ' + DEEP + "}", "9" * 100_000, "NaN", "", "\\xff"]
for text in (*texts, '{"functions": []}'):
    try_entry(seal(KIND, text.encode("latin-1") + b"\\n" + code), compile=True)
deep = replaced(facts, ("kernels",), ["", [["scaled", json.loads("[" * 500 + "]" * 500), [], []]]])
try_entry(seal(KIND, json.dumps(deep).encode() + b"\\n" + code), compile=True)
assert refused > 400, (refused, accepted)
"""
SEALED_OBJECTS = """
artifact = Artifact.from_bytes(whole)
good = bytes(*artifact.objects)

def patched(place, kind, *values):
    data = bytearray(good)
    struct.pack_into(kind, data, place, *values)
    return bytes(data)

(table,) = struct.unpack_from("<Q", good, 40)
size, count, names = struct.unpack_from("<HHH", good, 58)
bad = [
    b"", b"\\x7fELF", good[:64], good[: len(good) // 2], good[:-1],
    b"\\x7fELF\\x02\\x01" + rng.randbytes(500), bytes(len(good)), rng.randbytes(len(good)),
    patched(16, "<H", 2), patched(18, "<H", 40),
    patched(40, "<Q", len(good)), patched(40, "<Q", 1 << 63),
    patched(58, "<H", 8), patched(60, "<H", 0xFFFF), patched(62, "<H", count),
    good.replace(b"rise_call_scaled", b"rise_call_scaleX"),
    good.replace(b"aligned_alloc", b"aligned_a1loc") if b"aligned_alloc" in good else b"",
]
for number in range(1, count):
    start = table + number * size
    kind, = struct.unpack_from("<I", good, start + 4)
    if kind == 8:
        continue
    bad.append(patched(start + 24, "<Q", len(good) + 1))
    bad.append(patched(start + 32, "<Q", 1 << 62))
    bad.append(patched(start + 40, "<I", count + 5))
    if kind == 2:  # symbols
        place, = struct.unpack_from("<Q", good, start + 24)
        bad.append(patched(place + 24, "<I", 1 << 31))
        bad.append(patched(start + 56, "<Q", 7))
        length, = struct.unpack_from("<Q", good, start + 32)
        for at in range(place + 24, place + length, 24):
            section, = struct.unpack_from("<H", good, at + 6)
            if 0 < section < 0xFF00:
                bad.append(patched(at + 8, "<Q", 1 << 40))
                bad.append(patched(at + 6, "<H", count))
    if kind == 4:  # relocations
        place, = struct.unpack_from("<Q", good, start + 24)
        bad.append(patched(place, "<Q", 1 << 50))
        bad.append(patched(place + 12, "<I", 1 << 30))
for number, each in enumerate(bad):
    forged = Artifact(artifact.functions, (each,), artifact.libraries)
    try_entry(forged.to_bytes(), compile=number % 10 == 0)
assert accepted == 0, accepted
for libraries in (("nothing",), ("openmp", "", "blas/../x")):
    try_entry(Artifact(artifact.functions, artifact.objects, libraries).to_bytes(), compile=True)
try_entry(Artifact((), artifact.objects).to_bytes(), compile=True)
try_entry(Artifact(artifact.functions, ()).to_bytes(), compile=True)
assert accepted == 0, accepted
"""
SAVED = """
from riselang.api.save_compiled import CHECKSUM_LABEL, MAGIC
from riselang.runtime.checksum import CHECKSUM_BYTES, checksum
from riselang.support.errors import RiseError
path = os.path.join(os.environ["RISE_CACHE_DIR"], "saved.kernel")
lowered.compile().save(path)
saved = open(path, "rb").read()
assert np.array_equal(rl.load(path)(x, indices), 3 * x + 1)
start = len(MAGIC) + CHECKSUM_BYTES
for number in range(200):
    content = bytearray(saved[start:])
    if number % 4 == 0:
        content = content[: rng.randrange(len(content))]
    elif number % 4 == 1:
        content = b"[" * 100_000 + b"\\n" + content
    else:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    with open(path, "wb") as file:
        file.write(MAGIC + checksum(CHECKSUM_LABEL, content) + content)
    try:
        result = rl.load(path)(x, indices)
    except RiseError as error:
        assert "\\n" not in error.message
    else:
        assert np.array_equal(result, 3 * x + 1)
"""

OTHERS = """
import importlib.util
MODULE = '''
module {
  func.func @main(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>) -> tensor<4x2xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<2xf32>) -> tensor<4x2xf32>
    %3 = stablehlo.add %0, %2 : tensor<4x2xf32>
    return %3 : tensor<4x2xf32>
  }
}
'''
C = "void twice(int n, float x[n]) { for (int i = 0; i < n; i++) x[i] = 2 * x[i]; }"
a, w = rng.random(), np.arange(6, dtype=np.float32).reshape(3, 2)
a = np.full((4, 3), a, np.float32)
has_c = importlib.util.find_spec("islpy") and importlib.util.find_spec("clang")

def check():
    expected = a @ w + np.array([1, 2], np.float32)
    assert np.allclose(rl.from_stablehlo(MODULE)(a, w), expected)
    assert np.allclose(bound(), expected)
    if has_c:
        changed = x.copy()
        rl.from_c(C)(len(x), changed)
        assert np.array_equal(changed, 2 * x)

def bound():
    model = rl.from_stablehlo(MODULE)
    return model.bind(**{model.names[1]: w})(a)

check()
cache.remove(key)
keys = [each.key for each in cache.entries()]
kept = {each: cache.read(each) for each in keys}
assert len(keys) >= (4 if has_c else 3), keys
bad = [b"", b"null", b"[" * 100_000, rng.randbytes(300)]
for content in (*bad, *kept.values()):
    for each in keys:
        assert cache.write(each, content)
    check()
for each, content in kept.items():
    changed = bytearray(content)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    assert cache.write(each, bytes(changed))
    check()
"""


def run(script: str, folder: Path, seed: int = 0) -> None:
    environment = {**os.environ, "RISE_CACHE": "1", "RISE_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", COMMON + script + 'print("right")', str(seed)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.sampled(1)
def test_content_that_was_changed_under_a_right_checksum(tmp_path: Path, seed: int) -> None:
    run(BYTES, tmp_path, seed)


def test_facts_of_the_wrong_types_deep_and_huge(tmp_path: Path) -> None:
    run(SEALED_JSON, tmp_path)


def test_objects_that_would_end_the_process(tmp_path: Path) -> None:
    run(SEALED_OBJECTS, tmp_path)


def test_saved_programs_that_were_changed_under_a_right_checksum(tmp_path: Path) -> None:
    run(SAVED, tmp_path)


def test_entries_of_models_and_of_loops_of_c(tmp_path: Path) -> None:
    run(OTHERS, tmp_path)
