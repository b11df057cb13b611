"""Where compiled code has its temporaries from: blocks that are kept between calls."""

from __future__ import annotations

from importlib import resources

from riselang.support import config
from riselang.support.machine import total_memory

SMALLEST = 1 << 16
"""Bytes of the smallest block that is kept: the C library is quick with smaller ones."""
REPLACED = {
    "aligned_alloc": "declare ptr @aligned_alloc(i64, i64)",
    "free": "declare void @free(ptr)",
}
"""What compiled code calls; for each, `memory.ll` has a function whose name begins with `rise_`."""


def source() -> str:
    """The functions, as LLVM IR."""
    text = resources.files("riselang.native.llvm").joinpath("temporary_pool.ll").read_text()
    numbers = {"LIMIT": config.kept_memory(), "SMALLEST": SMALLEST, "MOST": total_memory()}
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    return text


def is_used(code: bytes) -> bool:
    """Whether machine code asks for memory."""
    return b"aligned_alloc" in code
