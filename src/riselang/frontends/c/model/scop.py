"""The polyhedral model of a region: statements with domains and accesses, and their schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riselang.frontends.c.model.isl_text import Names, prefix
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop_parameters import Parameter
from riselang.frontends.c.parse.syntax import Access, Expression, Function, Statement, Variable
from riselang.support.errors import SourceLocation


@dataclass(frozen=True)
class Subscript:
    """What is known of the place that an access goes to."""

    indices: tuple[Linear, ...] | None
    """Where all of them are affine and without cases: how they are computed."""
    relation: Any
    """An isl map from the instances of the statement to the elements they may access."""
    is_exact: bool
    """Whether each instance accesses what the relation says, and not only perhaps."""
    reached: Any = None
    """The part of the relation where affine conditions inside of the statement hold; None is all
    of it."""


@dataclass(frozen=True, eq=False)
class ModelStatement:
    """A statement of the region, which runs once for each point of its domain."""

    name: str
    place: SourceLocation
    iterators: tuple[tuple[Variable, str], ...]
    """The loops around it: the variable in C, and its name in the domain."""
    domain: Any
    """An isl set."""
    body: Statement
    """An assignment; or, where something is decided by data, a piece of program."""
    subscripts: Mapping[Access, Subscript]
    writes: frozenset[Access]
    reads: frozenset[Access]
    certain: frozenset[Access]
    """What every instance accesses, whatever the data are."""
    checks: frozenset[Access] = frozenset()
    """What is compared with the lengths of its array before it is accessed."""

    @property
    def is_certain(self) -> bool:
        """Whether each instance writes what it may write."""
        return self.writes <= self.certain


@dataclass(frozen=True, eq=False)
class View:
    """How an array lies in memory, as the region sees it."""

    extents: tuple[Expression | tuple[Linear, ...] | None, ...]
    """Lengths: of the declaration, of strides that were found, or unknown (the outermost)."""


@dataclass(frozen=True, eq=False)
class Scop:
    """A region that can be modelled."""

    name: str
    place: SourceLocation
    function: Function
    is_whole: bool
    """Whether it is the whole function, so that it has its parameters."""
    inputs: tuple[Variable, ...]
    """What comes from outside, in order: the parameters of the function, or what is used."""
    locals: tuple[Variable, ...]
    """What lives inside."""
    views: Mapping[Variable, View]
    parameters: tuple[Parameter, ...]
    statements: tuple[ModelStatement, ...]
    schedule: Any
    """An isl schedule tree of all statements in the order of the text; None without any."""
    fixed: Mapping[Variable, Expression]
    written: frozenset[Variable]
    names: Names = field(repr=False)
    loop_places: Mapping[str, SourceLocation] = field(default_factory=dict[str, SourceLocation])
    """Where the loop of each iterator stands."""
    result: Expression | None = None
    """What the function returns."""
    is_checked: bool = False
    """Whether what may go wrong is looked for as it runs (`checking.py`)."""

    @property
    def prefix(self) -> str:
        """How a text for isl begins."""
        return prefix([each.name for each in self.parameters])

    def statement(self, name: str) -> ModelStatement:
        return next(each for each in self.statements if each.name == name)
