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
from riselang.frontends.c.parse.syntax import Access, Expression, Literal
from riselang.frontends.c.tactics.matching import Factor
from riselang.frontends.c.tactics.matrix_products import MatrixProduct, group_order
from riselang.frontends.c.tactics.value_builder import scalar_type
from riselang.frontends.term_builder import Builder, UnaryFunction
from riselang.nat import Nat, as_nat
from riselang.support.errors import SourceLocation
from riselang.term import build
from riselang.term.build import Node
from riselang.term.finish import finish
from riselang.term.nodes import Term

ROWS, COLUMNS, DEPTH = Nat.var("n"), Nat.var("m"), Nat.var("l")


def scalar_factors(product: MatrixProduct) -> list[Access]:
    """Return the scalar variables that a product is multiplied by, each once."""
    return list(dict.fromkeys(part for part in product.scale if isinstance(part, Access)))


def build_program(product: MatrixProduct) -> Term:
    """Build the program of a whole product; it takes the target, if that is added to, then both
    factors in their original layout, then the scalars."""
    return _ProductBuilder(product).build_program()


def build_panels_program(product: MatrixProduct, height: int, width: int) -> Term:
    """Build the program that multiplies matrices packed into panels of rows, each panel
    transposed."""
    return _ProductBuilder(product).build_panels_program(height, width)


def build_packing_program(product: MatrixProduct, height: int) -> Term:
    """Build the program that packs rows into panels, which are short: their rows are unrolled."""
    return _ProductBuilder(product).build_packing_program(height)


