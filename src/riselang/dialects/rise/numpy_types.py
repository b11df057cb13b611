"""The scalar types of NumPy's dtypes."""

from __future__ import annotations

from collections.abc import Mapping

from riselang.dialects.rise.types import (
    ScalarType,
    bf16,
    complex64,
    complex128,
    f8e4m3fn,
    f8e5m2,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)

DTYPES: Mapping[str, ScalarType] = {
    "bool": i1, "float8_e4m3fn": f8e4m3fn, "float8_e5m2": f8e5m2,
    "bfloat16": bf16, "float16": f16, "float32": f32, "float64": f64,
    "int8": i8, "int16": i16, "int32": i32, "int64": i64,
    "uint8": u8, "uint16": u16, "uint32": u32, "uint64": u64,
    "complex64": complex64, "complex128": complex128,
}  # fmt: skip
"""The scalar type of each dtype that a program can take, by its name."""
