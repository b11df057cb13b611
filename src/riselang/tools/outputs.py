"""What a command writes: the output that `--emit` names, or that the suffix of the file means."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from riselang.support.errors import UserError

SUFFIX_OUTPUTS = {
    ".o": "obj", ".obj": "obj", ".h": "header", ".so": "shared", ".dylib": "shared",
    ".dll": "shared", ".s": "asm", ".ll": "llvm", ".ptx": "ptx", ".rise": "notation",
    ".mlir": "affine", ".c": "c", ".yaml": "schedule", ".jscop": "jscop",
    ".json": "json",
}  # fmt: skip
OUTPUT_TEXTS = {
    "obj": "an object file; link it to a C program, whose header '--emit header' writes",
    "header": "a C header",
    "shared": "a shared library; load it with 'rl.load', or link it to a C program",
    "report": "a report",
    "c": "C source",
    "schedule": "schedule trees; change them, and pass the file to '--schedule'",
    "jscop": "regions with schedules; change these, and pass the file to '--schedule'",
    "source": "the file with new loops",
    "calls": "the file with calls of the functions that '--emit obj' compiles",
}
"""What each output is, and how it is used."""


def choose_output(emit: str | None, file: str | None, known: Collection[str], default: str) -> str:
    """Return the output of a command; `emit` is that of the option, and `file` that of `-o`.

    A file without a suffix contains the default; an unknown suffix is refused.
    """
    if emit is not None:
        return emit
    suffix = Path(file).suffix if file else ""
    if not suffix:
        return default
    suffixes = [each for each, output in SUFFIX_OUTPUTS.items() if output in known]
    if suffix not in suffixes:
        raise UserError(
            f"the suffix of {file!r} does not say what to write; expected {', '.join(suffixes)}, "
            "or --emit"
        )
    return SUFFIX_OUTPUTS[suffix]


def report_output(emit: str, file: str) -> None:
    text = OUTPUT_TEXTS.get(emit, f"the stage '{emit}'")
    print(f"wrote '{file}': {text}")
