"""The functions and loops of a C file that riselang compiles, as objects and as calls of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from riselang.dialects.module import walk
from riselang.frontends.c.c_program import CProgram, make_program
from riselang.frontends.c.file import CFile
from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl, within_limits
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.detection import detect_regions
from riselang.frontends.c.parse.preprocessed import LineMarkers
from riselang.frontends.c.parse.regions import Region
from riselang.frontends.c.parse.syntax import For, Function, While, walk_statement
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.replaced_calls import HIDDEN, format_call, refuse_unsafe_call
from riselang.frontends.c.schedule.dependence_queries import (
    dependence_edges,
    strongly_connected_components,
)
from riselang.frontends.c.schedule.isl_schedule import SOURCE, choose_order
from riselang.frontends.c.source_extents import (
    LineOffsets,
    SourceExtent,
    function_text,
    loop_extents,
    region_extent,
)
from riselang.native.llvm.codegen import Target
from riselang.support.config import Options
from riselang.support.counts import format_count
from riselang.support.errors import RiseError, SourceLocation

SMALL_COUNT = 256
"""A region with constant bounds and fewer instances is left to the system's compiler, which unrolls
and inlines it."""
_PRAGMA = re.compile(r"^\s*#\s*pragma\s+(\w+)", re.MULTILINE)
_HARMLESS_PRAGMAS = frozenset(("scop", "endscop", "rise"))


@dataclass(frozen=True)
class ReplacedRegion:
    """A region that riselang compiles."""

    extent: SourceExtent
    call: str
    code: bytes


@dataclass
class Selection:
    """Compiles what can be compiled in a file, and records what and why."""

    file: CFile
    markers: LineMarkers
    options: Options
    target: Target
    schedule: str = "isl"
    takes_all: bool = False
    """Whether loops are taken that riselang compiles like the system's compiler."""
    threads: bool = False
    """Whether loops with independent iterations run in several threads."""
    openmp: bool = False
    """Whether pragmas of OpenMP have a meaning."""
    skip: Mapping[str, str] = field(default_factory=dict[str, str])
    """Functions that are left to the system's compiler, and why."""
    begin: Callable[[str], None] = lambda name: None
    """Called before each function."""
    messages: list[str] = field(default_factory=list[str])

    def replaced_regions(self) -> list[ReplacedRegion]:
        """Compile the regions of all functions."""
        found: list[ReplacedRegion] = []
        for function in self.file.functions:
            has_loop = any(isinstance(e, For | While) for e in walk_statement(function.body))
            if has_loop and not self.markers.is_system(function.location.line):
                self.begin(function.name)
                found += self._replace_in(function)
        return found

    def _replace_in(self, function: Function) -> list[ReplacedRegion]:
        reason = self.skip.get(function.name) or self._reason_to_leave(function)
        if reason:
            self._note(
                function.location, f"{function.name} is left to the system's compiler: {reason}"
            )
            return []
        regions: dict[Scop, Region] = {}

        def model(region: Region) -> Scop:
            scop = self.file.model_region(region)
            refuse_unsafe_call(region, scop, self.file.parsed)
            regions[scop] = region
            return scop

        scops, refusals = detect_regions(function, model)
        for refusal in self._refusals_in_loops(function, refusals):
            self._note(refusal.location, f"{function.name}: this is left to the system's compiler: "
                       f"{refusal.message}")  # fmt: skip
        return [each for scop in scops for each in self._compile(scop, regions[scop])]

    def _refusals_in_loops(
        self, function: Function, refusals: Sequence[UnsupportedConstruct]
    ) -> list[UnsupportedConstruct]:
        """Return the errors of statements in loops: the others run once."""
        parsed = self.file.parsed
        offsets, loops = LineOffsets(parsed.text.encode()), loop_extents(parsed, function.name)
        return [
            each for each in refusals
            if any(loop.start <= offsets.at(each.location) < loop.end for loop in loops)
        ]  # fmt: skip

    def _reason_to_leave(self, function: Function) -> str:
        """Return why a function is not considered."""
        text = function_text(self.file.parsed, function.name)
        harmless = _HARMLESS_PRAGMAS if self.openmp else _HARMLESS_PRAGMAS | {"omp"}
        for match in _PRAGMA.finditer(text):
            if match[1] not in harmless:
                return f"it has a #pragma {match[1]}"
        return ""

    def _compile(self, scop: Scop, region: Region) -> Iterator[ReplacedRegion]:
        """Compile a region; nothing if that fails, or gains nothing."""
        name = scop.name if region.is_whole else f"{scop.name}, a part of {region.function.name},"
        try:
            if reason := _reason_against(scop, takes_all=self.takes_all):
                self._note_left(scop.location, name, reason)
                return
            extent = region_extent(self.file.parsed, region)
            symbol = self._symbol(scop)
            program = make_program([replace(scop, name=symbol)], self.options, self.schedule)
            program = replace(program, passes_globals=True, threads=self.threads)
            if not (self.takes_all or _has_new_loops(program)):
                self._note_left(scop.location, name, "riselang would not reorder its loops")
                return
            code = program.object_code(self.target, visibility="hidden")
        except RiseError as error:
            self._note_left(scop.location, name, error.message)
        except Exception as error:  # a defect must not end the build
            reason = f"riselang has a defect ({type(error).__name__}: {error})"
            self._note_left(scop.location, name, reason)
        else:
            count = format_count(len(scop.statements), "statement")
            self._note(scop.location, f"{name} is compiled by riselang ({count})")
            yield ReplacedRegion(extent, format_call(scop, symbol, HIDDEN), code)

    def _symbol(self, scop: Scop) -> str:
        """Return a name that no other file has."""
        text = f"{self.file.parsed.name}\n{self.file.parsed.text}\n{scop.location}"
        return f"rise_cc_{sha256(text.encode()).hexdigest()[:16]}_{scop.name}"

    def _note_left(self, location: SourceLocation, name: str, reason: str) -> None:
        self._note(location, f"{name} is left to the system's compiler: {reason}")

    def _note(self, location: SourceLocation, message: str) -> None:
        line = f"{self.markers.origin(location)}: {message}"
        if line not in self.messages:
            self.messages.append(line)


