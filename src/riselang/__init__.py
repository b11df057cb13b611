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

from riselang import started as started
from riselang.collecting import fewer_collections
from riselang.forking import hold_forks
from riselang.version import __version__ as __version__

if TYPE_CHECKING:
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
    from riselang.dsl.prelude import (
        abs,
        add,
        as_scalar,
        as_vector,
        at,
        cast,
        check_idx,
        circular_buffer,
        clamp_idx,
        concat,
        div,
        drop,
        from_idx,
        fst,
        gather,
        generate,
        iterate,
        iterate_seq,
        join,
        literal,
        map,
        map2d,
        map_block,
        map_lane,
        map_par,
        map_seq,
        map_seq2d,
        map_seq_unroll,
        map_thread,
        map_warp,
        math,
        max,
        min,
        mult,
        pad,
        pad2d,
        pad_const,
        pad_reflect,
        pad_wrap,
        prefetch,
        reduce,
        reduce_par,
        reduce_seq,
        reduce_seq_unroll,
        reorder,
        reverse,
        rotate_values,
        scan,
        scan_seq,
        scatter,
        scatter_with,
        size_of,
        slice_at,
        slide,
        slide2d,
        snd,
        sort,
        split,
        sub,
        take,
        to_mem,
        transpose,
        tuple,
        unzip,
        update_at,
        vector_from_scalar,
        where,
        while_,
        zip,
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
    "as_scalar",
    "as_vector",
    "at",
    "bf16",
    "build",
    "cast",
    "check_idx",
    "circular_buffer",
    "clamp_idx",
    "concat",
    "div",
    "drop",
    "explore",
    "f16",
    "f32",
    "f64",
    "from_c",
    "from_idx",
    "from_jax",
    "from_keras",
    "from_onnx",
    "from_stablehlo",
    "from_tensorflow",
    "from_torch",
    "fst",
    "gather",
    "generate",
    "i1",
    "i8",
    "i16",
    "i32",
    "i64",
    "index",
    "iterate",
    "iterate_seq",
    "jit",
    "join",
    "literal",
    "load",
    "load_model",
    "loads",
    "map",
    "map2d",
    "map_block",
    "map_lane",
    "map_par",
    "map_seq",
    "map_seq2d",
    "map_seq_unroll",
    "map_thread",
    "map_warp",
    "math",
    "max",
    "min",
    "mult",
    "pad",
    "pad2d",
    "pad_const",
    "pad_reflect",
    "pad_wrap",
    "prefetch",
    "reduce",
    "reduce_par",
    "reduce_seq",
    "reduce_seq_unroll",
    "reorder",
    "reverse",
    "rotate_values",
    "scan",
    "scan_seq",
    "scatter",
    "scatter_with",
    "show_term",
    "size_of",
    "slice_at",
    "slide",
    "slide2d",
    "snd",
    "sort",
    "split",
    "sub",
    "take",
    "to_gpu",
    "to_mem",
    "transpose",
    "tuple",
    "unzip",
    "update_at",
    "vector_from_scalar",
    "where",
    "while_",
    "zip",
    "zip2d",
]

_PRELUDE = "riselang.dsl.prelude"
_HOMES = {
    name: module
    for module, names in {
        "riselang.api.entry": "build load loads",
        "riselang.api.jit": "Jitted jit",
        "riselang.api.lowered": "Lowered",
        "riselang.api.specs": "Array",
        "riselang.api.traced": "Traced",
        "riselang.dialects.rise.types": "bf16 f16 f32 f64 i1 i8 i16 i32 i64 index",
        "riselang.errors": "InternalError LimitationError RiseError UserError",
        "riselang.explorer.entry": "explore",
        "riselang.frontends.entry": "from_c from_jax from_keras from_onnx from_stablehlo "
        "from_tensorflow from_torch load_model",
        "riselang.notation.printer": "show_term",
        "riselang.runtime.device_arrays": "DeviceArray to_gpu",
        "riselang.term.cost": "Cost",
    }.items()
    for name in names.split()
}
"""The modules of the names that are not from the prelude: each is imported when it is used."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _has_module(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(f"{__name__}.{name}") is not None


if not TYPE_CHECKING:  # to which every name would be one that exists

    def __getattr__(name: str) -> object:
        with hold_forks(), fewer_collections():  # what is imported lives as long as the process
            if name in __all__:
                value = getattr(import_module(_HOMES.get(name, _PRELUDE)), name)
                return globals().setdefault(name, value)
            if name.startswith("__"):  # what Python and its tools ask any module
                raise AttributeError(f"module '{__name__}' has no attribute '{name}'", name=name)
            if _has_module(name):
                return import_module(f"{__name__}.{name}")
            from riselang.dsl.elsewhere import missing

            math = import_module(_PRELUDE).math
        raise AttributeError(missing(__name__, name, __all__, vars(math)), name=name)
