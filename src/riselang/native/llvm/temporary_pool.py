"""The memory pool for temporaries of compiled code: blocks that are kept between calls."""

from __future__ import annotations

import sys
from importlib import resources

from riselang.support import config
from riselang.support.machine import total_memory

MIN_POOLED_BYTES = 1 << 12
"""The size in bytes of the smallest pooled block: malloc is fast for smaller ones."""
MIN_LARGE_BYTES = 1 << 16
"""The size in bytes of the smallest block that is kept in the slots of large ones."""
MAX_BLOCKS = 64
"""The maximum number of pooled blocks, of large ones and of small ones: four for each of 16
threads."""
HUGE_PAGE_BYTES = 1 << 21
MIN_HUGE_BYTES = 1 << 19 if sys.platform == "linux" else 1 << 62
"""The size in bytes of the smallest block that is allocated in huge pages."""
REPLACED_FUNCTIONS = {
    "aligned_alloc": "declare ptr @aligned_alloc(i64, i64)",
    "free": "declare void @free(ptr)",
}
"""Functions that compiled code calls; `temporary_pool.ll` has a `rise_` version of each."""


def pool_ir() -> str:
    """Return the LLVM IR of the functions."""
    text = resources.files("riselang.native.llvm").joinpath("temporary_pool.ll").read_text()
    constants = {
        "LIMIT": config.temporary_pool_bytes(),
        "SMALLEST": MIN_POOLED_BYTES,
        "LARGE_FROM": MIN_LARGE_BYTES,
        "MOST": total_memory(),
        "HUGE_FROM": MIN_HUGE_BYTES,
        "HUGE_PAGE": HUGE_PAGE_BYTES,
        "COUNT": MAX_BLOCKS,
    }
    for name, number in constants.items():
        text = text.replace(name, str(number))
    return text


def is_pool_used(code: bytes) -> bool:
    """Whether machine code allocates memory."""
    return b"aligned_alloc" in code
