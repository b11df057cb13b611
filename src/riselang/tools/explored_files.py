"""Read files of all source languages as programs to explore."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from riselang.explorer.sources import language_of, module_subject, source_of
from riselang.explorer.subject import SourceText, Subject, traced_subject
from riselang.native.mlir.bytecode import BYTECODE
from riselang.rewrite.reading import ENDING
from riselang.support.errors import UserError
from riselang.support.io import decode
from riselang.tools.inputs import parse_sizes
from riselang.tools.options import chosen
from riselang.tools.reading import read_bytes
from riselang.tools.sources import KernelSource, ModuleSource, read_source

if TYPE_CHECKING:
    from riselang.frontends.c.building import CProgram
    from riselang.frontends.c.file import CFile
    from riselang.frontends.c.model.scop import Scop
    from riselang.rewrite.core import Strategy


@dataclass(frozen=True)
class CLoops:
    """C loops, none of which is lifted to patterns."""

    program: CProgram
    source: SourceText


def subject_of(options: argparse.Namespace) -> Subject | CLoops:
    """Read the selected program of a file; or C loops, if none is lifted to patterns."""
    if options.default and options.strategy is not None:
        raise UserError("--default and --strategy exclude each other; give one of them")
    options = argparse.Namespace(**{**vars(options), "strategy": strategy_of(options)})
    return READERS[_language(options.file)](options)


def strategy_of(options: argparse.Namespace) -> str | None:
    """Return the strategy option, or the path of the `.strategy` file next to the program."""
    if options.default:
        return "default"
    beside = Path(options.file).with_suffix(ENDING) if options.file != "-" else None
    if options.strategy is None and beside is not None and beside.exists():
        return str(beside)
    return options.strategy


def _language(file: str) -> str:
    ending = Path(file).suffix
    if ending in (".rise", ".py", ".c"):
        return ending
    if file == "-":
        return "mlir"
    data = read_bytes(file)
    return "stablehlo" if data.startswith(BYTECODE) or b"stablehlo." in data else "mlir"


def _kernel(options: argparse.Namespace) -> Subject:
    source = read_source(options.file, chosen(options))
    assert isinstance(source, KernelSource)
    sizes = parse_sizes(options.size)
    kernel = source.kernel(options.function)
    traced = kernel.trace(**sizes)
    return traced_subject(traced, source_of(traced.term, options.file), sizes)


def _module(options: argparse.Namespace) -> Subject:
    from riselang.dialects.module import functions
    from riselang.term.from_dialect import units
    from riselang.tools.calls import chosen_function

    # The explorer applies the strategy step by step.
    source = read_source(options.file, {**chosen(options), "strategy": None})
    assert isinstance(source, ModuleSource)
    if options.size:
        raise UserError("--size is for .rise and .py files; the sizes of a module are in its types")
    known = {each.sym_name.data: each for each in functions(source.module.module)}
    function = chosen_function(options.file, options.function, known)
    if len(found := units(function)) != 1:
        name = function.sym_name.data
        raise UserError(
            f"{source.file}: expected one program in function {name}, but found {len(found)}"
        )
    text = decode(read_bytes(options.file), source.file) if options.file != "-" else ""
    written = SourceText(source.file, language_of(source.file, text), text.rstrip("\n"))
    return module_subject(source.module, written, function.sym_name.data, _given(options.strategy))


def _given(text: str | None) -> Strategy | None:
    from riselang.api.lowered import BY_WORD
    from riselang.tools.strategies import given_strategy

    if text is None or text in BY_WORD:
        return None if text is None else BY_WORD[text]
    return given_strategy(text)


def _model(options: argparse.Namespace) -> Subject:
    from riselang.frontends.stablehlo.model.model_reader import read_closed_model

    data = read_bytes(options.file)
    is_text = not data.startswith(BYTECODE)
    text = decode(data, options.file) if is_text else ""
    model = read_closed_model(
        _located_by_line(text).encode() if is_text else data,
        name=options.file, function=options.function, **chosen(options),
    )  # fmt: skip
    traced = model.trace()
    if not is_text:
        return traced_subject(traced, source_of(traced.term), {}, ("read from bytecode",))
    return traced_subject(traced, SourceText(options.file, "stablehlo", text.rstrip("\n")), {})


def _located_by_line(text: str) -> str:
    """Strip locations, so that ops are located at their line and not where a framework says.

    Argument names, which are locations too, remain.
    """
    return re.sub(r"^(?!#)(.*?)[ \t]loc\((?:#\w+|\"[^\n]*\")\)[ \t]*$", r"\1", text, flags=re.M)


def _c(options: argparse.Namespace) -> Subject | CLoops:
    """Read a statement of a C file that is lifted to patterns, or all of its loops."""
    from riselang.api.load import term_kernel
    from riselang.frontends.c.building import CProgram
    from riselang.frontends.c.file import CFile
    from riselang.frontends.c.lift.lifted_statements import chosen_statement, lifted
    from riselang.support.config import default_options

    text = decode(read_bytes(options.file), options.file)
    written = SourceText(options.file, "c", text.rstrip("\n"))
    scops = _scops(CFile.of(text, options.file))
    statements = lifted(scops)
    if not statements:
        known = [scop for scop in scops if options.function in (None, scop.name)]
        chosen_options = default_options("affine").changed(float=options.float)
        return CLoops(CProgram(tuple(known or scops), chosen_options), written)
    statement = chosen_statement(options.file, statements, options.function)
    kernel = term_kernel(
        statement.name, statement.term,
        float=options.float, loops=options.loops, library=options.library,
        strategy=_given(options.strategy) if options.strategy else None,
    )  # fmt: skip
    traced = kernel.trace(**parse_sizes(options.size))
    others = [each.name for each in statements if each is not statement]
    notes = [f"{statement.tactic}, lifted from C"]
    notes += [f"others for --function: {', '.join(others)}"] if others else []
    return traced_subject(traced, written, {}, tuple(notes))


def _scops(file: CFile) -> list[Scop]:
    """Return the regions between pragmas; without pragmas, those that are detected."""
    regions = file.marked()
    if regions:
        return [file.model(region) for region in regions]
    scops, refusals = file.detected()
    if not scops:
        reasons = [str(each.warning) for each in refusals]
        raise UserError(f"{file.parsed.name} has no loops that can be modeled", None, *reasons)
    return scops


READERS: Mapping[str, Callable[[argparse.Namespace], Subject | CLoops]] = {
    ".rise": _kernel,
    ".py": _kernel,
    ".c": _c,
    "mlir": _module,
    "stablehlo": _model,
}
"""The function that reads each language."""
