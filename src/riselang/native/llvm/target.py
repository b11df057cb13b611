"""The CPU that code is compiled for."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.support.machine import this_machine


@dataclass(frozen=True)
class Target:
    """The target to compile for."""

    triple: str
    cpu: str
    features: str

    @property
    def vector_bits(self) -> int | None:
        """The size of a vector register; None if the features do not tell."""
        if self.triple.startswith(("aarch64", "arm64")):
            return 128
        features = self.features.split(",")
        sizes = {"+avx512f": 512, "+avx": 256, "+sse2": 128}
        return next((bits for name, bits in sizes.items() if name in features), None)


def tuning(target: Target) -> str:
    """Return the features by which LLVM selects instructions for speed alone.

    They are not part of the target: code that was tuned otherwise runs, too.
    """
    if not target.triple.startswith("x86_64") or this_machine().gather_speedup >= 1:
        return ""
    return "+prefer-no-gather"
