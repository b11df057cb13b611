"""`rise`: check, format, look at, run and compile programs.

Exit codes: 0 ok, 1 the input is wrong, 2 the command line is wrong, 70 internal error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riselang import __version__, pipelines
from riselang.config import DEBUG_INFO, FLOAT
from riselang.errors import UserError
from riselang.tools.cache import add_cache_command
from riselang.tools.exits import run_tool

if TYPE_CHECKING:
    from riselang.api.kernel import Kernel
    from riselang.runtime.executable import Executable
    from riselang.tools.sources import Source

STAGES = ("notation", "rise", "imperative", "affine", "llvm", "asm")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command `rise`."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    # argparse takes positionals only in one run, but inputs may stand behind options too.
    if rest and (options.action is not _run or any(text.startswith("--") for text in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        options.inputs = [*options.inputs, *rest]
    run_tool(lambda: options.action(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rise", description="The RISE compiler.")
    parser.add_argument("--version", action="version", version=f"rise {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, action, summary, add_options in (
        ("check", _check, "read and check a file", None),
        ("fmt", _format, "format a .rise file", _format_options),
        ("show", _show, "print a file at a stage of compilation", _show_options),
        ("run", _run, "call a program and print what it computes", _run_options),
        ("compile", _compile, "compile a file", _compile_options),
    ):
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument("file", help="a .mlir, .rise or .py file, or - for MLIR on stdin")
        command.set_defaults(action=action)
        if add_options is not None:
            add_options(command)
        if name != "fmt":
            command.add_argument(
                "--loops",
                choices=pipelines.LOOPS,
                help="default: scf for MLIR files, else affine",
            )
            command.add_argument("--float", help=FLOAT.summary)
    add_cache_command(commands)
    return parser


def _format_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--check", action="store_true", help="only say whether it is formatted")


def _program_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--function", help="the program to take; default: the only one")
    command.add_argument("--size", action="append", default=[], metavar="N=4", help="a size")
    command.add_argument(
        "--debug-info", action=argparse.BooleanOptionalAction, help=DEBUG_INFO.summary
    )


def _show_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--as", dest="stage", choices=STAGES, default="notation")
    _program_options(command)


def _run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "inputs", nargs="*", metavar="INPUT",
        help="a .npy file, random:SEED, arange, ones, zeros or a literal; default: random",
    )  # fmt: skip
    command.add_argument("--backend", choices=("compile", "interpret"), default="compile")
    _program_options(command)


def _compile_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--emit", choices=(*STAGES, "obj"), default="obj")
    command.add_argument("-o", "--output", help="the file to write; default: standard output")
    _program_options(command)


def _read(options: argparse.Namespace, backend: str = "compile") -> Source:
    from riselang.tools.sources import read_source

    choices = {name: getattr(options, name, None) for name in ("loops", "float", "debug_info")}
    return read_source(options.file, choices, backend)


def _check(options: argparse.Namespace) -> None:
    _read(options).check()


def _format(options: argparse.Namespace) -> None:
    from riselang.notation.formatting import format_program
    from riselang.text import decode
    from riselang.tools.sources import read_bytes

    if not options.file.endswith(".rise"):
        raise UserError(f"{options.file}: only .rise files are formatted")
    text = decode(read_bytes(options.file), options.file)
    formatted = format_program(text, options.file)
    if options.check:
        if formatted != text:
            raise UserError(f"{options.file} is not formatted; run 'rise fmt {options.file}'")
    elif formatted != text:
        Path(options.file).write_text(formatted)


def _show(options: argparse.Namespace) -> None:
    from riselang.tools.inputs import parse_sizes

    source = _read(options)
    print(source.shown(options.stage, options.function, parse_sizes(options.size)), end="")


def _compile(options: argparse.Namespace) -> None:
    from riselang.tools.inputs import parse_sizes

    source = _read(options)
    sizes = parse_sizes(options.size)
    is_object = options.emit == "obj"
    if is_object:
        data = source.compilation(options.function, sizes).object_code
    else:
        data = source.text(options.emit, options.function, sizes).encode()
    if options.output is not None:
        Path(options.output).write_bytes(data)
    elif is_object and sys.stdout.isatty():
        raise UserError("object code is no text; give a file with -o")
    else:
        sys.stdout.buffer.write(data)


def _run(options: argparse.Namespace) -> None:
    from riselang.tools.sources import KernelSource

    source = _read(options, options.backend)
    if isinstance(source, KernelSource):
        _run_kernel(source.kernel(options.function), options)
    elif options.backend == "interpret":
        raise UserError("an MLIR file is compiled; --backend interpret takes .rise and .py files")
    else:
        functions = source.compilation(None, {}).functions
        _run_function(functions[_chosen(options, functions)], options)


def _run_kernel(kernel: Kernel, options: argparse.Namespace) -> None:
    from riselang.tools.inputs import generated_array, given_array, is_generated, parse_sizes

    sizes = kernel.named_sizes(parse_sizes(options.size))
    texts = options.inputs or [f"random:{position}" for position in range(len(kernel.names))]
    if len(texts) != len(kernel.names):
        raise UserError(
            f"{kernel.__name__} takes {len(kernel.names)} inputs ({', '.join(kernel.names)}), "
            f"but {len(texts)} are given"
        )
    parameters = list(zip(texts, kernel.types, kernel.names, strict=True))
    given = {
        name: given_array(text, type, name)
        for text, type, name in parameters
        if not is_generated(text)
    }
    sizes = {**kernel.sizes_of(given), **sizes}
    arrays = [
        given[name] if name in given else generated_array(text, type, sizes, name)
        for text, type, name in parameters
    ]
    print(kernel.call(arrays, sizes))


def _chosen(options: argparse.Namespace, functions: dict[str, Executable]) -> str:
    name = options.function or (next(iter(functions)) if len(functions) == 1 else None)
    if not functions:
        raise UserError(f"{options.file} has no function")
    if name not in functions:
        asked = f"no function {name}" if name else "several functions; give --function"
        raise UserError(f"{options.file} has {asked}; it has: {', '.join(functions)}")
    return name


def _run_function(executable: Executable, options: argparse.Namespace) -> None:
    """Call a function of a module; inputs are given for the buffers that are only read."""
    texts: list[str] = list(options.inputs)
    arguments: list[Any] = []
    for position, parameter in enumerate(executable.parameters):
        text = "zeros" if parameter.is_written else None
        if text is None:
            text = texts.pop(0) if texts else f"random:{position}"
        arguments.append(_argument(parameter, text))
    if texts:
        raise UserError(f"{executable.name} has fewer inputs than are given: {' '.join(texts)}")
    executable(*arguments)
    for parameter, argument in zip(executable.parameters, arguments, strict=True):
        if parameter.is_written:
            print(f"{parameter.name} =\n{argument}")


def _argument(parameter: Any, text: str) -> Any:
    from riselang.tools.inputs import generate, given_array, is_generated

    if not is_generated(text):
        return given_array(text, parameter.type, parameter.name)
    if parameter.shape is None or min(parameter.shape, default=0) < 0:
        raise UserError(f"parameter {parameter.name} has no known shape; give a literal or a file")
    return generate(text, parameter.shape, parameter.type, parameter.name)


if __name__ == "__main__":
    main()
