"""`rise derive`: rewrite a program by a strategy, and print every step."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import replace

from riselang.notation.layout import MARK
from riselang.rewrite.core import Setting
from riselang.rewrite.default import DEFAULT, default_derivation
from riselang.rewrite.derivation import Derivation, derive, replay
from riselang.rewrite.derivation_checks import check
from riselang.rewrite.paths import format_path
from riselang.rewrite.strategies.explanation import explain_default
from riselang.support.errors import UserError
from riselang.support.io import decode_text, write_file
from riselang.support.profiling import time_span
from riselang.support.progress import progress
from riselang.term.contraction import contract
from riselang.term.nodes import Term
from riselang.tools.file_reading import read_bytes
from riselang.tools.inputs import parse_sizes
from riselang.tools.source_files import SourceProgram, read_source
from riselang.tools.strategies import select_strategy

BOLD, PLAIN = "\x1b[1;36m", "\x1b[0m"


def derive_file(options: argparse.Namespace) -> None:
    """Run the command `rise derive`."""
    derivation = _replay_file(options) if options.replay else _derive_program(options)
    if options.save is not None:
        _save(derivation, options.save)
    sys.stdout.write(_format_derivation(derivation, options))
    if options.check:
        _check(derivation)


# Derivations


def _derive_program(options: argparse.Namespace) -> Derivation:
    if options.file is None:
        raise UserError("expected a file with a program, or --replay with a derivation")
    program = _read_program(options, options.float)
    if options.grad:
        program = replace(program, term=_derive_gradient(program.term, options))
        if not options.default and options.strategy is None:
            return Derivation(program.term, (), program.term, "", program.float)
    if options.default:
        return _derive_default(_contracted_term(program), program.float)
    strategy = select_strategy(options.strategy, options.file)
    with progress(f"deriving from {options.file}"), time_span("rewrite"):
        return derive(_contracted_term(program), strategy, program.float)


def _derive_gradient(term: Term, options: argparse.Namespace) -> Term:
    """Return the program that computes the gradient, and print the steps of the derivative."""
    from riselang.autodiff.steps import derive_gradient

    with time_span("differentiate"):
        derivation = derive_gradient(term)
    if not options.end:
        print("\n".join(derivation.lines()), end="\n\n")
    return derivation.end


def _derive_default(term: Term, float: str) -> Derivation:
    """Apply the default strategy, and print what it does."""
    setting = Setting(float)
    with time_span("rewrite"):
        derivation = default_derivation(term, setting)
    print("\n".join(explain_default(term, derivation, setting)))
    if derivation is None:
        return Derivation(term, (), term, str(DEFAULT), float)
    print()
    return derivation


def _replay_file(options: argparse.Namespace) -> Derivation:
    derivation = _read_derivation(options.replay)
    if options.float not in (None, derivation.float):
        raise UserError(
            f"{options.replay} was derived with --float {derivation.float}, not {options.float}"
        )
    if options.file is not None:
        program = _contracted_term(_read_program(options, derivation.float))
        if program != derivation.start:
            raise UserError(
                f"{options.replay} is a derivation of a different program, not of {options.file} "
                "at these sizes",
                None,
                f"the derivation begins with\n{derivation.start}",
            )
    return derivation


def _read_program(options: argparse.Namespace, float: str | None) -> SourceProgram:
    source = read_source(options.file, {"float": float})
    return source.program(options.function, parse_sizes(options.size))


def _contracted_term(program: SourceProgram) -> Term:
    """Return the program with contracted floats; contraction comes before rewriting."""
    return program.term if program.float == "strict" else contract(program.term)


def _read_derivation(path: str) -> Derivation:
    with time_span("replay"):
        return replay(decode_text(read_bytes(path), path), path)


def _save(derivation: Derivation, path: str) -> None:
    write_file(path, derivation.to_json())


# Output


def _format_derivation(derivation: Derivation, options: argparse.Namespace) -> str:
    if options.diff is not None:
        return _read_derivation(options.diff).diff(derivation)
    if options.end:
        return f"{derivation.end}\n"
    if options.summary:
        return "".join(f"{line}\n" for line in _summary_lines(derivation))
    return _colorize(derivation.show())


def _summary_lines(derivation: Derivation) -> Iterator[str]:
    for number, step in enumerate(derivation.steps, 1):
        location = step.before.location
        source = f" ({location})" if location is not None else ""
        yield f"{number}. {step.rule} at {format_path(step.path)}{source}"


def _colorize(text: str) -> str:
    """Highlight marked parts on a terminal; the marks remain, for readers who see no colors."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    begin, end = MARK
    return text.replace(begin, BOLD + begin).replace(end, end + PLAIN)


def _check(derivation: Derivation) -> None:
    with progress("checking"), time_span("check the steps"):
        report = check(derivation)
    sys.stdout.write(report.show())
    if not report.is_right:
        raise UserError("the derivation changes what the program computes; see the steps above")
