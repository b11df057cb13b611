"""`rise c`: print regions of a C file at a stage, compile them, or report on them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from riselang.support.config import FLOAT, LIBRARIES
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.support.io import write_file
from riselang.support.progress import progress
from riselang.tools.exits import FAILED
from riselang.tools.file_reading import read_bytes
from riselang.tools.options import parse_count
from riselang.tools.outputs import choose_output, report_output

if TYPE_CHECKING:
    from riselang.frontends.c.c_program import CProgram
    from riselang.frontends.c.file import CFile
    from riselang.frontends.c.model.scop import Scop
    from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct

EMIT_CHOICES = ("affine", "linalg", "rise", "notation", "llvm", "asm", "obj", "header", "report",
                "c", "source", "calls", "schedule", "jscop", "model", "json")  # fmt: skip


def add_c_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help="a C file")
    command.add_argument("-I", dest="include", action="append", default=[], metavar="FOLDER",
                         help="a folder to search for headers")  # fmt: skip
    command.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE",
                         help="define a macro")  # fmt: skip
    command.add_argument("--autodetect", action="store_true",
                         help="also find regions without #pragma scop")  # fmt: skip
    command.add_argument("--function", help="the function to compile; default: all")
    command.add_argument(
        "--emit",
        choices=EMIT_CHOICES,
        help="what to write; default: by the suffix of the file (.o, .h, .s, .ll), or affine",
    )
    add_schedule_options(command)
    command.add_argument("--float", help=FLOAT.summary)
    command.add_argument("--library", choices=LIBRARIES,
                         help="blas: replace loops with calls to BLAS routines")  # fmt: skip
    command.add_argument("--threads", action="store_true",
                         help="run loops with independent iterations in threads")  # fmt: skip
    command.add_argument("-o", "--output", help="the file to write; default: standard output")


def add_schedule_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--schedule", default="source", metavar="source|isl|FILE",
                         help="isl: tiled loops, in an order that isl computes; or a file that "
                         "--emit schedule or --emit jscop wrote, or Polly")  # fmt: skip
    command.add_argument("--tile", metavar="32,32", type=_parse_sizes, default=(),
                         help="tile a schedule of isl with these sizes")  # fmt: skip
    command.add_argument("--fusion", choices=("none", "smart", "max"),
                         help="which statements share loops in a schedule of isl")  # fmt: skip


def compile_c_file(options: argparse.Namespace) -> None:
    """Run the command `rise c`; a region that cannot be modeled is reported, and exits with 1."""
    from riselang.frontends.c.c_program import CProgram
    from riselang.frontends.c.file import CFile
    from riselang.frontends.c.schedule.user_schedules import region_for
    from riselang.support.config import default_options
    from riselang.support.io import decode_text

    options.emit = choose_output(options.emit, options.output, EMIT_CHOICES, "affine")
    chosen = default_options("affine").with_changes(float=options.float, library=options.library)
    text = decode_text(read_bytes(options.file), options.file)
    name = "<stdin>" if options.file == "-" else options.file
    with progress(f"reading {name}"):
        file = CFile.parse_text(text, name, options.include, _parse_defines(options.define))
        scops, refusals = _model_regions(file, options)
    for refusal in refusals:
        print(refusal.warning, file=sys.stderr)
    schedule = choose_schedule(scops, options)
    scops = [region_for(scop, schedule) for scop in scops]
    program = CProgram(tuple(scops), chosen, schedule, threads=options.threads)
    if scops:
        with progress(f"compiling {name}"):
            data = _emit(program, options, file)
        _write(data, options, program)
    if options.autodetect:
        found = format_count(len(scops), "region")
        skipped = format_count(len(refusals), "loop or statement", "loops or statements")
        print(f"{name}: {found} found, {skipped} left out", file=sys.stderr)
    elif refusals:
        raise SystemExit(FAILED)


def _parse_sizes(text: str) -> tuple[int, ...]:
    return tuple(parse_count(each) for each in text.split(","))


def choose_schedule(scops: Sequence[Scop], options: argparse.Namespace) -> str:
    """Return the name of a schedule, or the text of one."""
    from riselang.frontends.c.model.accumulators import replace_accumulators
    from riselang.frontends.c.schedule.user_schedules import (
        format_schedules,
        is_schedule_text,
        make_schedule,
    )
    from riselang.support.io import decode_text

    if options.tile or options.fusion:
        scops = [replace_accumulators(scop) for scop in scops]
        trees = [make_schedule(scop, options.fusion or "smart", options.tile) for scop in scops]
        return format_schedules(scops, trees) or "source"
    if options.schedule in ("source", "isl"):
        return options.schedule
    text = decode_text(read_bytes(options.schedule), options.schedule)
    if not is_schedule_text(text):
        raise UserError(
            f"{options.schedule} has no schedule tree; --emit schedule or --emit jscop writes one"
        )
    return text


def _parse_defines(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, _, value = each.partition("=")
        if not name.isidentifier():
            raise UserError(f"-D {each}: expected NAME or NAME=VALUE")
        found[name] = value or "1"
    return found


def _model_regions(
    file: CFile, options: argparse.Namespace
) -> tuple[list[Scop], list[UnsupportedConstruct]]:
    """Model the selected regions; also return those that were refused."""
    from riselang.frontends.c.parse.regions import whole_function
    from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct

    if options.autodetect:
        return file.detect_scops(options.function)
    regions = file.marked_regions(options.function)
    if options.function is not None:
        # The whole function if it can be modeled, else the marked regions in it.
        whole = whole_function(file.find_function(options.function))
        try:
            return [file.model_region(whole)], []
        except UnsupportedConstruct:
            regions = regions or [whole]
    if not regions:
        raise UserError(
            f"{file.parsed.name} has no #pragma scop; mark a region with #pragma scop and "
            "#pragma endscop, or use --autodetect or --function"
        )
    scops: list[Scop] = []
    refusals: list[UnsupportedConstruct] = []
    for region in regions:
        try:
            scops.append(file.model_region(region))
        except UnsupportedConstruct as refusal:
            refusals.append(refusal)
    return scops, refusals


def _emit(program: CProgram, options: argparse.Namespace, file: CFile) -> bytes:
    from riselang.frontends.c.rewritten_files import format_with_calls, format_with_loops

    match options.emit:
        case "calls":
            return format_with_calls(file.parsed, program.scops).encode()
        case "source":
            return format_with_loops(file.parsed, program.scops, program.c_loops()).encode()
        case "obj":
            if options.output is None and sys.stdout.isatty():
                raise UserError("machine code is not text; specify a file with -o")
            return program.object_code()
        case "header":
            return program.header(Path(options.output or options.file).stem).encode()
        case stage:
            return program.text(stage).encode()


def _write(data: bytes, options: argparse.Namespace, program: CProgram) -> None:
    if options.output is None and options.emit == "obj":
        sys.stdout.buffer.write(data)
        return
    if options.output is None:
        sys.stdout.write(data.decode())
        return
    write_file(options.output, data)
    report_output(options.emit, options.output)
    if options.emit == "obj":
        print(f"link it with {' '.join(program.link_flags())}")
