"""The checksum of files: it depends on every byte, on the size and on the label."""

from __future__ import annotations

import random

import pytest

from riselang.runtime.checksum import CHECKSUM_BYTES, PART_BYTES, Checksum, checksum
from riselang.runtime.sealing import seal, split_line, unseal

SIZES = [0, 1, 100, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES + 5]


@pytest.mark.parametrize("size", SIZES)
def test_any_change_is_detected(size: int) -> None:
    source = random.Random(size)
    content = source.randbytes(size)
    whole = checksum("label", content)
    assert len(whole) == CHECKSUM_BYTES
    assert whole == checksum("label", memoryview(content)) == checksum("label", bytearray(content))
    others = [content + b"\0", b"\0" + content, content * 2 + b"\0", content[:-1] + b"\0\0"]
    for _ in range(20 if size else 0):
        changed = bytearray(content)
        changed[source.randrange(size)] ^= 1 << source.randrange(8)
        others.append(bytes(changed))
    assert whole not in {checksum("label", each) for each in others}
    assert whole != checksum("label2", content)
    if content:
        assert whole != checksum("labe", b"l" + content[1:])


def test_parts_are_in_order() -> None:
    parts = [bytes([each]) * PART_BYTES for each in range(4)]
    whole = checksum("label", b"".join(parts))
    assert whole != checksum("label", b"".join(reversed(parts)))
    found = Checksum("label")
    for each in parts:
        found.add(each)
    assert found.digest() == whole


def test_a_view_is_unsealed_without_a_copy() -> None:
    data = bytearray(seal("kind", b"head\nrest\nof it"))
    content = unseal("kind", memoryview(data))
    head, rest = split_line(content)
    assert (head, bytes(rest)) == (b"head", b"rest\nof it")
    data[-1] ^= 1
    assert bytes(rest) != b"rest\nof it", "it is a view"
    with pytest.raises(ValueError, match="the kind is damaged"):
        unseal("kind", memoryview(data))


@pytest.mark.parametrize("length", [0, 1, PART_BYTES - 1, PART_BYTES, 2 * PART_BYTES + 7])
def test_the_first_line(length: int) -> None:
    line = b"x" * length
    head, rest = split_line(memoryview(line + b"\n" + b"rest"))
    assert (head, bytes(rest)) == (line, b"rest")
    head, rest = split_line(memoryview(line))
    assert (head, bytes(rest)) == (line, b"")
