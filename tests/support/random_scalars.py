"""Random operations on scalars or vectors, and literals, of a given type."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.dialects.rise.attributes import Numbers, literal
from riselang.dialects.rise.lane_types import Lanes, lane_type, with_lane_type
from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    ArrayType,
    RiseType,
    ScalarType,
    f16,
    i1,
    innermost,
    is_float,
    is_unsigned,
)
from riselang.term.conversion import conversion_ops
from riselang.term.nodes import Literal, Scalar, Term, scalar_type
from riselang.term.scalar_ops import CMPF_PREDICATES, CMPI_PREDICATES
from support.choices import Choices
from support.numpy_scalars import WIDTHS
from support.random_types import RandomTypes

COMMON = {
    True: ("arith.addf", "arith.mulf", "arith.subf", "arith.maximumf", "arith.minimumf",
           "arith.divf"),
    False: ("arith.addi", "arith.muli", "arith.subi", "arith.maxsi", "arith.minsi",
            "arith.floordivsi", "arith.andi", "arith.ori", "arith.xori"),
}  # fmt: skip
RARE = {
    True: ("arith.maxnumf", "arith.minnumf"),
    False: ("arith.divsi", "arith.remsi", "arith.divui", "arith.remui", "arith.ceildivsi",
            "arith.ceildivui", "arith.shli", "arith.shrsi", "arith.shrui", "arith.maxui",
            "arith.minui"),
}  # fmt: skip
COMMON_UNSIGNED = (
    "arith.addi", "arith.muli", "arith.subi", "arith.maxui", "arith.minui", "arith.divui",
    "arith.shrui", "arith.andi", "arith.ori", "arith.xori",
)  # fmt: skip
UNARY = {
    True: ("arith.negf", "math.sqrt", "math.absf", "math.floor", "math.ceil", "math.trunc",
           "math.round", "math.roundeven"),
    False: ("math.absi", "math.ctpop", "math.ctlz"),
}  # fmt: skip
FLOAT_LITERALS = (0.0, 1.0, -1.0, 2.0, 0.5, -0.0, 3.25, 0.1)

Make = Callable[[RiseType], Term]


class RandomScalars:
    """Operations whose operands `make` makes."""

    def __init__(self, choices: Choices, types: RandomTypes):
        self.choices = choices
        self.types = types

    def literal(self, type: ScalarType) -> Term:
        return Literal(literal(self.number(type), type))

    def array_literal(self, type: ArrayType) -> Term:
        """An array of numbers."""
        scalar = innermost(type)
        assert isinstance(scalar, ScalarType)
        return Literal(literal(self._numbers(type), scalar))

    def _numbers(self, type: RiseType) -> Numbers:
        if isinstance(type, ArrayType):
            return tuple(self._numbers(type.element) for _ in range(type.length.constant))
        assert isinstance(type, ScalarType)
        return self.number(type)

    def number(self, type: ScalarType) -> int | float:
        if is_float(type):
            large = 60000.0 if type == f16 else 1e30
            return self.choices.of((*FLOAT_LITERALS, large, float("inf"), float("nan")))
        width = WIDTHS[SCALAR_NAMES[type]]
        if width == 1:
            return self.choices.of((0, -1))
        most = (1 << (width - 1)) - 1
        if type.is_unsigned:
            return self.choices.of((0, 1, 2, 3, 7, 64, most, most + 1, 2 * most + 1))
        return self.choices.of((0, 1, 2, -1, 3, 7, -5, 64, most, -most - 1))

    def operation(self, type: Lanes, make: Make) -> Term:
        options: list[tuple[int, Callable[[Lanes, Make], Term]]] = [
            (6, self.common),
            (1, self.unary),
            (1, self.select),
            (1, self.cast),
            (1, self.rare),
        ]
        if lane_type(type) == i1:
            options = [(1, self.common), (4, self.comparison), (1, self.select), (1, self.cast)]
        return self.choices.weighted(options)(type, make)

    def common(self, type: Lanes, make: Make) -> Term:
        return self.binary(type, [make(type), make(type)])

    def binary(self, type: Lanes, operands: Sequence[Term]) -> Term:
        lane = lane_type(type)
        ops = COMMON_UNSIGNED if is_unsigned(lane) else COMMON[is_float(lane)]
        return Scalar(self.choices.of(ops), operands, type)

    def rare(self, type: Lanes, make: Make) -> Term:
        op = self.choices.of(RARE[is_float(lane_type(type))])
        return Scalar(op, [make(type), make(type)], type)

    def unary(self, type: Lanes, make: Make) -> Term:
        return Scalar(self.choices.of(UNARY[is_float(lane_type(type))]), [make(type)], type)

    def select(self, type: Lanes, make: Make) -> Term:
        return Scalar(
            "arith.select", [make(with_lane_type(type, i1)), make(type), make(type)], type
        )

    def comparison(self, type: Lanes, make: Make) -> Term:
        lane = self.types.scalar()
        op = "arith.cmpf" if is_float(lane) else "arith.cmpi"
        predicate = self.choices.of(CMPF_PREDICATES if is_float(lane) else CMPI_PREDICATES)
        source = with_lane_type(type, lane)
        return Scalar(op, [make(source), make(source)], type, predicate)

    def cast(self, type: Lanes, make: Make) -> Term:
        """A conversion as `rl.cast` makes it, or one of the unsigned ones."""
        return self.converted(make(with_lane_type(type, self.types.scalar())), type)

    def converted(self, term: Term, type: Lanes) -> Term:
        result, lane = term, lane_type(type)
        assert isinstance(lane, ScalarType)
        for op, target in conversion_ops(scalar_type(term), lane):
            step = with_lane_type(type, target)
            assert isinstance(step, Lanes)
            result = Scalar(self.maybe_unsigned(op), [result], step)
        return result

    def maybe_unsigned(self, op: str) -> str:
        twins = {"arith.sitofp": "arith.uitofp", "arith.fptosi": "arith.fptoui",
                 "arith.extsi": "arith.extui",
                 "arith.extui": "arith.extsi", "arith.uitofp": "arith.sitofp"}  # fmt: skip
        return twins[op] if op in twins and self.choices.one_in(4) else op
