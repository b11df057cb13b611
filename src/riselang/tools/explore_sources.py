"""Read files of all source languages as programs to explore."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from riselang.explorer.program_sources import find_source, language_of, module_subject
from riselang.explorer.subject import SourceText, Subject, make_subject
from riselang.native.mlir.bytecode import BYTECODE
from riselang.rewrite.strategy_files import EXTENSION
from riselang.support.errors import UserError
from riselang.support.io import decode_text
from riselang.tools.file_reading import read_bytes
from riselang.tools.inputs import parse_sizes
from riselang.tools.options import compiler_choices
from riselang.tools.source_files import KernelFile, ModuleFile, read_source

if TYPE_CHECKING:
    from riselang.frontends.c.c_program import CProgram
    from riselang.frontends.c.file import CFile
    from riselang.frontends.c.model.scop import Scop
    from riselang.rewrite.core import Strategy


@dataclass(frozen=True)
class CLoops:
    """C loops, none of which is lifted to patterns."""

    program: CProgram
    source: SourceText


def read_subject(options: argparse.Namespace) -> Subject | CLoops:
    """Read the selected program of a file; or C loops, if none is lifted to patterns."""
    if options.default and options.strategy is not None:
        raise UserError("--default and --strategy are mutually exclusive; pass only one of them")
    options = argparse.Namespace(**{**vars(options), "strategy": strategy_option(options)})
    return READERS[_language(options.file)](options)


def strategy_option(options: argparse.Namespace) -> str | None:
    """Return the strategy option, or the path of the `.strategy` file next to the program."""
    if options.default:
        return "default"
    beside = Path(options.file).with_suffix(EXTENSION) if options.file != "-" else None
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


def _kernel_subject(options: argparse.Namespace) -> Subject:
    source = read_source(options.file, compiler_choices(options))
    assert isinstance(source, KernelFile)
    sizes = parse_sizes(options.size)
    kernel = source.kernel(options.function)
    traced = kernel.trace(**sizes)
    return make_subject(traced, find_source(traced.term, options.file), sizes)


def _mlir_subject(options: argparse.Namespace) -> Subject:
    from riselang.dialects.module import functions
    from riselang.term.from_dialect import read_units
    from riselang.tools.calls import select_function

    # The explorer applies the strategy step by step.
    source = read_source(options.file, {**compiler_choices(options), "strategy": None})
    assert isinstance(source, ModuleFile)
    if options.size:
        raise UserError("--size is for .rise and .py files; the sizes of a module are in its types")
    known = {each.sym_name.data: each for each in functions(source.module.module)}
    function = select_function(options.file, options.function, known)
    if len(found := read_units(function)) != 1:
        name = function.sym_name.data
        raise UserError(
            f"{source.file}: expected one program in function {name}, but found {len(found)}"
        )
    text = decode_text(read_bytes(options.file), source.file) if options.file != "-" else ""
    written = SourceText(source.file, language_of(source.file, text), text.rstrip("\n"))
    return module_subject(
        source.module, written, function.sym_name.data, _resolve_strategy(options.strategy)
    )


def _resolve_strategy(text: str | None) -> Strategy | None:
    from riselang.api.lowered import STRATEGY_KEYWORDS
    from riselang.tools.strategies import load_strategy

    if text is None or text in STRATEGY_KEYWORDS:
        return None if text is None else STRATEGY_KEYWORDS[text]
    return load_strategy(text)


def _model_subject(options: argparse.Namespace) -> Subject:
    from riselang.frontends.stablehlo.model.model_reader import read_static_model

    data = read_bytes(options.file)
    is_text = not data.startswith(BYTECODE)
    text = decode_text(data, options.file) if is_text else ""
    model = read_static_model(
        _strip_locations(text).encode() if is_text else data,
        name=options.file, function=options.function, **compiler_choices(options),
    )  # fmt: skip
    traced = model.trace()
    if not is_text:
        return make_subject(traced, find_source(traced.term), {}, ("read from bytecode",))
    return make_subject(traced, SourceText(options.file, "stablehlo", text.rstrip("\n")), {})


def _strip_locations(text: str) -> str:
    """Strip locations, so that ops are located at their line and not where a framework says.

    Argument names, which are locations too, remain.
    """
    return re.sub(r"^(?!#)(.*?)[ \t]loc\((?:#\w+|\"[^\n]*\")\)[ \t]*$", r"\1", text, flags=re.M)


def _c_subject(options: argparse.Namespace) -> Subject | CLoops:
    """Read a statement of a C file that is lifted to patterns, or all of its loops."""
    from riselang.api.load import term_kernel
    from riselang.frontends.c.c_program import CProgram
    from riselang.frontends.c.file import CFile
    from riselang.frontends.c.lift.lifted_statements import lift_statements, select_statement
    from riselang.frontends.c.schedule.user_schedules import region_for
    from riselang.support.config import default_options
    from riselang.tools.c_files import choose_schedule

    text = decode_text(read_bytes(options.file), options.file)
    written = SourceText(options.file, "c", text.rstrip("\n"))
    scops = _read_scops(CFile.parse_text(text, options.file))
    statements = lift_statements(scops)
    known = [scop for scop in scops if options.function in (None, scop.name)] or scops
    schedule = choose_schedule(known, options)
    regions = tuple(region_for(scop, schedule) for scop in known)
    program = CProgram(
        regions, default_options("affine").with_changes(float=options.float), schedule
    )
    if not statements:
        return CLoops(program, written)
    statement = select_statement(options.file, statements, options.function)
    kernel = term_kernel(
        statement.name, statement.term,
        float=options.float, loops=options.loops, library=options.library,
        strategy=_resolve_strategy(options.strategy) if options.strategy else None,
    )  # fmt: skip
    traced = kernel.trace(**parse_sizes(options.size))
    others = [each.name for each in statements if each is not statement]
    notes = [f"{statement.tactic}, lifted from C"]
    notes += [f"others for --function: {', '.join(others)}"] if others else []
    return replace(make_subject(traced, written, {}, tuple(notes)), loops=program)


def _read_scops(file: CFile) -> list[Scop]:
    """Return the regions between pragmas; without pragmas, those that are detected."""
    regions = file.marked_regions()
    if regions:
        return [file.model_region(region) for region in regions]
    scops, refusals = file.detect_scops()
    if not scops:
        reasons = [str(each.warning) for each in refusals]
        raise UserError(f"{file.parsed.name} has no loops that can be modeled", None, *reasons)
    return scops


READERS: Mapping[str, Callable[[argparse.Namespace], Subject | CLoops]] = {
    ".rise": _kernel_subject,
    ".py": _kernel_subject,
    ".c": _c_subject,
    "mlir": _mlir_subject,
    "stablehlo": _model_subject,
}
"""The function that reads each language."""
