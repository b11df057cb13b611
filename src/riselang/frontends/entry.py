"""Entry points of the front ends, whose implementations are imported at first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from riselang.api.options import CompileOptions, ModelOptions, check_names
from riselang.support.forking import hold_forks
from riselang.support.tracebacks import with_short_tracebacks

if TYPE_CHECKING:
    from riselang.frontends.c.calling import CFunction


@with_short_tracebacks
@hold_forks()
def from_stablehlo(
    source: str | bytes | Path,
    *,
    function: str | None = None,
    **options: Unpack[ModelOptions],
) -> Any:
    """Import a StableHLO module, as text, as bytecode or in a file, as a callable model.

    `function` is the one to import, `main` by default. The other options are those of `rl.jit`;
    `float` is "relaxed" by default, since StableHLO does not specify the order of reductions. A
    module with dynamic dimensions, such as the batch, is compiled for the shapes of each call.

    With `fallback="linalg"`, ops that do not become patterns are compiled by MLIR's own lowering to
    loops, next to the others; `report()` of the model says how each op is compiled.
    """
    from riselang.frontends.stablehlo.model.model_reader import read_model

    check_names("from_stablehlo", options, ModelOptions)
    return read_model(source, function=function, **options)


@with_short_tracebacks
@hold_forks()
def to_stablehlo(program: Any, *arguments: Any, **sizes: int) -> str:
    """Return a program as a StableHLO module, as text.

    The program is a function, a jitted one, one of a file, or a model of static shapes; the
    arguments are arrays, array types or sizes by name, as those of `trace`. Its parameters and
    results are tensors: two for an array of pairs. StableHLO has no errors at run time, so the
    index of a `checkIdx` is clamped, and sums may be computed in any order.
    """
    from riselang.frontends.export.entry import stablehlo_text

    return stablehlo_text(program, arguments, sizes)


@with_short_tracebacks
@hold_forks()
def to_onnx(program: Any, *arguments: Any, **sizes: int) -> Any:
    """Return a program as an `onnx.ModelProto` of op set 21.

    The arguments are those of `to_stablehlo`. Its `SerializeToString` returns the bytes of a file.
    """
    from riselang.frontends.export.entry import onnx_proto

    return onnx_proto(program, arguments, sizes)


@with_short_tracebacks
def to_jax(function: Callable[..., Any], **options: Unpack[CompileOptions]) -> Callable[..., Any]:
    """Return a JAX function that calls a program with arrays, or structures of them.

    It may be used inside of `jax.jit`, `jax.vmap` and `jax.grad`: its gradient is that of the
    program. The options are those of `rl.jit`, if the function is not jitted already.
    """
    from riselang.frontends.jax_calls import jax_function

    check_names("to_jax", options, CompileOptions)
    return jax_function(function, dict(options))


@with_short_tracebacks
def to_torch(function: Callable[..., Any], **options: Unpack[CompileOptions]) -> Callable[..., Any]:
    """Return a PyTorch function that calls a program with tensors, or structures of them.

    Its gradient is that of the program. The tensors are on the CPU, and are passed without a copy.
    The options are those of `rl.jit`, if the function is not jitted already.
    """
    from riselang.frontends.torch_calls import torch_function

    check_names("to_torch", options, CompileOptions)
    return torch_function(function, dict(options))


@with_short_tracebacks
@hold_forks()
def load_model(
    path: str | Path,
    **options: Unpack[CompileOptions],
) -> Any:
    """Load a saved model, with its bound arrays; the options are its own, or new ones."""
    from riselang.frontends.stablehlo.model.model_reader import read_saved_model

    check_names("load_model", options, CompileOptions)
    return read_saved_model(path, **options)


@with_short_tracebacks
@hold_forks()
def from_jax(
    function: Callable[..., Any],
    *specs: Any,
    **options: Unpack[ModelOptions],
) -> Any:
    """Import a JAX function as a callable model, for arguments like `specs`.

    These are arrays, `jax.ShapeDtypeStruct`s or types, such as `rl.Array["B", 784, rl.f32]`, or
    lists and dictionaries of them. A length with a name is a dynamic dimension. The results are a
    tuple. The options are those of `rl.from_stablehlo`.
    """
    from riselang.frontends.jax import read_jax

    check_names("from_jax", options, ModelOptions)
    return read_jax(function, specs, dict(options))


@with_short_tracebacks
@hold_forks()
def from_tensorflow(
    function: Callable[..., Any],
    *specs: Any,
    **options: Unpack[ModelOptions],
) -> Any:
    """Import a TensorFlow function as a callable model, for arguments like `specs`.

    These are tensors, `tf.TensorSpec`s or types such as `rl.Array[4, 784, rl.f32]`. The variables
    that it uses are bound. The options are those of `rl.from_stablehlo`.
    """
    from riselang.frontends.tensorflow import read_tensorflow

    check_names("from_tensorflow", options, ModelOptions)
    return read_tensorflow(function, specs, dict(options))


@with_short_tracebacks
@hold_forks()
def from_torch(
    module: Any,
    *arguments: Any,
    **options: Unpack[ModelOptions],
) -> Any:
    """Import a PyTorch module as a callable model, for arguments like these.

    They are tensors, or types such as `rl.Array[4, 784, rl.f32]`. The weights are included. The
    options are those of `rl.from_stablehlo`.
    """
    from riselang.frontends.torch import read_torch

    check_names("from_torch", options, ModelOptions)
    return read_torch(module, arguments, dict(options))


@with_short_tracebacks
@hold_forks()
def from_onnx(
    source: Any,
    **options: Unpack[ModelOptions],
) -> Any:
    """Import an ONNX model, in a file, in bytes or as a `ModelProto`, as a callable model.

    The weights are included. The options are those of `rl.from_stablehlo`.
    """
    from riselang.frontends.onnx.entry import read_onnx

    check_names("from_onnx", options, ModelOptions)
    return read_onnx(source, dict(options))


@with_short_tracebacks
@hold_forks()
def from_keras(
    model: Any,
    *specs: Any,
    **options: Unpack[ModelOptions],
) -> Any:
    """Import a Keras model as a callable model, for inputs like `specs`, with its weights bound.

    Without specs, on Keras's JAX backend, it is for batches of any size. The options are those of
    `rl.from_stablehlo`.
    """
    from riselang.frontends.keras import read_keras

    check_names("from_keras", options, ModelOptions)
    return read_keras(model, specs, dict(options))


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
    threads: bool = False,
    loops: str | None = None,
) -> CFunction:
    """Import a function of a C file, or of C text, as a Python function with the same parameters.

    Scalars are passed by value and arrays as NumPy arrays, which are written in place. `function`
    may be omitted if the file has one function, or one with `#pragma scop`. `defines` are macros
    (`-D`), `include` folders with headers (`-I`). The loops are reordered for the machine, with
    bitwise identical results; `schedule="source"` keeps the source order. Large matrix
    multiplications run as patterns, if `float` permits the order of their sums, and so do sliding
    windows; `schedule="patterns"` runs everything that is lifted as patterns. With
    `library="blas"`, which permits any order, matrix multiplications are calls of BLAS routines.
    With `threads=True`, loops whose iterations are proved independent run in several threads; with
    `loops="gpu"`, they are kernels for a GPU, and the arrays are copied there and back once a call.

    An out-of-bounds access raises `UserError`: at the call if subscripts are affine, else at run
    time. `checks=False` omits the checks that cost time at run time, so a wrong data-dependent
    index is undefined behavior.
    """
    from riselang.frontends.c.loading import load_function

    return load_function(
        source, function, defines, include, float, schedule, library, checks, threads, loops
    )
