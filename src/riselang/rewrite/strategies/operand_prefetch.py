"""Prefetches of the packed operands of a matrix multiplication."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.types import ArrayType, RiseType, VectorType
from riselang.nat import Nat
from riselang.rewrite.combinators import Identity
from riselang.rewrite.core import Failure, Result, Setting, Strategy
from riselang.rewrite.rules.lowering import fetch_ahead
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, function, top_down
from riselang.term.nodes import Term


def fetch_operands(columns: int, rows_ahead: int, columns_ahead: int) -> Strategy:
    """Prefetch the rows and the columns of each tile, so many products before their use."""
    return top_down(_FetchOperands(columns, rows_ahead, columns_ahead))


@dataclass(frozen=True, repr=False)
class _FetchOperands(Strategy):
    """Prefetches the operands of a reduction over pairs of rows and columns of a tile."""

    columns: int
    rows_ahead: int
    columns_ahead: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "reduce")
        pair = None if arguments is None else pattern_arguments(arguments[2], "zip")
        if pair is None:
            return Failure(self, "expected a reduction over pairs", term)
        first, second = (self._fetch(part) for part in pair)
        return argument(function(argument(first)) >> argument(second)).run(term, setting)

    def _fetch(self, operand: Term) -> Strategy:
        size = prod(each.constant for each in _inner_lengths(operand.type) if each.is_constant)
        distance = self.columns_ahead if size == self.columns else self.rows_ahead
        return fetch_ahead(distance) if distance else Identity()

    def __str__(self) -> str:
        return f"fetch_operands({self.columns}, {self.rows_ahead}, {self.columns_ahead})"


def _inner_lengths(type: RiseType) -> Iterator[Nat]:
    """Yield the lengths of the elements of an array: of arrays, and of vectors."""
    while isinstance(type, ArrayType) and isinstance(type.element, ArrayType | VectorType):
        type = type.element
        yield type.length
        if isinstance(type, VectorType):
            return
