"""The registry of patterns: one `PatternSpec` each, with its type scheme.

Everything else that lists patterns (dialect ops, inference, the Python prelude, `--list-patterns`,
the reference) reads this registry.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from riselang.dialects.rise.binding import substitute
from riselang.dialects.rise.showing import show
from riselang.dialects.rise.types import (
    FunType,
    RiseType,
    ScalarType,
    TypeVariable,
    array,
    fun,
    i1,
    idx,
    index,
    is_float,
    pair,
    uncurry,
    variable,
    vector,
)
from riselang.lazy import cached_property
from riselang.nat import Nat, as_nat

Argument = Nat | RiseType | str
"""What a parameter of a pattern stands for: a size, a data type or a keyword."""
Check = Callable[[Mapping[str, "Argument"]], str | None]
"""Says what is wrong with the arguments of a pattern, if anything."""
Inequality = tuple[Nat, Nat]
"""Two sizes that may mention the parameters of a pattern; the first is at most the second."""


class Role(Enum):
    """What lowering makes of a pattern."""

    LOOP = "a loop"
    PARALLEL = "a parallel loop"
    VIEW = "an access path, no code"
    VALUE = "a value"
    GPU = "a dimension of a GPU"


@dataclass(frozen=True, eq=False)
class PatternSpec:
    """A pattern: name, type scheme, and the order of its attributes in the dialect."""

    name: str
    parameters: tuple[str, ...]
    """Attributes of the dialect op, in order: data types `s` and `t`, keywords, else sizes."""
    explicit: tuple[str, ...]
    """The parameters a person writes, as in `split(m)`; the others are inferred."""
    type: FunType
    role: Role
    summary: str
    check: Check
    in_dialect: bool = True

    @property
    def python_name(self) -> str:
        name = re.sub(r"([a-z])([A-Z])", r"\1_\2", self.name).lower()
        return f"{name}_" if keyword.iskeyword(name) else name

    @cached_property
    def arity(self) -> int:
        return len(uncurry(self.type)[0])

    @property
    def accepts_all(self) -> bool:
        """Whether there is nothing to check of its arguments."""
        return self.check is _accept

    @property
    def has_target(self) -> bool:
        """Whether `{to = "affine"}` may choose the loop dialect."""
        return self.role in (Role.LOOP, Role.PARALLEL)

    def instantiate(self, arguments: Mapping[str, Argument]) -> RiseType:
        return _instantiated(self, tuple(arguments.items()))

    def __repr__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return f"{self.name} : {show(self.type)}"


@lru_cache(maxsize=1 << 14)
def _instantiated(spec: PatternSpec, arguments: tuple[tuple[str, Argument], ...]) -> RiseType:
    """The same few types come up again and again, in every form of a program."""
    nats = {name: value for name, value in arguments if isinstance(value, Nat)}
    types = {name: value for name, value in arguments if isinstance(value, RiseType)}
    return substitute(spec.type, nats, types)


TYPE_PARAMETERS = ("s", "t")
KEYWORD_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "space": ("heap", "stack", "register", "shared"),
}
LOOP_DIALECTS = ("affine", "scf")
PATTERNS: dict[str, PatternSpec] = {}


def _accept(arguments: Mapping[str, Argument]) -> None:
    return None


def pattern(
    name: str,
    parameters: str,
    type: FunType,
    role: Role,
    summary: str,
    *,
    explicit: str = "",
    check: Check = _accept,
    in_dialect: bool = True,
) -> PatternSpec:
    """Define and register a pattern."""
    spec = PatternSpec(
        name, tuple(parameters.split()), tuple(explicit.split()), type, role, summary, check,
        in_dialect,
    )  # fmt: skip
    PATTERNS[name] = spec
    return spec


@dataclass(frozen=True)
class AtLeast:
    """Refuses constant sizes below `minimum`."""

    minimum: int
    names: tuple[str, ...]

    def __call__(self, arguments: Mapping[str, Argument]) -> str | None:
        for name in self.names:
            size = arguments[name]
            if isinstance(size, Nat) and size.is_constant and size.constant < self.minimum:
                return f"{name} must be at least {self.minimum}, but is {size}"
        return None

    @property
    def inequalities(self) -> tuple[Inequality, ...]:
        return tuple((Nat.const(self.minimum), Nat.var(name)) for name in self.names)


@dataclass(frozen=True)
class AtMost:
    """Refuses constant sizes above another one, less `margin`."""

    limit: Nat
    margin: int
    names: tuple[str, ...]

    def __call__(self, arguments: Mapping[str, Argument]) -> str | None:
        sizes = {name: value for name, value in arguments.items() if isinstance(value, Nat)}
        bound = self.limit.substitute(sizes) - self.margin
        for size, name in ((sizes[name], name) for name in self.names):
            if bound.is_constant and size.is_constant and size.constant > bound.constant:
                return f"{name} must be at most {bound}, but is {size}"
        return None

    @property
    def inequalities(self) -> tuple[Inequality, ...]:
        return tuple((Nat.var(name), self.limit - self.margin) for name in self.names)


@dataclass(frozen=True)
class Both:
    """Refuses what one of several checks refuses."""

    checks: tuple[Check, ...]

    def __call__(self, arguments: Mapping[str, Argument]) -> str | None:
        found = (check(arguments) for check in self.checks)
        return next((problem for problem in found if problem is not None), None)

    @property
    def inequalities(self) -> tuple[Inequality, ...]:
        return tuple(pair for check in self.checks for pair in inequalities(check))


def at_least(minimum: int, *names: str) -> Check:
    return AtLeast(minimum, names)


def at_most(limit: str | int, margin: int, *names: str) -> Check:
    return AtMost(as_nat(limit), margin, names)


def both(*checks: Check) -> Check:
    return Both(checks)


def inequalities(check: Check) -> tuple[Inequality, ...]:
    """What a check asks of sizes, also of those that are no constants."""
    return check.inequalities if isinstance(check, AtLeast | AtMost | Both) else ()


def _integer(arguments: Mapping[str, Argument]) -> str | None:
    type = arguments["t"]
    is_integer = isinstance(type, ScalarType) and not is_float(type)
    if isinstance(type, RiseType) and not is_integer and not isinstance(type, TypeVariable):
        return f"an index is made of an integer, but {show(type)} is none"
    return None


def _scalar(arguments: Mapping[str, Argument]) -> str | None:
    type = arguments["t"]
    if isinstance(type, RiseType) and not isinstance(type, ScalarType | TypeVariable):
        return f"a vector is made of scalars, but {show(type)} is none"
    return None


_n, _m, _size, _step = (Nat.var(name) for name in ("n", "m", "sz", "sp"))
_l, _r, _k = Nat.var("l"), Nat.var("r"), Nat.var("k")
_s, _t = variable("s"), variable("t")

_MAP = fun(fun(_s, _t), array(_n, _s), array(_n, _t))
_REDUCE = fun(fun(_s, _t, _t), _t, array(_n, _s), _t)
_SCAN = fun(fun(_s, _t, _t), _t, array(_n, _s), array(_n, _t))

MAP = pattern(
    "map", "n s t", _MAP, Role.LOOP,
    "applies a function to every element; a view where it is only read",
)  # fmt: skip
MAP_SEQ = pattern("mapSeq", "n s t", _MAP, Role.LOOP, "map as one sequential loop")
MAP_PAR = pattern("mapPar", "n s t", _MAP, Role.PARALLEL, "map as a loop over threads")
REDUCE = pattern(
    "reduce", "n s t", _REDUCE, Role.LOOP,
    "left fold; the function takes (element, accumulator)",
)  # fmt: skip
REDUCE_SEQ = pattern("reduceSeq", "n s t", _REDUCE, Role.LOOP, "reduce as one sequential loop")
ZIP = pattern(
    "zip", "n s t", fun(array(_n, _s), array(_n, _t), array(_n, pair(_s, _t))), Role.VIEW,
    "pairs the elements of two arrays",
)  # fmt: skip
UNZIP = pattern(
    "unzip", "n s t", fun(array(_n, pair(_s, _t)), pair(array(_n, _s), array(_n, _t))), Role.VIEW,
    "splits an array of pairs into a pair of arrays",
)  # fmt: skip
TUPLE = pattern("tuple", "s t", fun(_s, _t, pair(_s, _t)), Role.VIEW, "makes a pair")
FST = pattern("fst", "s t", fun(pair(_s, _t), _s), Role.VIEW, "the first of a pair")
SND = pattern("snd", "s t", fun(pair(_s, _t), _t), Role.VIEW, "the second of a pair")
SPLIT = pattern(
    "split", "m n t", fun(array(_n * _m, _t), array(_n, array(_m, _t))), Role.VIEW,
    "cuts an array into chunks of length m",
    explicit="m", check=at_least(1, "m"),
)  # fmt: skip
JOIN = pattern(
    "join", "n m t", fun(array(_n, array(_m, _t)), array(_n * _m, _t)), Role.VIEW,
    "flattens one level; element i is [i / m][i % m]",
)  # fmt: skip
TRANSPOSE = pattern(
    "transpose", "n m t", fun(array(_n, array(_m, _t)), array(_m, array(_n, _t))), Role.VIEW,
    "swaps the two outer dimensions",
)  # fmt: skip
SLIDE = pattern(
    "slide", "n sz sp t",
    fun(array(_step * _n + _size - _step, _t), array(_n, array(_size, _t))), Role.VIEW,
    "overlapping windows of length sz, sp apart",
    explicit="sz sp", check=at_least(1, "sz", "sp"),
)  # fmt: skip
PAD = pattern(
    "pad", "n l r t", fun(array(_n, _t), array(_l + _n + _r, _t)), Role.VIEW,
    "repeats the first element l times before and the last r times after",
    explicit="l r", check=at_least(1, "n"),
)  # fmt: skip
LET = pattern(
    "let", "s t", fun(_s, fun(_s, _t), _t), Role.VALUE,
    "names a value that is used more than once; a shared SSA value in the dialect",
    in_dialect=False,
)  # fmt: skip
SCAN = pattern(
    "scan", "n s t", _SCAN, Role.LOOP,
    "the accumulators of the left fold; the function takes (element, accumulator)",
)  # fmt: skip
REVERSE = pattern("reverse", "n t", fun(array(_n, _t), array(_n, _t)), Role.VIEW, "back to front")
PAD_CONST = pattern(
    "padConst", "n l r t", fun(_t, array(_n, _t), array(_l + _n + _r, _t)), Role.VIEW,
    "puts a value l times before and r times after",
    explicit="l r",
)  # fmt: skip
PAD_WRAP = pattern(
    "padWrap", "n l r t", fun(array(_n, _t), array(_l + _n + _r, _t)), Role.VIEW,
    "puts the last l elements before and the first r after",
    explicit="l r", check=at_most("n", 0, "l", "r"),
)  # fmt: skip
PAD_REFLECT = pattern(
    "padReflect", "n l r t", fun(array(_n, _t), array(_l + _n + _r, _t)), Role.VIEW,
    "mirrors l elements before and r after, the edge not repeated",
    explicit="l r", check=at_most("n", 1, "l", "r"),
)  # fmt: skip
PREFETCH = pattern(
    "prefetch", "d n t", fun(array(_n, _t), array(_n, _t)), Role.VIEW,
    "the array itself; what reads an element has the one d later fetched, too",
    explicit="d",
)  # fmt: skip
TAKE = pattern(
    "take", "k n t", fun(array(_k + _n, _t), array(_k, _t)), Role.VIEW, "the first k elements",
    explicit="k",
)  # fmt: skip
DROP = pattern(
    "drop", "k n t", fun(array(_k + _n, _t), array(_n, _t)), Role.VIEW, "all but the first k",
    explicit="k",
)  # fmt: skip
CONCAT = pattern(
    "concat", "n m t", fun(array(_n, _t), array(_m, _t), array(_n + _m, _t)), Role.VIEW,
    "one array behind the other",
)  # fmt: skip
AT = pattern("at", "n t", fun(idx(_n), array(_n, _t), _t), Role.VIEW, "the element at an index")
SLICE_AT = pattern(
    "sliceAt", "k n t", fun(idx(_n + 1), array(_n + _k, _t), array(_k, _t)), Role.VIEW,
    "k elements from an index on",
    explicit="k",
)  # fmt: skip
UPDATE_AT = pattern(
    "updateAt", "k n t",
    fun(idx(_n + 1), array(_k, _t), array(_n + _k, _t), array(_n + _k, _t)), Role.VALUE,
    "the array with k elements from an index on replaced",
)  # fmt: skip
GATHER = pattern(
    "gather", "n m t", fun(array(_m, idx(_n)), array(_n, _t), array(_m, _t)), Role.VIEW,
    "element i is the one at the i-th index",
)  # fmt: skip
REORDER = pattern(
    "reorder", "n t", fun(fun(idx(_n), idx(_n)), array(_n, _t), array(_n, _t)), Role.VIEW,
    "element i is the one at f(i)",
)  # fmt: skip
SCATTER = pattern(
    "scatter", "n m t", fun(array(_m, idx(_n)), array(_n, _t), array(_m, _t), array(_n, _t)),
    Role.VALUE,
    "writes each value at its index, in order, so the last one wins; elsewhere the second argument",
)  # fmt: skip
SCATTER_WITH = pattern(
    "scatterWith", "n m t",
    fun(
        fun(_t, _t, _t), array(_m, idx(_n)), array(_n, _t), array(_m, _t), array(_n, _t)
    ),
    Role.VALUE, "combines each value with what is at its index, by f(new, old)",
)  # fmt: skip
GENERATE = pattern(
    "generate", "n t", fun(fun(idx(_n), _t), array(_n, _t)), Role.LOOP, "element i is f(i)",
)  # fmt: skip
ITERATE = pattern(
    "iterate", "k t", fun(fun(_t, _t), _t, _t), Role.LOOP, "applies a function k times",
    explicit="k",
)  # fmt: skip
WHILE = pattern(
    "while", "t", fun(fun(_t, i1), fun(_t, _t), _t, _t), Role.LOOP,
    "applies the second function as long as the first holds",
)  # fmt: skip
SORT = pattern(
    "sort", "n t", fun(fun(_t, _t, i1), array(_n, _t), array(_n, _t)), Role.VALUE,
    "sorts, stable; the function says whether one comes before another",
)  # fmt: skip
CLAMP_IDX = pattern(
    "clampIdx", "n t", fun(_t, idx(_n)), Role.VALUE, "the index nearest to an integer",
    explicit="n", check=both(at_least(1, "n"), _integer),
)  # fmt: skip
CHECK_IDX = pattern(
    "checkIdx", "n t", fun(_t, idx(_n)), Role.VALUE,
    "an integer as an index; one that is out of range is an error at run time",
    explicit="n", check=_integer,
)  # fmt: skip
FROM_IDX = pattern("fromIdx", "n", fun(idx(_n), index), Role.VALUE, "an index as an integer")
SIZE_OF = pattern(
    "sizeOf", "n t", fun(array(_n, _t), index), Role.VALUE, "the length of an array as an integer",
)  # fmt: skip

MAP_SEQ_UNROLL = pattern("mapSeqUnroll", "n s t", _MAP, Role.LOOP, "mapSeq, unrolled")
REDUCE_SEQ_UNROLL = pattern("reduceSeqUnroll", "n s t", _REDUCE, Role.LOOP, "reduceSeq, unrolled")
SCAN_SEQ = pattern("scanSeq", "n s t", _SCAN, Role.LOOP, "scan as one sequential loop")
ITERATE_SEQ = pattern(
    "iterateSeq", "k t", fun(fun(_t, _t), _t, _t), Role.LOOP, "iterate as one sequential loop",
    explicit="k",
)  # fmt: skip
REDUCE_PAR = pattern(
    "reducePar", "n t", fun(fun(_t, _t, _t), _t, array(_n, _t), _t), Role.PARALLEL,
    "reduces chunks on threads, then their results; the chunks do not depend on the threads",
)  # fmt: skip
TO_MEM = pattern(
    "toMem", "space t", fun(_t, _t), Role.VALUE, "gives a value memory of its own",
    explicit="space",
)  # fmt: skip
AS_VECTOR = pattern(
    "asVector", "k n t", fun(array(_n * _k, _t), array(_n, vector(_k, _t))), Role.VIEW,
    "cuts an array of scalars into vectors of length k",
    explicit="k", check=both(at_least(1, "k"), _scalar),
)  # fmt: skip
AS_SCALAR = pattern(
    "asScalar", "k n t", fun(array(_n, vector(_k, _t)), array(_n * _k, _t)), Role.VIEW,
    "the scalars of an array of vectors", check=_scalar,
)  # fmt: skip
VECTOR_FROM_SCALAR = pattern(
    "vectorFromScalar", "k t", fun(_t, vector(_k, _t)), Role.VALUE, "a scalar k times",
    explicit="k", check=both(at_least(1, "k"), _scalar),
)  # fmt: skip
CIRCULAR_BUFFER = pattern(
    "circularBuffer", "alloc sz n s t",
    fun(fun(_s, _t), array(_n + _size - 1, _s), array(_n, array(_size, _t))), Role.LOOP,
    "windows of a mapped array, kept in a buffer of alloc elements that is used in turns",
    explicit="alloc sz", check=at_least(1, "alloc", "sz"),
)  # fmt: skip
ROTATE_VALUES = pattern(
    "rotateValues", "sz n t",
    fun(fun(_t, _t), array(_n + _size - 1, _t), array(_n, array(_size, _t))), Role.LOOP,
    "windows whose elements are passed on in registers",
    explicit="sz", check=at_least(1, "sz"),
)  # fmt: skip
MAP_BLOCK = pattern(
    "mapBlock", "d n s t", _MAP, Role.GPU, "map over the blocks of a GPU grid", explicit="d",
    check=at_most(2, 0, "d"),
)  # fmt: skip
MAP_THREAD = pattern(
    "mapThread", "d n s t", _MAP, Role.GPU, "map over the threads of a GPU block", explicit="d",
    check=at_most(2, 0, "d"),
)  # fmt: skip
MAP_WARP = pattern("mapWarp", "n s t", _MAP, Role.GPU, "map over the warps of a GPU block")
MAP_LANE = pattern("mapLane", "n s t", _MAP, Role.GPU, "map over the lanes of a GPU warp")
