"""Machines that tests arrange code for, whichever one they run on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import llvmlite.binding as binding

from riselang.native.elf.object_file import read_symbols
from riselang.native.llvm.codegen import Target, assembly, object_code
from riselang.support.machine import Machine

CACHES = ((1, 32 << 10), (2, 1 << 20), (3, 8 << 20))
MACHINES: Mapping[str, Machine] = {
    "Neoverse N1": Machine(16, 32, multiplies_by_lanes=True, caches=((1, 64 << 10), *CACHES[1:])),
    "AVX2": Machine(32, 16, caches=CACHES, reads_stored_lines=True, nontemporal_speedup=1.25),
    "AVX-512": Machine(
        64,
        32,
        caches=((1, 48 << 10), (2, 2 << 20), (3, 8 << 20)),
        reads_stored_lines=True,
        nontemporal_speedup=1.25,
    ),
}
UNCACHED = replace(MACHINES["AVX2"], caches=((1, 0), (2, 0), (3, 0)))
"""A machine on which no array stays in a cache."""
X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
TARGETS: Mapping[str, Target] = {
    "x86-64": Target(X86, "x86-64", ""),
    "AVX2": Target(X86, "haswell", ""),
    "AVX-512": Target(X86, "skylake-avx512", "-prefer-256-bit"),
    "Sapphire Rapids": Target(X86, "sapphirerapids", "-prefer-256-bit"),
    "Neoverse V1": Target(ARM, "neoverse-v1", ""),
    "aarch64": Target(ARM, "generic", ""),
    "Neoverse N1": Target(ARM, "neoverse-n1", ""),
}
_HOST = re.compile(r'^target .*$|"target-(cpu|features)"="[^"]*"', re.MULTILINE)
"""What LLVM IR says of the machine that it was made on."""
LIBRARY_SYMBOLS = re.compile(
    r"(a?(sin|cos|tan)|atan2|(sin|cos|tan)h|exp[2]?|expm1|log(2|10|1p)?|erf|cbrt|pow|fma"
    r"|floor|ceil|trunc|round(even)?)f?|mem(cpy|move|set)|aligned_alloc|free"
    r"|_GLOBAL_OFFSET_TABLE_"
)
"""What the C library and its math library define."""


@cache
def _initialise() -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()


def compiled_for(ir: str, target: str) -> bytes:
    """The object that another machine would have."""
    _initialise()
    return object_code(_HOST.sub("", ir), target=TARGETS[target])


def assembly_for(ir: str, target: str) -> list[str]:
    _initialise()
    return assembly(_HOST.sub("", ir), target=TARGETS[target]).splitlines()


def unresolved(ir: str, target: str) -> set[str]:
    """What an object refers to that no C library defines."""
    symbols = read_symbols(compiled_for(ir, target))
    return {name for name in symbols.needed if not LIBRARY_SYMBOLS.fullmatch(name)}
