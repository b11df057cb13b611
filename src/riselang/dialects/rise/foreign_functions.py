"""C functions as patterns: `foreign("double f(double)", "libf.so")`.

The C declaration determines the type of the pattern, so each C function has its own `PatternSpec`.
An integer parameter that is the length of an array parameter is omitted: the pattern passes
the length of the array. Arrays that are not `const` are results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from riselang.dialects.rise.pattern_spec import PatternSpec, Role, accept_all
from riselang.dialects.rise.types import (
    RiseType,
    ScalarType,
    array,
    f32,
    f64,
    fun,
    i1,
    i8,
    i16,
    i32,
    i64,
    pair,
    u8,
    u16,
    u32,
    u64,
    vector,
)
from riselang.nat import Nat
from riselang.support.foreign_libraries import SYMBOL_PREFIX

FOREIGN, FOREIGN_LANES = "foreign", "foreignLanes"
"""The names of a C function as a pattern, and of its application to each lane of vectors."""
LANES = "k"
"""The parameter of a pattern on vectors."""
_RESERVED_SIZES = ("s", "t", "space", "to")
"""Parameters of patterns that are not sizes."""

_C_TYPES: Mapping[str, ScalarType] = {
    "float": f32, "double": f64, "bool": i1, "_Bool": i1,
    "char": i8, "signed char": i8, "unsigned char": u8,
    "short": i16, "unsigned short": u16, "int": i32, "unsigned": u32, "unsigned int": u32,
    "long": i64, "unsigned long": u64, "long long": i64, "unsigned long long": u64,
    "size_t": u64, "ssize_t": i64, "ptrdiff_t": i64, "intptr_t": i64, "uintptr_t": u64,
    "int8_t": i8, "int16_t": i16, "int32_t": i32, "int64_t": i64,
    "uint8_t": u8, "uint16_t": u16, "uint32_t": u32, "uint64_t": u64,
}  # fmt: skip
_TYPE_WORDS = frozenset(word for name in _C_TYPES for word in name.split())
_IGNORED_WORDS = frozenset({"extern", "restrict", "__restrict", "__restrict__", "static", "inline"})
_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|\d+|[()\[\],;*&]|\.\.\.|\S)")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class DeclarationError(Exception):
    """What is wrong with the declaration of a C function."""


class Passing(Enum):
    """How a C function gets or returns a parameter."""

    LENGTH = "the length of an array"
    SCALAR = "a scalar"
    INPUT = "an array that is read"
    OUTPUT = "an array that is a result"


@dataclass(frozen=True)
class ForeignParameter:
    """A parameter of a C function; `lengths` are those of an array."""

    name: str
    passing: Passing
    type: ScalarType
    lengths: tuple[Nat, ...] = ()

    @property
    def rise_type(self) -> RiseType:
        type: RiseType = self.type
        for length in reversed(self.lengths):
            type = array(length, type)
        return type


@dataclass(frozen=True)
class ForeignFunction:
    """A C function: its declaration, and the library that defines it."""

    declaration: str
    name: str
    parameters: tuple[ForeignParameter, ...]
    result: ScalarType | None
    library: str = ""
    """What the dynamic loader gets; if it is empty, the process defines the function."""
    vectors: tuple[tuple[int, str], ...] = ()
    """Numbers of lanes, and the functions that do the same on vectors of so many lanes."""
    is_lanewise: bool = False

    @property
    def inputs(self) -> tuple[ForeignParameter, ...]:
        return self._passed(Passing.SCALAR, Passing.INPUT)

    @property
    def outputs(self) -> tuple[ForeignParameter, ...]:
        return self._passed(Passing.OUTPUT)

    @property
    def head(self) -> str:
        """The name of the pattern."""
        return FOREIGN_LANES if self.is_lanewise else FOREIGN

    def _passed(self, *kinds: Passing) -> tuple[ForeignParameter, ...]:
        return tuple(each for each in self.parameters if each.passing in kinds)

    @property
    def results(self) -> tuple[RiseType, ...]:
        """The types of the results: what the function returns, then the arrays that it fills."""
        own = () if self.result is None else (self.result,)
        return (*own, *(each.rise_type for each in self.outputs))

    @property
    def is_scalar(self) -> bool:
        """Whether it takes and returns only scalars."""
        return not any(each.lengths for each in self.parameters)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes in the types of the parameters, in the order of their first use."""
        lengths = [length for each in self.parameters for length in each.lengths]
        return tuple(dict.fromkeys(name for length in lengths for name in length.variables))

    @property
    def vector_text(self) -> str:
        return ", ".join(f"{lanes}: {name}" for lanes, name in self.vectors)

    @property
    def texts(self) -> tuple[str, str, str]:
        """The declaration, the library and the vector variants."""
        return self.declaration, self.library, self.vector_text

    @property
    def literals(self) -> tuple[str, ...]:
        """The strings that stand for the function in the notation and in MLIR."""
        texts = list(self.texts)
        while not texts[-1]:
            texts.pop()
        return tuple(texts)

    @property
    def symbol(self) -> str:
        """The name by which generated code calls the function."""
        kind = "pure" if self.is_scalar else "array"
        variants = "" if self._extends_arguments else self.vector_text
        parts = [kind, self.name, _encode(self.library), _encode(variants)]
        return SYMBOL_PREFIX + ".".join(parts)

    @property
    def _extends_arguments(self) -> bool:
        """Whether it gets short integers as ints: LLVM would pass vectors of ints to a variant."""
        return any(each.type in (i8, u8, i16, u16) for each in self.parameters)


