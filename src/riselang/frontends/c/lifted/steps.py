"""A region as steps of one function: loops, and calls or structured ops for what they are."""

from __future__ import annotations

from typing import Any

from riselang.config import Options
from riselang.frontends.c.emission.library import CallEmitter
from riselang.frontends.c.emission.structured import StructuredEmitter, structured_factors
from riselang.frontends.c.emission.values import Emitter
from riselang.frontends.c.lifted.choices import for_product
from riselang.frontends.c.lifted.costs import CALL
from riselang.frontends.c.model import ModelStatement, Scop
from riselang.frontends.c.scheduling import loops
from riselang.frontends.c.tactics.matching import Factor
from riselang.frontends.c.tactics.parts import Part, circles_of, part_of, parts_of, together
from riselang.frontends.c.tactics.products import Product


def with_calls(region: Scop, scop: Scop, options: Options, schedule: str) -> Any:
    """Products that a routine of the library computes as calls of it.

    `scop` is the region with what the float permission makes of it.
    """
    steps: list[Any] = []
    is_called = False
    for number, part in enumerate(parts_of(region)):
        product = part.product
        if isinstance(product, Product) and for_product(region, product, options).way is CALL:
            is_called = True
            steps.append(_call(product))
        else:
            steps.append(loops(part_of(scop, part, number), schedule))
    return tuple(steps) if is_called else loops(scop, schedule)


def _call(product: Product) -> Any:
    return lambda out: _emit_call(out, product)


def _emit_call(out: Emitter, product: Product) -> None:
    with out.at(product.target.access.place):
        CallEmitter(out, product).run()


def with_structures(scop: Scop, schedule: str) -> Any:
    """Statements over whole arrays as ops of linalg."""
    steps: list[Any] = []
    parts = together([Part(tuple(circle), None) for circle in circles_of(scop)], _is_op(scop))
    for number, part in enumerate(parts):
        statement = scop.statement(part.names[0])
        factors = structured_factors(scop, statement) if len(part.names) == 1 else None
        if factors is not None:
            steps.append(_structure(statement, factors))
        else:
            steps.append(loops(part_of(scop, part, number), schedule))
    return tuple(steps)


def _is_op(scop: Scop) -> Any:
    def is_op(part: Part) -> bool:
        if len(part.names) != 1:
            return False
        return structured_factors(scop, scop.statement(part.names[0])) is not None

    return is_op


def _structure(statement: ModelStatement, factors: tuple[Factor, ...]) -> Any:
    return lambda out: StructuredEmitter(out, statement, factors).run()
