"""The affine dialect with MLIR's syntax of `affine.parallel`; xDSL has only the generic form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Self

from xdsl.dialects import affine
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Dialect, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

_INPUT = re.compile(r"([ds]\d+)")


@dataclass(frozen=True)
class Bounds:
    """Loop bounds: each loop has a group of results of a map, and the tightest one is its bound."""

    map: AffineMap
    groups: tuple[int, ...]
    operands: tuple[SSAValue, ...]

    @staticmethod
    def constant(number: int) -> Bounds:
        return Bounds(AffineMap.constant_map(number), (1,), ())

    def properties(self, side: str) -> dict[str, Attribute]:
        type = TensorType(i32, [len(self.groups)])
        return {
            f"{side}BoundsMap": AffineMapAttr(self.map),
            f"{side}BoundsGroups": DenseIntElementsAttr.from_list(type, list(self.groups)),
        }

    def print(self, printer: Printer, tightest: str) -> None:
        ends = list(accumulate(self.groups, initial=0))
        with printer.in_parens():
            printer.print_list(
                [self.map.results[start:end] for start, end in pairwise(ends)],
                lambda group: self._print_group(printer, group, tightest),
            )

    def _print_group(self, printer: Printer, group: Sequence[AffineExpr], tightest: str) -> None:
        if len(group) == 1:
            self._print(printer, group[0])
            return
        printer.print_string(tightest)
        with printer.in_parens():
            printer.print_list(group, lambda each: self._print(printer, each))

    def _print(self, printer: Printer, expression: AffineExpr) -> None:
        for number, part in enumerate(_INPUT.split(str(expression))):
            if number % 2 == 0:
                printer.print_string(part)
            elif part[0] == "d":
                printer.print_ssa_value(self.operands[int(part[1:])])
            else:
                printer.print_string("symbol")
                with printer.in_parens():
                    printer.print_ssa_value(self.operands[self.map.num_dims + int(part[1:])])


class _BoundsParser:
    """A parser of bounds such as `(0, %i + 1, max(%j, symbol(%n)))`."""

    def __init__(self, parser: Parser, tightest: str):
        self.parser = parser
        self.tightest = tightest
        self.inputs: dict[str, list[UnresolvedOperand]] = {"d": [], "s": []}

    def parse(self) -> Bounds:
        parser = self.parser
        groups = parser.parse_comma_separated_list(parser.Delimiter.PAREN, self._parse_group)
        dimensions, symbols = self.inputs.values()
        results = tuple(each for group in groups for each in group)
        operands = [parser.resolve_operand(each, IndexType()) for each in (*dimensions, *symbols)]
        map = AffineMap(len(dimensions), len(symbols), results)
        return Bounds(map, tuple(len(group) for group in groups), tuple(operands))

    def _parse_group(self) -> list[AffineExpr]:
        parser = self.parser
        if parser.parse_optional_keyword(self.tightest):
            return parser.parse_comma_separated_list(parser.Delimiter.PAREN, self._parse_sum)
        return [self._parse_sum()]

    def _parse_sum(self) -> AffineExpr:
        result = self._parse_product()
        while True:
            if self.parser.parse_optional_characters("+"):
                result = result + self._parse_product()
            elif self.parser.parse_optional_characters("-"):
                result = result - self._parse_product()
            else:
                return result

    def _parse_product(self) -> AffineExpr:
        result = self._parse_primary()
        while True:
            if self.parser.parse_optional_characters("*"):
                result = result * self._parse_primary()
            elif self.parser.parse_optional_keyword("mod"):
                result = result % self._parse_primary()
            elif self.parser.parse_optional_keyword("floordiv"):
                result = result // self._parse_primary()
            elif self.parser.parse_optional_keyword("ceildiv"):
                result = result.ceil_div(self._parse_primary())
            else:
                return result

    def _parse_primary(self) -> AffineExpr:
        parser = self.parser
        if parser.parse_optional_punctuation("("):
            result = self._parse_sum()
            parser.parse_punctuation(")")
            return result
        if parser.parse_optional_characters("-"):
            return -self._parse_primary()
        if parser.parse_optional_keyword("symbol"):
            parser.parse_punctuation("(")
            result = self._input_expression("s", parser.parse_unresolved_operand())
            parser.parse_punctuation(")")
            return result
        operand = parser.parse_optional_unresolved_operand()
        if operand is not None:
            return self._input_expression("d", operand)
        return AffineExpr.constant(parser.parse_integer(allow_boolean=False))

    def _input_expression(self, kind: str, operand: UnresolvedOperand) -> AffineExpr:
        known = self.inputs[kind]
        names = [(each.operand_name, each.index) for each in known]
        if (operand.operand_name, operand.index) not in names:
            names.append((operand.operand_name, operand.index))
            known.append(operand)
        position = names.index((operand.operand_name, operand.index))
        return AffineExpr.dimension(position) if kind == "d" else AffineExpr.symbol(position)


class ParallelOp(affine.ParallelOp):
    """`affine.parallel (%i, %j) = (0, 0) to (4, %n) step (1, 2) { ... }`."""

    @classmethod
    def from_bounds(
        cls,
        lower: Bounds,
        upper: Bounds,
        body: Region,
        *,
        steps: Sequence[int] = (1,),
        reductions: Sequence[str] = (),
        types: Sequence[Attribute] = (),
    ) -> Self:
        return cls.build(
            operands=[[*lower.operands, *upper.operands]],
            result_types=[types],
            regions=[body],
            properties={
                **lower.properties("lower"),
                **upper.properties("upper"),
                "reductions": ArrayAttr([StringAttr(each) for each in reductions]),
                "steps": ArrayAttr([IntegerAttr(step, i64) for step in steps]),
            },
        )

    @property
    def bounds(self) -> tuple[Bounds, Bounds]:
        lower, upper = self.lowerBoundsMap.data, self.upperBoundsMap.data
        count = lower.num_dims + lower.num_symbols
        return (
            Bounds(lower, tuple(self.lowerBoundsGroups.get_values()), tuple(self.operands[:count])),
            Bounds(upper, tuple(self.upperBoundsGroups.get_values()), tuple(self.operands[count:])),
        )

    def verify_(self) -> None:
        # Not xDSL's verifier, which expects an operand for each result.
        self.get_irdl_definition().verify(self)
        loops = len(self.body.block.args)
        if len(self.steps) != loops:
            raise VerifyException(f"expected {loops} steps, but found {len(self.steps)}")
        if len(self.reductions) != len(self.results):
            raise VerifyException("expected a reduction for each result")
        for name, bounds in zip(("lower", "upper"), self.bounds, strict=True):
            if len(bounds.groups) != loops or sum(bounds.groups) != len(bounds.map.results):
                raise VerifyException(f"expected {name} bounds for {loops} loops")
            inputs = bounds.map.num_dims + bounds.map.num_symbols
            if len(bounds.operands) != inputs:
                found = len(bounds.operands)
                raise VerifyException(
                    f"expected {inputs} operands of {name} bounds, but found {found}"
                )

    def print(self, printer: Printer) -> None:
        lower, upper = self.bounds
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(
                self.body.block.args, lambda each: printer.print_block_argument(each, False)
            )
        printer.print_string(" = ")
        lower.print(printer, "max")
        printer.print_string(" to ")
        upper.print(printer, "min")
        steps = [step.value.data for step in self.steps]
        if any(step != 1 for step in steps):
            printer.print_string(f" step ({', '.join(map(str, steps))})")
        if self.results:
            printer.print_string(" reduce ")
            with printer.in_parens():
                printer.print_list(self.reductions, printer.print_attribute)
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.result_types, printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_block_terminators=bool(self.results)
        )
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        indices = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_punctuation("=")
        lower = _BoundsParser(parser, "max").parse()
        parser.parse_keyword("to")
        upper = _BoundsParser(parser, "min").parse()
        steps: Sequence[int] = [1] * len(indices)
        if parser.parse_optional_keyword("step"):
            steps = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: parser.parse_integer(allow_boolean=False)
            )
        reductions: Sequence[str] = []
        types: Sequence[Attribute] = []
        if parser.parse_optional_keyword("reduce"):
            reductions = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_str_literal
            )
            parser.parse_punctuation("->")
            types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        body = parser.parse_region([index.resolve(IndexType()) for index in indices])
        if not isinstance(body.block.last_op, affine.YieldOp):
            body.block.add_op(affine.YieldOp.get())
        op = cls.from_bounds(lower, upper, body, steps=steps, reductions=reductions, types=types)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op


def _replace_parallel(op: type[Operation]) -> type[Operation]:
    return ParallelOp if op is affine.ParallelOp else op


Affine = Dialect(
    "affine",
    [_replace_parallel(op) for op in affine.Affine.operations],
    list(affine.Affine.attributes),
)
