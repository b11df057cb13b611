"""What the cache keeps of a model: the metadata that calls need, and its constants.

An entry has the length of a text, the text, which is JSON, and the bytes of each constant, from
which arrays are made without a copy. The cache checks its entries.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, TensorType
from riselang.frontends.stablehlo.model.origin import Signature
from riselang.native.mlir.element_dtypes import dtype_of
from riselang.runtime.sealing import as_value_errors, check_json_type

LENGTH_BYTES = 8
"""The bytes of the length of the text."""
ALIGNMENT = 64
"""The offsets of constants are multiples of this one."""


@dataclass(frozen=True)
class ProgramMetadata:
    """The signature of a program, and where its machine code is."""

    signature: Signature
    key: str
    """The cache key of the machine code."""
    function: str
    groups: tuple[int, ...]


def dtype_name(array: np.ndarray[Any, Any]) -> str:
    """Return the StableHLO name of an element type."""
    return next(name for name in ELEMENT_TYPES if dtype_of(name) == array.dtype)


def encode_metadata(signature: Signature, key: str) -> bytes:
    head = {
        "name": signature.name,
        "function": signature.name if signature.name.isidentifier() else "kernel",
        "names": signature.argument_names,
        "arguments": [_type_to_json(each) for each in signature.arguments],
        "results": [_type_to_json(each) for each in signature.results],
        "constants": [[str(dtype_name(each)), list(each.shape)] for each in signature.constants],
        "key": key,
        "groups": [1] * len(signature.results),
    }
    text = json.dumps(head).encode()
    parts: list[Any] = [len(text).to_bytes(LENGTH_BYTES, "little"), text]
    offset = LENGTH_BYTES + len(text)
    for each in signature.constants:
        parts += [bytes(-offset % ALIGNMENT), np.ascontiguousarray(each).reshape(-1).view(np.uint8)]
        offset += -offset % ALIGNMENT + each.nbytes
    return b"".join(parts)


def decode_metadata(data: bytes) -> ProgramMetadata | None:
    """Return what `encode_metadata` wrote; None for other bytes."""
    try:
        with as_value_errors("a model"):
            return _decode_entry(data)
    except ValueError:
        return None


def _decode_entry(data: bytes) -> ProgramMetadata:
    start = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")
    facts = json.loads(data[LENGTH_BYTES:start])
    signature = Signature(
        check_json_type(facts["name"], str),
        tuple(check_json_type(each, str) for each in facts["names"]),
        tuple(_type_from_json(each) for each in facts["arguments"]),
        tuple(_type_from_json(each) for each in facts["results"]),
        _read_arrays(data, start, facts["constants"]),
    )
    groups = tuple(check_json_type(each, int) for each in facts["groups"])
    if groups != (1,) * len(signature.results):
        raise ValueError("the numbers of results differ")
    key, function = (check_json_type(facts[each], str) for each in ("key", "function"))
    return ProgramMetadata(signature, key, function, groups)


def _read_arrays(
    data: bytes, offset: int, facts: Sequence[Any]
) -> tuple[np.ndarray[Any, Any], ...]:
    arrays: list[np.ndarray[Any, Any]] = []
    for element, shape in facts:
        dtype, count = dtype_of(check_json_type(element, str)), prod(shape)
        offset += -offset % ALIGNMENT
        flat = np.frombuffer(data, dtype, count, offset)
        arrays.append(flat.reshape([check_json_type(each, int) for each in shape]))
        offset += count * dtype.itemsize
    return tuple(arrays)


def _type_to_json(type: TensorType) -> list[Any]:
    return [type.element.name, list(type.shape)]


def _type_from_json(data: Any) -> TensorType:
    return TensorType(tuple(check_json_type(each, int) for each in data[1]), ELEMENT_TYPES[data[0]])
