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
from riselang.support.io import decode_text, write_file
from riselang.support.profiling import format_spans, record_spans, time_span
from riselang.support.progress import progress
from riselang.tools.bench import add_bench_options, bench
from riselang.tools.benchcmp import add_benchcmp_options, benchcmp
from riselang.tools.c_files import add_c_options, add_schedule_options, compile_c_file
from riselang.tools.cache import add_cache_options, manage_cache
from riselang.tools.cc.driver import SUMMARY as CC_SUMMARY
from riselang.tools.cc.driver import run_driver
from riselang.tools.compiling import add_compile_options, compile_file
from riselang.tools.completion import add_completion_options, completion_script
from riselang.tools.doctor import add_doctor_options, doctor
from riselang.tools.exits import run_tool
from riselang.tools.exporting import add_export_options
from riselang.tools.file_reading import read_bytes
from riselang.tools.importing import add_import_options
from riselang.tools.lsp import add_lsp_options, run_language_server
from riselang.tools.new_project import add_new_options, make_project
from riselang.tools.options import (
    STAGES,
    add_compiler_options,
    add_derive_options,
    add_explore_options,
    add_file_argument,
    add_inputs_argument,
    add_name_argument,
    add_program_options,
    add_timing_option,
    compiler_choices,
)
from riselang.tools.ranks import parse_ranks, run_on_ranks
from riselang.tools.source_files import KernelFile, SourceFile, read_source
from riselang.tools.tuning import add_tune_options, tune_file
from riselang.version import __version__


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command `rise`."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["cc"]:
        # Its flags are those of gcc.
        run_tool(lambda: run_driver(words[1:]))
        return
    run_tool(lambda: _run_command(_parse_arguments(arguments)))


