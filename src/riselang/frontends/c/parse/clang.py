"""The libclang interface: C text in, cursors out. The only module that uses its bindings."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from riselang.frontends.c.parse.pragma_texts import pragma_lines, with_assumptions
from riselang.support.errors import LimitationError, SourceLocation, UserError
from riselang.support.lazy import cached_property

Cursor = Any
"""A node of clang's syntax tree; the bindings are untyped."""

HEADERS = Path(__file__).parent / "headers"
BUILTIN_HEADERS = HEADERS / "builtin"
"""The headers that a compiler provides, and that the libclang wheel lacks."""
LIBRARY_HEADERS = HEADERS / "library"
"""C library headers, for machines without a C library."""
SYSTEM_HEADERS = ("/usr/include", "/usr/local/include")

BINARY_OPERATORS = (
    "", ".*", "->*", "*", "/", "%", "+", "-", "<<", ">>", "<=>", "<", ">", "<=", ">=", "==", "!=",
    "&", "^", "|", "&&", "||", "=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|=",
    ",",
)  # fmt: skip
"""Operators in the order of `CXBinaryOperatorKind`."""
UNARY_OPERATORS = (
    "", "post++", "post--", "pre++", "pre--", "address", "deref", "+", "-", "~", "!", "real",
    "imag", "extension", "await",
)  # fmt: skip
"""Operators in the order of `CXUnaryOperatorKind`."""
CPP_SUFFIXES = (".cpp", ".cc", ".cxx", ".c++", ".C")
_INTEGER, _FLOAT = 1, 2
"""The relevant kinds of `CXEvalResultKind`."""
ERROR = 3
"""The lowest diagnostic severity that is an error."""


