"""Entry points whose machinery is imported at their first use, to keep `import riselang` fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riselang.support.forking import hold_forks
from riselang.support.tracebacks import with_short_tracebacks

if TYPE_CHECKING:
    from xdsl.ir import Block, SSAValue

    from riselang.api.compiled import Compiled
    from riselang.api.load import LoadedLibrary, LoadedModule, LoadedProgram
    from riselang.dialects.rise.interface_ops import LoweringUnitOp
    from riselang.rewrite.core import Strategy


@with_short_tracebacks
@hold_forks()
def load(
    path: str | Path,
    *,
    float: str | None = None,
    loops: str | None = None,
    backend: str = "compile",
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    contracted: bool | None = None,
    strategy: Strategy | str | None = None,
) -> LoadedModule | LoadedProgram | LoadedLibrary | Compiled:
    """Read a file and make its programs callable with numpy arrays, as attributes.

    The functions of an MLIR file take their output buffers too, in the order of their parameters;
    the definitions of a `.rise` file return their results. `loops` is what
    patterns that do not say it become, "scf" by default in MLIR and "affine" in notation;
    "polyhedral" loops are affine loops that are tiled and vectorised where that is proven right,
    "gpu" makes kernels for a GPU.
    A `.kernel` file, which `Compiled.save` writes, is a program to call; a shared library that
    `rise compile --emit shared` wrote has functions like those of an MLIR file. Both are machine
    code: load them only from places that you trust.
    With `debug_info` debuggers and profilers show the lines of the file inside its programs.
    `strategy` says how its programs are rewritten before they become loops; `effort`, "fast",
    "default" or "max", how long compiling may take. A program that is `contracted` has all that
    `float` permits to contract: stage "notation" of another one.
    """
    from riselang.api.load import load_file

    return load_file(
        path, backend, strategy,
        float=float, loops=loops, debug_info=debug_info, library=library, effort=effort,
        contracted=contracted,
    )  # fmt: skip


@with_short_tracebacks
@hold_forks()
def loads(
    text: str,
    *,
    name: str = "<text>",
    float: str | None = None,
    loops: str | None = None,
    backend: str = "compile",
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    contracted: bool | None = None,
    strategy: Strategy | str | None = None,
) -> LoadedModule | LoadedProgram:
    """Like `load`, from text: in notation where `name` ends in ".rise", else in MLIR."""
    from riselang.api.load import load_text

    return load_text(
        text, name, backend, strategy,
        float=float, loops=loops, debug_info=debug_info, library=library, effort=effort,
        contracted=contracted,
    )  # fmt: skip


@hold_forks()
def build(
    block: Block, outputs: SSAValue | Sequence[SSAValue], inputs: Sequence[SSAValue]
) -> Callable[[Callable[..., Any]], LoweringUnitOp]:
    """`build(block, C, [A, B])(lambda A, B: ...)` adds a lowering unit at the end of `block`.

    Outputs and inputs are memrefs; the function gets one value for each input, and gives one result
    for each output.
    """
    from riselang.api.build import build_unit

    return build_unit(block, outputs, inputs)
