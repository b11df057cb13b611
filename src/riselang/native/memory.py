"""Where compiled code has its temporaries from: blocks that are kept between calls."""

from __future__ import annotations

from importlib import resources

from riselang import config

SMALLEST = 1 << 16
"""Bytes of the smallest block that is kept: the C library is quick with smaller ones."""
REPLACED = {
    "aligned_alloc": "declare ptr @aligned_alloc(i64, i64)",
    "free": "declare void @free(ptr)",
}
"""What compiled code calls; for each, `memory.ll` has a function whose name begins with `rise_`."""


def source() -> str:
    """The functions, as LLVM IR."""
    text = resources.files("riselang.native").joinpath("memory.ll").read_text()
    return text.replace("LIMIT", str(config.kept_memory())).replace("SMALLEST", str(SMALLEST))


def is_used(code: bytes) -> bool:
    """Whether machine code asks for memory."""
    return b"aligned_alloc" in code