def _parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser()
    options, rest = parser.parse_known_args(arguments)
    # argparse takes positional arguments only in one run, but inputs may follow options, too.
    if rest and ("inputs" not in options or any(text.startswith("--") for text in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        options.inputs = [*options.inputs, *rest]
    return options


def _run_command(options: argparse.Namespace) -> None:
    if not options.timing:
        options.action(options)
        return
    with record_spans(f"rise {options.command} {options.file}") as root:
        options.action(options)
    sys.stdout.flush()
    print(format_spans(root), end="", file=sys.stderr)


class _Command(NamedTuple):
    """A command: its action, its summary, and the functions that add its options."""

    name: str
    action: Callable[[argparse.Namespace], None]
    summary: str
    options: tuple[Callable[[argparse.ArgumentParser], None], ...]


def _commands() -> tuple[_Command, ...]:
    compiling = (add_file_argument, add_compiler_options, add_timing_option)
    return (
        _Command("check", _check, "read and check a file", compiling),
        _Command("fmt", _format, "format a .rise file", (add_file_argument, _add_format_options)),
        _Command("show", _show, "print a file at a stage of compilation",
                 (*compiling, _add_show_options, add_program_options)),
        _Command("run", _run, "call a program and print its results",
                 (*compiling, add_inputs_argument, _add_run_options, add_program_options)),
        _Command("compile", _compile, "compile a file",
                 (*compiling, add_compile_options, add_program_options)),
        _Command("import", _import, "read a StableHLO module, and print or compile it",
                 (add_import_options, add_compiler_options, add_timing_option)),
        _Command("export", _export, "write a program as a StableHLO module",
                 (add_file_argument, add_export_options, add_program_options, add_timing_option)),
        _Command("c", compile_c_file, "translate C loops to MLIR, patterns or machine code",
                 (add_c_options, add_timing_option)),
        _Command("cc", lambda options: run_driver(options.arguments), CC_SUMMARY,
                 (_add_cc_options,)),
        _Command("derive", _derive, "rewrite a program with a strategy, step by step",
                 (add_derive_options, add_program_options, add_timing_option)),
        _Command("explore", _explore, "write an HTML page with every step and stage of a program",
                 (add_explore_options, add_schedule_options, add_program_options,
                  add_compiler_options, add_timing_option)),
        _Command("rules", _rules, "list the rewrite rules", (add_name_argument,)),
        _Command("strategies", _strategies, "list the schedules and strategies",
                 (add_name_argument,)),
        _Command("bench", bench, "measure the run time of a program",
                 (add_file_argument, add_inputs_argument, add_bench_options, add_program_options,
                  add_compiler_options)),
        _Command("tune", tune_file, "search for the fastest strategy of a program",
                 (add_file_argument, add_inputs_argument, add_tune_options, add_program_options,
                  add_compiler_options)),
        _Command("benchcmp", benchcmp, "compare two benchmark reports", (add_benchcmp_options,)),
        _Command("cache", manage_cache, "list or remove the compiled kernels in the cache",
                 (add_cache_options,)),
        _Command("lsp", run_language_server, "run the language server, which editors start",
                 (add_lsp_options,)),
        _Command("new", make_project, "make a project with a kernel, a test and a benchmark",
                 (add_new_options,)),
        _Command("completion", _complete, "print a completion script for a shell",
                 (add_completion_options,)),
        _Command("doctor", doctor, "check the installation", (add_doctor_options,)),
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


def _complete(options: argparse.Namespace) -> None:
    print(completion_script(options.shell, make_parser()), end="")


def _add_cc_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "arguments", nargs="*", metavar="ARGUMENT",
        help="gcc's flags and files, and flags that begin with -frise-",
    )  # fmt: skip


def _add_format_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--check", action="store_true", help="exit with code 1 if the file is not formatted"
    )


def _add_show_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--as", dest="stage", choices=STAGES, default="notation")


def _add_run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--backend", choices=("compile", "interpret"), default="compile")
    command.add_argument(
        "--ranks", type=parse_ranks, metavar="4",
        help="run on this many ranks, or on a mesh such as 2x2, that mpiexec starts",
    )  # fmt: skip


def _read_source_file(options: argparse.Namespace, backend: str = "compile") -> SourceFile:
    if options.file.endswith(".py"):
        # Reading a Python file runs it, and it may print something.
        return read_source(options.file, compiler_choices(options), backend)
    with progress(f"reading {options.file}"):
        return read_source(options.file, compiler_choices(options), backend)


def _check(options: argparse.Namespace) -> None:
    source = _read_source_file(options)
    with progress(f"checking {options.file}"):
        source.check()


def _format(options: argparse.Namespace) -> None:
    from riselang.notation.formatting import format_program

    if not options.file.endswith(".rise"):
        raise UserError(f"{options.file}: only .rise files are formatted")
    text = decode_text(read_bytes(options.file), options.file)
    formatted = format_program(text, options.file)
    if options.check:
        if formatted != text:
            raise UserError(f"{options.file} is not formatted; run 'rise fmt {options.file}'")
    elif formatted != text:
        write_file(options.file, formatted)


def _show(options: argparse.Namespace) -> None:
    from riselang.tools.inputs import parse_sizes

    source, sizes = _read_source_file(options), parse_sizes(options.size)
    with progress(f"compiling {options.file}"):
        text = source.display_text(options.stage, options.function, sizes)
    print(text, end="")


def _import(options: argparse.Namespace) -> None:
    from riselang.tools.importing import import_file

    import_file(options)


def _export(options: argparse.Namespace) -> None:
    from riselang.tools.exporting import export_file

    export_file(options)


def _derive(options: argparse.Namespace) -> None:
    from riselang.tools.derive import derive_file

    derive_file(options)


def _explore(options: argparse.Namespace) -> None:
    from riselang.tools.explore import explore_file

    explore_file(options)


def _rules(options: argparse.Namespace) -> None:
    from riselang.tools.vocabulary import describe_rule, list_rules

    print(describe_rule(options.name) if options.name else list_rules(), end="")


def _strategies(options: argparse.Namespace) -> None:
    from riselang.tools.vocabulary import describe_strategy, list_strategies

    print(describe_strategy(options.name) if options.name else list_strategies(), end="")


def _compile(options: argparse.Namespace) -> None:
    compile_file(options, _read_source_file(options))


def _run(options: argparse.Namespace) -> None:
    from riselang.tools.calls import (
        exact_text,
        function_arguments,
        kernel_inputs,
        select_function,
        written_arguments,
    )

    if options.ranks is not None:
        run_on_ranks(options)
        return
    source = _read_source_file(options, options.backend)
    if isinstance(source, KernelFile):
        kernel = source.kernel(options.function)
        arrays, sizes = kernel_inputs(kernel, options.inputs, options.size)
        with progress(f"running {kernel.__name__}"):
            result = kernel.call(arrays, sizes)
        print(exact_text(result))
        return
    if options.backend == "interpret":
        raise UserError(
            "MLIR files can only be compiled; --backend interpret accepts .rise and .py files"
        )
    with progress(f"compiling {options.file}"):
        functions = source.compilation(None, {}).functions
    executable = select_function(options.file, options.function, functions)
    arguments = function_arguments(executable, options.inputs, options.size)
    before = deepcopy(arguments)
    with progress(f"running {executable.name}"), time_span("run"):
        executable(*arguments)
    written = written_arguments(executable, before, arguments)
    for name, array in written:
        print(f"{name} =\n{exact_text(array)}")
    if not written:
        print(f"{executable.name} changed none of its arguments", file=sys.stderr)


if __name__ == "__main__":
    main()
