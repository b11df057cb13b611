"""Rewrites LLVM IR text from the MLIR wheel for the older LLVM that generates code.

The newer LLVM prints float constants as `+inf`, `-nan(0x1)`, `f0x4B800000` or as decimals that only
round to the constant; the older one needs the exact bits.

A load of an i1 becomes a comparison of its byte with 0: LLVM assumes that the byte is 0 or 1, but
a NumPy array of Booleans may hold any value. An i1 is stored as a byte, too: LLVM would store the
lanes of a vector of i1 one by one.

A 16-bit float that is only copied is moved as an i16: LLVM does not vectorize copies of `bfloat` to
interleaved positions.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import count
from typing import NamedTuple


class FloatFormat(NamedTuple):
    """A binary float format, and the prefix of its constants in the older LLVM."""

    exponent: int
    mantissa: int
    prefix: str


FLOAT_FORMATS: Mapping[str, FloatFormat] = {
    "half": FloatFormat(5, 10, "0xH"),
    "bfloat": FloatFormat(8, 7, "0xR"),
    "float": FloatFormat(8, 23, "0x"),
    "double": FloatFormat(11, 52, "0x"),
}
_TYPE = re.compile(r"\b(half|bfloat|float|double)\b")
_TYPE_OF_NEXT = re.compile(r"\b(half|bfloat|float|double) $")
_LITERAL = re.compile(
    r"(?<![\w.%@\"$-])(?:"
    r"(?P<sign>[+-])(?P<special>inf|qnan|s?nan\(0x(?P<payload>[0-9a-fA-F]+)\))"
    r"|f0x(?P<bits>[0-9a-fA-F]+)"
    r"|(?P<decimal>-?\d+\.\d+(?:e[+-]?\d+)?)"
    r")(?![\w.])"
)
_LITERAL_PART = re.compile(r"[.+f-](?:(?<=\.)\d|(?<=[+-])[iqsn]|(?<=f)0x)")
"""A part of each literal. `re` quickly skips text without the first character of a pattern, but not
before a lookbehind or a `^`; so the patterns for large texts begin with characters."""
_METADATA = re.compile(r"^(![\w.]+ !\d+ )*")
_DECLARATION = re.compile(
    r"declare (?<![^\n]declare )(?P<rest>.*@(?P<name>[\w.$]+)\(.*\))(?P<tail>.*)"
)


_DEFINITION = re.compile(
    r"define (?<![^\n]define )(?P<start>[^@\n]*@(?P<name>[\w.$]+)\()(?P<parameters>[^()\n]*)\)"
)
_DEFINITION_END = re.compile(r"^(?P<start>define .*?)(?P<debug> !dbg .*)? \{$", re.MULTILINE)
_HELPER = re.compile(
    r"define (?<![^\n]define )(?!internal )"
    r"(?P<rest>.*@rise_(?:index_error|(?:small_)?function_\d+|(?:part|arrays)_[\w.$]+|lanes_\w+"
    r"|\w*(?:div|rem)[su]i_\w+)\(.*\))"
    r"(?P<debug>.*) \{(?![^\n])"
)
"""Helper functions of the lowering, and the named functions of a program, of which only the small
ones are inlined; MLIR has no attribute for that.

The functions that MLIR outlines from their parallel loops are internal already.
"""


_BIT = re.compile(
    r"^(?P<indent> *)%(?P<name>[\w.]+) = load i1, (?P<rest>ptr [^,\n]+(?:, align \d+)?)",
    re.MULTILINE,
)
_BIT_STORE = re.compile(r"^(?P<indent> *)store i1 (?P<value>[^,\s]+), ", re.MULTILINE)


_NAME = re.compile(r"%[\w.]+")
_SHORT_LOAD = re.compile(r"(?P<name>%[\w.]+) = load (?P<type>half|bfloat),")
_SHORT_STORE = re.compile(r"store (?P<type>half|bfloat) (?P<name>%[\w.]+),")

FLOAT_FREE_PREFIXES = (";", "!", "source_filename", "target ", "attributes ")
"""Prefixes of lines without constants, but perhaps with names that look like constants."""


def convert_for_llvmlite(ir: str) -> str:
    """Return the module in the older LLVM's syntax, with library functions as nobuiltin."""
    text = _mark_nobuiltin(_spell_literals(ir))
    text = _store_bits_as_bytes(_load_bits_as_bytes(text))
    if " = load half," in text or " = load bfloat," in text:
        text = "\ndefine ".join(map(_copy_as_integers, text.split("\ndefine ")))
    return _HELPER.sub(_mark_helper, text)


