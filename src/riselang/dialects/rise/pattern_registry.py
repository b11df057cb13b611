"""The pattern registry: one `PatternSpec` for each pattern, with its type scheme.

Everything else that lists patterns (dialect ops, inference, the Python API, `--list-patterns`, the
reference) reads this registry.
"""

from __future__ import annotations

from collections.abc import Mapping

from riselang.dialects.rise.argument_checks import Argument, Check, all_of, at_least, at_most
from riselang.dialects.rise.pattern_spec import PatternSpec, Role, accept_all
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    FunType,
    RiseType,
    ScalarType,
    TypeVariable,
    array,
    f32,
    fun,
    i1,
    idx,
    index,
    is_float,
    pair,
    variable,
    vector,
)
from riselang.dialects.rise.view_routes import Side, SizeAttribute, View, as_divisor
from riselang.nat import Nat, nat_max, nat_min

TYPE_PARAMETERS = ("s", "t")
KEYWORD_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "space": ("heap", "stack", "register", "shared"),
}
LOOP_DIALECTS = ("affine", "scf")
PATTERNS: dict[str, PatternSpec] = {}


def pattern(
    name: str,
    parameters: str,
    type: FunType,
    role: Role,
    summary: str,
    *,
    explicit: str = "",
    check: Check = accept_all,
    in_dialect: bool = True,
    step: tuple[str, str] | None = None,
    view: View | None = None,
    applications: Nat | None = None,
    depends_on_data: bool = False,
    is_opaque: bool = False,
) -> PatternSpec:
    """Define and register a pattern."""
    spec = PatternSpec(
        name, tuple(parameters.split()), tuple(explicit.split()), type, role, summary, check,
        in_dialect, step, view, applications, depends_on_data, is_opaque,
    )  # fmt: skip
    PATTERNS[name] = spec
    return spec


def _check_integer(arguments: Mapping[str, Argument]) -> str | None:
    type = arguments["t"]
    is_integer = isinstance(type, ScalarType) and not is_float(type)
    if isinstance(type, RiseType) and not is_integer and not isinstance(type, TypeVariable):
        return f"expected an integer to convert to an index, but found {format_type(type)}"
    return None


def _check_scalar(arguments: Mapping[str, Argument]) -> str | None:
    type = arguments["t"]
    if isinstance(type, RiseType) and not isinstance(type, ScalarType | TypeVariable):
        return f"a vector consists of scalars, but {format_type(type)} is not one"
    return None


def _check_tiles(arguments: Mapping[str, Argument]) -> str | None:
    for name in TYPE_PARAMETERS:
        type = arguments.get(name)
        if isinstance(type, RiseType) and not isinstance(type, ScalarType | TypeVariable):
            return f"a tile consists of scalars, but {format_type(type)} is not one"
    return None


def _reflect_index(l: Nat, n: Nat, i: Nat) -> Nat:
    distance = nat_max(i - l, l - i)
    return nat_min(distance, (n - 1) * 2 - distance)


_LEFT = SizeAttribute("l", "left", "left")
_n, _m, _size, _step = (Nat.var(name) for name in ("n", "m", "sz", "sp"))
_l, _r, _k, _q = (Nat.var(name) for name in ("l", "r", "k", "q"))
_g, _h = Nat.var("g"), Nat.var("h")
_w, _wr, _wc, _tm, _tn = (Nat.var(name) for name in ("w", "wr", "wc", "tm", "tn"))
_s, _t = variable("s"), variable("t")

_MAP = fun(fun(_s, _t), array(_n, _s), array(_n, _t))
_REDUCE = fun(fun(_t, _s, _t), _t, array(_n, _s), _t)
_STEP = ("accumulator", "element")
_SCAN = fun(fun(_t, _s, _t), _t, array(_n, _s), array(_n, _t))

