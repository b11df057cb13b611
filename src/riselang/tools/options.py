"""Options that several commands of `rise` have."""

from __future__ import annotations

import argparse
import math
from typing import Any

from riselang import pipelines
from riselang.config import DEBUG_INFO, FLOAT, LIBRARIES

STAGES = ("notation", "rise", "imperative", "affine", "library", "llvm", "asm")


def file_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help="a .mlir, .rise or .py file, or - for MLIR on stdin")


def compiler_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--loops", choices=pipelines.LOOPS, help="default: scf for MLIR files, else affine"
    )
    command.add_argument("--float", help=FLOAT.summary)
    command.add_argument(
        "--library", choices=LIBRARIES, help="blas: matrix products become calls of BLAS routines"
    )
    command.add_argument(
        "--debug-info", action=argparse.BooleanOptionalAction, help=DEBUG_INFO.summary
    )


def chosen(options: argparse.Namespace) -> dict[str, Any]:
    """What `compiler_options` were given, by name."""
    return {name: getattr(options, name) for name in ("loops", "float", "debug_info", "library")}


def timing_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--timing", action="store_true", help="print where the time went to standard error"
    )


def program_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--function", help="the program to take; default: the only one")
    command.add_argument("--size", action="append", default=[], metavar="N=4", help="a size")


def inputs_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "inputs", nargs="*", metavar="INPUT",
        help="a .npy file, random:SEED, arange, ones, zeros or a literal; default: random",
    )  # fmt: skip


def count(text: str) -> int:
    """A number of things, at least one."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text!r}")
    return int(text)


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text!r}")
    return number
