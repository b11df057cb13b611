"""The polyhedral model of a region: statements with domains and access relations, and their
schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riselang.frontends.c.model.isl_text import Names, isl, parameter_prefix
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop_parameters import Parameter
from riselang.frontends.c.parse.regions import Region
from riselang.frontends.c.parse.syntax import Access, Expression, Function, Statement, Variable
from riselang.support.errors import SourceLocation


@dataclass(frozen=True)
class AccessRelation:
    """The access relation of one access."""

    indices: tuple[Linear, ...] | None
    """The index expressions, where all of them are affine and have a single piece."""
    relation: Any
    """An isl map from the instances of the statement to the elements that they may access."""
    is_exact: bool
    """Whether each instance accesses exactly what the relation says (a must-access)."""
    conditional_relation: Any = None
    """The part of the relation where affine conditions inside the statement hold; None is all of
    it."""


@dataclass(frozen=True, eq=False)
class ModelStatement:
    """A statement of the region, executed once for each point of its iteration domain."""

    name: str
    location: SourceLocation
    iterators: tuple[tuple[Variable, str], ...]
    """The surrounding loops: the C variable, and its name in the domain."""
    domain: Any
    """The iteration domain, an isl set."""
    body: Statement
    """An assignment or, if it is data-dependent, a compound statement."""
    access_relations: Mapping[Access, AccessRelation]
    writes: frozenset[Access]
    reads: frozenset[Access]
    must_accesses: frozenset[Access]
    """The must-accesses: performed by every instance, whatever the data."""
    checked_accesses: frozenset[Access] = frozenset()
    """The accesses that are bounds-checked at run time."""

    @property
    def has_must_writes(self) -> bool:
        """Whether each instance writes everything that it may write."""
        return self.writes <= self.must_accesses


@dataclass(frozen=True, eq=False)
class View:
    """The memory layout of an array, in the region's view."""

    extents: tuple[Expression | tuple[Linear, ...] | None, ...]
    """Lengths from the declaration, from recovered strides, or unknown (the outermost)."""


@dataclass(frozen=True, eq=False)
class Scop:
    """A static control part: a region with a polyhedral model."""

    name: str
    location: SourceLocation
    function: Function
    is_whole: bool
    """Whether it is the whole function, and thus has its parameters."""
    inputs: tuple[Variable, ...]
    """The variables that come from outside, in order: the function parameters, or those that are
    used."""
    locals: tuple[Variable, ...]
    """The variables that are local to the region."""
    views: Mapping[Variable, View]
    parameters: tuple[Parameter, ...]
    statements: tuple[ModelStatement, ...]
    schedule: Any
    """An isl schedule tree of all statements in source order; None if there are none."""
    fixed_values: Mapping[Variable, Expression]
    written_variables: frozenset[Variable]
    names: Names = field(repr=False)
    loop_locations: Mapping[str, SourceLocation] = field(default_factory=dict[str, SourceLocation])
    """The location of the loop of each iterator."""
    result: Expression | None = None
    """The return value of the function."""
    region: Region | None = field(default=None, repr=False)
    """The statements of the file that it is the model of."""
    context: str = ""
    """Conditions on the parameters that the user promises, as isl text."""
    is_checked: bool = False
    """Whether bounds and divisions are checked at run time (`bounds_checks.py`)."""
    as_written: Scop | None = field(default=None, repr=False)
    """The same region with its scalar accumulators, if elements of arrays replace them
    (`accumulators.py`): what runs if arrays share memory."""

    @property
    def prefix(self) -> str:
        """The parameter prefix of an isl text."""
        return parameter_prefix([each.name for each in self.parameters])

    @property
    def context_set(self) -> Any:
        """The values of the parameters for which the region is used, as an isl set."""
        return isl().Set(f"{self.prefix}{{ : {self.context} }}")

    def find_statement(self, name: str) -> ModelStatement:
        return next(each for each in self.statements if each.name == name)
