"""`rise derive`: rewrite a program by a strategy, and print every step."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from riselang.notation.layout import MARK
from riselang.rewrite.checking import check
from riselang.rewrite.core import Setting
from riselang.rewrite.default import DEFAULT, default_derivation
from riselang.rewrite.derivation import Derivation, derive, replay
from riselang.rewrite.paths import written
from riselang.rewrite.strategies.default_schedule import chosen_for
from riselang.support.errors import UserError
from riselang.support.io import decode, write_file
from riselang.support.profiling import timed
from riselang.support.progress import progress
from riselang.term.contraction import contract
from riselang.term.nodes import Term
from riselang.tools.inputs import parse_sizes
from riselang.tools.reading import read_bytes
from riselang.tools.sources import SourceProgram, read_source
from riselang.tools.strategies import chosen_strategy

BOLD, PLAIN = "\x1b[1;36m", "\x1b[0m"


def derive_file(options: argparse.Namespace) -> None:
    """Run the command `rise derive`."""
    derivation = _replayed(options) if options.replay else _derived(options)
    if options.save is not None:
        _save(derivation, options.save)
    sys.stdout.write(_text(derivation, options))
    if options.check:
        _check(derivation)


# Derivations


def _derived(options: argparse.Namespace) -> Derivation:
    if options.file is None:
        raise UserError("expected a file with a program, or --replay with a derivation")
    program = _program(options, options.float)
    if options.default:
        return _defaulted(_as_it_runs(program), program.float)
    strategy = chosen_strategy(options.strategy, options.file)
    with progress(f"deriving from {options.file}"), timed("rewrite"):
        return derive(_as_it_runs(program), strategy, program.float)


def _defaulted(term: Term, float: str) -> Derivation:
    """Apply the default strategy, and print the kernels that it recognizes."""
    with timed("rewrite"):
        derivation = default_derivation(term, Setting(float))
    if derivation is None:
        why = (
            "no kernel is recognized"
            if DEFAULT.concerns(term)
            else "it is small, or a size is symbolic"
        )
        print(f"the program is unchanged: {why}")
        return Derivation(term, (), term, str(DEFAULT), float)
    for choice in chosen_for(term, Setting(float)):
        print(choice)
    for step in derivation.steps:
        if step.rule.name == "map_in_parallel":
            print(f"a map at {written(step.path)}: in parallel")
    print()
    return derivation


def _replayed(options: argparse.Namespace) -> Derivation:
    derivation = _kept(options.replay)
    if options.float not in (None, derivation.float):
        raise UserError(
            f"{options.replay} was derived with --float {derivation.float}, not {options.float}"
        )
    if options.file is not None:
        program = _as_it_runs(_program(options, derivation.float))
        if program != derivation.start:
            raise UserError(
                f"{options.replay} is a derivation of another program than {options.file} at "
                "these sizes",
                None,
                f"the derivation begins with\n{derivation.start}",
            )
    return derivation


def _program(options: argparse.Namespace, float: str | None) -> SourceProgram:
    source = read_source(options.file, {"float": float})
    return source.program(options.function, parse_sizes(options.size))


def _as_it_runs(program: SourceProgram) -> Term:
    """Return the program with contracted floats; contraction comes before rewriting."""
    return program.term if program.float == "strict" else contract(program.term)


def _kept(path: str) -> Derivation:
    with timed("replay"):
        return replay(decode(read_bytes(path), path), path)


def _save(derivation: Derivation, path: str) -> None:
    write_file(path, derivation.to_json())


# Output


def _text(derivation: Derivation, options: argparse.Namespace) -> str:
    if options.diff is not None:
        return _kept(options.diff).diff(derivation)
    if options.end:
        return f"{derivation.end}\n"
    if options.summary:
        return "".join(f"{line}\n" for line in _summary(derivation))
    return _coloured(derivation.show())


def _summary(derivation: Derivation) -> Iterator[str]:
    for number, step in enumerate(derivation.steps, 1):
        location = step.before.location
        source = f" ({location})" if location is not None else ""
        yield f"{number}. {step.rule} at {written(step.path)}{source}"


def _coloured(text: str) -> str:
    """Highlight marked parts on a terminal; the marks remain, for readers who see no colors."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    begin, end = MARK
    return text.replace(begin, BOLD + begin).replace(end, end + PLAIN)


def _check(derivation: Derivation) -> None:
    with progress("checking"), timed("check the steps"):
        report = check(derivation)
    sys.stdout.write(report.show())
    if not report.is_right:
        raise UserError("the derivation changes what the program computes; see the steps above")
