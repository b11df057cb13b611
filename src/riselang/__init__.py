"""riselang: a functional, pattern-based array language and IR that compiles through MLIR.

import numpy as np
import riselang as rl

@rl.jit
def dot(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]):
    return rl.zip(x, y) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

dot(np.ones(4, np.float32), np.ones(4, np.float32))
"""

from importlib import import_module
from typing import TYPE_CHECKING

from riselang import start_time as start_time
from riselang.support.forking import hold_forks
from riselang.support.garbage_collection import infrequent_gc
from riselang.version import __version__ as __version__

if TYPE_CHECKING:
    from riselang import debug as debug
    from riselang import numpy as numpy
    from riselang import random as random
    from riselang.api.custom_derivatives import checkpoint, custom_jvp, custom_vjp, stop_gradient
    from riselang.api.derivatives import grad, jvp, value_and_grad, vjp
    from riselang.api.entry import build, load, loads
    from riselang.api.jacobians import hessian, jacobian
    from riselang.api.jit import Jitted, jit
    from riselang.api.lowered import Lowered
    from riselang.api.out_of_core import map_blocks, reduce_blocks
    from riselang.api.ranks import distribute
    from riselang.api.specs import Array, T, dtype_variable
    from riselang.api.traced import Traced
    from riselang.api.vmap import vmap
    from riselang.dialects.rise.types import (
        bf16,
        bool_,
        complex64,
        complex128,
        f8e4m3fn,
        f8e5m2,
        f16,
        f32,
        f64,
        i1,
        i8,
        i16,
        i32,
        i64,
        index,
        u8,
        u16,
        u32,
        u64,
    )
    from riselang.dsl import patterns as _patterns
    from riselang.dsl.array_prelude import (
        argmax,
        argmin,
        argsort,
        cumsum,
        histogram,
        top_k,
    )
    from riselang.dsl.arrays.constructors import arange, eye, full, ones, zeros
    from riselang.dsl.arrays.contractions import dot, einsum, tensordot
    from riselang.dsl.arrays.layout import concatenate, roll, stack
    from riselang.dsl.arrays.products import matmul
    from riselang.dsl.arrays.selections import clip, take_along
    from riselang.dsl.conditionals import if_
    from riselang.dsl.filtering import compress, filter
    from riselang.dsl.foreign_functions import foreign
    from riselang.dsl.patterns import *  # noqa: F403
    from riselang.dsl.prelude import (
        abs,
        add,
        bitcast,
        cast,
        clz,
        complex,
        conj,
        div,
        imag,
        literal,
        map2d,
        map_seq2d,
        math,
        max,
        min,
        mult,
        pad2d,
        popcount,
        real,
        slide2d,
        sub,
        where,
        zip2d,
    )
    from riselang.dsl.run_time_checks import check
    from riselang.explorer.explore import explore
    from riselang.frontends.entry import (
        from_c,
        from_jax,
        from_keras,
        from_onnx,
        from_stablehlo,
        from_tensorflow,
        from_torch,
        load_model,
        to_jax,
        to_onnx,
        to_stablehlo,
        to_torch,
    )
    from riselang.notation.printer import show_term
    from riselang.numpy import fft as fft
    from riselang.numpy import linalg as linalg
    from riselang.runtime.arrays import CopyWarning
    from riselang.runtime.device_arrays import DeviceArray, to_gpu
    from riselang.support.errors import (
        CheckError,
        InternalError,
        LimitationError,
        NotFiniteError,
        RiseError,
        UserError,
    )
    from riselang.term.cost import Cost
    from riselang.tuning.result import TuningResult
    from riselang.tuning.tune import tune

    __all__ = [
        "Array",
        "CheckError",
        "CopyWarning",
        "Cost",
        "DeviceArray",
        "InternalError",
        "Jitted",
        "LimitationError",
        "Lowered",
        "NotFiniteError",
        "RiseError",
        "T",
        "Traced",
        "TuningResult",
        "UserError",
        "abs",
        "add",
        "arange",
        "argmax",
        "argmin",
        "argsort",
        "bf16",
        "bitcast",
        "bool_",
        "build",
        "cast",
        "check",
        "checkpoint",
        "clip",
        "clz",
        "complex",
        "complex64",
        "complex128",
        "compress",
        "concatenate",
        "conj",
        "cumsum",
        "custom_jvp",
        "custom_vjp",
        "distribute",
        "div",
        "dot",
        "dtype_variable",
        "einsum",
        "explore",
        "eye",
        "f8e4m3fn",
        "f8e5m2",
        "f16",
        "f32",
        "f64",
        "filter",
        "foreign",
        "from_c",
        "from_jax",
        "from_keras",
        "from_onnx",
        "from_stablehlo",
        "from_tensorflow",
        "from_torch",
        "full",
        "grad",
        "hessian",
        "histogram",
        "i1",
        "i8",
        "i16",
        "i32",
        "i64",
        "if_",
        "imag",
        "index",
        "jacobian",
        "jit",
        "jvp",
        "literal",
        "load",
        "load_model",
        "loads",
        "map2d",
        "map_blocks",
        "map_seq2d",
        "math",
        "matmul",
        "max",
        "min",
        "mult",
        "ones",
        "pad2d",
        "popcount",
        "real",
        "reduce_blocks",
        "roll",
        "show_term",
        "slide2d",
        "stack",
        "stop_gradient",
        "sub",
        "take_along",
        "tensordot",
        "to_gpu",
        "to_jax",
        "to_onnx",
        "to_stablehlo",
        "to_torch",
        "top_k",
        "tune",
        "u8",
        "u16",
        "u32",
        "u64",
        "value_and_grad",
        "vjp",
        "vmap",
        "where",
        "zeros",
        "zip2d",
    ]
    __all__ += _patterns.__all__

