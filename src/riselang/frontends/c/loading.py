"""The implementation of `rl.from_c`: from a file or text to a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.file import CFile
from riselang.frontends.c.schedule.isl_schedule import SCHEDULES
from riselang.frontends.c.schedule.user_schedules import is_schedule_text
from riselang.pipelines import GPU
from riselang.support.config import default_options
from riselang.support.errors import UserError
from riselang.support.io import decode_text
from riselang.support.progress import progress

TEXT_NAME = "<c>"
"""The name in errors of text that does not come from a file."""


def read_text(source: str | Path) -> tuple[str, str]:
    """Return the text of a file, or the text itself, and its name."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return source, TEXT_NAME
    try:
        return decode_text(Path(source).read_bytes(), str(source)), str(source)
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror}") from None


def load_function(
    source: str | Path,
    function: str | None,
    defines: Mapping[str, object] | None,
    include: Sequence[str | Path],
    float: str | None,
    schedule: str,
    library: str | None = None,
    checks: bool = True,
    threads: bool = False,
    loops: str | None = None,
) -> CFunction:
    if loops not in (None, GPU):
        raise UserError(f'loops must be "{GPU}" or None, but is {loops!r}')
    if schedule not in SCHEDULES and not is_schedule_text(schedule):
        raise UserError(
            f"schedule must be one of {', '.join(SCHEDULES)}, or a schedule tree as "
            f"'rise c --emit schedule' or '--emit jscop' writes it, but is {schedule!r}"
        )
    options = default_options("affine").with_changes(float=float, library=library)
    text, name = read_text(source)
    with progress(f"compiling {name}"):
        file = CFile.parse_text(text, name, [str(folder) for folder in include], defines)
        scop = file.model_function(function)
        program = make_program(
            [scop], options, schedule, checks=checks, threads=threads, on_gpu=loops == GPU
        )
        loaded = program.functions()[scop.name]
        loaded.stages = program.text
        return loaded
