"""What a command writes: the output that `--emit` names, or that the suffix of the file means."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

SUFFIX_OUTPUTS = {
    ".o": "obj", ".obj": "obj", ".h": "header", ".so": "shared", ".dylib": "shared",
    ".dll": "shared", ".s": "asm", ".ll": "llvm", ".ptx": "ptx", ".rise": "notation",
}  # fmt: skip
OUTPUT_TEXTS = {
    "obj": "an object file; link it to a C program, whose header '--emit header' writes",
    "header": "a C header",
    "shared": "a shared library; load it with 'rl.load', or link it to a C program",
    "report": "a report",
}
"""What each output is, and how it is used."""


def choose_output(emit: str | None, file: str | None, known: Collection[str], default: str) -> str:
    """Return the output of a command; `emit` is that of the option, and `file` that of `-o`."""
    if emit is not None:
        return emit
    chosen = SUFFIX_OUTPUTS.get(Path(file).suffix, default) if file else default
    return chosen if chosen in known else default


def report_output(emit: str, file: str) -> None:
    text = OUTPUT_TEXTS.get(emit, f"the stage '{emit}'")
    print(f"wrote '{file}': {text}")
