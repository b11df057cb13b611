"""What the cache keeps of a model: the metadata that calls need, as JSON; it checks its entries."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, TensorType
from riselang.frontends.stablehlo.model.origin import Signature
from riselang.runtime.sealing import as_value_errors, check_json_type


@dataclass(frozen=True)
class ProgramMetadata:
    """The signature of a program, and where its machine code is."""

    signature: Signature
    key: str
    """The cache key of the machine code."""
    function: str
    groups: tuple[int, ...]


def encode_metadata(signature: Signature, key: str) -> bytes:
    head = {
        "name": signature.name,
        "function": signature.name if signature.name.isidentifier() else "kernel",
        "names": signature.argument_names,
        "arguments": [_type_to_json(each) for each in signature.arguments],
        "results": [_type_to_json(each) for each in signature.results],
        "constants": [_type_to_json(each) for each in signature.constants],
        "key": key,
        "groups": [1] * len(signature.results),
    }
    return json.dumps(head).encode()


def decode_metadata(data: bytes) -> ProgramMetadata | None:
    """Return what `encode_metadata` wrote; None for other bytes."""
    try:
        with as_value_errors("a model"):
            return _decode_entry(data)
    except ValueError:
        return None


def _decode_entry(data: bytes) -> ProgramMetadata:
    facts = json.loads(data)
    signature = Signature(
        check_json_type(facts["name"], str),
        tuple(check_json_type(each, str) for each in facts["names"]),
        tuple(_type_from_json(each) for each in facts["arguments"]),
        tuple(_type_from_json(each) for each in facts["results"]),
        tuple(_type_from_json(each) for each in facts["constants"]),
    )
    groups = tuple(check_json_type(each, int) for each in facts["groups"])
    if groups != (1,) * len(signature.results):
        raise ValueError("the numbers of results differ")
    key, function = (check_json_type(facts[each], str) for each in ("key", "function"))
    return ProgramMetadata(signature, key, function, groups)


def _type_to_json(type: TensorType) -> list[Any]:
    return [type.element.name, list(type.shape)]


def _type_from_json(data: Any) -> TensorType:
    return TensorType(tuple(check_json_type(each, int) for each in data[1]), ELEMENT_TYPES[data[0]])
