"""Options that several commands of `rise` have."""

from __future__ import annotations

import argparse
import math
from typing import Any

from riselang import pipelines
from riselang.support.config import DEBUG_INFO, EFFORT, EFFORTS, FLOAT, LIBRARIES

STAGES = (
    "notation", "rise", "imperative", "affine", "kernels", "library", "llvm", "ptx", "asm",
)  # fmt: skip


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
        "--strategy", metavar="S",
        help="rewrite the program first: a strategy, a .strategy file, file.py:name, or none",
    )  # fmt: skip
    command.add_argument("--effort", choices=EFFORTS, help=EFFORT.summary)
    command.add_argument(
        "--debug-info", action=argparse.BooleanOptionalAction, help=DEBUG_INFO.summary
    )


def chosen(options: argparse.Namespace) -> dict[str, Any]:
    """What `compiler_options` were given, by name."""
    names = ("loops", "float", "debug_info", "library", "effort", "strategy")
    return {name: getattr(options, name) for name in names}


def timing_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--timing", action="store_true", help="print where the time went to standard error"
    )


def program_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--function", help="the program to take; default: the only one")
    command.add_argument("--size", action="append", default=[], metavar="N=4", help="a size")


def derive_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", nargs="?", help="a .mlir, .rise or .py file, or - for MLIR on stdin"
    )
    command.add_argument("--float", help=FLOAT.summary)
    given = command.add_mutually_exclusive_group()
    given.add_argument(
        "--strategy", metavar="S",
        help="a strategy, a .strategy file, or file.py:name; default: the .strategy file beside",
    )  # fmt: skip
    given.add_argument(
        "--default", action="store_true",
        help="what a program gets that comes without a strategy, and why",
    )  # fmt: skip
    given.add_argument(
        "--replay", metavar="FILE.json", help="make the steps of a derivation that was saved"
    )
    shown = command.add_mutually_exclusive_group()
    for flag, summary in (
        ("--summary", "one line for each step"),
        ("--end", "only the program at the end"),
    ):
        shown.add_argument(flag, action="store_true", help=summary)
    shown.add_argument("--diff", metavar="FILE.json", help="compare with a derivation")
    command.add_argument(
        "--check", action="store_true", help="run every step on random inputs by the interpreter"
    )
    command.add_argument("--save", metavar="FILE.json", help="keep the derivation")


def explore_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", help="a .rise, .py, .mlir (RISE or StableHLO) or .c file, or - for MLIR on stdin"
    )
    command.add_argument("-o", "--output", metavar="PAGE", help="default: FILE's name with .html")
    command.add_argument(
        "--default", action="store_true",
        help="the strategy that a program gets that comes without one",
    )  # fmt: skip
    command.add_argument(
        "--bench", action="store_true", help="measure each version, and what the machine can do"
    )
    command.add_argument(
        "--against", action="append", default=[], metavar="FILE[:FUNCTION]",
        help="with --bench: a rival, another program or a Python function of the same inputs",
    )  # fmt: skip
    command.add_argument("--rounds", type=count, default=15, help="with --bench: how often")
    command.add_argument(
        "--serve", action="store_true", help="show the page at an address, and rebuild on change"
    )
    command.add_argument("--port", type=int, default=8017, help="with --serve: 0 takes a free one")


def name_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", help="the one to show in full; default: list all")


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
