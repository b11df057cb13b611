"""`rise explore`: write or serve a page with every step and every stage of a program."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riselang.support.config import tuning_database
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.support.progress import progress
from riselang.tools.explore_sources import CLoops, read_subject
from riselang.tools.inputs import parse_sizes

if TYPE_CHECKING:
    from riselang.explorer.page import Page
    from riselang.explorer.subject import Subject
    from riselang.explorer.tuning_view import Tuning
    from riselang.frontends.c.c_program import CProgram


def explore_file(options: argparse.Namespace) -> None:
    """Run the command `rise explore`."""
    if options.serve:
        from riselang.tools.serving import serve_page

        serve_page(options, make_page)
        return
    output = _output_path(options)
    page = make_page(options)
    page.save(output)
    steps = format_count(len(page.data["steps"]), "step")
    print(f"{output}: {steps}, {format_count(len(page.data['stages']), 'stage')}")


def make_page(options: argparse.Namespace, live: str | None = None) -> Page:
    """Make the page of a file; `live` is the version number of a served page."""
    from riselang.explorer.page import Page
    from riselang.explorer.page_data import explore_program

    subject = read_subject(options)
    if isinstance(subject, CLoops):
        return _make_loops_page(options, subject, live)
    tuning = _read_tuning(options, subject) if options.tuning else None
    if tuning is not None:
        subject = replace(subject, strategy=tuning.strategy)
    with progress(f"exploring {options.file}"):
        data = explore_program(subject)
    if options.bench:
        data["speed"] = _measure_speed(options, subject)
    spaces = "" if subject.loops is None else _draw_spaces(options, subject.loops)
    return Page({**data, "live": live}, tuning, spaces)


def _read_tuning(options: argparse.Namespace, subject: Subject) -> Tuning:
    from riselang.explorer.tuning_view import read_tuning

    if options.default or options.strategy is not None:
        raise UserError(
            "--tuning applies the fastest strategy in the tuning database; pass it without "
            "--strategy and --default"
        )
    path = tuning_database() if options.db is None else Path(options.db)
    return read_tuning(path, subject.term, subject.options)


def _make_loops_page(options: argparse.Namespace, loops: CLoops, live: str | None) -> Page:
    from riselang.explorer.c_loops import explore_c_loops
    from riselang.explorer.page import Page

    if options.bench:
        raise UserError("--bench measures patterns, but none of these C loops is lifted to one")
    if options.tuning:
        raise UserError("--tuning is for patterns, but none of these C loops is lifted to one")
    with progress(f"exploring {options.file}"):
        data = explore_c_loops(loops.program, loops.source)
        return Page({**data, "live": live}, spaces=_draw_spaces(options, loops.program))


def _draw_spaces(options: argparse.Namespace, program: CProgram) -> str:
    from riselang.explorer.iteration_spaces import draw_iteration_spaces

    sizes = parse_sizes(options.size)
    return draw_iteration_spaces(program.regions, program.schedule_trees(), sizes)


def _output_path(options: argparse.Namespace) -> str:
    if options.output is not None:
        return options.output
    if options.file == "-":
        raise UserError("a program on standard input has no name; name the page with -o")
    return str(Path(options.file).with_suffix(".html").name)


def _measure_speed(options: argparse.Namespace, subject: Subject) -> dict[str, Any]:
    from riselang.tools.explore_speed import measure_versions

    return measure_versions(options, subject)
