"""Entry points of the front ends, whose machinery is imported at their first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riselang.support.forking import hold_forks
from riselang.support.tracebacks import with_short_tracebacks

if TYPE_CHECKING:
    from riselang.frontends.c.calling import CFunction
    from riselang.rewrite.core import Strategy


@with_short_tracebacks
@hold_forks()
def from_stablehlo(
    source: str | bytes | Path,
    *,
    function: str | None = None,
    backend: str = "compile",
    float: str | None = None,
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    strategy: Strategy | str | None = None,
    fallback: str | None = None,
) -> Any:
    """A StableHLO module, as text, as bytecode or in a file, as a model to call.

    `function` is the one to take, `main` by default. The other options are those of `rl.jit`;
    `float` is "relaxed" by default, since StableHLO leaves the order of reductions open. A module
    that leaves lengths open, such as that of a batch, is compiled for the shapes of each call.
    With `fallback="linalg"`, ops that do not become patterns go through MLIR's own lowering to
    loops, beside the others; `report()` of the model says which op went where.
    """
    from riselang.frontends.stablehlo.model.model_reader import read_model

    return read_model(
        source, function=function, backend=backend, strategy=strategy, fallback=fallback,
        float=float, loops=loops, debug_info=debug_info, library=library, effort=effort,
    )  # fmt: skip


@with_short_tracebacks
@hold_forks()
def load_model(
    path: str | Path,
    *,
    backend: str = "compile",
    float: str | None = None,
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    strategy: Strategy | str | None = None,
) -> Any:
    """A model that was saved, with the arrays that were bound; the options are its own, or new."""
    from riselang.frontends.stablehlo.model.model_reader import read_saved_model

    return read_saved_model(
        path, backend, strategy,
        float=float, loops=loops, debug_info=debug_info, library=library, effort=effort,
    )  # fmt: skip


@with_short_tracebacks
@hold_forks()
def from_jax(
    function: Callable[..., Any],
    *specs: Any,
    backend: str = "compile",
    float: str | None = None,
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    strategy: Strategy | str | None = None,
    fallback: str | None = None,
) -> Any:
    """A function of JAX as a model to call, for arguments like `specs`.

    These are arrays, `jax.ShapeDtypeStruct`s or types, such as `rl.Array["B", 784, rl.f32]`, or
    lists and dictionaries of them. A length with a name is open. The results come as a tuple.
    The options are those of `rl.from_stablehlo`.
    """
    from riselang.frontends.jax import read_jax

    choices = _choices(backend, float, loops, debug_info, library, effort, strategy, fallback)
    return read_jax(function, specs, choices)


@with_short_tracebacks
@hold_forks()
def from_tensorflow(
    function: Callable[..., Any],
    *specs: Any,
    backend: str = "compile",
    float: str | None = None,
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    strategy: Strategy | str | None = None,
    fallback: str | None = None,
) -> Any:
    """A function of TensorFlow as a model to call, for arguments like `specs`.

    These are tensors, `tf.TensorSpec`s or types such as `rl.Array[4, 784, rl.f32]`. The variables
    that it uses are bound. The options are those of `rl.from_stablehlo`.
    """
    from riselang.frontends.tensorflow import read_tensorflow

    choices = _choices(backend, float, loops, debug_info, library, effort, strategy, fallback)
    return read_tensorflow(function, specs, choices)


@with_short_tracebacks
@hold_forks()
def from_torch(
    module: Any,
    *arguments: Any,
    backend: str = "compile",
    float: str | None = None,
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    strategy: Strategy | str | None = None,
    fallback: str | None = None,
) -> Any:
    """A module of PyTorch as a model to call, for arguments like these.

    They are tensors, or types such as `rl.Array[4, 784, rl.f32]`. The weights come along. The
    options are those of `rl.from_stablehlo`.
    """
    from riselang.frontends.torch import read_torch

    choices = _choices(backend, float, loops, debug_info, library, effort, strategy, fallback)
    return read_torch(module, arguments, choices)


@with_short_tracebacks
@hold_forks()
def from_onnx(
    source: Any,
    *,
    backend: str = "compile",
    float: str | None = None,
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    strategy: Strategy | str | None = None,
    fallback: str | None = None,
) -> Any:
    """An ONNX model, in a file, in bytes or as a `ModelProto`, as a model to call.

    The weights come along. The options are those of `rl.from_stablehlo`.
    """
    from riselang.frontends.onnx import read_onnx

    choices = _choices(backend, float, loops, debug_info, library, effort, strategy, fallback)
    return read_onnx(source, choices)


@with_short_tracebacks
@hold_forks()
def from_keras(
    model: Any,
    *specs: Any,
    backend: str = "compile",
    float: str | None = None,
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    strategy: Strategy | str | None = None,
    fallback: str | None = None,
) -> Any:
    """A model of Keras as one to call, for inputs like `specs`, its weights bound.

    Without specs, on Keras' backend JAX, it is for batches of any size. The options are those of
    `rl.from_stablehlo`.
    """
    from riselang.frontends.keras import read_keras

    choices = _choices(backend, float, loops, debug_info, library, effort, strategy, fallback)
    return read_keras(model, specs, choices)


@with_short_tracebacks
@hold_forks()
def from_c(
    source: str | Path,
    *,
    function: str | None = None,
    defines: Mapping[str, object] | None = None,
    include: Sequence[str | Path] = (),
    float: str | None = None,
    schedule: str = "isl",
    library: str | None = None,
    checks: bool = True,
) -> CFunction:
    """A function of a C file, or of C text, as a Python function with the same parameters.

    Scalars are passed by value and arrays as numpy arrays, which are written in place. `function`
    may be left out where the file has one function, or one with `#pragma scop`. `defines` are
    macros (`-D`), `include` folders with headers (`-I`). The loops are in an order that suits the
    machine, with the same result, bit by bit; `schedule="source"` keeps that of the text. Large
    products of matrices run as patterns, where `float` permits the order of their sums, and so do
    windows that move over arrays; `schedule="patterns"` runs all that is lifted so. With
    `library="blas"`, which permits any order, products are calls of BLAS routines.

    An access outside of an array raises `UserError`: at the call where subscripts are affine, else
    as the function runs. `checks=False` leaves out those that cost time as it runs, so that an
    index from data that is wrong ends the process.
    """
    from riselang.frontends.c.loading import load_function

    return load_function(source, function, defines, include, float, schedule, library, checks)


def _choices(
    backend: str,
    float: str | None,
    loops: str | None,
    debug_info: bool | None,
    library: str | None,
    effort: str | None,
    strategy: Strategy | str | None,
    fallback: str | None,
) -> dict[str, Any]:
    return {
        "backend": backend, "float": float, "loops": loops, "debug_info": debug_info,
        "library": library, "effort": effort, "strategy": strategy, "fallback": fallback,
    }  # fmt: skip
