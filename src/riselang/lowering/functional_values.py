"""The values of phase 1: data, functions that are not applied yet, and delayed arguments.

Functions exist only during translation: a lambda or a partially applied pattern is a Python value,
applied when its arguments are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from riselang.lowering.callees import Callee
from riselang.term.nodes import (
    DepLambda,
    Lambda,
    Pattern,
    Term,
)


@dataclass(frozen=True)
class Closure:
    """A lambda with the values of the variables around it."""

    function: Lambda
    environment: Environment


@dataclass(frozen=True)
class DependentClosure:
    """A dependent lambda with the values of the variables around it."""

    function: DepLambda
    environment: Environment


@dataclass(frozen=True)
class Partial:
    """A pattern with the arguments it has so far."""

    pattern: Pattern
    arguments: tuple[Lazy, ...]


@dataclass(frozen=True)
class Delayed:
    """An argument that is not translated yet: it may be read, or stored directly into a target."""

    term: Term
    environment: Environment


Value: TypeAlias = "SSAValue | Closure | DependentClosure | Partial | Callee"
Lazy: TypeAlias = "SSAValue | Closure | DependentClosure | Partial | Callee | Delayed"
Environment: TypeAlias = "tuple[Value, ...]"
Step: TypeAlias = "Callable[[SSAValue, SSAValue], tuple[Value, list[Lazy]]]"
"""From an index and the current value to a function and arguments that give the next value."""
ReadRule: TypeAlias = "Callable[[Pattern, Sequence[Lazy]], Value]"
StoreRule: TypeAlias = "Callable[[Pattern, Sequence[Lazy], SSAValue], None]"
