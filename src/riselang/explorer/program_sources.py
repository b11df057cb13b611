"""The programs to explore: kernels, models, functions in MLIR modules and C statements."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riselang.api.kernel import Kernel
from riselang.api.lowered import Lowered
from riselang.api.traced import Traced
from riselang.explorer.subject import SourceText, Subject
from riselang.notation.printer import show_term
from riselang.support.errors import UserError
from riselang.term.nodes import Term, subterms

if TYPE_CHECKING:
    from riselang.compiler.compilation import Compilation
    from riselang.rewrite.core import Strategy
    from riselang.support.config import Options

LANGUAGES = {".rise": "rise", ".py": "python", ".mlir": "mlir", ".c": "c"}
"""Languages by file extension; any other file is a notebook cell, or MLIR."""


def trace_program(program: Any, arguments: tuple[Any, ...], sizes: Mapping[str, int]) -> Traced:
    """Return the traced program of a kernel, a model, or a stage of one."""
    from riselang.api.load import LoadedProgram, main_kernel
    from riselang.frontends.stablehlo.model.model import Model

    if isinstance(program, LoadedProgram):
        program = main_kernel(program)
    if isinstance(program, Kernel):
        return program.trace(*arguments, **sizes)
    if arguments or sizes:
        raise UserError("only a kernel takes arrays and sizes; the sizes of this program are fixed")
    if isinstance(program, Model):
        return program.trace()
    if isinstance(program, Traced):
        return program
    if isinstance(program, Lowered):
        return Traced(
            program.name, program.source, program.results, program.options, program.strategy
        )
    raise UserError(
        "expected a kernel, a model, or a result of trace, lower or tune, but found "
        f"{type(program).__name__}; rl.load reads a file, and 'rise explore' takes one"
    )


def find_source(term: Term, name: str | None = None) -> SourceText:
    """Return the file that most of a program comes from, or its notation if that is not found."""
    file = name or _main_file(term)
    if file is not None:
        text = "".join(linecache.getlines(file)) or _read_text(file)
        if text:
            return SourceText(file, language_of(file, text), text.rstrip("\n"))
    return SourceText(name or "<program>", "rise", show_term(term))


def language_of(file: str, text: str) -> str:
    found = LANGUAGES.get(Path(file).suffix, "python" if file.startswith("<") else "mlir")
    return "stablehlo" if found == "mlir" and "stablehlo." in text else found


def _main_file(term: Term) -> str | None:
    counts: dict[str, int] = {}
    for part in subterms(term):
        if part.location is not None:
            counts[part.location.file] = counts.get(part.location.file, 0) + 1
    return max(counts, key=lambda file: counts[file]) if counts else None


def _read_text(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, ValueError):
        return ""


def module_subject(
    compilation: Compilation,
    source: SourceText,
    function: str,
    strategy: Strategy | None,
) -> Subject:
    """Return the only program in a function of a module, which is lowered inside the module."""
    from riselang.compiler.compilation import Compilation as Stages
    from riselang.dialects.module import functions
    from riselang.lowering.lowering_units import replace_unit
    from riselang.term.from_dialect import read_units

    def program(module: Any) -> Any:
        (found,) = (each for each in functions(module) if each.sym_name.data == function)
        (unit,) = read_units(found)
        return unit

    def lower(term: Term, options: Options) -> Compilation:
        from riselang.dialects.rise.types import uncurry
        from riselang.rewrite.eta import eta_expand

        module = compilation.module.clone()
        op, unit = program(module)
        replace_unit(op, unit, eta_expand(term, len(uncurry(unit.term.type)[0])))
        return Stages(module, options)

    unit = program(compilation.module)[1]
    return Subject(
        function, source, unit.term, compilation.options, strategy, lower, len(unit.outputs)
    )
