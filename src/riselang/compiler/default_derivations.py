"""The default strategy of a program, which for a GPU program depends on the GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from riselang.pipelines import GPU
from riselang.rewrite.core import Setting
from riselang.rewrite.default import DEFAULT, default_derivation, gpu_derivation
from riselang.term.nodes import Term

if TYPE_CHECKING:
    from riselang.rewrite.derivation import Derivation

__all__ = ["DEFAULT", "derive_by_default"]


def derive_by_default(term: Term, setting: Setting, loops: str) -> Derivation | None:
    """Rewrite a program without a strategy; None if it stays as it is."""
    if loops != GPU:
        return default_derivation(term, setting)
    from riselang.native.gpu_targets import gpu_target

    return gpu_derivation(term, replace(setting, tensor_unit=gpu_target().tensor_unit))
