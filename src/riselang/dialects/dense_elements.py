"""Elements of dense attributes that are the bits of a float: `dense<[0x7FC00000, 1.0]>`.

xDSL reads the bits of a single float, but converts those of an element to a float as an integer.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import AnyFloat
from xdsl.parser import AttrParser

# MLIR has no other spelling of NaN and infinity, and xDSL has no public class of elements.
ElementParser: Any = AttrParser._TensorLiteralElement  # pyright: ignore[reportPrivateUsage]


class HexadecimalElement(ElementParser):
    """An integer in hexadecimal digits; the bits of a float if the type is one."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if not isinstance(type, AnyFloat):
            return super().to_type(parser, type)
        size = type.compile_time_size
        if self.is_negative or self.value.bit_length() > 8 * size:
            parser.raise_error(
                f"expected the {8 * size} bits of a float, which have no sign",
                at_position=self.span,
            )
        return next(iter(type.iter_unpack(self.value.to_bytes(size, "little"))))


def with_bits_of_floats(element: Any) -> Any:
    """Return an element that is the bits of a float if it is hexadecimal and has a float type."""
    if element.span.text.lstrip("-")[:2] not in ("0x", "0X"):
        return element
    return HexadecimalElement(element.is_negative, element.value, element.span)
