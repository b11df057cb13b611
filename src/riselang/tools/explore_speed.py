"""`rise explore --bench`: measure the versions of a program and its rivals."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from riselang.api.kernel import Kernel
from riselang.api.traced import Traced
from riselang.explorer.speed import measure_versions as measured
from riselang.explorer.subject import Subject
from riselang.support.errors import UserError
from riselang.support.progress import progress
from riselang.tools.file_reading import run_python
from riselang.tools.source_files import KernelFile, read_source


def measure_versions(options: argparse.Namespace, subject: Subject) -> dict[str, Any]:
    """Measure the versions of a program, and return the data for its page."""
    traced = Traced(subject.name, subject.term, subject.results, subject.options, subject.strategy)
    rivals = {name: _load_rival(name) for name in options.against}
    with progress(f"measuring {options.file}"):
        return measured(traced, rivals, options.rounds)


def _load_rival(text: str) -> Callable[..., Any]:
    """Load a kernel of a file, or a function of a Python file."""
    file, colon, function = text.rpartition(":")
    if not colon or not function.isidentifier():
        file, function = text, ""
    if file.endswith(".py"):
        return _load_python_function(file, function)
    source = read_source(file, {})
    if not isinstance(source, KernelFile):
        raise UserError(f"--against {text}: expected a .rise or .py file")
    return source.kernel(function or None)


def _load_python_function(file: str, function: str) -> Callable[..., Any]:
    values = run_python(file)
    found = {name: each for name, each in values.items() if isinstance(each, Kernel)}
    if not function and len(found) == 1:
        return next(iter(found.values()))
    if function in values and callable(values[function]):
        return values[function]
    known = ", ".join(found) or "no kernel"
    raise UserError(f"--against {file}: name a function as {file}:name; it contains {known}")