@cache
def _bindings() -> Any:
    try:
        import clang.cindex as cindex
    except ImportError:
        raise UserError("C needs libclang and isl: pip install 'riselang[c]'") from None
    library = cindex.conf.lib
    # The bindings of version 18.1.1 lack these functions, though the library has them.
    for name, result, arguments in (
        ("clang_getCursorBinaryOperatorKind", ctypes.c_int, [cindex.Cursor]),
        ("clang_getCursorUnaryOperatorKind", ctypes.c_int, [cindex.Cursor]),
        ("clang_Cursor_Evaluate", ctypes.c_void_p, [cindex.Cursor]),
        ("clang_EvalResult_getKind", ctypes.c_int, [ctypes.c_void_p]),
        ("clang_EvalResult_getAsDouble", ctypes.c_double, [ctypes.c_void_p]),
        ("clang_EvalResult_getAsLongLong", ctypes.c_longlong, [ctypes.c_void_p]),
        ("clang_EvalResult_getAsUnsigned", ctypes.c_ulonglong, [ctypes.c_void_p]),
        ("clang_EvalResult_isUnsignedInt", ctypes.c_uint, [ctypes.c_void_p]),
        ("clang_EvalResult_dispose", None, [ctypes.c_void_p]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return SimpleNamespace(cindex=cindex, library=library)


@dataclass(frozen=True)
class ParsedFile:
    """A file that clang has parsed."""

    name: str
    text: str
    unit: Any

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def location_of(self, cursor: Cursor) -> SourceLocation:
        """Return the location of a cursor; for a macro expansion, the location of its use."""
        return self.source_location(cursor.location)

    def source_location(self, location: Any) -> SourceLocation:
        file = location.file.name if location.file is not None else self.name
        if file != self.name:
            return SourceLocation(file, max(location.line, 1), max(location.column, 1))
        lines = self.lines
        line = min(max(location.line, 1), len(lines))
        return SourceLocation(file, line, max(location.column, 1), 1, lines[line - 1])

    @cached_property
    def function_counts(self) -> Counter[str]:
        """How many functions the file declares by each name, outside of namespaces."""
        functions = {
            each.get_usr(): each.spelling
            for each in declarations(self.unit.cursor)
            if kind_name(each) in ("FUNCTION_DECL", "FUNCTION_TEMPLATE")
        }
        return Counter(functions.values())

    def is_own(self, cursor: Cursor) -> bool:
        """Whether it is in the file itself, not in a header."""
        return cursor.location.file is not None and cursor.location.file.name == self.name

    def encloses(self, cursor: Cursor, location: SourceLocation) -> bool:
        """Whether a cursor begins before a location in the file and ends after it."""
        start, end = cursor.extent.start, cursor.extent.end
        if start.file is None or start.file.name != self.name:
            return False
        position = (location.line, location.column)
        return (start.line, start.column) < position < (end.line, end.column)

    def tokens(self) -> list[tuple[str, SourceLocation]]:
        """Return the tokens of the file, except comments."""
        comment = _bindings().cindex.TokenKind.COMMENT
        return [
            (token.spelling, self.source_location(token.location))
            for token in self.unit.cursor.get_tokens()
            if token.kind != comment
        ]


def parse_c(
    text: str, name: str, include: Sequence[str] = (), defines: Mapping[str, object] | None = None
) -> ParsedFile:
    """Parse a text with clang; raises its first error."""
    if "\0" in text:
        location = SourceLocation(name, text[: text.index("\0")].count("\n") + 1, 1)
        raise UserError("the file has a zero byte in it, so it is not C text", location)
    language = ["-xc++", "-std=gnu++20"] if is_cpp(name) else ["-xc", "-std=gnu17"]
    arguments = [*language, f"-isystem{BUILTIN_HEADERS}"]
    if not any(Path(folder, "math.h").exists() for folder in SYSTEM_HEADERS):
        arguments.append(f"-isystem{LIBRARY_HEADERS}")
    arguments += [f"-I{folder}" for folder in include]
    arguments += [f"-D{macro}={value}" for macro, value in (defines or {}).items()]
    parsed = parse_unit(text, name, arguments)
    for diagnostic in parsed.unit.diagnostics:
        if diagnostic.severity >= ERROR:
            is_pragma = diagnostic.location.line in pragma_lines(text)
            what = "this condition, which must be in a function" if is_pragma else "this"
            message = f"clang refuses {what}: {diagnostic.spelling}"
            if is_cpp(name) and re.search("'[a-z_]+' file not found", diagnostic.spelling):
                message += (
                    "; install the headers of the C++ library, which g++ and clang++ have, or name "
                    "their folder in include (-I)"
                )
            raise UserError(message, parsed.source_location(diagnostic.location))
    return parsed


def is_cpp(name: str) -> bool:
    """Whether a file is C++, by its suffix."""
    return name.endswith(CPP_SUFFIXES)


def parse_unit(text: str, name: str, arguments: Sequence[str]) -> ParsedFile:
    """Parse a text with clang, whatever its errors are."""
    cindex = _bindings().cindex
    try:
        read = with_assumptions(text, name)
        unit = cindex.Index.create().parse(name, list(arguments), [(name, read)])
    except cindex.TranslationUnitLoadError:
        raise LimitationError(
            "clang cannot read this file: it reports no reason", SourceLocation(name, 1)
        ) from None
    return ParsedFile(name, text, unit)


def binary_operator(cursor: Cursor) -> str:
    return BINARY_OPERATORS[_bindings().library.clang_getCursorBinaryOperatorKind(cursor)]


def unary_operator(cursor: Cursor) -> str:
    return UNARY_OPERATORS[_bindings().library.clang_getCursorUnaryOperatorKind(cursor)]


def evaluate_constant(cursor: Cursor) -> int | float | None:
    """Return the value that clang computes for a constant expression; None if it is not one."""
    library = _bindings().library
    result = library.clang_Cursor_Evaluate(cursor)
    if not result:
        return None
    try:
        kind = library.clang_EvalResult_getKind(result)
        if kind == _FLOAT:
            return float(library.clang_EvalResult_getAsDouble(result))
        if kind != _INTEGER:
            return None
        if library.clang_EvalResult_isUnsignedInt(result):
            return int(library.clang_EvalResult_getAsUnsigned(result))
        return int(library.clang_EvalResult_getAsLongLong(result))
    finally:
        library.clang_EvalResult_dispose(result)


def children(cursor: Cursor) -> list[Cursor]:
    return list(cursor.get_children())


def declarations(scope: Cursor) -> Iterator[Cursor]:
    """Yield the declarations of a file, also those in `extern "C" { }`."""
    for cursor in children(scope):
        if kind_name(cursor) in ("LINKAGE_SPEC", "UNEXPOSED_DECL"):
            yield from declarations(cursor)
        else:
            yield cursor


def is_template_instance(cursor: Cursor) -> bool:
    """Whether a function is made of a template."""
    return _template_of(cursor) is not None


def has_base_classes(declaration: Cursor) -> bool:
    """Whether a class has base classes."""
    return any(kind_name(each) == "CXX_BASE_SPECIFIER" for each in class_members(declaration))


def class_members(declaration: Cursor) -> list[Cursor]:
    """Return what a class declares; clang lists the members of an instance in its template."""
    template = _template_of(declaration)
    return children(declaration) + ([] if template is None else children(template))


def _template_of(cursor: Cursor) -> Cursor | None:
    return _bindings().library.clang_getSpecializedCursorTemplate(cursor)


def kind_name(cursor: Cursor) -> str:
    """Return the name of a node's kind."""
    try:
        return str(cursor.kind.name)
    except ValueError:
        # The kind is newer than the bindings.
        return "UNKNOWN"
