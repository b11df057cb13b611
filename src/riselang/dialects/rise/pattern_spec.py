"""What a pattern consists of: `PatternSpec`; `pattern_registry` has one for each pattern."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from riselang.dialects.rise.argument_checks import Argument, Check
from riselang.dialects.rise.type_binding import substitute
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import FunType, RiseType, fun, uncurry
from riselang.dialects.rise.view_routes import View
from riselang.nat import Nat
from riselang.support.lazy import cached_property

if TYPE_CHECKING:
    from riselang.dialects.rise.foreign_functions import ForeignFunction


class Role(Enum):
    """What a pattern is lowered to."""

    LOOP = "a loop"
    PARALLEL = "a parallel loop"
    VIEW = "part of an access path, without code of its own"
    VALUE = "a value"
    GPU = "a loop mapped to a GPU"


@dataclass(frozen=True, eq=False)
class PatternSpec:
    """A pattern: its name, type scheme, and attributes in the dialect, in order."""

    name: str
    parameters: tuple[str, ...]
    """Attributes of the dialect op, in order: `s` and `t` are data types; others are keywords or
    sizes."""
    explicit: tuple[str, ...]
    """The parameters that the user writes, as in `split(m)`; the others are inferred."""
    type: FunType
    role: Role
    summary: str
    check: Check
    in_dialect: bool = True
    step: tuple[str, str] | None = None
    """The parameters of the function that a pattern that accumulates takes.

    In the dialect, the function takes them in the opposite order; `term` converts between the two.
    """
    view: View | None = None
    """The index functions of a view that takes one argument."""
    applications: Nat | None = None
    """How often it applies its functions, in terms of its parameters."""
    depends_on_data: bool = False
    """Whether the data decides how often it applies its functions."""
    is_opaque: bool = False
    """Whether proofs know only that equal arguments give equal results."""
    foreign: ForeignFunction | None = None
    """The C function that the pattern stands for."""

    @property
    def accumulates(self) -> bool:
        return self.step is not None

    @property
    def description(self) -> str:
        return self._format_description(self.step)

    @property
    def dialect_description(self) -> str:
        return self._format_description(self.step and self.step[::-1])

    def _format_description(self, step: tuple[str, ...] | None) -> str:
        takes = f"; the function takes ({', '.join(step)})" if step else ""
        return f"{self.summary}{takes}"

    @cached_property
    def documentation(self) -> str:
        """The docstring of the pattern in Python."""
        return f"`{self}` — {self.description}"

    @cached_property
    def python_name(self) -> str:
        name = re.sub(r"([a-z])([A-Z])", r"\1_\2", self.name).lower()
        return f"{name}_" if keyword.iskeyword(name) else name

    @cached_property
    def arity(self) -> int:
        return len(uncurry(self.type)[0])

    @property
    def accepts_all(self) -> bool:
        """Whether its parameters need no check."""
        return self.check is accept_all

    @property
    def has_target(self) -> bool:
        """Whether `{to = "affine"}` may select the loop dialect."""
        return self.role in (Role.LOOP, Role.PARALLEL)

    @property
    def dialect_type(self) -> FunType:
        """The type scheme of the dialect's op."""
        return swap_function_inputs(self.type) if self.accumulates else self.type

    def instantiate(self, arguments: Mapping[str, Argument]) -> RiseType:
        return _instantiate_scheme(self.type, tuple(arguments.items()))

    def instantiate_in_dialect(self, arguments: Mapping[str, Argument]) -> RiseType:
        return _instantiate_scheme(self.dialect_type, tuple(arguments.items()))

    def __repr__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return f"{self.name} : {format_type(self.type)}"


@lru_cache(maxsize=1 << 14)
def _instantiate_scheme(scheme: FunType, arguments: tuple[tuple[str, Argument], ...]) -> RiseType:
    """Instantiate a type scheme; cached, since a program uses the same few types many times."""
    nats = {name: value for name, value in arguments if isinstance(value, Nat)}
    types = {name: value for name, value in arguments if isinstance(value, RiseType)}
    return substitute(scheme, nats, types)


def swap_first_inputs(type: RiseType) -> FunType:
    """The type of a function with its first two parameters swapped."""
    assert isinstance(type, FunType)
    assert isinstance(type.output, FunType)
    return fun(type.output.input, type.input, type.output.output)


def swap_function_inputs(type: FunType) -> FunType:
    """The type of a function whose first argument is a function with its parameters swapped."""
    return FunType(swap_first_inputs(type.input), type.output)


def accept_all(arguments: Mapping[str, Argument]) -> None:
    """The check of a pattern whose parameters need none."""
    return
