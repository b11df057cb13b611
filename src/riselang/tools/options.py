"""Command-line options that several commands of `rise` share."""

from __future__ import annotations

import argparse
import math
from typing import Any

from riselang import pipelines
from riselang.support.config import (
    DEBUG_INFO,
    DEVICES,
    EFFORT,
    EFFORTS,
    FLOAT,
    LIBRARIES,
    loops_of_device,
)

STAGES = (
    "notation", "rise", "imperative", "affine", "kernels", "library", "llvm", "ptx", "asm",
)  # fmt: skip


def add_file_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help="a .mlir, .rise or .py file, or - for MLIR on stdin")


class _SelectDevice(argparse.Action):
    """Selects the loops of a device."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        namespace.loops = loops_of_device(values, namespace.loops)


def add_compiler_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--loops",
        choices=pipelines.LOOPS,
        help="the loops to generate; default: scf for MLIR files, else affine",
    )
    command.add_argument(
        "--device", choices=DEVICES, action=_SelectDevice, help="cuda: the same as --loops gpu"
    )
    command.add_argument("--float", help=FLOAT.summary)
    command.add_argument(
        "--library", choices=LIBRARIES,
        help="blas: replace matrix multiplications with calls to BLAS routines",
    )  # fmt: skip
    command.add_argument(
        "--strategy", metavar="S",
        help="rewrite the program first: a strategy, a .strategy file, file.py:name, or none",
    )  # fmt: skip
    command.add_argument("--effort", choices=EFFORTS, help=EFFORT.summary)
    command.add_argument(
        "--debug-info", action=argparse.BooleanOptionalAction, help=DEBUG_INFO.summary
    )


def compiler_choices(options: argparse.Namespace) -> dict[str, Any]:
    """Return the values of `compiler_options` by name."""
    names = ("loops", "float", "debug_info", "library", "effort", "strategy")
    return {name: getattr(options, name) for name in names}


def add_timing_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--timing", action="store_true", help="print a time profile to standard error"
    )


def add_program_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--function", help="the program to select; default: the only one")
    command.add_argument(
        "--size", action="append", default=[], metavar="N=4", help="set a size; repeatable"
    )


def add_derive_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", nargs="?", help="a .mlir, .rise or .py file, or - for MLIR on stdin"
    )
    command.add_argument("--float", help=FLOAT.summary)
    strategy_group = command.add_mutually_exclusive_group()
    strategy_group.add_argument(
        "--strategy", metavar="S",
        help="a strategy, a .strategy file, or file.py:name; default: FILE's name with .strategy",
    )  # fmt: skip
    strategy_group.add_argument(
        "--default", action="store_true",
        help="apply the default strategy, and explain its choices",
    )  # fmt: skip
    strategy_group.add_argument(
        "--replay", metavar="FILE.json", help="replay the steps of a saved derivation"
    )
    command.add_argument(
        "--grad", action="store_true",
        help="differentiate the program first, and print the rule of each step",
    )  # fmt: skip
    output_group = command.add_mutually_exclusive_group()
    for flag, summary in (
        ("--summary", "print one line for each step"),
        ("--end", "print only the program at the end"),
    ):
        output_group.add_argument(flag, action="store_true", help=summary)
    output_group.add_argument("--diff", metavar="FILE.json", help="compare with a saved derivation")
    command.add_argument("--check", action="store_true", help="check every step on random inputs")
    command.add_argument("--save", metavar="FILE.json", help="save the derivation")


def add_explore_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", help="a .rise, .py, .mlir (RISE or StableHLO) or .c file, or - for MLIR on stdin"
    )
    command.add_argument("-o", "--output", metavar="PAGE", help="default: FILE's name with .html")
    command.add_argument(
        "--default", action="store_true",
        help="apply the default strategy",
    )  # fmt: skip
    command.add_argument(
        "--bench", action="store_true", help="measure each version, and the machine's peak speed"
    )
    command.add_argument(
        "--against", action="append", default=[], metavar="FILE[:FUNCTION]",
        help="with --bench: a program or a Python function to compare with, on the same inputs",
    )  # fmt: skip
    command.add_argument(
        "--rounds", type=parse_count, default=15, help="with --bench: samples per version"
    )
    command.add_argument(
        "--tuning", action="store_true",
        help="show the trials of rise tune, and the fastest strategy that it found",
    )  # fmt: skip
    command.add_argument("--db", metavar="FILE", help="with --tuning: the tuning database")
    command.add_argument(
        "--serve", action="store_true", help="serve the page on localhost, and rebuild on change"
    )
    command.add_argument("--port", type=int, default=8017, help="with --serve: 0 for a free port")


def add_name_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", help="the name to describe; default: list all")


def add_inputs_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "inputs", nargs="*", metavar="INPUT",
        help="a .npy file, random:SEED, arange, ones, zeros or a literal; default: random",
    )  # fmt: skip


def parse_count(text: str) -> int:
    """Parse a count, which is at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number above 0, but found {text!r}")
    return int(text)


def parse_positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, but found {text!r}")
    return number
