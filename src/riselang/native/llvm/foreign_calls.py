"""C functions in LLVM IR: what the declarations of C functions promise, and their own names.

In generated code, the name of a C function also names its library (`foreign_functions.py`). LLVM's
vectorizer calls the vector variant of a function of scalars where it vectorizes a loop.
"""

from __future__ import annotations

import re

from riselang.dialects.rise.foreign_functions import split_symbol, vector_symbol
from riselang.support.foreign_libraries import SYMBOL_PREFIX

_DECLARATION = re.compile(
    r"^declare (?P<result>\S+) @(?P<name>" + re.escape(SYMBOL_PREFIX) + r"[\w.]+)"
    r"\((?P<parameters>[^)]*)\)(?: nobuiltin)?",
    re.MULTILINE,
)
_SYMBOL = re.compile("@(" + re.escape(SYMBOL_PREFIX) + r"[\w.]+)")
_PURE = "nounwind willreturn memory(none)"


def mark_foreign_functions(ir: str) -> str:
    """Declare C functions of scalars as pure, and name their vector variants for LLVM."""
    if f"@{SYMBOL_PREFIX}" not in ir:
        return ir
    added: dict[str, str] = {}

    def mark(match: re.Match[str]) -> str:
        function = split_symbol(match["name"])
        assert function is not None
        types = [part.split()[0] for part in match["parameters"].split(", ") if part]
        declaration = match[0].removesuffix(" nobuiltin")
        if not function.is_pure:
            return f"{declaration} nounwind"
        mappings: list[str] = []
        for lanes, name in function.vectors:
            variant = vector_symbol(function, name)
            mappings.append(f"_ZGV_LLVM_N{lanes}{'v' * len(types)}_{match['name']}({variant})")
            parameters = ", ".join(f"<{lanes} x {type}>" for type in types)
            result = f"<{lanes} x {match['result']}>"
            added[variant] = f"declare {result} @{variant}({parameters}) {_PURE}"
        attribute = f' "vector-function-abi-variant"="{",".join(mappings)}"' if mappings else ""
        # LLVM does not vectorize calls of functions that are marked nobuiltin.
        return f"{declaration} {_PURE}{attribute}"

    text = _DECLARATION.sub(mark, ir)
    missing = {name: line for name, line in added.items() if f"@{name}(" not in text.replace(
        f"({name})", ""
    )}  # fmt: skip
    if not added:
        return text
    pointers = ", ".join(f"ptr @{name}" for name in added)
    used = (
        f"@llvm.compiler.used = appending global [{len(added)} x ptr] [{pointers}], "
        'section "llvm.metadata"'
    )
    return "\n".join([text, *missing.values(), used, ""])


def restore_foreign_names(ir: str) -> str:
    """Call C functions by their own names, for code that is linked with their libraries."""

    def restore(match: re.Match[str]) -> str:
        function = split_symbol(match[1])
        return match[0] if function is None else f"@{function.name}"

    return _SYMBOL.sub(restore, ir)


def foreign_libraries(ir: str) -> list[str]:
    """Return the libraries of the C functions that a module calls."""
    functions = [split_symbol(name) for name in _SYMBOL.findall(ir)]
    return sorted({each.library for each in functions if each is not None and each.library})
