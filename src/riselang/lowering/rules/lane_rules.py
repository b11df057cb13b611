"""Lowers `mapLaneExchange`: to shuffles between the lanes of a warp, and to loops on a CPU."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FixedBitwidthType, IntegerType, i1, i32
from xdsl.ir import SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, array
from riselang.dialects.tile import ShuffleOp
from riselang.lowering.loop_emitter import LoopKind
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.rules.map_rules import MapRules
from riselang.lowering.translation import Lazy, Value, result_type, size_argument
from riselang.nat import Nat
from riselang.support.errors import LimitationError
from riselang.term.nodes import Pattern

LANES, WORD_BITS = 32, 32
"""The lanes of a warp, and the bits that a lane passes to another at once."""


class LaneRules(MapRules):
    """The rules for mapLaneExchange."""

    @reads("mapLaneExchange")
    def read_lane_exchange(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.materialize(
            result_type(pattern),
            lambda target: self.store_lane_exchange(pattern, arguments, target),
        )

    @stores("mapLaneExchange")
    def store_lane_exchange(
        self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue
    ) -> None:
        function, elements = self.force(arguments[0]), self.element_reader(arguments[1])
        lanes, rows = (
            size_argument(pattern, "l") * size_argument(pattern, "q"),
            size_argument(pattern, "m"),
        )
        if self.for_gpu:
            _check_exchange(pattern, lanes)

        def store_lane(lane: SSAValue) -> None:
            element = self.store_reused_element(function, elements(lane))
            results = self.read_application(function, [element])

            def store_row(row: SSAValue) -> None:
                values = self.add(codegen.IdxOp(results, row))
                if self.for_gpu:
                    destination = self.add(codegen.IdxOp(target, lane))
                    destination = self.add(codegen.IdxOp(destination, row))
                    self._exchange_row(pattern, lane, values, destination)
                else:
                    self._store_column(pattern, (lane, row), values, target)

            self.emit_loop(rows, "scf", store_row)

        self.emit_loop(
            lanes, "scf", store_lane, LoopKind.LANE if self.for_gpu else LoopKind.SEQUENTIAL
        )

    def _store_column(
        self, pattern: Pattern, position: tuple[SSAValue, SSAValue], values: SSAValue,
        target: SSAValue,
    ) -> None:  # fmt: skip
        """Store a row that a lane computes to the lanes of its group, one element to each."""
        lane, row = position
        count = self.emitter.length_value(size_argument(pattern, "q"))
        number = self.add(arith.RemUIOp(lane, count))
        first = self.add(arith.SubiOp(lane, number))

        def store_element(other: SSAValue) -> None:
            destination = self.add(codegen.IdxOp(target, self.add(arith.AddiOp(first, other))))
            for index in (row, number):
                destination = self.add(codegen.IdxOp(destination, index))
            self.copy(self.add(codegen.IdxOp(values, other)), destination)

        self.emit_loop(size_argument(pattern, "q"), "scf", store_element)

    def _exchange_row(
        self, pattern: Pattern, lane: SSAValue, values: SSAValue, target: SSAValue
    ) -> None:
        """Transpose the rows of a group of lanes: each step exchanges half of each row."""
        row_type = _row_type(pattern)
        words = self._words(self._scalars(row_type, values))
        count = size_argument(pattern, "q").constant
        width = len(words) // count
        number = self.add(arith.IndexCastOp(lane, i32))
        distance = 1
        while distance < count:
            mask = self.add(arith.ConstantOp.from_int_and_width(distance, i32))
            zero = self.add(arith.ConstantOp.from_int_and_width(0, i32))
            is_upper = self.add(arith.CmpiOp(self.add(arith.AndIOp(number, mask)), zero, "ne"))
            for low in range(len(words)):
                high = low + distance * width
                if low // width & distance == 0:
                    sent = self.add(arith.SelectOp(is_upper, words[low], words[high]))
                    got = self.add(ShuffleOp(sent, distance))
                    words[low], words[high] = (
                        self.add(arith.SelectOp(is_upper, got, words[low])),
                        self.add(arith.SelectOp(is_upper, words[high], got)),
                    )
            distance *= 2
        self.store_elements(row_type, self._unpacked(_scalar_of(row_type), words), target)

    def _scalars(self, type: RiseType, value: SSAValue) -> list[SSAValue]:
        """Return the builtin scalars of an array."""
        if not isinstance(type, ArrayType):
            return self.unwrap(value)
        return [
            scalar
            for number in range(type.length.constant)
            for scalar in self._scalars(
                type.element, self.add(codegen.IdxOp(value, self.emitter.constant(number)))
            )
        ]

    def _words(self, scalars: Sequence[SSAValue]) -> list[SSAValue]:
        """Return scalars in words of 32 bits."""
        bits = _bits(scalars[0])
        words: list[SSAValue] = []
        for first in range(0, len(scalars), WORD_BITS // bits):
            word: SSAValue | None = None
            for number, scalar in enumerate(scalars[first : first + WORD_BITS // bits]):
                part = self._as_word(scalar, bits)
                if number:
                    shift = arith.ConstantOp.from_int_and_width(number * bits, i32)
                    part = self.add(arith.ShLIOp(part, self.add(shift)))
                word = part if word is None else self.add(arith.OrIOp(word, part))
            assert word is not None
            words.append(word)
        return words

    def _as_word(self, scalar: SSAValue, bits: int) -> SSAValue:
        type = IntegerType(bits)
        if scalar.type != type:
            scalar = self.add(arith.BitcastOp(scalar, type))
        return scalar if type == i32 else self.add(arith.ExtUIOp(scalar, i32))

    def _unpacked(self, type: ScalarType, words: Sequence[SSAValue]) -> list[SSAValue]:
        builtin = type.storage
        assert isinstance(builtin, FixedBitwidthType)
        bits = builtin.bitwidth
        scalars: list[SSAValue] = []
        for word in words:
            for number in range(WORD_BITS // bits):
                part = word
                if number:
                    shift = arith.ConstantOp.from_int_and_width(number * bits, i32)
                    part = self.add(arith.ShRUIOp(part, self.add(shift)))
                if bits < WORD_BITS:
                    part = self.add(arith.TruncIOp(part, IntegerType(bits)))
                if part.type != builtin:
                    part = self.add(arith.BitcastOp(part, builtin))
                scalars.append(part)
        return scalars


def _row_type(pattern: Pattern) -> ArrayType:
    element = pattern.argument("t")
    assert isinstance(element, RiseType)
    return array(size_argument(pattern, "q"), element)


def _scalar_of(type: RiseType) -> ScalarType:
    while isinstance(type, ArrayType):
        type = type.element
    assert isinstance(type, ScalarType)
    return type


def _bits(scalar: SSAValue) -> int:
    assert isinstance(scalar.type, FixedBitwidthType)
    return scalar.type.bitwidth


def _check_exchange(pattern: Pattern, lanes: Nat) -> None:
    """Report what the lanes of a warp cannot exchange."""
    element, bits = pattern.argument("t"), 1
    while isinstance(element, ArrayType) and element.length.is_constant:
        bits *= element.length.constant
        element = element.element
    builtin = element.element if isinstance(element, ScalarType) else None
    is_scalar = isinstance(builtin, FixedBitwidthType) and builtin != i1 and builtin.bitwidth <= 32
    bits *= builtin.bitwidth if isinstance(builtin, FixedBitwidthType) else 1
    count = size_argument(pattern, "q")
    if not is_scalar or bits % WORD_BITS:
        raise LimitationError(
            "the elements that lanes exchange must be multiples of 4 bytes, of scalars of at most "
            "4 bytes",
            pattern.location,
        )
    if lanes != Nat.const(LANES) or LANES % count.constant:
        raise LimitationError(
            f"mapLaneExchange must be computed by the {LANES} lanes of a warp", pattern.location
        )