@dataclass(frozen=True)
class ForeignSymbol:
    """What the name of a C function in generated code says about it."""

    name: str
    library: str
    is_pure: bool
    vectors: tuple[tuple[int, str], ...] = ()


def split_symbol(symbol: str) -> ForeignSymbol | None:
    """Return the C function that generated code calls by a name; None if there is none."""
    kind, *parts = symbol.removeprefix(SYMBOL_PREFIX).split(".")
    if not symbol.startswith(SYMBOL_PREFIX) or len(parts) != 3:
        return None
    name, library, vectors = parts
    return ForeignSymbol(name, _decode(library), kind == "pure", _read_vectors(_decode(vectors)))


def vector_symbol(function: ForeignSymbol | ForeignFunction, variant: str) -> str:
    """Return the name by which generated code calls a vector variant of a function."""
    return f"{SYMBOL_PREFIX}pure.{variant}.{_encode(function.library)}."


def _encode(text: str) -> str:
    """Encode a text in letters and digits."""
    return text.encode().hex()


def _decode(text: str) -> str:
    return bytes.fromhex(text).decode()


@lru_cache(maxsize=256)
def foreign_spec(
    declaration: str, library: str = "", vectors: str = "", *, is_lanewise: bool = False
) -> PatternSpec:
    """Return the pattern for a C function; raise a `DeclarationError` if it is not one."""
    name, parameters, result = _Reader(declaration).read()
    variants = _read_vectors(vectors)
    function = ForeignFunction(
        " ".join(declaration.rstrip("; \n").split()), name, parameters, result, library, variants,
        is_lanewise,
    )  # fmt: skip
    if (variants or is_lanewise) and (not function.is_scalar or not function.inputs):
        raise DeclarationError("only a function of scalars can be applied to each lane of vectors")
    if variants and i1 in (result, *(each.type for each in parameters)):
        raise DeclarationError("C has no vectors of bool, so the function has no vector variants")
    return _make_spec(function)


def _make_spec(function: ForeignFunction) -> PatternSpec:
    inputs = [each.rise_type for each in function.inputs]
    results = list(function.results)
    sizes = function.sizes
    if function.is_lanewise:
        lanes = Nat.var(LANES)
        inputs = [vector(lanes, type) for type in inputs]
        results = [vector(lanes, type) for type in results]
        sizes = (LANES,)
    _check_inputs(function)
    result = results[-1]
    for type in reversed(results[:-1]):
        result = pair(type, result)
    literals = ", ".join(quote(text) for text in function.literals)
    return PatternSpec(
        f"{function.head}({literals})", sizes, (), fun(*inputs, result), Role.VALUE,
        f"the C function {function.name}, which must have no effects", accept_all,
        is_opaque=True, foreign=function,
    )  # fmt: skip


