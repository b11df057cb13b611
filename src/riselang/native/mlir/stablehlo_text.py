"""Converts StableHLO modules to a form that xDSL parses: generic, with exact floats."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np

from riselang.native.mlir.stablehlo import parse_to_generic_text

_OP = re.compile(r'^\s*(?:%[^=\n]*=\s*)?"?(?:stablehlo|chlo)\.\w', re.MULTILINE)
_FLOATS = re.compile(
    r"dense<(?P<numbers>[^<>\"]+)> : tensor<(?P<shape>(?:\d+x)*)"
    r"(?P<type>f64|f32|f16|bf16|f8E4M3FN|f8E5M2)>"
)
_NUMBER = re.compile(r"[^\s,\[\]]+")
_DTYPES: dict[str, np.dtype[np.generic]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
}


def has_stablehlo(text: str) -> bool:
    """Whether a text has StableHLO or CHLO ops, which xDSL does not know."""
    return _OP.search(text) is not None


def to_generic_form(text: str, name: str) -> str:
    """Return a module in generic form, with float constants as bits.

    xDSL parses `0xFF800000` as a number, but in MLIR it is the bits of a float.
    """
    return _FLOATS.sub(_floats_to_bits, parse_to_generic_text(text, name))


def _floats_to_bits(match: re.Match[str]) -> str:
    kind = _DTYPES[match["type"]]
    data = b"".join(_float_bits(each, kind) for each in _NUMBER.findall(match["numbers"]))
    return f'dense<"0x{data.hex().upper()}"> : tensor<{match["shape"]}{match["type"]}>'


def _float_bits(number: str, kind: np.dtype[np.generic]) -> bytes:
    if number.startswith("0x"):
        return int(number, 16).to_bytes(kind.itemsize, "little")
    return np.array(float(number)).astype(kind).tobytes()
