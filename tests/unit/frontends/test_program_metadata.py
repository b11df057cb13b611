"""The metadata of programs in the cache: what is written is read, and damage is noticed."""

from __future__ import annotations

import pytest

from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, TensorType
from riselang.frontends.stablehlo.model.origin import Signature
from riselang.frontends.stablehlo.model.program_metadata import decode_metadata, encode_metadata

F32 = ELEMENT_TYPES["f32"]
CONSTANTS = (TensorType((2, 3), F32), TensorType((), ELEMENT_TYPES["complex<f32>"]))
SIGNATURE = Signature("f", ("x",), (TensorType((2,), F32),), (TensorType((), F32),), CONSTANTS)


def test_what_is_written_is_read() -> None:
    found = decode_metadata(encode_metadata(SIGNATURE, "key"))
    assert found is not None
    assert (found.key, found.function, found.groups) == ("key", "f", (1,))
    signature = found.signature
    assert signature.arguments == SIGNATURE.arguments
    assert signature.results == SIGNATURE.results
    assert signature.constants == CONSTANTS


@pytest.mark.parametrize("size", [0, 3, 8, 20, -1])
def test_a_part_of_an_entry_is_nothing(size: int) -> None:
    assert decode_metadata(encode_metadata(SIGNATURE, "key")[:size]) is None


def test_other_bytes_are_nothing() -> None:
    assert decode_metadata(b"\x02" + bytes(7) + b"[]") is None
    assert decode_metadata(b"\xff" * 64) is None