def quote(text: str) -> str:
    """Return a text as a string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _check_inputs(function: ForeignFunction) -> None:
    if not function.inputs:
        raise DeclarationError(
            "the function takes no arguments, so it is a constant, not a pattern"
        )
    if not function.results:
        raise DeclarationError(
            "the function returns nothing; an array that it fills is a parameter without const, "
            "such as double out[n]"
        )
    inferred = {
        str(length) for each in function.inputs for length in each.lengths if not length.is_constant
    }
    for size in function.sizes:
        if size not in inferred:
            raise DeclarationError(f"the size {size} is the length of no array that is read")


def _read_vectors(text: str) -> tuple[tuple[int, str], ...]:
    variants: list[tuple[int, str]] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        lanes, _, name = (each.strip() for each in part.partition(":"))
        if not lanes.isdecimal() or int(lanes) < 2 or not _IDENTIFIER.fullmatch(name):
            raise DeclarationError(
                f"expected vector variants such as '4: f4, 8: f8', but found '{part}'"
            )
        variants.append((int(lanes), name))
    return tuple(sorted(variants))


class _Reader:
    """Reads a C declaration: `double dot(long n, const double x[n], const double y[n])`."""

    def __init__(self, text: str):
        self.tokens = _TOKEN.findall(text)
        self.position = 0

    @property
    def next(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.next
        if expected and token not in expected:
            found = f"'{token}'" if token else "the end"
            raise DeclarationError(f"expected '{expected[0]}', but found {found}")
        self.position += 1
        return token

    def read(self) -> tuple[str, tuple[ForeignParameter, ...], ScalarType | None]:
        result, _ = self.read_type("the result")
        name = self.read_name("the function")
        self.take("(")
        parameters: list[_Declarator] = []
        if self.next == "void" and self.tokens[self.position + 1 :][:1] == [")"]:
            self.take("void")
        while self.next != ")":
            parameters.append(self.read_parameter(len(parameters)))
            if self.next != ")":
                self.take(",")
        self.take(")")
        rest = self.tokens[self.position :]
        if rest not in ([], [";"]):
            raise DeclarationError(f"expected the end of the declaration, but found '{self.next}'")
        names = [each.name for each in parameters]
        for each in names:
            if names.count(each) > 1:
                raise DeclarationError(f"two parameters have the name '{each}'")
        return name, tuple(_parameters(parameters)), result

    def read_name(self, what: str) -> str:
        if not _IDENTIFIER.fullmatch(self.next):
            found = f"'{self.next}'" if self.next else "the end"
            raise DeclarationError(f"expected the name of {what}, but found {found}")
        return self.take()

    def read_type(self, what: str) -> tuple[ScalarType | None, bool]:
        """Read a scalar type, or None for void, and whether it is const."""
        words: list[str] = []
        is_const = False
        while _IDENTIFIER.fullmatch(self.next):
            if self.next == "const":
                is_const = True
            elif self.next not in _IGNORED_WORDS:
                is_part = self.next in _TYPE_WORDS if words else True
                if not is_part:
                    break
                words.append(self.next)
            self.take()
        name = _canonical_type(words)
        if name == "void":
            if self.next == "*":
                raise DeclarationError(f"{what} has the unknown type 'void *'")
            return None, is_const
        if name not in _C_TYPES:
            known = "float, double, bool, char, short, int, long, size_t, int8_t to uint64_t"
            raise DeclarationError(f"{what} has the unknown type '{name}'; known are {known}")
        return _C_TYPES[name], is_const

    def read_parameter(self, position: int) -> _Declarator:
        what = f"parameter {position + 1}"
        if self.next == "...":
            raise DeclarationError(
                "a function with a variable number of arguments is not supported"
            )
        type, is_const = self.read_type(what)
        if type is None:
            raise DeclarationError(f"{what} has the type void")
        is_pointer = self.next == "*"
        while self.next in ("*", *_IGNORED_WORDS, "const"):
            self.take()
        name = self.take() if _IDENTIFIER.fullmatch(self.next) else f"#{position + 1}"
        lengths: list[Nat] = []
        while self.next == "[":
            lengths.append(self.read_length(name))
        if is_pointer:
            raise DeclarationError(
                f"{what} is a pointer, which has no length; declare an array with its length, such "
                f"as {'const ' if is_const else ''}double {name.replace('#', 'x')}[n], where n is "
                "another parameter or a number"
            )
        return _Declarator(name, type, is_const, tuple(lengths))

    def read_length(self, name: str) -> Nat:
        self.take("[")
        while self.next in ("static", "restrict", "const"):
            self.take()
        token = self.next
        if token.isdecimal():
            length = Nat.const(int(token))
        elif _IDENTIFIER.fullmatch(token):
            length = Nat.var(_size_name(token))
        else:
            raise DeclarationError(
                f"the array {name} needs a length, such as {name}[n] or {name}[8]"
            )
        self.take()
        self.take("]")
        return length


@dataclass(frozen=True)
class _Declarator:
    name: str
    type: ScalarType
    is_const: bool
    lengths: tuple[Nat, ...]


def _canonical_type(words: Sequence[str]) -> str:
    """Return the usual name of a C type: `long unsigned int` is `unsigned long`."""
    rest = [word for word in words if word not in ("signed", "unsigned")]
    if "char" in rest and "signed" in words:
        return "signed char"
    if len(rest) > 1 and rest[-1] == "int" and rest[0] in ("long", "short"):
        rest.pop()
    sign = ["unsigned"] if "unsigned" in words else []
    return " ".join([*sign, *rest]) or ("int" if words else "")


def _size_name(name: str) -> str:
    return f"{name}_" if name in _RESERVED_SIZES else name


def _parameters(declarators: Sequence[_Declarator]) -> list[ForeignParameter]:
    used = {name for each in declarators for length in each.lengths for name in length.variables}
    parameters: list[ForeignParameter] = []
    lengths: set[str] = set()
    for each in declarators:
        name = _size_name(each.name)
        if not each.lengths and name in used:
            if each.type in (f32, f64, i1):
                raise DeclarationError(f"the length {each.name} must be an integer")
            lengths.add(name)
            parameters.append(ForeignParameter(name, Passing.LENGTH, each.type))
            continue
        kind = Passing.INPUT if each.is_const else Passing.OUTPUT
        passing = kind if each.lengths else Passing.SCALAR
        parameters.append(ForeignParameter(each.name, passing, each.type, each.lengths))
    for name in sorted(used - lengths):
        raise DeclarationError(
            f"the length {name.removesuffix('_')} is not a parameter of the function"
        )
    return parameters
