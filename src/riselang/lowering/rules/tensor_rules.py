"""Lowers `tensorMMA`, to products of tiles on a GPU and loops on a CPU, and `tensorAttention`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import ScalarType
from riselang.dialects.tile import ATTENTION_SIZES, SIZES
from riselang.lowering.functional_values import Closure, Lazy, Value
from riselang.lowering.loop_emitter import LoopKind
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.rules.attention_definition import attention_definition
from riselang.lowering.rules.mma_rules import MmaRules
from riselang.lowering.translation import result_type, size_argument
from riselang.nat import Nat
from riselang.support.errors import LimitationError
from riselang.term.multiply_add import is_multiply_add
from riselang.term.nodes import Pattern

LANES = 32


class TensorRules(MmaRules):
    """The rules for tensorMMA and tensorAttention."""

    @reads("tensorMMA")
    def read_tensor_mma(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        store = self._store_products if self.for_gpu else self._store_sums
        return self.materialize(
            result_type(pattern), lambda target: store(pattern, arguments, target)
        )

    @stores("tensorMMA")
    def store_tensor_mma(
        self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue
    ) -> None:
        if self.for_gpu:
            self.copy(self.read_data(self.read_tensor_mma(pattern, arguments)), target)
        else:
            self._store_sums(pattern, arguments, target)

    def _store_products(
        self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue
    ) -> None:
        """Store the fragment, each part by the lane that holds it."""
        function = self.force(arguments[0])
        if not isinstance(function, Closure) or not is_multiply_add(function.function):
            raise LimitationError(
                "tensorMMA runs on tensor cores, which add products: expected a function such as "
                "fun((a, p), a + fst(p) * snd(p))",
                pattern.location,
            )
        init, rows, columns = (
            self.scalar_value(arguments[1]),
            self.read_data(arguments[2]),
            self.read_data(arguments[3]),
        )
        sizes = [size_argument(pattern, name) for name in SIZES]
        if not all(size.is_constant for size in sizes):
            raise LimitationError("the sizes of tensorMMA must be constants", pattern.location)

        def store_lane(warp_target: SSAValue, lane: SSAValue) -> None:
            lane_target = self.add(codegen.IdxOp(warp_target, lane))
            values = [size.constant for size in sizes]
            self.emitter.add(codegen.TensorMmaOp(rows, columns, init, lane_target, values))

        warps = size_argument(pattern, "wr") * size_argument(pattern, "wc")
        self._over_lanes(warps, target, store_lane)

    @reads("tensorAttention")
    def read_tensor_attention(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        if not self.for_gpu:
            return self.apply(Closure(attention_definition(pattern), ()), arguments)
        return self.materialize(
            result_type(pattern), lambda target: self._store_attention(pattern, arguments, target)
        )

    @stores("tensorAttention")
    def store_tensor_attention(
        self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue
    ) -> None:
        self.copy(self.read_data(self.read_tensor_attention(pattern, arguments)), target)

    def _store_attention(
        self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue
    ) -> None:
        """Store the fragment, each part by the lane that holds it."""
        sizes = [size_argument(pattern, name) for name in ATTENTION_SIZES]
        if not all(size.is_constant for size in sizes):
            raise LimitationError(
                "the sizes of tensorAttention must be constants", pattern.location
            )
        scalars = [self.scalar_value(each) for each in arguments[:3]]
        operands = [self.read_data(each) for each in arguments[3:]]
        values = [size.constant for size in sizes]

        def store_lane(warp_target: SSAValue, lane: SSAValue) -> None:
            lane_target = self.add(codegen.IdxOp(warp_target, lane))
            self.emitter.add(codegen.TensorAttentionOp([*operands, *scalars, lane_target], values))

        self._over_lanes(size_argument(pattern, "w"), target, store_lane)

    def _over_lanes(
        self, warps: Nat, target: SSAValue, store_lane: Callable[[SSAValue, SSAValue], None]
    ) -> None:
        """Store each part of a fragment by the lane that holds it."""

        def store_warp(warp: SSAValue) -> None:
            warp_target = self.add(codegen.IdxOp(target, warp))
            self.emit_loop(
                Nat.const(LANES), "scf", lambda lane: store_lane(warp_target, lane), LoopKind.LANE
            )

        self.emit_loop(warps, "scf", store_warp, LoopKind.WARP)

    def _store_sums(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Store the fragment in loops, one sum after the other."""
        function = self.force(arguments[0])
        rows, columns = self.store_if_computed(arguments[2]), self.store_if_computed(arguments[3])
        init, type = self.scalar_value(arguments[1]), pattern.argument("t")
        assert isinstance(type, ScalarType)

        def store_sum(indices: Sequence[SSAValue], destination: SSAValue) -> None:
            row_index, column_index = self._position(pattern, *indices)
            row = self.add(codegen.IdxOp(rows, row_index))
            column = self.add(codegen.IdxOp(columns, column_index))

            def step(k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                elements = (self.add(codegen.IdxOp(each, k)) for each in (row, column))
                accumulator = self.add(codegen.CastOp([carried[0]], type))
                operands = [accumulator, self.add(codegen.TupleOp(*elements))]
                return self.unwrap(self.read_application(function, operands))

            zero, one = self.emitter.constant(0), self.emitter.constant(1)
            end = self.emitter.length_value(size_argument(pattern, "k"))
            (total,) = self.emitter.range_loop(zero, end, one, [init], step)
            self.copy(self.add(codegen.CastOp([total], type)), destination)

        warps = size_argument(pattern, "wr") * size_argument(pattern, "wc")
        registers = size_argument(pattern, "tm") * size_argument(pattern, "tn") * 4

        def store_part(lengths: Sequence[Nat], indices: Sequence[SSAValue], part: SSAValue) -> None:
            if not lengths:
                store_sum(indices, part)
                return

            def store_element(index: SSAValue) -> None:
                element = self.add(codegen.IdxOp(part, index))
                store_part(lengths[1:], [*indices, index], element)

            self.emit_loop(lengths[0], "scf", store_element)

        store_part([warps, Nat.const(LANES), registers], [], target)

    def _position(
        self, pattern: Pattern, warp: SSAValue, lane: SSAValue, register: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """Return the row and the column of the element of a tile that is in a register."""

        def divided(value: SSAValue, divisor: Nat | int) -> tuple[SSAValue, SSAValue]:
            size = self.emitter.length_value(
                Nat.const(divisor) if isinstance(divisor, int) else divisor
            )
            return self.add(arith.DivUIOp(value, size)), self.add(arith.RemUIOp(value, size))

        def combined(first: SSAValue, factor: Nat | int, second: SSAValue) -> SSAValue:
            size = self.emitter.length_value(
                Nat.const(factor) if isinstance(factor, int) else factor
            )
            return self.add(arith.AddiOp(self.add(arith.MuliOp(first, size)), second))

        row_tiles, column_tiles = size_argument(pattern, "tm"), size_argument(pattern, "tn")
        row_warp, column_warp = divided(warp, size_argument(pattern, "wc"))
        lane_row, lane_column = divided(lane, 4)
        tile, within = divided(register, 4)
        row_tile, column_tile = divided(tile, column_tiles)
        half, number = divided(within, 2)
        row = combined(combined(combined(row_warp, row_tiles, row_tile), 2, half), 8, lane_row)
        column_of_tile = combined(column_warp, column_tiles, column_tile)
        return row, combined(combined(column_of_tile, 4, lane_column), 2, number)