def _reason_against(scop: Scop, *, takes_all: bool) -> str:
    """Return why the system's compiler compiles a region at least as well."""
    if not any(statement.iterators for statement in scop.statements):
        return "the trip counts of all its loops depend on data"
    count = within_limits(lambda: _instance_count(scop), 100_000)
    if count is not None and count < SMALL_COUNT:
        return f"it executes at most {format_count(count, 'statement')}"
    if not takes_all and _computes_in_scalars(scop):
        return "its innermost loops compute in scalar variables, so they keep their order"
    if not (takes_all or _has_recurrence(scop) or _has_far_accesses(scop)):
        return "its loops only need to be vectorized; -frise-take=all takes it, too"
    return ""


def _computes_in_scalars(scop: Scop) -> bool:
    """Whether one of the statements in the most loops assigns a scalar variable."""
    depth = max(len(statement.iterators) for statement in scop.statements)
    return any(
        not access.variable.is_array
        for statement in scop.statements
        for access in statement.writes
        if len(statement.iterators) == depth
    )


def _has_new_loops(program: CProgram) -> bool:
    """Whether riselang vectorizes any loop itself, or changes the order."""
    if any(op.name.startswith("vector.") for op in walk(program.linked_module())):
        return True
    (scop,) = program.scops
    orders = [choose_order(scop, name).tree for name in (SOURCE, program.schedule)]
    texts = [None if tree is None else tree.to_C_str() for tree in orders]
    return texts[0] != texts[1]


def _has_recurrence(scop: Scop) -> bool:
    """Whether iterations use the results of earlier ones: sums, recurrences, loops over time."""
    pairs = dependences(scop)
    if pairs is None:
        return False
    names = [statement.name for statement in scop.statements]
    components = strongly_connected_components(names, dependence_edges(pairs.flow))
    return len(components) < len(names) or any(
        not pairs.flow.intersect_domain(own).intersect_range(own).is_empty()
        for own in (isl().UnionSet.from_set(each.domain) for each in scop.statements)
    )


def _has_far_accesses(scop: Scop) -> bool:
    """Whether the innermost loop around a statement moves along a column of an array."""
    return any(
        statement.iterators and statement.iterators[-1][1] in index.names()
        for statement in scop.statements
        for found in statement.access_relations.values()
        for index in (found.indices or ())[:-1]
    )


def _instance_count(scop: Scop) -> int | None:
    """Return the most instances that a region executes, if that is a constant."""
    total = 0
    for statement in scop.statements:
        domain = statement.domain
        count = 1
        for position in range(domain.dim(isl().dim_type.set)):
            first, last = domain.dim_min_val(position), domain.dim_max_val(position)
            if not (first.is_int() and last.is_int()):
                return None
            count *= max(last.to_python() - first.to_python() + 1, 0)
        total += count
    return total
