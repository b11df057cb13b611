"""Matrix multiplications as RISE programs, in the form that the default strategy recognizes.

A reduction has the order of the C loops, starts from the target or from zero, and multiplies
scalars as the loops do, so results are bitwise identical. If that is not possible, and
reassociation is permitted, a product is computed separately, and then scaled and added to the
target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from riselang.dialects.rise.types import array
from riselang.frontends.building import Builder, Function
from riselang.frontends.c.parse.syntax import Access, Expression, Literal
from riselang.frontends.c.tactics.matching import Factor
from riselang.frontends.c.tactics.products import Product, grouped
from riselang.frontends.c.tactics.values import scalar_type
from riselang.nat import Nat, as_nat
from riselang.support.errors import SourceLocation
from riselang.term import build
from riselang.term.build import Node
from riselang.term.finish import finish
from riselang.term.nodes import Term

ROWS, COLUMNS, DEPTH = Nat.var("n"), Nat.var("m"), Nat.var("l")


def scalars(product: Product) -> list[Access]:
    """Return the scalar variables that a product is multiplied by, each once."""
    return list(dict.fromkeys(part for part in product.scale if isinstance(part, Access)))


def program(product: Product) -> Term:
    """Build the program of a whole product; it takes the target, if that is added to, then both
    factors in their original layout, then the scalars."""
    return _ProductBuilder(product).program()


def panels_program(product: Product, height: int, width: int) -> Term:
    """Build the program that multiplies matrices packed into panels of rows, each panel
    transposed."""
    return _ProductBuilder(product).panels_program(height, width)


def panel_program(product: Product, height: int) -> Term:
    """Build the program that packs rows into panels, which are short: their rows are unrolled."""
    return _ProductBuilder(product).panel_program(height)


class _ProductBuilder:
    """Builds programs for a product."""

    def __init__(self, product: Product):
        self._product = product
        self._element = scalar_type(product.target.array.type)
        self._builder = Builder()
        self._builder.location = product.target.access.place
        self._scalars: dict[Access, build.Variable] = {}

    def program(self) -> Term:
        product, builder = self._product, self._builder
        target = None if product.begins_with_zero else self._matrix("target", product.target)
        left, right = self._matrix("left", product.left), self._matrix("right", product.right)
        matrices = [each for each in (target, left, right) if each is not None]
        for at, part in enumerate(scalars(product)):
            with builder.located(part.variable.place):
                self._scalars[part] = builder.parameter(f"s{at}", self._element)
        rows = self._factor(product.left, left)

        def columns() -> Node:
            return self._factor(product.right, right)

        if not product.keeps_order:
            body = self._scaled(target, self._sums(rows, columns))
        elif target is None:
            body = self._sums(rows, columns)
        else:
            body = self._sums_from(target, rows, columns)
        return finish(builder.program([*matrices, *self._scalars.values()], body))

    def panels_program(self, height: int, width: int) -> Term:
        left = self._parameter("left", (ROWS, DEPTH, as_nat(height)))
        right = self._parameter("right", (COLUMNS, DEPTH, as_nat(width)))
        body = self._sums(self._unpacked(left), lambda: self._unpacked(right))
        return finish(self._builder.program([left, right], body))

    def panel_program(self, height: int) -> Term:
        builder = self._builder
        rows = self._parameter("rows", (ROWS, as_nat(height), DEPTH))
        body = builder.map_seq(
            lambda panel: builder.map_seq(
                lambda line: builder.map_seq_unroll(lambda e: e, line, "e"),
                builder.transpose(panel),
                "line",
            ),
            rows,
            "panel",
        )
        return finish(builder.program([rows], body))

    # Parameters

    def _matrix(self, name: str, factor: Factor) -> build.Variable:
        """Return the parameter for a factor of one batch element."""
        product = self._product
        sizes = {product.rows: ROWS, product.columns: COLUMNS, product.depth: DEPTH}
        shape = grouped(factor, (product.batch, *sizes)) or ()
        lengths = [sizes[group] for group in shape if group != product.batch]
        return self._parameter(name, lengths, factor.access.place)

    def _parameter(
        self, name: str, lengths: Sequence[Nat], place: SourceLocation | None = None
    ) -> build.Variable:
        type = self._element
        for length in reversed(lengths):
            type = array(length, type)
        with self._builder.located(place or self._builder.location):
            return self._builder.parameter(name, type)

    # Matrices

    def _factor(self, factor: Factor, matrix: Node) -> Node:
        """Return a factor with the contracted dimension as the inner one, scaled if it has the
        scalars."""
        product, builder = self._product, self._builder
        with builder.located(factor.access.place):
            if product.keeps_order and product.scale and factor is product.scaled:
                other = product.right if factor is product.left else product.left
                parts = [part for part in product.parts if part != other.access]
                scaled = self._each(lambda e: self._chain(parts, factor.access, e), matrix)
                matrix = builder.to_mem(scaled)
            is_transposed = factor.loops[-1] not in product.depth
            return builder.transpose(matrix) if is_transposed else matrix

    def _unpacked(self, panels: Node) -> Node:
        return self._builder.join(self._builder.map(self._builder.transpose, panels))

    def _each(self, function: Function, matrix: Node) -> Node:
        builder = self._builder
        return builder.map(lambda line: builder.map(function, line, "e"), matrix, "line")

    def _sums(self, rows: Node, columns: Callable[[], Node]) -> Node:
        """Contract each row with each column; columns are built for each row, since a value built
        outside a map and used in it is stored."""
        builder = self._builder

        def element_of(row: Node, column: Node) -> Node:
            return self._sum(builder.literal(0.0, self._element), row, column)

        return builder.map(
            lambda row: builder.map(
                lambda column: element_of(row, column), columns(), "column"
            ),
            rows,
            "row",
        )  # fmt: skip

    def _sums_from(self, target: Node, rows: Node, columns: Callable[[], Node]) -> Node:
        """Do the same, with each reduction starting from an element of the target."""
        builder = self._builder

        def line_of(line: Node) -> Node:
            row, starts = builder.parts(line, 2)
            pairs = builder.zip(columns(), starts)
            return builder.map(lambda pair: element_of(row, *builder.parts(pair, 2)), pairs, "pair")

        def element_of(row: Node, column: Node, start: Node) -> Node:
            return self._sum(start, row, column)

        return builder.map(line_of, builder.zip(rows, target), "line")

    def _sum(self, start: Node, row: Node, column: Node) -> Node:
        def added(total: Node, pair: Node) -> Node:
            product = self._operation("mult", *self._builder.parts(pair, 2))
            return self._operation("add", total, product)

        return self._builder.reduce(added, start, self._builder.zip(row, column))

    def _scaled(self, target: Node | None, sums: Node) -> Node:
        """Scale the sums, and add them to the target."""
        builder, stored = self._builder, self._builder.to_mem(sums)
        if target is None:
            return self._each(self._multiplied, stored)

        def added(pair: Node) -> Node:
            start, sum = builder.parts(pair, 2)
            return self._operation("add", start, self._multiplied(sum))

        def line_of(lines: Node) -> Node:
            return builder.map(added, builder.zip(*builder.parts(lines, 2)), "pair")

        return builder.map(line_of, builder.zip(target, stored), "lines")

    # Scalars

    def _multiplied(self, value: Node) -> Node:
        numbers = [self._number(part) for part in self._product.scale]
        return self._product_of([*numbers, value])

    def _chain(self, parts: Sequence[Expression], access: Access, element: Node) -> Node:
        """Multiply from the left, with an element replacing its access."""
        return self._product_of(
            [element if part == access else self._number(part) for part in parts]
        )

    def _number(self, part: Expression) -> Node:
        if isinstance(part, Access):
            return self._scalars[part]
        assert isinstance(part, Literal)
        with self._builder.located(part.place):
            return self._builder.literal(float(part.value), self._element)

    def _product_of(self, values: Sequence[Node]) -> Node:
        return reduce(lambda left, right: self._operation("mult", left, right), values)

    def _operation(self, name: str, *operands: Node) -> Node:
        return self._builder.operation(name, operands, self._element)
