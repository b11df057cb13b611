"""Entry points that import their implementation on first use, to keep `import riselang` fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from riselang.api.options import LoadOptions, check_names
from riselang.support.errors import UserError
from riselang.support.forking import hold_forks
from riselang.support.garbage_collection import infrequent_gc
from riselang.support.tracebacks import with_short_tracebacks

if TYPE_CHECKING:
    from xdsl.ir import Block, SSAValue

    from riselang.api.compiled import Compiled
    from riselang.api.load import LoadedLibrary, LoadedModule, LoadedProgram
    from riselang.dialects.rise.interface_ops import LoweringUnitOp


@with_short_tracebacks
@hold_forks()
@infrequent_gc()
def load(
    path: str | Path,
    **options: Unpack[LoadOptions],
) -> LoadedModule | LoadedProgram | LoadedLibrary | Compiled:
    """Read a file; its programs are attributes that you call with NumPy arrays.

    The functions of an MLIR file take their output buffers too, in the order of their parameters;
    the definitions of a `.rise` file return their results.

    `loops` selects the code that patterns become unless they specify it: "scf" (the default for
    MLIR) and "affine" (the default for notation) loops, "polyhedral" loops, which are affine loops
    that are tiled and vectorized where that is proven correct, or "gpu" kernels.
    `strategy` rewrites the programs before they are lowered. `effort` ("fast", "default" or "max")
    limits the compile time. With `debug_info`, debuggers and profilers show the lines of the file.
    `contracted` marks a program in which the contractions that `float` permits are already done,
    such as stage "notation" of another program.

    A `.kernel` file, which `Compiled.save` writes, is one callable program; a shared library that
    `rise compile --emit shared` wrote has functions like those of an MLIR file. Both contain
    machine code: load them only from sources that you trust.
    """
    from riselang.api.compiled import SUFFIX

    check_names("load", options, LoadOptions)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    if str(path).endswith(SUFFIX):
        # It is loaded without the compiler.
        from riselang.api.load_compiled import load_saved

        return load_saved(data, str(path))
    from riselang.api.load import load_data

    return load_data(data, str(path), **options)


@with_short_tracebacks
@hold_forks()
@infrequent_gc()
def loads(
    text: str,
    *,
    name: str = "<text>",
    **options: Unpack[LoadOptions],
) -> LoadedModule | LoadedProgram:
    """Like `load`, from text: notation if `name` ends in ".rise", else MLIR."""
    from riselang.api.load import load_text

    check_names("loads", options, LoadOptions)
    return load_text(text, name, **options)


@hold_forks()
def build(
    block: Block, outputs: SSAValue | Sequence[SSAValue], inputs: Sequence[SSAValue]
) -> Callable[[Callable[..., Any]], LoweringUnitOp]:
    """`build(block, C, [A, B])(lambda A, B: ...)` adds a lowering unit at the end of `block`.

    Outputs and inputs are memrefs; the function takes one value for each input and returns one
    result for each output.
    """
    from riselang.api.build import build_unit

    return build_unit(block, outputs, inputs)
