"""The CPU that a command compiles for, from the macros that the system's compiler defines."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace

from riselang.native.llvm import codegen as llvm
from riselang.support.machine import Machine, cache_sizes, this_machine

_FEATURES = {
    "__SSE3__": "sse3", "__SSSE3__": "ssse3", "__SSE4_1__": "sse4.1", "__SSE4_2__": "sse4.2",
    "__POPCNT__": "popcnt", "__AVX__": "avx", "__AVX2__": "avx2", "__FMA__": "fma",
    "__BMI__": "bmi", "__BMI2__": "bmi2", "__LZCNT__": "lzcnt", "__F16C__": "f16c",
    "__AVX512F__": "avx512f",
    "__AVX512VL__": "avx512vl", "__AVX512DQ__": "avx512dq", "__AVX512BW__": "avx512bw",
    "__AVX512CD__": "avx512cd",
}  # fmt: skip
"""The macros of gcc and clang for the features of x86-64."""
_FULL_AVX512 = frozenset(("avx512f", "avx512vl", "avx512dq", "avx512bw"))
_X86 = ("x86_64", "amd64")


@dataclass(frozen=True)
class BuildTarget:
    """A CPU, as LLVM and the schedules need it."""

    llvm: llvm.Target
    machine: Machine


def read_target(compiler: Sequence[str], flags: Sequence[str]) -> BuildTarget:
    """Return the CPU that a command compiles for: this one only with `-march=native`."""
    cpus = [each for each in flags if each.startswith(("-march=", "-mcpu="))]
    if cpus and cpus[-1].endswith("=native"):
        return BuildTarget(llvm.host(), this_machine())
    if platform.machine().lower() not in _X86:
        return BuildTarget(
            replace(llvm.host(), cpu="generic", features=""), Machine(16, 32, True, cache_sizes())
        )
    words = [*compiler, *flags, "-w", "-dM", "-E", "-x", "c", "/dev/null"]
    output = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    macros = {line.split()[1] for line in output.splitlines() if line.startswith("#define ")}
    features = {feature for macro, feature in _FEATURES.items() if macro in macros}
    if not features >= _FULL_AVX512:
        features = {each for each in features if not each.startswith("avx512")}
    wide = "-prefer-256-bit" if features >= _FULL_AVX512 else ""
    text = ",".join([*(f"+{each}" for each in sorted(features)), *([wide] if wide else [])])
    bytes = 64 if features >= _FULL_AVX512 else 32 if "avx2" in features else 16
    machine = replace(this_machine(), vector_bytes=bytes, registers=32 if bytes == 64 else 16)
    return BuildTarget(replace(llvm.host(), cpu="x86-64", features=text), machine)
