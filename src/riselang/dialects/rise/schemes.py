"""The registry of patterns: one `PatternSpec` each, with its type scheme.

Everything else that lists patterns (dialect ops, inference, the Python prelude, `--list-patterns`,
the reference) reads this registry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from riselang.dialects.rise.types import (
    FunType,
    RiseType,
    array,
    fun,
    pair,
    show,
    substitute,
    uncurry,
    variable,
)
from riselang.nat import Nat

Argument = Nat | RiseType
SizeCheck = Callable[[Mapping[str, Nat]], str | None]


class Role(Enum):
    """What lowering makes of a pattern."""

    LOOP = "a loop"
    PARALLEL = "a parallel loop"
    VIEW = "an access path, no code"
    VALUE = "a value"


@dataclass(frozen=True, eq=False)
class PatternSpec:
    """A pattern: name, type scheme, and the order of its attributes in the dialect."""

    name: str
    parameters: tuple[str, ...]
    """Attributes of the dialect op, in order; `s` and `t` are data types, the others sizes."""
    explicit: tuple[str, ...]
    """The sizes a person writes, as in `split(m)`; the others are inferred."""
    type: FunType
    role: Role
    summary: str
    check: SizeCheck
    in_dialect: bool = True

    @property
    def python_name(self) -> str:
        return re.sub(r"([a-z])([A-Z])", r"\1_\2", self.name).lower()

    @property
    def arity(self) -> int:
        return len(uncurry(self.type)[0])

    @property
    def has_target(self) -> bool:
        """Whether `{to = "affine"}` may choose the loop dialect."""
        return self.role in (Role.LOOP, Role.PARALLEL)

    def instantiate(self, arguments: Mapping[str, Argument]) -> RiseType:
        nats = {k: v for k, v in arguments.items() if isinstance(v, Nat)}
        types = {k: v for k, v in arguments.items() if isinstance(v, RiseType)}
        return substitute(self.type, nats, types)

    def __repr__(self) -> str:
        return f"{self.name} : {show(self.type)}"


TYPE_PARAMETERS = ("s", "t")
LOOP_DIALECTS = ("affine", "scf")
PATTERNS: dict[str, PatternSpec] = {}


def _accept(sizes: Mapping[str, Nat]) -> None:
    return None


def pattern(
    name: str,
    parameters: str,
    type: FunType,
    role: Role,
    summary: str,
    *,
    explicit: str = "",
    check: SizeCheck = _accept,
    in_dialect: bool = True,
) -> PatternSpec:
    """Define and register a pattern."""
    spec = PatternSpec(
        name, tuple(parameters.split()), tuple(explicit.split()), type, role, summary, check,
        in_dialect,
    )  # fmt: skip
    PATTERNS[name] = spec
    return spec


def at_least(minimum: int, *names: str) -> SizeCheck:
    """Refuse constant sizes below `minimum`."""

    def check(sizes: Mapping[str, Nat]) -> str | None:
        for name in names:
            size = sizes[name]
            if size.is_constant and size.constant < minimum:
                return f"{name} must be at least {minimum}, but is {size}"
        return None

    return check


_n, _m, _size, _step = (Nat.var(name) for name in ("n", "m", "sz", "sp"))
_l, _r = Nat.var("l"), Nat.var("r")
_s, _t = variable("s"), variable("t")

_MAP = fun(fun(_s, _t), array(_n, _s), array(_n, _t))
_REDUCE = fun(fun(_s, _t, _t), _t, array(_n, _s), _t)

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
