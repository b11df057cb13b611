"""Addresses, which select subterms: the outermost map, the reduction over `k`, the third map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import LET, PATTERNS
from riselang.nat import Nat
from riselang.rewrite.combinators import format_part
from riselang.rewrite.core import CONDITION, Failure, Path, Result, Setting, Strategy
from riselang.rewrite.paths import path_of_trail, subterms_outside_in
from riselang.rewrite.term_parts import view_source
from riselang.rewrite.traversals import run_at
from riselang.support.errors import UserError
from riselang.term.nodes import Lambda, Pattern, Term, spine

GROUPS: dict[str, tuple[str, ...]] = {
    "any map": ("map", "mapSeq", "mapPar", "mapSeqUnroll"),
    "any reduce": ("reduce", "reduceSeq", "reduceSeqUnroll", "reducePar"),
}
"""Names for groups of patterns."""


LOOPS = ("map", "mapSeq", "mapPar", "mapSeqUnroll", "reduce", "reduceSeq", "reduceSeqUnroll")


class Selector(ABC):
    """A selector of one subterm."""

    @abstractmethod
    def find(self, term: Term) -> tuple[Path, Term] | None:
        """Find the subterm, if the term has it."""

    @abstractmethod
    def failure_reason(self) -> str:
        """The reason of the failure if the term does not have the subterm."""


@dataclass(frozen=True)
class Loop(Selector):
    """One of several nested loops; the search looks into functions, views and lets."""

    number: int

    def find(self, term: Term) -> tuple[Path, Term] | None:
        path: list[int] = []
        remaining = self.number
        while True:
            if isinstance(term, Lambda):
                path.append(0)
                term = term.body
                continue
            head, arguments = spine(term)
            if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
                return None
            if head.spec is LET and isinstance(arguments[1], Lambda):
                path.append(1)
                term = arguments[1]
            elif view_source(term) is not None:
                path.append(1)
                term = arguments[-1]
            elif head.spec.name in LOOPS:
                remaining -= 1
                if remaining == 0:
                    return tuple(path), term
                path += [0] * (len(arguments) - 1) + [1]
                term = arguments[0]
            else:
                return None

    def __str__(self) -> str:
        return f"loop({self.number})"

    def failure_reason(self) -> str:
        return f"there are fewer than {self.number} nested loops"


@dataclass(frozen=True)
class Position(Selector):
    """The subterm at a path."""

    path: Path

    def find(self, term: Term) -> tuple[Path, Term] | None:
        for index in self.path:
            if index >= len(term.children):
                return None
            term = term.children[index]
        return self.path, term

    def __str__(self) -> str:
        return f"path({'.'.join(map(str, self.path))!r})"

    def failure_reason(self) -> str:
        return f"the program has no subterm at {'.'.join(map(str, self.path)) or 'the top'}"


@dataclass(frozen=True)
class Address(Selector):
    """An application of a pattern, and which one of several."""

    which: str
    """outermost, innermost, or the number of the application, from 1, from the outside in."""
    pattern: str
    over: str | None = None
    """The name of the pattern's elements, which is the parameter name of its function."""
    length: int | None = None
    """The length of the array."""
    nest: int = 1
    """The minimum number of nested maps."""

    def find(self, term: Term) -> tuple[Path, Term] | None:
        """Find the subterm, if the term has it."""
        candidates = list(self._candidates(term))
        if self.which == "outermost":
            return candidates[0] if candidates else None
        if self.which == "innermost":
            return max(candidates, key=lambda each: len(each[0]), default=None)
        position = int(self.which)
        return candidates[position - 1] if 0 < position <= len(candidates) else None

    def _candidates(self, term: Term) -> Iterator[tuple[Path, Term]]:
        names = GROUPS.get(self.pattern, (self.pattern,))
        for trail, part in subterms_outside_in(term):
            if _is_application(part, names) and self._is_selected(part, names):
                yield path_of_trail(trail), part

    def _is_selected(self, part: Term, names: tuple[str, ...]) -> bool:
        _, arguments = spine(part)
        function = arguments[0]
        if self.over is not None:
            element_name = function.name if isinstance(function, Lambda) else None
            if element_name != self.over:
                return False
        if self.length is not None and _length(part) != Nat.const(self.length):
            return False
        return nest_depth(part, names) >= self.nest

    def __str__(self) -> str:
        which = self.which if not self.which.isdecimal() else f"nth({self.which}"
        start = f"{which}, " if self.which.isdecimal() else f"{which}("
        options = [repr(self.pattern)]
        options += [f"over={self.over!r}"] if self.over is not None else []
        options += [f"length={self.length}"] if self.length is not None else []
        options += [f"nest={self.nest}"] if self.nest != 1 else []
        return f"{start}{', '.join(options)})"

    def failure_reason(self) -> str:
        description = f"the {self.which} {self.pattern}" if not self.which.isdecimal() else (
            f"{self.pattern} number {self.which}")  # fmt: skip
        description += f" over {self.over}" if self.over is not None else ""
        description += f" of length {self.length}" if self.length is not None else ""
        description += f" with {self.nest} nested maps" if self.nest > 1 else ""
        return f"the program does not have {description}"