MAP = pattern(
    "map", "n s t", _MAP, Role.LOOP,
    "applies a function to every element; a view if its result is not stored",
    applications=_n,
)  # fmt: skip
MAP_SEQ = pattern("mapSeq", "n s t", _MAP, Role.LOOP, "map as one sequential loop", applications=_n)
MAP_PAR = pattern("mapPar", "n s t", _MAP, Role.PARALLEL, "map as a parallel loop", applications=_n)
REDUCE = pattern(
    "reduce", "n s t", _REDUCE, Role.LOOP,
    "combines an initial value with all elements, from left to right", step=_STEP,
    applications=_n,
)  # fmt: skip
REDUCE_SEQ = pattern(
    "reduceSeq", "n s t", _REDUCE, Role.LOOP, "reduce as one sequential loop", step=_STEP,
    applications=_n,
)  # fmt: skip
ZIP = pattern(
    "zip", "n s t", fun(array(_n, _s), array(_n, _t), array(_n, pair(_s, _t))), Role.VIEW,
    "pairs the elements of two arrays",
)  # fmt: skip
UNZIP = pattern(
    "unzip", "n s t", fun(array(_n, pair(_s, _t)), pair(array(_n, _s), array(_n, _t))), Role.VIEW,
    "splits an array of pairs into a pair of arrays",
    view=View(
        lambda side, i: (i, side), "An array of pairs, read as a pair of arrays.",
        lambda i, side: (side, i), "The result of `unzip`, written as the array of pairs.",
    ),
)  # fmt: skip
TUPLE = pattern("tuple", "s t", fun(_s, _t, pair(_s, _t)), Role.VIEW, "makes a pair")
FST = pattern(
    "fst", "s t", fun(pair(_s, _t), _s), Role.VIEW, "the first component of a pair",
    view=View(lambda: Side.FIRST, "The first component of a pair."),
)  # fmt: skip
SND = pattern(
    "snd", "s t", fun(pair(_s, _t), _t), Role.VIEW, "the second component of a pair",
    view=View(lambda: Side.SECOND, "The second component of a pair."),
)  # fmt: skip
SPLIT = pattern(
    "split", "m n t", fun(array(_n * _m, _t), array(_n, array(_m, _t))), Role.VIEW,
    "splits an array into chunks of length m",
    explicit="m", check=at_least(1, "m"),
    view=View(
        lambda m, i, j: i * m + j, "An array, read as an array of chunks.",
        lambda m, i: (i // as_divisor(m), i % as_divisor(m)),
        "The result of `split`, written as the flat array.",
    ),
)  # fmt: skip
JOIN = pattern(
    "join", "n m t", fun(array(_n, array(_m, _t)), array(_n * _m, _t)), Role.VIEW,
    "flattens the two outer dimensions; element i is [i / m][i % m]",
    view=View(
        lambda m, i: (i // as_divisor(m), i % as_divisor(m)),
        "An array of arrays, read as a flat array.",
        lambda m, i, j: i * m + j, "The result of `join`, written as the array of arrays.",
    ),
)  # fmt: skip
TRANSPOSE = pattern(
    "transpose", "n m t", fun(array(_n, array(_m, _t)), array(_m, array(_n, _t))), Role.VIEW,
    "swaps the two outer dimensions",
    view=View(
        lambda i, j: (j, i), "An array of arrays, read with its two outer dimensions swapped.",
        lambda i, j: (j, i),
        "The result of `transpose`, written as the array that was transposed.",
    ),
)  # fmt: skip
SLIDE = pattern(
    "slide", "n sz sp t",
    fun(array(_step * _n + _size - _step, _t), array(_n, array(_size, _t))), Role.VIEW,
    "overlapping windows of length sz, with step sp",
    explicit="sz sp", check=at_least(1, "sz", "sp"),
    view=View(
        lambda sp, i, j: i * sp + j, "An array, read as overlapping windows.",
        size_attribute=SizeAttribute("sp", "step", "step"),
    ),
)  # fmt: skip
PAD = pattern(
    "pad", "n l r t", fun(array(_n, _t), array(_l + _n + _r, _t)), Role.VIEW,
    "adds l copies of the first element before the array, and r copies of the last after it",
    explicit="l r", check=at_least(1, "n"),
    view=View(
        lambda l, n, i: nat_max(nat_min(i - l, n - 1), 0),
        "An array with its first and last elements repeated.",
        size_attribute=_LEFT, is_pad=True,
    ),
)  # fmt: skip
LET = pattern(
    "let", "s t", fun(_s, fun(_s, _t), _t), Role.VALUE,
    "binds a name to a value that is used more than once; a shared SSA value in the dialect",
    in_dialect=False,
    applications=Nat.const(1),
)  # fmt: skip
SCAN = pattern(
    "scan", "n s t", _SCAN, Role.LOOP,
    "the array of the accumulators that reduce has after each element", step=_STEP,
    applications=_n,
)  # fmt: skip
REVERSE = pattern(
    "reverse", "n t", fun(array(_n, _t), array(_n, _t)), Role.VIEW, "reverses an array",
    view=View(
        lambda n, i: n - 1 - i, "An array, read in reverse order.",
        lambda n, i: n - 1 - i, "The result of `reverse`, written in the original order.",
    ),
)  # fmt: skip
PAD_CONST = pattern(
    "padConst", "n l r t", fun(_t, array(_n, _t), array(_l + _n + _r, _t)), Role.VIEW,
    "adds l copies of a value before the array, and r copies after it",
    explicit="l r",
)  # fmt: skip
PAD_WRAP = pattern(
    "padWrap", "n l r t", fun(array(_n, _t), array(_l + _n + _r, _t)), Role.VIEW,
    "adds the last l elements before the array, and the first r elements after it",
    explicit="l r", check=at_most("n", 0, "l", "r"),
    view=View(
        # The left pad is at most the length, so adding the length once makes it positive.
        lambda l, n, i: (i - l + n) % as_divisor(n),
        "An array with its last elements before it, and its first elements after it.",
        size_attribute=_LEFT, is_pad=True,
    ),
)  # fmt: skip
PAD_REFLECT = pattern(
    "padReflect", "n l r t", fun(array(_n, _t), array(_l + _n + _r, _t)), Role.VIEW,
    "adds l mirrored elements before the array and r after it; the end elements are not repeated",
    explicit="l r", check=at_most("n", 1, "l", "r"),
    view=View(_reflect_index, "An array with mirrored ends.", size_attribute=_LEFT, is_pad=True),
)  # fmt: skip
PREFETCH = pattern(
    "prefetch", "d n t", fun(array(_n, _t), array(_n, _t)), Role.VIEW,
    "the array itself; reading an element also prefetches the element d positions later",
    explicit="d",
    view=View(
        lambda: (), "An array; reading an element also prefetches a later one.",
        size_attribute=SizeAttribute("d", "distance", "by"),
    ),
)  # fmt: skip
NONTEMPORAL = pattern(
    "nontemporal", "n t", fun(array(_n, _t), array(_n, _t)), Role.VIEW,
    "the array itself; its vectors are stored in memory without being kept in a cache",
    view=View(
        lambda: (), "An array; only its stores differ.",
        lambda: (), "An array whose vectors are stored without being kept in a cache.",
    ),
)  # fmt: skip
SHARD = pattern(
    "shard", "d n t", fun(array(_n, _t), array(_n, _t)), Role.VIEW,
    "the array itself; its elements are distributed in blocks to the ranks of a mesh axis",
    explicit="d",
    view=View(
        lambda: (), "An array; only its distribution to ranks differs.",
        lambda: (), "An array that is distributed to ranks.",
    ),
)  # fmt: skip
TAKE = pattern(
    "take", "k n t", fun(array(_k + _n, _t), array(_k, _t)), Role.VIEW, "the first k elements",
    explicit="k",
    view=View(
        lambda: (), "The first elements of an array.",
        lambda: (),
        "The result of `take`, written as the complete array; the dropped elements are not stored.",
        headroom=lambda k, i: k - 1 - i,
    ),
)  # fmt: skip
DROP = pattern(
    "drop", "k n t", fun(array(_k + _n, _t), array(_n, _t)), Role.VIEW,
    "all but the first k elements",
    explicit="k",
    view=View(lambda k, i: i + k, "An array without its first elements."),
)  # fmt: skip
CONCAT = pattern(
    "concat", "n m t", fun(array(_n, _t), array(_m, _t), array(_n + _m, _t)), Role.VIEW,
    "concatenates two arrays",
)  # fmt: skip
AT = pattern("at", "n t", fun(idx(_n), array(_n, _t), _t), Role.VIEW, "the element at an index")
SLICE_AT = pattern(
    "sliceAt", "k n t", fun(idx(_n + 1), array(_n + _k, _t), array(_k, _t)), Role.VIEW,
    "k elements, starting at an index",
    explicit="k",
)  # fmt: skip
UPDATE_AT = pattern(
    "updateAt", "k n t",
    fun(idx(_n + 1), array(_k, _t), array(_n + _k, _t), array(_n + _k, _t)), Role.VALUE,
    "replaces k elements, starting at an index",
)  # fmt: skip
GATHER = pattern(
    "gather", "n m t", fun(array(_m, idx(_n)), array(_n, _t), array(_m, _t)), Role.VIEW,
    "element i is the element of the array at the i-th index",
)  # fmt: skip
REORDER = pattern(
    "reorder", "n t", fun(fun(idx(_n), idx(_n)), array(_n, _t), array(_n, _t)), Role.VIEW,
    "element i is the element of the array at index f(i)",
    applications=_n,
)  # fmt: skip
SCATTER = pattern(
    "scatter", "n m t", fun(array(_m, idx(_n)), array(_n, _t), array(_m, _t), array(_n, _t)),
    Role.VALUE,
    "writes values into a copy of an array; the last of several values at one index wins",
)  # fmt: skip
SCATTER_WITH = pattern(
    "scatterWith", "n m t",
    fun(
        fun(_t, _t, _t), array(_m, idx(_n)), array(_n, _t), array(_m, _t), array(_n, _t)
    ),
    Role.VALUE, "combines values with the elements of an array at their indices",
    step=("old", "new"), applications=_m,
)  # fmt: skip
GENERATE = pattern(
    "generate", "n t", fun(fun(idx(_n), _t), array(_n, _t)), Role.LOOP, "element i is f(i)",
    applications=_n,
)  # fmt: skip
ITERATE = pattern(
    "iterate", "k t", fun(fun(_t, _t), _t, _t), Role.LOOP, "applies a function k times",
    explicit="k",
    applications=_k,
)  # fmt: skip
WHILE = pattern(
    "while", "t", fun(fun(_t, i1), fun(_t, _t), _t, _t), Role.LOOP,
    "applies the second function as long as the first returns true",
    applications=Nat.const(1), depends_on_data=True, is_opaque=True,
)  # fmt: skip
SORT = pattern(
    "sort", "n t", fun(fun(_t, _t, i1), array(_n, _t), array(_n, _t)), Role.VALUE,
    "sorts stably; the function returns whether its first argument comes before its second",
    applications=_n, depends_on_data=True, is_opaque=True,
)  # fmt: skip
CLAMP_IDX = pattern(
    "clampIdx", "n t", fun(_t, idx(_n)), Role.VALUE, "clamps an integer to a valid index",
    explicit="n", check=all_of(at_least(1, "n"), _check_integer),
)  # fmt: skip
CHECK_IDX = pattern(
    "checkIdx", "n t", fun(_t, idx(_n)), Role.VALUE,
    "converts an integer to an index; an integer out of range raises an error at run time",
    explicit="n", check=_check_integer,
    is_opaque=True,
)  # fmt: skip
FROM_IDX = pattern("fromIdx", "n", fun(idx(_n), index), Role.VALUE, "an index as an integer")
SIZE_OF = pattern(
    "sizeOf", "n t", fun(array(_n, _t), index), Role.VALUE, "the length of an array as an integer",
)  # fmt: skip
IF_AT_LEAST = pattern(
    "ifAtLeast", "n k t", fun(fun(index, _t), fun(index, _t), _t), Role.VALUE,
    "applies the first function to the size n if n is at least k, and the second one otherwise",
    explicit="n k", applications=Nat.const(1),
)  # fmt: skip

MAP_SEQ_UNROLL = pattern(
    "mapSeqUnroll", "n s t", _MAP, Role.LOOP, "mapSeq with its loop unrolled", applications=_n
)
REDUCE_SEQ_UNROLL = pattern(
    "reduceSeqUnroll", "n s t", _REDUCE, Role.LOOP, "reduceSeq with its loop unrolled", step=_STEP,
    applications=_n,
)  # fmt: skip
SCAN_SEQ = pattern(
    "scanSeq", "n s t", _SCAN, Role.LOOP, "scan as one sequential loop", step=_STEP,
    applications=_n,
)  # fmt: skip
ITERATE_SEQ = pattern(
    "iterateSeq", "k t", fun(fun(_t, _t), _t, _t), Role.LOOP, "iterate as one sequential loop",
    explicit="k",
    applications=_k,
)  # fmt: skip
CHUNK_LENGTH = 4096
"""The length of the chunks of reducePar, which fixes the order of the reduction."""
REDUCE_PAR = pattern(
    "reducePar", "n t", fun(fun(_t, _t, _t), _t, array(_n, _t), _t), Role.PARALLEL,
    "reduces chunks in parallel, then their results; the chunks do not depend on the thread count",
    step=_STEP,
    applications=_n,
    is_opaque=True,
)  # fmt: skip
TO_MEM = pattern(
    "toMem", "space t", fun(_t, _t), Role.VALUE, "stores a value in its own buffer",
    explicit="space",
)  # fmt: skip
AS_VECTOR = pattern(
    "asVector", "k n t", fun(array(_n * _k, _t), array(_n, vector(_k, _t))), Role.VIEW,
    "splits an array of scalars into vectors of length k",
    explicit="k", check=all_of(at_least(1, "k"), _check_scalar),
    view=View(
        lambda k, i, j: i * k + j, "An array of scalars, read as an array of vectors.",
        lambda k, i: (i // k, i % k),
        "The result of `asVector`, written as the array of scalars.",
    ),
)  # fmt: skip
AS_SCALAR = pattern(
    "asScalar", "k n t", fun(array(_n, vector(_k, _t)), array(_n * _k, _t)), Role.VIEW,
    "the scalars of an array of vectors", check=_check_scalar,
    view=View(
        lambda k, i: (i // k, i % k), "An array of vectors, read as an array of scalars.",
        lambda k, i, j: i * k + j,
        "The result of `asScalar`, written as the array of vectors.",
    ),
)  # fmt: skip
VECTOR_FROM_SCALAR = pattern(
    "vectorFromScalar", "k t", fun(_t, vector(_k, _t)), Role.VALUE,
    "a vector of k copies of a scalar",
    explicit="k", check=all_of(at_least(1, "k"), _check_scalar),
)  # fmt: skip
CIRCULAR_BUFFER = pattern(
    "circularBuffer", "alloc sz n s t",
    fun(fun(_s, _t), array(_n + _size - 1, _s), array(_n, array(_size, _t))), Role.LOOP,
    "windows of a mapped array, in a circular buffer of alloc elements",
    explicit="alloc sz", check=at_least(1, "alloc", "sz"),
    applications=_n + _size - 1,
)  # fmt: skip
ROTATE_VALUES = pattern(
    "rotateValues", "sz n t",
    fun(fun(_t, _t), array(_n + _size - 1, _t), array(_n, array(_size, _t))), Role.LOOP,
    "windows of a mapped array, whose elements rotate through registers",
    explicit="sz", check=at_least(1, "sz"),
    applications=_n + _size - 1,
)  # fmt: skip
MMA = pattern(
    "mma", "g h m n k s t",
    fun(
        fun(_t, pair(_s, _s), _t), _t, array(_k, array(_m, array(_h * _g, _s))),
        array(_k * _h, array(_n * _g, _s)), array(_m, array(_n, _t)),
    ),
    Role.LOOP,
    "reduces the pairs of elements of each row and each column of a tile; columns are stored in "
    "groups of g elements, rows in chunks of h groups; if the CPU has an instruction for it, "
    "floats are added in any order",
    explicit="g h", check=all_of(at_least(1, "g", "h"), _check_tiles),
    applications=_m * _n * _k * _h * _g,
)  # fmt: skip
TENSOR_MMA = pattern(
    "tensorMMA", "p q wr wc tm tn k s t",
    fun(
        fun(_t, pair(_s, _s), _t), _t, array(_wr * _tm * 16, array(_k, _s)),
        array(_wc * _tn * 8, array(_k, _s)),
        array(_wr * _wc, array(32, array(_tm * _tn * 4, _t))),
    ),
    Role.LOOP,
    "reduces the pairs of elements of each row and each column of a tile, as a fragment: wr x wc "
    "warps, whose lanes hold parts of tm x tn tiles of 16 x 8; on a GPU, tensor cores multiply p "
    "pairs at a time, q steps of which are copied ahead",
    explicit="p q wr wc tm tn",
    check=all_of(at_least(1, "p", "q", "wr", "wc", "tm", "tn"), _check_tiles),
    applications=_wr * _tm * _wc * _tn * _k * 128,
)  # fmt: skip
TENSOR_ATTENTION = pattern(
    "tensorAttention", "p q w tm tn n k s",
    fun(
        f32, f32, index, array(_w * _tm * 16, array(_k, _s)), array(_n, array(_k, _s)),
        array(_n, array(_tn * 8, _s)), array(_w, array(32, array(_tm * _tn * 4, f32))),
    ),
    Role.LOOP,
    "for each query, the sum of the values with the softmax of the scaled scores of their keys as "
    "weights, in one pass, as a fragment of w warps; query i attends to keys up to the given index "
    "plus i; if all its scores are -inf, its results are the second number; on a GPU, tensor cores "
    "multiply p keys at a time, q steps of which are copied ahead",
    explicit="p q w tm tn",
    check=all_of(at_least(1, "p", "q", "w", "tm", "tn"), _check_tiles),
    is_opaque=True,
)  # fmt: skip
MAP_RANK = pattern(
    "mapRank", "d n s t", _MAP, Role.LOOP,
    "map across the ranks of a mesh axis, round robin if there are more elements than ranks; "
    "on one machine, a sequential loop",
    explicit="d", applications=_n,
)  # fmt: skip
REDUCE_RANK = pattern(
    "reduceRank", "d n s t", _REDUCE, Role.LOOP,
    "reduce across the ranks of a mesh axis, each of which continues from the result of the one "
    "before; on one machine, a sequential loop",
    explicit="d", step=_STEP, applications=_n,
)  # fmt: skip
MAP_BLOCK = pattern(
    "mapBlock", "d n s t", _MAP, Role.GPU, "map across the blocks of a GPU grid", explicit="d",
    check=at_most(2, 0, "d"),
    applications=_n,
)  # fmt: skip
MAP_THREAD = pattern(
    "mapThread", "d n s t", _MAP, Role.GPU, "map across the threads of a GPU block", explicit="d",
    check=at_most(2, 0, "d"),
    applications=_n,
)  # fmt: skip
MAP_WARP = pattern(
    "mapWarp", "n s t", _MAP, Role.GPU, "map across the warps of a GPU block", applications=_n
)
MAP_LANE = pattern(
    "mapLane", "n s t", _MAP, Role.GPU, "map across the lanes of a GPU warp", applications=_n
)
MAP_LANE_EXCHANGE = pattern(
    "mapLaneExchange", "q l m s t",
    fun(
        fun(_s, array(_m, array(_q, _t))), array(_l * _q, _s),
        array(_l * _q, array(_m, array(_q, _t))),
    ),
    Role.LOOP,
    "map across the lanes of a GPU warp, of which each group of q lanes transposes the rows of q "
    "elements that they compute",
    explicit="q", check=at_least(1, "q"),
    applications=_l * _q,
)  # fmt: skip