def _spell_literals(ir: str) -> str:
    """Spell the float constants exactly, in the lines that may contain some."""
    parts: list[str] = []
    end = 0
    for match in _LITERAL_PART.finditer(ir):
        if match.start() >= end:
            line_start = ir.rfind("\n", 0, match.start()) + 1
            line_end = ir.find("\n", match.start())
            line_end = len(ir) if line_end < 0 else line_end
            parts += [ir[end:line_start], _LITERAL.sub(_spell_exactly, ir[line_start:line_end])]
            end = line_end
    return "".join([*parts, ir[end:]])


def _mark_helper(definition: re.Match[str]) -> str:
    """Make a helper function internal. Registers are spilled where a cold one is called, not in
    the loops around the call."""
    rest = definition["rest"]
    attributes = " cold" if "@rise_index_error(" in rest else ""
    attributes += "" if "@rise_small_function_" in rest else " noinline"
    return f"define internal {rest}{attributes}{definition['debug']} {{"


def _load_bits_as_bytes(ir: str) -> str:
    """Load each i1 as a byte that is true unless it is 0."""
    if " = load i1, " not in ir:
        return ir
    return _BIT.sub(
        r"\g<indent>%byte.\g<name> = load i8, \g<rest>\n"
        r"\g<indent>%\g<name> = icmp ne i8 %byte.\g<name>, 0",
        ir,
    )


def _store_bits_as_bytes(ir: str) -> str:
    """Store each i1 as a byte that is 0 or 1."""
    if "store i1 " not in ir:
        return ir
    numbers = count()

    def convert(match: re.Match[str]) -> str:
        byte = f"%stored.{next(numbers)}"
        conversion = f"{match['indent']}{byte} = zext i1 {match['value']} to i8\n"
        return f"{conversion}{match['indent']}store i8 {byte}, "

    return _BIT_STORE.sub(convert, ir)


def _copy_as_integers(function: str) -> str:
    """Load and store the 16-bit floats that a function only copies as i16."""
    loaded = {match["name"] for match in _SHORT_LOAD.finditer(function)}
    if not loaded:
        return function
    uses = Counter(_NAME.findall(function))
    stores = Counter(match["name"] for match in _SHORT_STORE.finditer(function))
    copied = {name for name in loaded if uses[name] == 1 + stores[name]}

    def convert(match: re.Match[str]) -> str:
        return match[0].replace(match["type"], "i16") if match["name"] in copied else match[0]

    return _SHORT_STORE.sub(convert, _SHORT_LOAD.sub(convert, function))


def mark_noalias_pointers(ir: str, pointers: Mapping[str, Sequence[int]]) -> str:
    """Mark pointer parameters of functions as noalias.

    MLIR loses this attribute when it expands a memref to several parameters.
    """

    def mark(match: re.Match[str]) -> str:
        parameters = match["parameters"].split(", ")
        for position in pointers.get(match["name"], ()):
            parameters[position] = parameters[position].replace("ptr ", "ptr noalias ", 1)
        return f"define {match['start']}{', '.join(parameters)})"

    return _DEFINITION.sub(mark, ir)


def limit_vectors(ir: str, bits: int) -> str:
    """Let functions use vectors of at most `bits` bits, also for operations on longer ones."""
    attributes = f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="0"'
    return _DEFINITION_END.sub(rf"\g<start> {attributes}\g<debug> {{", ir)


