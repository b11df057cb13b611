"""`rise export`: write a program as a StableHLO module."""

from __future__ import annotations

import argparse
import sys

from riselang.support.io import write_file
from riselang.support.progress import progress
from riselang.tools.inputs import parse_sizes
from riselang.tools.source_files import read_source


def add_export_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", help="the file to write; default: standard output")


def export_file(options: argparse.Namespace) -> None:
    from riselang.frontends.export.evaluation import export_graph
    from riselang.frontends.export.stablehlo_text import print_function

    source, sizes = read_source(options.file, {}), parse_sizes(options.size)
    with progress(f"exporting {options.file}"):
        program = source.program(options.function, sizes)
        text = print_function(export_graph(options.function or "program", program.term))
    if options.output is None:
        sys.stdout.write(text)
    else:
        write_file(options.output, text.encode())
