"""Converts numbers to integer keys that are in the same order, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute

from riselang.dialects.arith import conversion
from riselang.lowering.loop_emitter import Emitter

WORD = 32
"""The bits of the key, and of the index, in a pair that is sorted as one integer."""
LOW_WORD = (1 << WORD) - 1


@dataclass(frozen=True)
class OrderedBits:
    """How numbers of a type become signed keys, which `i32` or `i64` contains.

    The key of a float is its bits; those of a negative one, except for the sign, are inverted. So
    the keys of -0.0 and 0.0 are -1 and 0, or 0 and -1 in descending order. NaN has no key.
    """

    type: TypeAttribute
    descending: bool
    unsigned: bool

    @property
    def is_float(self) -> bool:
        return isinstance(self.type, AnyFloat)

    @property
    def width(self) -> int:
        if isinstance(self.type, IndexType):
            return 64
        assert isinstance(self.type, AnyFloat | IntegerType)
        return self.type.bitwidth

    @property
    def key(self) -> IntegerType:
        return i32 if self.width <= 32 else i64

    @property
    def name(self) -> str:
        """A name that distinguishes this order from any other."""
        prefix = "u" if self.unsigned else ""
        return f"{prefix}{self.type}{'_descending' if self.descending else ''}"

    def emit_key(self, emitter: Emitter, number: SSAValue) -> SSAValue:
        code = _Code(emitter, self)
        bits = code.flip_order(code.extend(code.bits(number)))
        return code.invert(bits) if self.descending else bits

    def emit_output(self, emitter: Emitter, key: SSAValue) -> SSAValue:
        """Return the number of a key, or a vector of them."""
        code = _Code(emitter, self, key.type if isinstance(key.type, VectorType) else None)
        bits = code.invert(key) if self.descending else key
        return code.number(code.truncate(code.flip_order(bits)))


@dataclass(frozen=True)
class PairOrder:
    """Pairs of a key and an index in one integer, of which only the index is stored."""

    name: ClassVar[str] = "indices"
    type: ClassVar[TypeAttribute] = IndexType()
    width: ClassVar[int] = 64
    key: ClassVar[IntegerType] = i64

    def emit_output(self, emitter: Emitter, key: SSAValue) -> SSAValue:
        """Return the index of a pair, or a vector of them."""
        code = _Code(emitter, self, key.type if isinstance(key.type, VectorType) else None)
        return code.number(code.add(arith.AndIOp(key, code.constant(LOW_WORD))))


KeyOrder = OrderedBits | PairOrder


def reinterpret(emitter: Emitter, value: SSAValue, type: Attribute) -> SSAValue:
    """Convert a scalar, or the elements of a vector, to a type with the same bits."""
    element = value.type.element_type if isinstance(value.type, VectorType) else value.type
    if element == type:
        return value
    name = "arith.index_cast" if IndexType() in (element, type) else "arith.bitcast"
    if isinstance(value.type, VectorType):
        type = VectorType(type, value.type.get_shape())
    return emitter.add(conversion(name, value, type)).results[0]


@dataclass(frozen=True)
class _Code:
    emitter: Emitter
    order: KeyOrder
    vector: VectorType | None = None
    """The type of the keys if they are vectors."""

    def add(self, op: Operation) -> SSAValue:
        return self.emitter.add(op).results[0]

    def like(self, element: Attribute) -> Attribute:
        """Return an element type, or the type of a vector of such elements."""
        return element if self.vector is None else VectorType(element, self.vector.get_shape())

    def constant(self, number: int) -> SSAValue:
        if self.vector is None:
            return self.add(arith.ConstantOp(IntegerAttr(number, self.order.key)))
        type = VectorType(self.order.key, self.vector.get_shape())
        splat = DenseIntOrFPElementsAttr.from_list(type, [number])
        return self.add(arith.ConstantOp(splat))

    def bits(self, number: SSAValue) -> SSAValue:
        assert isinstance(self.order, OrderedBits)
        return reinterpret(self.emitter, number, IntegerType(self.order.width))

    def number(self, bits: SSAValue) -> SSAValue:
        return reinterpret(self.emitter, bits, self.order.type)

    def extend(self, bits: SSAValue) -> SSAValue:
        assert isinstance(self.order, OrderedBits)
        if self.order.width == self.order.key.width.data:
            return bits
        extension = arith.ExtUIOp if self.order.unsigned else arith.ExtSIOp
        return self.add(extension(bits, self.order.key))

    def truncate(self, bits: SSAValue) -> SSAValue:
        assert isinstance(self.order, OrderedBits)
        if self.order.width == self.order.key.width.data:
            return bits
        type = self.like(IntegerType(self.order.width))
        return self.add(conversion("arith.trunci", bits, type))

    def flip_order(self, bits: SSAValue) -> SSAValue:
        """Convert bits to a key or back; both are the same operation."""
        assert isinstance(self.order, OrderedBits)
        width = self.order.key.width.data
        if self.order.is_float:
            sign = self.add(arith.ShRSIOp(bits, self.constant(width - 1)))
            all_but_sign = self.constant((1 << (self.order.width - 1)) - 1)
            flipped = self.add(arith.AndIOp(sign, all_but_sign))
            return self.add(arith.XOrIOp(bits, flipped))
        if self.order.unsigned and self.order.width == width:
            return self.add(arith.XOrIOp(bits, self.constant(-1 << (width - 1))))
        return bits

    def invert(self, bits: SSAValue) -> SSAValue:
        return self.add(arith.XOrIOp(bits, self.constant(-1)))