def make_internal(ir: str, names: Collection[str]) -> str:
    """Make functions internal: a kernel may have the name of a C function, such as main.

    A kernel whose name is that of a helper is internal already.
    """

    def hide(match: re.Match[str]) -> str:
        kept = match["name"] not in names or match["start"].startswith("internal ")
        linkage = "" if kept else "internal "
        return f"define {linkage}{match['start']}{match['parameters']})"

    return _DEFINITION.sub(hide, ir)


def _mark_nobuiltin(ir: str) -> str:
    """Declare library functions as nobuiltin.

    LLVM would evaluate a call like expf(1.0) at compile time, with higher precision than the
    library has, and the result would differ from the one at run time. It no longer knows that
    allocated memory is new, either, so the declaration says so.
    """
    return _DECLARATION.sub(_declare_nobuiltin, ir)


def _declare_nobuiltin(declaration: re.Match[str]) -> str:
    if declaration["name"].startswith("llvm."):
        return declaration[0]
    rest = declaration["rest"]
    if declaration["name"] == "aligned_alloc":
        # Metadata come before the attributes of the result.
        rest = _METADATA.sub(r"\g<0>noalias ", rest, count=1)
    return f"declare {rest} nobuiltin{declaration['tail']}"


def _spell_exactly(match: re.Match[str]) -> str:
    """Return the exact spelling of a float constant in a module."""
    ir, start = match.string, match.start()
    line_start = ir.rfind("\n", 0, start) + 1
    line_end = ir.find("\n", start)
    type = _TYPE.search(ir, line_start, line_end if line_end >= 0 else len(ir))
    if type is None or ir.startswith(FLOAT_FREE_PREFIXES, line_start):
        return match[0]
    # A constant without a type has the type of its instruction, the first type in the line.
    own_type = _TYPE_OF_NEXT.search(ir[line_start:start])
    format = FLOAT_FORMATS[(own_type or type)[1]]
    return _format_bits(_literal_bits(match, format), format)


def _literal_bits(match: re.Match[str], format: FloatFormat) -> int:
    if match["bits"] is not None:
        return int(match["bits"], 16)
    if match["decimal"] is not None:
        return _nearest_float_bits(
            Fraction(match["decimal"]), match["decimal"].startswith("-"), format
        )
    infinity = ((1 << format.exponent) - 1) << format.mantissa
    negative = (match["sign"] == "-") << (format.exponent + format.mantissa)
    if match["special"] == "inf":
        return negative | infinity
    quiet = 0 if match["special"].startswith("snan") else 1 << (format.mantissa - 1)
    return negative | infinity | quiet | int(match["payload"] or "0", 16)


def _nearest_float_bits(value: Fraction, is_negative: bool, format: FloatFormat) -> int:
    """Return the bits of the float nearest to `value`, with ties to even."""
    sign = int(is_negative) << (format.exponent + format.mantissa)
    magnitude = abs(value)
    bias = (1 << (format.exponent - 1)) - 1
    if magnitude == 0:
        return sign
    power = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** power > magnitude:
        power -= 1
    power = max(power, 1 - bias)
    scaled = magnitude / Fraction(2) ** (power - format.mantissa)
    rounded = round(scaled)  # Python rounds fractions half to even
    # The mantissa may overflow, in which case the addition carries into the exponent.
    implicit = 1 << format.mantissa
    return sign | (rounded + (power + bias - 1) * implicit)


def _format_bits(bits: int, format: FloatFormat) -> str:
    digits = (1 + format.exponent + format.mantissa) // 4
    if format.mantissa != 23:
        return f"{format.prefix}{bits:0{digits}X}"
    return f"0x{_widen_to_double(bits):016X}"


def _widen_to_double(bits: int) -> int:
    """Return the bits of the double that equals a float, as LLVM prints it."""
    exponent, mantissa = (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        return ((bits >> 31) << 63) | (0x7FF << 52) | (mantissa << 29)
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    return int.from_bytes(struct.pack("<d", value), "little")
