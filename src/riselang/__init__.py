"""riselang: a functional, pattern-based array language and IR that compiles through MLIR.

import numpy as np
import riselang as rl

@rl.jit
def dot(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]):
    return rl.zip(x, y) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

dot(np.ones(4, np.float32), np.ones(4, np.float32))
"""

from riselang.api.entry import build, load, loads
from riselang.api.jit import Jitted, Lowered, jit
from riselang.api.specs import Array
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
from riselang.dsl.prelude import (
    abs,
    add,
    cast,
    div,
    fst,
    join,
    map,
    map2d,
    map_par,
    map_seq,
    map_seq2d,
    math,
    max,
    min,
    mult,
    pad,
    pad2d,
    reduce,
    reduce_seq,
    slide,
    slide2d,
    snd,
    split,
    sub,
    transpose,
    tuple,
    unzip,
    where,
    zip,
    zip2d,
)
from riselang.errors import InternalError, LimitationError, RiseError, UserError
from riselang.notation.printer import show_term

__version__ = "0.1.0"

__all__ = [
    "Array",
    "InternalError",
    "Jitted",
    "LimitationError",
    "Lowered",
    "RiseError",
    "UserError",
    "abs",
    "add",
    "bf16",
    "build",
    "cast",
    "div",
    "f16",
    "f32",
    "f64",
    "fst",
    "i1",
    "i8",
    "i16",
    "i32",
    "i64",
    "index",
    "jit",
    "join",
    "load",
    "loads",
    "map",
    "map2d",
    "map_par",
    "map_seq",
    "map_seq2d",
    "math",
    "max",
    "min",
    "mult",
    "pad",
    "pad2d",
    "reduce",
    "reduce_seq",
    "show_term",
    "slide",
    "slide2d",
    "snd",
    "split",
    "sub",
    "transpose",
    "tuple",
    "unzip",
    "where",
    "zip",
    "zip2d",
]
