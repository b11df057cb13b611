"""`rise compile`: write a file at a stage, as an object file, C header or shared library."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from riselang.pipelines import GPU
from riselang.support.errors import UserError
from riselang.support.io import write_file
from riselang.support.progress import progress
from riselang.tools.options import STAGES
from riselang.tools.outputs import choose_output, report_output
from riselang.tools.source_files import SourceFile

if TYPE_CHECKING:
    from riselang.compiler.compilation import Compilation

BINARY_OUTPUTS = ("obj", "shared")
CODE_OUTPUTS = ("header", *BINARY_OUTPUTS)
"""Outputs that are generated from machine code."""
OUTPUTS = (*STAGES, *CODE_OUTPUTS)


def add_compile_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--emit",
        choices=OUTPUTS,
        help="what to write; default: by the suffix of the file (.so, .h, .s, .ll, .ptx), or obj",
    )
    command.add_argument("-o", "--output", help="the file to write; default: standard output")


def compile_file(options: argparse.Namespace, source: SourceFile) -> None:
    from riselang.tools.inputs import parse_sizes

    options.emit = choose_output(options.emit, options.output, OUTPUTS, "obj")
    if options.loops == GPU and options.emit in CODE_OUTPUTS:
        raise UserError(
            "a GPU program has no object file, header or shared library; --emit ptx writes its "
            "kernels"
        )
    sizes = parse_sizes(options.size)
    if options.emit in BINARY_OUTPUTS and options.output is None and sys.stdout.isatty():
        raise UserError("machine code is not text; specify a file with -o")
    with progress(f"compiling {options.file}"):
        data = _emit(options, source, sizes)
    if options.output is None and options.emit in BINARY_OUTPUTS:
        sys.stdout.buffer.write(data)
        return
    if options.output is None:
        sys.stdout.write(data.decode())
        return
    write_file(options.output, data)
    report_output(options.emit, options.output)


def _emit(options: argparse.Namespace, source: SourceFile, sizes: Mapping[str, int]) -> bytes:
    if options.emit not in CODE_OUTPUTS:
        return source.text(options.emit, options.function, sizes).encode()
    compilation = source.compilation(options.function, sizes)
    if options.emit == "header":
        return compilation.header(Path(options.output or options.file).stem).encode()
    return _link_shared(compilation) if options.emit == "shared" else compilation.object_code


def _link_shared(compilation: Compilation) -> bytes:
    """Link a shared library with the libraries that its code calls."""
    from riselang.native.llvm import shared_libraries as libraries
    from riselang.native.llvm.linking import link_shared_library

    paths = [libraries.library_path(name) for name in compilation.lowered_module.libraries]
    uses_blas = libraries.BLAS in compilation.lowered_module.libraries
    prefix = libraries.blas_prefix(libraries.library_path(libraries.BLAS)) if uses_blas else None
    paths += compilation.foreign_libraries
    return link_shared_library(compilation.linkable_object(prefix or ""), paths)
