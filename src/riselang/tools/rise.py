"""`rise`: look at programs, run them, compile them.

Exit codes: 0 ok, 1 the input is wrong, 2 the command line is wrong, 70 internal error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riselang import __version__
from riselang.config import FLOAT
from riselang.errors import UserError
from riselang.tools.exits import run_tool

if TYPE_CHECKING:
    from riselang.api.compile import Compilation
    from riselang.runtime.executable import Executable

STAGES = ("notation", "rise", "imperative", "affine", "llvm", "asm")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command `rise`."""
    options = _parser().parse_args(arguments)
    run_tool(lambda: options.action(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rise", description="The RISE compiler.")
    parser.add_argument("--version", action="version", version=f"rise {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    check = commands.add_parser("check", help="read and verify a file")
    check.set_defaults(action=_check)
    show = commands.add_parser("show", help="print a file at a stage of compilation")
    show.add_argument("--as", dest="stage", choices=STAGES, default="notation")
    show.set_defaults(action=_show)
    run = commands.add_parser("run", help="call a function and print what it writes")
    run.add_argument("--function", help="the function to call; default: the only one")
    run.add_argument(
        "--seed", type=int, default=0, help="seed of the random inputs (default: %(default)s)"
    )
    run.set_defaults(action=_run)
    compile_ = commands.add_parser("compile", help="compile a file")
    compile_.add_argument("--emit", choices=(*STAGES, "obj"), default="obj")
    compile_.add_argument("-o", "--output", help="the file to write; default: standard output")
    compile_.set_defaults(action=_compile)
    for command in (check, show, run, compile_):
        command.add_argument("file", help="an MLIR file, or - for standard input")
        command.add_argument("--loops", choices=("affine", "scf"), default="scf")
        command.add_argument("--float", help=FLOAT.summary)
    return parser


def _read(options: argparse.Namespace) -> Compilation:
    from riselang import config
    from riselang.api.compile import Compilation
    from riselang.dialects.module import decode, parse_module, verify_module

    permission = config.float_permission(options.float)
    name = "<stdin>" if options.file == "-" else options.file
    try:
        data = sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes()
    except OSError as error:
        raise UserError(f"{name} cannot be read: {error.strerror}") from None
    module = parse_module(decode(data, name), name)
    verify_module(module)
    return Compilation(module, options.loops, permission)


def _check(options: argparse.Namespace) -> None:
    _read(options)


def _show(options: argparse.Namespace) -> None:
    print(_read(options).text(options.stage), end="")


def _compile(options: argparse.Namespace) -> None:
    compilation = _read(options)
    is_object = options.emit == "obj"
    data = compilation.object_code if is_object else compilation.text(options.emit).encode()
    if options.output is not None:
        Path(options.output).write_bytes(data)
    elif is_object and sys.stdout.isatty():
        raise UserError("object code is no text; give a file with -o")
    else:
        sys.stdout.buffer.write(data)


def _run(options: argparse.Namespace) -> None:
    functions = _read(options).functions
    name = options.function or _only(functions)
    if name not in functions:
        raise UserError(f"{options.file} has no function {name}; it has: {', '.join(functions)}")
    executable = functions[name]
    generator = np.random.default_rng(options.seed)
    arguments = [_random(parameter, generator) for parameter in executable.parameters]
    executable(*arguments)
    for parameter, argument in zip(executable.parameters, arguments, strict=True):
        if parameter.is_written:
            print(f"{parameter.name} =\n{argument}")


def _only(functions: dict[str, Executable]) -> str:
    if len(functions) != 1:
        raise UserError(f"give --function, one of: {', '.join(functions) or 'none'}")
    return next(iter(functions))


def _random(parameter: Any, generator: np.random.Generator) -> Any:
    from riselang.interpreter.scalars import numpy_dtype

    if parameter.shape is None or min(parameter.shape, default=0) < 0:
        raise UserError(f"parameter {parameter.name} is no array of known shape")
    dtype = numpy_dtype(parameter.type)
    if parameter.is_written:
        return np.zeros(parameter.shape, dtype)
    if dtype.kind == "i":
        return generator.integers(-8, 8, parameter.shape, dtype=dtype)
    return generator.random(parameter.shape).astype(dtype)


if __name__ == "__main__":
    main()