class _ProductBuilder:
    """Builds programs for a product."""

    def __init__(self, product: MatrixProduct):
        self._product = product
        self._element = scalar_type(product.target.array.type)
        self._builder = Builder()
        self._builder.location = product.target.access.location
        self._scalars: dict[Access, build.Variable] = {}

    def build_program(self) -> Term:
        product, builder = self._product, self._builder
        target = (
            None if product.begins_with_zero else self._matrix_parameter("target", product.target)
        )
        left, right = (
            self._matrix_parameter("left", product.left),
            self._matrix_parameter("right", product.right),
        )
        matrices = [each for each in (target, left, right) if each is not None]
        for position, part in enumerate(scalar_factors(product)):
            with builder.at_location(part.variable.location):
                self._scalars[part] = builder.parameter(f"s{position}", self._element)
        rows = self._prepare_factor(product.left, left)

        def columns() -> Node:
            return self._prepare_factor(product.right, right)

        if not product.keeps_order:
            body = self._scale_and_add(target, self._contract(rows, columns))
        elif target is None:
            body = self._contract(rows, columns)
        else:
            body = self._contract_from(target, rows, columns)
        return finish(builder.program([*matrices, *self._scalars.values()], body))

    def build_panels_program(self, height: int, width: int) -> Term:
        left = self._add_parameter("left", (ROWS, DEPTH, as_nat(height)))
        right = self._add_parameter("right", (COLUMNS, DEPTH, as_nat(width)))
        body = self._contract(self._unpack_panels(left), lambda: self._unpack_panels(right))
        return finish(self._builder.program([left, right], body))

    def build_packing_program(self, height: int) -> Term:
        builder = self._builder
        rows = self._add_parameter("rows", (ROWS, as_nat(height), DEPTH))
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

    def _matrix_parameter(self, name: str, factor: Factor) -> build.Variable:
        """Return the parameter for a factor of one batch element."""
        product = self._product
        sizes = {product.rows: ROWS, product.columns: COLUMNS, product.depth: DEPTH}
        shape = group_order(factor, (product.batch, *sizes)) or ()
        lengths = [sizes[group] for group in shape if group != product.batch]
        return self._add_parameter(name, lengths, factor.access.location)

    def _add_parameter(
        self, name: str, lengths: Sequence[Nat], location: SourceLocation | None = None
    ) -> build.Variable:
        type = self._element
        for length in reversed(lengths):
            type = array(length, type)
        with self._builder.at_location(location or self._builder.location):
            return self._builder.parameter(name, type)

    # Matrices

    def _prepare_factor(self, factor: Factor, matrix: Node) -> Node:
        """Return a factor with the contracted dimension as the inner one, scaled if it has the
        scalars."""
        product, builder = self._product, self._builder
        with builder.at_location(factor.access.location):
            if product.keeps_order and product.scale and factor is product.scaled_factor:
                other = product.right if factor is product.left else product.left
                parts = [part for part in product.parts if part != other.access]
                scaled = self._map_elements(
                    lambda e: self._multiply_chain(parts, factor.access, e), matrix
                )
                matrix = builder.to_mem(scaled)
            is_transposed = factor.loops[-1] not in product.depth
            return builder.transpose(matrix) if is_transposed else matrix

    def _unpack_panels(self, panels: Node) -> Node:
        return self._builder.join(self._builder.map(self._builder.transpose, panels))

    def _map_elements(self, function: UnaryFunction, matrix: Node) -> Node:
        builder = self._builder
        return builder.map(lambda line: builder.map(function, line, "e"), matrix, "line")

    def _contract(self, rows: Node, columns: Callable[[], Node]) -> Node:
        """Contract each row with each column; columns are built for each row, since a value built
        outside a map and used in it is stored."""
        builder = self._builder

        def element_of(row: Node, column: Node) -> Node:
            return self._reduce_pair(builder.literal(0.0, self._element), row, column)

        return builder.map(
            lambda row: builder.map(
                lambda column: element_of(row, column), columns(), "column"
            ),
            rows,
            "row",
        )  # fmt: skip

    def _contract_from(self, target: Node, rows: Node, columns: Callable[[], Node]) -> Node:
        """Do the same, with each reduction starting from an element of the target."""
        builder = self._builder

        def line_of(line: Node) -> Node:
            row, starts = builder.unpack_tuple(line, 2)
            pairs = builder.zip(columns(), starts)
            return builder.map(
                lambda pair: element_of(row, *builder.unpack_tuple(pair, 2)), pairs, "pair"
            )

        def element_of(row: Node, column: Node, start: Node) -> Node:
            return self._reduce_pair(start, row, column)

        return builder.map(line_of, builder.zip(rows, target), "line")

    def _reduce_pair(self, start: Node, row: Node, column: Node) -> Node:
        def accumulate(total: Node, pair: Node) -> Node:
            product = self._apply_op("mult", *self._builder.unpack_tuple(pair, 2))
            return self._apply_op("add", total, product)

        return self._builder.reduce(accumulate, start, self._builder.zip(row, column))

    def _scale_and_add(self, target: Node | None, sums: Node) -> Node:
        """Scale the sums, and add them to the target."""
        builder, stored = self._builder, self._builder.to_mem(sums)
        if target is None:
            return self._map_elements(self._multiply_scalars, stored)

        def scale_and_add(pair: Node) -> Node:
            start, sum = builder.unpack_tuple(pair, 2)
            return self._apply_op("add", start, self._multiply_scalars(sum))

        def line_of(lines: Node) -> Node:
            return builder.map(scale_and_add, builder.zip(*builder.unpack_tuple(lines, 2)), "pair")

        return builder.map(line_of, builder.zip(target, stored), "lines")

    # Scalars

    def _multiply_scalars(self, value: Node) -> Node:
        scalar_nodes = [self._scalar_node(part) for part in self._product.scale]
        return self._multiply_all([*scalar_nodes, value])

    def _multiply_chain(self, parts: Sequence[Expression], access: Access, element: Node) -> Node:
        """Multiply from the left, with an element replacing its access."""
        return self._multiply_all(
            [element if part == access else self._scalar_node(part) for part in parts]
        )

    def _scalar_node(self, part: Expression) -> Node:
        if isinstance(part, Access):
            return self._scalars[part]
        assert isinstance(part, Literal)
        with self._builder.at_location(part.location):
            return self._builder.literal(float(part.value), self._element)

    def _multiply_all(self, values: Sequence[Node]) -> Node:
        return reduce(lambda left, right: self._apply_op("mult", left, right), values)

    def _apply_op(self, name: str, *operands: Node) -> Node:
        return self._builder.operation(name, operands, self._element)
