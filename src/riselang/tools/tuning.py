"""`rise tune`: search for the fastest strategy of a program."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from riselang.support.errors import UserError
from riselang.support.io import write_file
from riselang.tools.options import compiler_choices, parse_positive

if TYPE_CHECKING:
    from riselang.rewrite.derivation import Derivation
    from riselang.tuning.result import TuningResult

SEARCHES = ("evolution", "random", "grid", "tpe")


def add_tune_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--budget", default="100",
        help="the number of trials, or a duration such as 5m; default: 100",
    )  # fmt: skip
    command.add_argument(
        "--search", choices=SEARCHES, default="evolution",
        help="how to choose the next trial; tpe needs Optuna; default: evolution",
    )  # fmt: skip
    command.add_argument(
        "--space", metavar="S",
        help="a strategy with parameters, as --strategy takes it; default: all numbers that the "
        "default strategy chooses",
    )  # fmt: skip
    command.add_argument("--seed", type=int, default=0, help="the seed of the search")
    command.add_argument(
        "--limit", type=parse_positive, default=60.0, help="maximum seconds for one trial"
    )
    command.add_argument("--db", metavar="FILE", help="the tuning database")
    command.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a Dask cluster")
    command.add_argument("--save", metavar="FILE.json", help="save the derivation of the best")
    command.add_argument(
        "--export", metavar="FILE.strategy",
        help="write the best strategy as text, which --strategy and rl.jit read",
    )  # fmt: skip
    command.add_argument(
        "--page", metavar="FILE.html", help="write a page with all trials and the best derivation"
    )


def tune_file(options: argparse.Namespace) -> None:
    """Run the command `rise tune`."""
    from riselang.rewrite.strategy_files import check_extension
    from riselang.tools.calls import kernel_inputs
    from riselang.tools.source_files import KernelFile, read_source
    from riselang.tools.strategies import load_strategy
    from riselang.tuning.settings import SearchSettings
    from riselang.tuning.tune import tune_program

    if options.export is not None:
        # Now rather than after the search.
        check_extension(options.export)
    source = read_source(options.file, compiler_choices(options))
    if not isinstance(source, KernelFile):
        raise UserError("rise tune accepts .rise and .py files, but not MLIR")
    kernel = source.kernel(options.function)
    arrays, _ = kernel_inputs(kernel, options.inputs, options.size)
    lowered = kernel.lower(*arrays)
    client = _dask_client(options.dask) if options.dask else None
    try:
        settings = SearchSettings(
            space=None if options.space is None else load_strategy(options.space),
            budget=options.budget, search=options.search, seed=options.seed, db=options.db,
            executor=client, limit=options.limit,
        )  # fmt: skip
        result = tune_program(lowered, arrays, settings)
    finally:
        if client is not None:
            client.close()
    print(result)
    for reason, count in result.failures().most_common(5):
        print(f"{count} without a time, {reason}")
    _write_files(options, result)


def _write_files(options: argparse.Namespace, result: TuningResult) -> None:
    if options.save is not None:
        write_file(options.save, _derivation_of(result).to_json())
    if options.export is not None:
        result.export(options.export)
    if options.page is not None:
        from riselang.explorer.explore import explore

        explore(result).save(options.page)


def _derivation_of(result: TuningResult) -> Derivation:
    """Return the derivation of the best strategy, which has no steps if nothing changes."""
    from riselang.rewrite.derivation import Derivation

    # A derivation without steps is falsy, so compare with None.
    if result.derivation is not None:
        return result.derivation
    program = result.program
    return Derivation(
        program.source, (), program.source, result.best.strategy, program.options.float
    )


def _dask_client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise UserError('--dask needs Dask: pip install "riselang[tuning]"') from None
    return Client(address)
