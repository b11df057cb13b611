"""`rise import`: convert a StableHLO module to patterns, and print any stage of compilation."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from riselang.support.errors import UserError
from riselang.support.io import write_file
from riselang.support.progress import progress
from riselang.tools.compiling import CODE_OUTPUTS, compile_file
from riselang.tools.file_reading import read_bytes
from riselang.tools.options import STAGES, compiler_choices
from riselang.tools.source_files import KernelFile

if TYPE_CHECKING:
    from riselang.frontends.stablehlo.model.model import Model


def add_import_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", nargs="?", help="a StableHLO module, text or bytecode, or - for stdin"
    )
    command.add_argument(
        "--supported", action="store_true", help="list the supported ops and their translations"
    )
    command.add_argument("--emit", choices=(*STAGES, *CODE_OUTPUTS), default="notation")
    command.add_argument("-o", "--output", help="the file to write; default: standard output")
    command.add_argument(
        "--fallback", choices=("linalg",),
        help="linalg: MLIR lowers unsupported ops to loops; they are listed on stderr",
    )  # fmt: skip
    command.add_argument("--function", help="the function to read; default: main, or the only one")
    command.set_defaults(size=[])


def import_file(options: argparse.Namespace) -> None:
    from riselang.frontends.stablehlo.model.model_reader import read_static_model
    from riselang.frontends.stablehlo.supported import format_supported_ops

    if options.supported:
        sys.stdout.write(format_supported_ops())
        return
    if options.file is None:
        raise UserError("pass a StableHLO module, or --supported")
    name = "<stdin>" if options.file == "-" else options.file
    with progress(f"reading {name}"):
        model = read_static_model(
            read_bytes(options.file), name=name, function=options.function,
            fallback=options.fallback, **compiler_choices(options),
        )  # fmt: skip
    if options.fallback is not None:
        sys.stderr.write(model.report())
    if model.body.is_split:
        _emit_units(model, options)
        return
    kernel = model.body.kernel
    source = KernelFile(name, {kernel.__name__: kernel})
    # The source has only the selected function, so it needs no name.
    compile_file(argparse.Namespace(**{**vars(options), "function": None}), source)


def _emit_units(model: Model, options: argparse.Namespace) -> None:
    """Print the units of a model at a stage; MLIR lowers those with unsupported ops."""
    if options.emit in CODE_OUTPUTS:
        raise UserError(
            f"a model in several units cannot be emitted as {options.emit}; it runs in Python"
        )
    text = model.as_text(options.emit) + "\n"
    if options.output is None:
        sys.stdout.write(text)
    else:
        write_file(options.output, text.encode())
