"""Entry points whose machinery is imported at their first use, to keep `import riselang` fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.ir import Block, SSAValue

    from riselang.api.load import LoadedModule
    from riselang.dialects.rise.functional import LoweringUnitOp


def load(path: str | Path, *, float: str | None = None, loops: str = "scf") -> LoadedModule:
    """Read an MLIR file and make its functions callable with numpy arrays.

    `loops` is the loop dialect of patterns that do not say `{to = ...}`.
    """
    from riselang.api.load import load_file

    return load_file(path, float, loops)


def loads(
    text: str, *, name: str = "<text>", float: str | None = None, loops: str = "scf"
) -> LoadedModule:
    """Like `load`, from text."""
    from riselang.api.load import load_text

    return load_text(text, name, float, loops)


def build(
    block: Block, outputs: SSAValue | Sequence[SSAValue], inputs: Sequence[SSAValue]
) -> Callable[[Callable[..., Any]], LoweringUnitOp]:
    """`build(block, C, [A, B])(lambda A, B: ...)` adds a lowering unit at the end of `block`.

    Outputs and inputs are memrefs; the function gets one value for each input, and gives one result
    for each output.
    """
    from riselang.api.build import build_unit

    return build_unit(block, outputs, inputs)
