"""`x[i]` and `x[a:b]`: components of pairs, elements and slices of arrays."""

from __future__ import annotations

from typing import Any

from riselang.dialects.rise.pattern_registry import AT, CLAMP_IDX, DROP, TAKE
from riselang.dialects.rise.types import ArrayType, IdxType, TupleType, i32
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_application import apply_pattern
from riselang.dsl.symbolic_values import Value, project
from riselang.dsl.tracing import type_text
from riselang.nat import Nat


def subscript(value: Value, key: Any) -> Value:
    """Return a component of a pair, or an element or a slice of an array."""
    type = value.type
    if isinstance(key, tuple):
        for part in key:
            value = subscript(value, part)
        return value
    if isinstance(type, TupleType):
        if not isinstance(key, int) or key not in (0, 1):
            refuse(f"a pair is indexed by 0 or 1, but found {key!r}")
        return project(value, key)
    if not isinstance(type, ArrayType):
        refuse(f"only arrays and pairs are indexed, but this is {type_text(type)}")
    if isinstance(key, slice):
        return _slice_array(value, type, key)
    return _index_array(value, type, key)


def _index_array(value: Value, type: ArrayType, key: Any) -> Value:
    if isinstance(key, Value):
        if not isinstance(key.type, IdxType):
            refuse(
                f"an array is indexed by an index or a number, but found {type_text(key.type)}; "
                f"rl.clamp_idx({type.length}, i) converts an integer to an index"
            )
        return Value(apply_pattern(AT, {}, [key, value], None))
    if isinstance(key, bool) or not isinstance(key, int):
        refuse(f"an array is indexed by an index or a number, but found {key!r}")
    number = _check_position(key, type.length)
    if type.length.is_constant and not 0 <= number < type.length.constant:
        refuse(f"the index {key} is out of bounds for {type_text(type)}")
    index = apply_pattern(CLAMP_IDX, {"n": type.length, "t": i32}, [number], None)
    return Value(apply_pattern(AT, {}, [Value(index), value], None))


def _slice_array(value: Value, type: ArrayType, key: slice) -> Value:
    if key.step not in (None, 1):
        refuse("a slice with a step is not supported; use rl.slide or rl.gather")
    start = 0 if key.start is None else _check_position(key.start, type.length)
    if start:
        value = Value(apply_pattern(DROP, {"k": Nat.const(start)}, [value], None))
    if key.stop is None:
        return value
    stop = _check_position(key.stop, type.length)
    if stop < start:
        refuse(f"the slice ends at {stop}, before it starts at {start}")
    return Value(apply_pattern(TAKE, {"k": Nat.const(stop - start)}, [value], None))


def _check_position(key: Any, length: Nat) -> int:
    if isinstance(key, bool) or not isinstance(key, int):
        refuse(f"expected an integer, but found {key!r}; rl.slice_at takes an index")
    if key >= 0:
        return key
    if not length.is_constant:
        refuse(f"{key} counts from the end, which is {length} and not known here")
    return length.constant + key