@dataclass(frozen=True, repr=False)
class AtAddress(Strategy):
    """A strategy at an address."""

    strategy: Strategy
    address: Selector

    def run(self, term: Term, setting: Setting) -> Result:
        match = self.address.find(term)
        if match is None:
            return Failure(self, self.address.failure_reason(), term, closeness=CONDITION)
        return run_at(self.strategy, term, *match, setting)

    def __str__(self) -> str:
        return f"{format_part(self.strategy)} @ {self.address}"


def outermost(
    pattern: str, *, over: str | None = None, length: int | None = None, nest: int = 1
) -> Address:
    """The first such application, from the outside in."""
    return _make_address("outermost", pattern, over, length, nest)


def innermost(
    pattern: str, *, over: str | None = None, length: int | None = None, nest: int = 1
) -> Address:
    """The most deeply nested such application."""
    return _make_address("innermost", pattern, over, length, nest)


def nth(
    number: int, pattern: str, *, over: str | None = None, length: int | None = None, nest: int = 1
) -> Address:
    """One of several such applications, counted from 1 from the outside in."""
    return _make_address(str(number), pattern, over, length, nest)


def loop(number: int) -> Loop:
    """One of several nested loops, counted from 1 from the outside in."""
    if number < 1:
        raise UserError(f"loops are counted from 1, but found {number}")
    return Loop(number)


def path(indices: str) -> Position:
    """The subterm at a path, which `rise derive` prints, such as `path("0.0.1")`."""
    parts = indices.split(".") if indices else []
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise UserError(f"expected a path such as '0.0.1', but found {indices!r}")
    return Position(tuple(map(int, parts)))


def _make_address(
    which: str, pattern: str, over: str | None, length: int | None, nest: int
) -> Address:
    if pattern not in GROUPS and pattern not in PATTERNS:
        raise UserError(f"{pattern!r} is not a pattern; expected one, or {' or '.join(GROUPS)}")
    if which.removeprefix("-").isdecimal() and int(which) < 1:
        raise UserError(f"applications are counted from 1, but found {which}")
    if nest < 1:
        raise UserError(f"nested maps are counted from 1, but found nest={nest}")
    return Address(which, pattern, over, length, nest)


def nest_depth(term: Term, names: tuple[str, ...]) -> int:
    """Count directly nested applications of these patterns, each the body of the outer function."""
    depth = 0
    while _is_application(term, names):
        depth += 1
        _, arguments = spine(term)
        if not isinstance(arguments[0], Lambda):
            break
        term = arguments[0].body
    return depth


def _is_application(term: Term, names: tuple[str, ...]) -> bool:
    head = term.head
    return head is not None and head.name in names and term.argument_count == head.arity


def _length(term: Term) -> Nat | None:
    head, _ = spine(term)
    assert isinstance(head, Pattern)
    size = head.argument("n") if "n" in head.spec.parameters else None
    return size if isinstance(size, Nat) else None