_PATTERNS = "riselang.dsl.patterns"
_NUMPY_MODULES = ("fft", "linalg")
_NAME_MODULES = {
    name: module
    for module, names in {
        "riselang.api.custom_derivatives": "checkpoint custom_jvp custom_vjp stop_gradient",
        "riselang.api.derivatives": "grad jvp value_and_grad vjp",
        "riselang.api.entry": "build load loads",
        "riselang.api.jacobians": "hessian jacobian",
        "riselang.api.jit": "Jitted jit",
        "riselang.api.lowered": "Lowered",
        "riselang.api.out_of_core": "map_blocks reduce_blocks",
        "riselang.api.ranks": "distribute",
        "riselang.api.specs": "Array T dtype_variable",
        "riselang.api.traced": "Traced",
        "riselang.api.vmap": "vmap",
        "riselang.dsl.array_prelude": "argmax argmin argsort cumsum histogram top_k",
        "riselang.dsl.arrays.constructors": "arange eye full ones zeros",
        "riselang.dsl.arrays.contractions": "dot einsum tensordot",
        "riselang.dsl.arrays.layout": "concatenate roll stack",
        "riselang.dsl.arrays.products": "matmul",
        "riselang.dsl.arrays.selections": "clip take_along",
        "riselang.dsl.prelude": "abs add bitcast cast clz complex conj div imag literal map2d "
        "map_seq2d math max min mult pad2d popcount real slide2d sub where zip2d",
        "riselang.dialects.rise.types": "bf16 bool_ complex128 complex64 f16 f32 f64 f8e4m3fn "
        "f8e5m2 i1 i16 i32 i64 i8 index u16 u32 u64 u8",
        "riselang.dsl.conditionals": "if_",
        "riselang.dsl.foreign_functions": "foreign",
        "riselang.dsl.filtering": "compress filter",
        "riselang.support.errors": "CheckError InternalError LimitationError NotFiniteError "
        "RiseError UserError",
        "riselang.dsl.run_time_checks": "check",
        "riselang.explorer.explore": "explore",
        "riselang.frontends.entry": "from_c from_jax from_keras from_onnx from_stablehlo "
        "from_tensorflow from_torch load_model to_jax to_onnx "
        "to_stablehlo to_torch",
        "riselang.notation.printer": "show_term",
        "riselang.runtime.arrays": "CopyWarning",
        "riselang.runtime.device_arrays": "DeviceArray to_gpu",
        "riselang.term.cost": "Cost",
        "riselang.tuning.result": "TuningResult",
        "riselang.tuning.tune": "tune",
    }.items()
    for name in names.split()
}
"""The module of each public name other than a pattern; it is imported on first use."""


def __dir__() -> list[str]:
    return sorted({*globals(), *_public_names()})


def _public_names() -> list[str]:
    """Return the names that `from riselang import *` imports."""
    return sorted({*_NAME_MODULES, *import_module(_PATTERNS).__all__})


def _has_module(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(f"{__name__}.{name}") is not None


def _imported(name: str) -> object:
    module = _NAME_MODULES[name]
    value = getattr(import_module(module), name)
    if not module.startswith("riselang.dsl."):
        return value
    from riselang.dsl.argument_errors import with_argument_checks

    return with_argument_checks({name: value}, "rl")[name]


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> object:
        with hold_forks(), infrequent_gc():  # imported modules live as long as the process
            if name in _NAME_MODULES:
                return globals().setdefault(name, _imported(name))
            if name == "__all__":
                return globals().setdefault(name, _public_names())
            if name.startswith("__"):  # Python and its tools look these up in any module
                raise AttributeError(f"module '{__name__}' has no attribute '{name}'", name=name)
            if name in _NUMPY_MODULES:
                return import_module(f"{__name__}.numpy.{name}")
            if _has_module(name):
                return import_module(f"{__name__}.{name}")
            functions = import_module(_PATTERNS).FUNCTIONS
            if name in functions:
                return globals().setdefault(name, functions[name])
            from riselang.dsl.name_hints import missing_attribute_message

            math = import_module(_NAME_MODULES["math"]).math
            numpy = import_module("riselang.numpy").__all__
        message = missing_attribute_message(__name__, name, _public_names(), vars(math), numpy)
        raise AttributeError(message, name=name)
