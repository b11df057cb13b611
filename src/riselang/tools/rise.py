"""`rise`: check, format, print, run, compile and benchmark programs.

Exit codes: 0 ok, 1 the input is wrong, 2 the command line is wrong, 70 internal error.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import NamedTuple

from riselang.support.errors import UserError
from riselang.support.io import decode, write_file
from riselang.support.profiling import recording, timed, tree
from riselang.support.progress import progress
from riselang.tools.bench import bench, bench_options
from riselang.tools.benchcmp import benchcmp, benchcmp_options
from riselang.tools.c_files import c_file, c_options
from riselang.tools.cache import cache, cache_options
from riselang.tools.compiling import compile_file, compile_options
from riselang.tools.doctor import doctor
from riselang.tools.exits import run_tool
from riselang.tools.importing import import_options
from riselang.tools.lsp import lsp_options, serve
from riselang.tools.options import (
    STAGES,
    chosen,
    compiler_options,
    derive_options,
    explore_options,
    file_argument,
    inputs_argument,
    name_argument,
    program_options,
    timing_option,
)
from riselang.tools.reading import read_bytes
from riselang.tools.sources import KernelSource, Source, read_source
from riselang.version import __version__


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command `rise`."""
    run_tool(lambda: _act(_parsed(arguments)))


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser()
    options, rest = parser.parse_known_args(arguments)
    # argparse takes positional arguments only in one run, but inputs may follow options, too.
    if rest and ("inputs" not in options or any(text.startswith("--") for text in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        options.inputs = [*options.inputs, *rest]
    return options


def _act(options: argparse.Namespace) -> None:
    if not options.timing:
        options.action(options)
        return
    with recording(f"rise {options.command} {options.file}") as root:
        options.action(options)
    sys.stdout.flush()
    print(tree(root), end="", file=sys.stderr)


class _Command(NamedTuple):
    """A command: its action, its summary, and the functions that add its options."""

    name: str
    action: Callable[[argparse.Namespace], None]
    summary: str
    options: tuple[Callable[[argparse.ArgumentParser], None], ...]


def _commands() -> tuple[_Command, ...]:
    compiling = (file_argument, compiler_options, timing_option)
    return (
        _Command("check", _check, "read and check a file", compiling),
        _Command("fmt", _format, "format a .rise file", (file_argument, _format_options)),
        _Command("show", _show, "print a file at a stage of compilation",
                 (*compiling, _show_options, program_options)),
        _Command("run", _run, "call a program and print its results",
                 (*compiling, inputs_argument, _run_options, program_options)),
        _Command("compile", _compile, "compile a file",
                 (*compiling, compile_options, program_options)),
        _Command("import", _import, "read a StableHLO module, and print or compile it",
                 (import_options, compiler_options, timing_option)),
        _Command("c", c_file, "translate C loops to MLIR, patterns or machine code",
                 (c_options, timing_option)),
        _Command("derive", _derive, "rewrite a program by a strategy, step by step",
                 (derive_options, program_options, timing_option)),
        _Command("explore", _explore, "make a page with every step and stage of a program",
                 (explore_options, program_options, compiler_options, timing_option)),
        _Command("rules", _rules, "list the rewrite rules", (name_argument,)),
        _Command("strategies", _strategies, "list the schedules and strategies",
                 (name_argument,)),
        _Command("bench", bench, "measure how long a program takes",
                 (file_argument, inputs_argument, bench_options, program_options,
                  compiler_options)),
        _Command("benchcmp", benchcmp, "compare two benchmark reports", (benchcmp_options,)),
        _Command("cache", cache, "list or remove the compiled kernels in the cache",
                 (cache_options,)),
        _Command("lsp", serve, "run the language server, which editors start",
                 (lsp_options,)),
        _Command("doctor", doctor, "check the installation", ()),
    )  # fmt: skip


@functools.cache
def make_parser() -> argparse.ArgumentParser:
    """Make the command-line parser of `rise`; the command reference is generated from it."""
    parser = argparse.ArgumentParser(prog="rise", description="The RISE compiler.")
    parser.add_argument("--version", action="version", version=f"rise {__version__}")
    parser.set_defaults(timing=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, action, summary, adders in _commands():
        command = commands.add_parser(name, help=summary, description=summary)
        command.set_defaults(action=action)
        for add_options in adders:
            add_options(command)
    return parser


def _format_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--check", action="store_true", help="exit with code 1 if the file is not formatted"
    )


def _show_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--as", dest="stage", choices=STAGES, default="notation")


def _run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--backend", choices=("compile", "interpret"), default="compile")


def _source(options: argparse.Namespace, backend: str = "compile") -> Source:
    if options.file.endswith(".py"):
        # Reading a Python file runs it, and it may print something.
        return read_source(options.file, chosen(options), backend)
    with progress(f"reading {options.file}"):
        return read_source(options.file, chosen(options), backend)


def _check(options: argparse.Namespace) -> None:
    source = _source(options)
    with progress(f"checking {options.file}"):
        source.check()


def _format(options: argparse.Namespace) -> None:
    from riselang.notation.formatting import format_program

    if not options.file.endswith(".rise"):
        raise UserError(f"{options.file}: only .rise files are formatted")
    text = decode(read_bytes(options.file), options.file)
    formatted = format_program(text, options.file)
    if options.check:
        if formatted != text:
            raise UserError(f"{options.file} is not formatted; run 'rise fmt {options.file}'")
    elif formatted != text:
        write_file(options.file, formatted)


def _show(options: argparse.Namespace) -> None:
    from riselang.tools.inputs import parse_sizes

    source, sizes = _source(options), parse_sizes(options.size)
    with progress(f"compiling {options.file}"):
        text = source.shown(options.stage, options.function, sizes)
    print(text, end="")


def _import(options: argparse.Namespace) -> None:
    from riselang.tools.importing import import_file

    import_file(options)


def _derive(options: argparse.Namespace) -> None:
    from riselang.tools.derive import derive_file

    derive_file(options)


def _explore(options: argparse.Namespace) -> None:
    from riselang.tools.explore import explore_file

    explore_file(options)


def _rules(options: argparse.Namespace) -> None:
    from riselang.tools.vocabulary import all_rules, one_rule

    print(one_rule(options.name) if options.name else all_rules(), end="")


def _strategies(options: argparse.Namespace) -> None:
    from riselang.tools.vocabulary import all_strategies, one_strategy

    print(one_strategy(options.name) if options.name else all_strategies(), end="")


def _compile(options: argparse.Namespace) -> None:
    compile_file(options, _source(options))


def _run(options: argparse.Namespace) -> None:
    from riselang.tools.calls import (
        chosen_function,
        function_arguments,
        kernel_inputs,
        written_arguments,
    )

    source = _source(options, options.backend)
    if isinstance(source, KernelSource):
        kernel = source.kernel(options.function)
        arrays, sizes = kernel_inputs(kernel, options.inputs, options.size)
        with progress(f"running {kernel.__name__}"):
            result = kernel.call(arrays, sizes)
        print(result)
        return
    if options.backend == "interpret":
        raise UserError("an MLIR file is compiled; --backend interpret takes .rise and .py files")
    with progress(f"compiling {options.file}"):
        functions = source.compilation(None, {}).functions
    executable = chosen_function(options.file, options.function, functions)
    arguments = function_arguments(executable, options.inputs)
    before = deepcopy(arguments)
    with progress(f"running {executable.name}"), timed("run"):
        executable(*arguments)
    written = written_arguments(executable, before, arguments)
    for name, array in written:
        print(f"{name} =\n{array}")
    if not written:
        print(f"{executable.name} changed none of its arguments", file=sys.stderr)


if __name__ == "__main__":
    main()
