"""Device functions for attention, as code of this processor: each thread computes its results."""

from __future__ import annotations

import re

from riselang.lowering.gpu.attention_tiles import TileAttention
from riselang.lowering.gpu.tensor_products import TileOperand
from riselang.native.llvm.ir_writer import IrWriter

STORED = {"bf16": "i16", "f16": "half"}
MINUS_INFINITY = "0xFFF0000000000000"


def define_attentions(ir: str, attentions: list[TileAttention]) -> str:
    """Define the functions that are only declared."""
    for attention in attentions:
        ir = re.sub(rf"(?m)^declare .*@{re.escape(attention.name)}\(.*\n", "", ir)
        ir = f"{ir}\n{_Writer(attention).function()}"
    if attentions and "declare float @llvm.exp.f32" not in ir:
        ir += "\ndeclare float @llvm.exp.f32(float)\n"
    return ir


class _Writer(IrWriter):
    def __init__(self, attention: TileAttention):
        super().__init__()
        self.attention = attention

    def function(self) -> str:
        attention = self.attention
        operands = {"q": attention.queries, "k": attention.keys, "z": attention.values}
        coordinates = [
            f"i32 %{name}{number}"
            for name, operand in operands.items()
            for number in range(len(operand.shape))
        ]
        parameters = ["ptr %queries", "ptr %keys", "ptr %values", *coordinates, "i32 %thread",
                      "float %scale", "float %empty", "i32 %last"]  # fmt: skip
        count = attention.registers
        self.label("entry")
        results = self.let(f"alloca [{count} x float]")
        self.jump("registers")
        self.label("registers")
        self.emit("%register = phi i32 [ 0, %entry ], [ %next_register, %store ]")
        row, column = self._position()
        limit = self.let(f"add i32 {self.let(f'add i32 %last, {row}')}, 1")
        is_less = self.let(f"icmp ult i32 {limit}, {attention.count}")
        end = self.let(f"select i1 {is_less}, i32 {limit}, i32 {attention.count}")
        self.jump("key")
        self.label("key")
        for name, type, first in (("j", "i32", "0"), ("largest", "float", MINUS_INFINITY),
                                  ("total", "float", "0.0"), ("sum", "float", "0.0")):  # fmt: skip
            self.emit(f"%{name} = phi {type} [ {first}, %registers ], [ %next_{name}, %scored ]")
        self.jump("depth")
        self.label("depth")
        self.emit("%k = phi i32 [ 0, %key ], [ %next_k, %added ]")
        self.emit("%dot = phi float [ 0.0, %key ], [ %next_dot, %added ]")
        one = self._element("queries", "q", attention.queries, row, "%k")
        other = self._element("keys", "k", attention.keys, "%j", "%k")
        self.jump("added")
        self.label("added")
        self.emit(f"%next_dot = fadd float %dot, {self.let(f'fmul float {one}, {other}')}")
        self.emit("%next_k = add i32 %k, 1")
        more = self.let(f"icmp ult i32 %next_k, {attention.depth}")
        self.branch(more, "depth", "scored")
        self.label("scored")
        score = self.let("fmul float %next_dot, %scale")
        is_larger = self.let(f"fcmp ogt float {score}, %largest")
        self.emit(f"%next_largest = select i1 {is_larger}, float {score}, float %largest")
        factor = self._exp("%largest", "%next_largest")
        weight = self._exp(score, "%next_largest")
        value = self._element("values", "z", attention.values, "%j", column)
        for name, added in (("total", weight), ("sum", f"fmul float {weight}, {value}")):
            added = self.let(added) if " " in added else added
            scaled = self.let(f"fmul float %{name}, {factor}")
            self.emit(f"%next_{name} = fadd float {scaled}, {added}")
        self.emit("%next_j = add i32 %j, 1")
        self.branch(self.let(f"icmp ult i32 %next_j, {end}"), "key", "store")
        self.label("store")
        place = self.let(f"getelementptr float, ptr {results}, i32 %register")
        quotient = self.let("fdiv float %next_sum, %next_total")
        is_empty = self.let("fcmp oeq float %next_largest, " + MINUS_INFINITY)
        self.emit(
            f"store float {self.let(f'select i1 {is_empty}, float %empty, float {quotient}')}, "
            f"ptr {place}"
        )
        self.emit("%next_register = add i32 %register, 1")
        self.branch(self.let(f"icmp ult i32 %next_register, {count}"), "registers", "end")
        self.label("end")
        result = self.let(f"load <{count} x float>, ptr {results}, align 4")
        self.emit(f"ret <{count} x float> {result}")
        header = f"define <{count} x float> @{attention.name}({', '.join(parameters)}) {{"
        return "\n".join([header, *self.lines, "}", ""])

    def _exp(self, one: str, other: str) -> str:
        return self.let(f"call float @llvm.exp.f32(float {self.let(f'fsub float {one}, {other}')})")

    def _position(self) -> tuple[str, str]:
        attention = self.attention
        warp, lane = self.let("udiv i32 %thread, 32"), self.let("urem i32 %thread, 32")
        tile, within = self.let("udiv i32 %register, 4"), self.let("urem i32 %register, 4")
        tiles = attention.columns // 8
        row = self._scaled(
            (warp, attention.row_tiles * 16), (self.let(f"udiv i32 {tile}, {tiles}"), 16),
            (self.let(f"udiv i32 {within}, 2"), 8), (self.let(f"udiv i32 {lane}, 4"), 1),
        )  # fmt: skip
        column = self._scaled(
            (self.let(f"urem i32 {tile}, {tiles}"), 8), (self.let(f"urem i32 {lane}, 4"), 2),
            (self.let(f"urem i32 {within}, 2"), 1),
        )  # fmt: skip
        return row, column

    def _scaled(self, *parts: tuple[str, int]) -> str:
        total = "0"
        for value, factor in parts:
            total = self.let(f"add i32 {total}, {self.let(f'mul i32 {value}, {factor}')}")
        return total

    def _element(self, name: str, prefix: str, operand: TileOperand, row: str, column: str) -> str:
        offset = "0"
        for dimension in range(len(operand.shape)):
            index = f"%{prefix}{dimension}"
            if dimension == operand.row_dimension:
                index = self.let(f"add i32 {index}, {row}")
            elif dimension == operand.depth_dimension:
                index = self.let(f"add i32 {index}, {column}")
            scaled = self.let(f"mul i32 {index}, {operand.stride(dimension)}")
            offset = self.let(f"add i32 {offset}, {scaled}")
        stored = STORED[self.attention.element]
        place = self.let(f"getelementptr {stored}, ptr %{name}, i32 {offset}")
        value = self.let(f"load {stored}, ptr {place}")
        if stored == "half":
            return self.let(f"fpext half {value} to float")
        high = self.let(f"shl i32 {self.let(f'zext i16 {value} to i32')}, 16")
        return self.let(f"bitcast i32 {high} to float")
