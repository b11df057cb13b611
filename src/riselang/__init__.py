"""riselang: a functional, pattern-based array language and IR that compiles through MLIR.

import numpy as np
import riselang as rl

@rl.jit
def dot(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]):
    return rl.zip(x, y) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

dot(np.ones(4, np.float32), np.ones(4, np.float32))
"""

from typing import TYPE_CHECKING

from riselang.api.entry import build, load, loads
from riselang.api.jit import Jitted, jit
from riselang.api.lowered import Lowered
from riselang.api.specs import Array
from riselang.api.traced import Traced
from riselang.dialects.rise.types import (
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    index,
)
from riselang.dsl import patterns as _patterns
from riselang.dsl.patterns import *  # noqa: F403
from riselang.dsl.prelude import (
    abs,
    add,
    cast,
    div,
    literal,
    map2d,
    map_seq2d,
    math,
    max,
    min,
    mult,
    pad2d,
    slide2d,
    sub,
    where,
    zip2d,
)
from riselang.errors import InternalError, LimitationError, RiseError, UserError
from riselang.explorer.entry import explore
from riselang.frontends.entry import (
    from_c,
    from_jax,
    from_keras,
    from_onnx,
    from_stablehlo,
    from_tensorflow,
    from_torch,
    load_model,
)
from riselang.notation.printer import show_term
from riselang.runtime.device_arrays import DeviceArray, to_gpu
from riselang.term.cost import Cost

__version__ = "0.1.0"

__all__ = [
    "Array",
    "Cost",
    "DeviceArray",
    "InternalError",
    "Jitted",
    "LimitationError",
    "Lowered",
    "RiseError",
    "Traced",
    "UserError",
    "abs",
    "add",
    "bf16",
    "build",
    "cast",
    "div",
    "explore",
    "f16",
    "f32",
    "f64",
    "from_c",
    "from_jax",
    "from_keras",
    "from_onnx",
    "from_stablehlo",
    "from_tensorflow",
    "from_torch",
    "i1",
    "i8",
    "i16",
    "i32",
    "i64",
    "index",
    "jit",
    "literal",
    "load",
    "load_model",
    "loads",
    "map2d",
    "map_seq2d",
    "math",
    "max",
    "min",
    "mult",
    "pad2d",
    "show_term",
    "slide2d",
    "sub",
    "to_gpu",
    "where",
    "zip2d",
]
__all__ += _patterns.__all__

if not TYPE_CHECKING:  # to which every name would be one that exists

    def __getattr__(name: str) -> object:
        from riselang.dsl.elsewhere import missing

        raise AttributeError(missing(__name__, name, __all__, vars(math)), name=name)
