"""The process that replaces functions in one object file: a request on stdin, events on stdout.

It preprocesses the file with the system's compiler, so that clang parses exactly what that
compiles, compiles regions to object files, lets the system's compiler compile the text with calls
instead of them, and merges the object files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riselang.frontends.c.file import CFile
from riselang.frontends.c.parse.preprocessed import LineMarkers, parse_preprocessed
from riselang.frontends.c.source_extents import replace_extents
from riselang.support.config import default_options
from riselang.support.errors import RiseError
from riselang.support.machine import assume_machine
from riselang.tools.cc.selection import ReplacedRegion, Selection
from riselang.tools.cc.targets import BuildTarget, read_target

_PARSER_FLAGS = ("-std", "-ansi", "-funsigned-", "-fsigned-", "-fno-signed-", "-fno-unsigned-",
                 "-fshort-", "-fgnu89-inline", "-fms-extensions")  # fmt: skip
"""Prefixes of the flags that change what a text means."""
_WEAK = re.compile(r"\b(__weak__|weak|__ifunc__|ifunc|FENV_ACCESS)\b")
"""What lets other code replace a function, or change the meaning of arithmetic."""


class _Kept(Exception):
    """The file is left to the system's compiler."""


@dataclass(frozen=True)
class _Request:
    compiler: list[str]
    source: str
    target: str
    preprocess: list[str]
    compile: list[str]
    options: dict[str, str]
    skip: dict[str, str]


def main() -> None:
    request = _Request(**json.load(sys.stdin))
    events = os.fdopen(os.dup(1), "w")
    # Whatever else is printed must not be among the events.
    os.dup2(2, 1)
    messages, is_replaced = _replace_functions(
        request, lambda name: print(json.dumps({"function": name}), file=events, flush=True)
    )
    print(json.dumps({"messages": messages, "is_replaced": is_replaced}), file=events, flush=True)


def _replace_functions(request: _Request, begin: Any) -> tuple[list[str], bool]:
    """Build the object file; return the report, and whether anything is replaced."""
    messages: list[str] = []
    try:
        with tempfile.TemporaryDirectory(prefix="rise_cc_") as folder:
            text = _preprocess(request, Path(folder, "source.i"))
            target = read_target(request.compiler, request.compile)
            with assume_machine(target.machine):
                selection = _select(request, text, target, begin)
                messages = selection.messages
                replaced = selection.replaced_regions()
            if replaced:
                _build(request, text, replaced, Path(folder))
            return messages, bool(replaced)
    except (RiseError, _Kept) as error:
        left = f"{request.source}: left to the system's compiler: "
        return [*messages, left + str(error).partition("\n")[0]], False


def _preprocess(request: _Request, target: Path) -> str:
    words = [*request.compiler, *request.preprocess, "-w", "-E", "-x", "c", request.source,
             "-o", str(target)]  # fmt: skip
    _run(words, "it cannot be preprocessed")
    try:
        return target.read_bytes().decode()
    except UnicodeDecodeError:
        raise _Kept("it is not UTF-8 text") from None


def _select(request: _Request, text: str, target: BuildTarget, begin: Any) -> Selection:
    markers = LineMarkers(text)
    if found := _replaceable(text, markers):
        raise _Kept(f"it contains {found}")
    flags = [each for each in request.compile if each.startswith(_PARSER_FLAGS)]
    parsed = parse_preprocessed(text, request.source, flags, markers)
    skipped = request.options.get("skip", "").split(",")
    skip = dict.fromkeys((each for each in skipped if each), "-frise-skip names it")
    options = default_options("affine").with_changes(
        float=_float_permission(request), library="none"
    )
    return Selection(
        CFile.of_parsed(parsed), markers, options, target.llvm,
        request.options.get("schedule", "isl"), request.options.get("take") == "all",
        "threads" in request.options,
        any(each.startswith("-fopenmp") for each in request.compile),
        {**skip, **request.skip}, begin,
    )  # fmt: skip


def _replaceable(text: str, markers: LineMarkers) -> str:
    """Return a word in the user's code that makes its functions replaceable, if there is any."""
    if not _WEAK.search(text):
        return ""
    for number, line in enumerate(text.split("\n"), 1):
        if (match := _WEAK.search(line)) and not markers.is_system(number):
            return match[0]
    return ""


def _float_permission(request: _Request) -> str:
    """Return the float permission: contraction only if a flag asks for it."""
    if given := request.options.get("float"):
        return given
    modes = [each for each in request.compile if each.startswith("-ffp-contract=")]
    is_fast = any(each in ("-ffast-math", "-Ofast") for each in request.compile)
    mode = modes[-1].partition("=")[2] if modes else "fast" if is_fast else "off"
    return "strict" if mode == "off" else "contract"


def _build(request: _Request, text: str, replaced: Sequence[ReplacedRegion], folder: Path) -> None:
    """Compile the rest of the file, and merge it with the compiled regions."""
    rest, objects = folder / "rest.i", [str(folder / "rest.o")]
    rest.write_text(replace_extents(text, [(each.extent, each.call) for each in replaced]))
    words = [*request.compiler, *request.compile, "-w", "-fno-lto", "-c", str(rest), "-o", *objects]
    _run(words, "it cannot be compiled with calls in place of its loops")
    for number, each in enumerate(replaced):
        path = folder / f"region{number}.o"
        path.write_bytes(each.code)
        objects.append(str(path))
    merged = folder / "merged.o"
    _run([*request.compiler, "-r", "-nostdlib", "-o", str(merged), *objects],
         "its object files cannot be merged")  # fmt: skip
    temporary = f"{request.target}.rise{os.getpid()}"
    shutil.copyfile(merged, temporary)
    os.replace(temporary, request.target)


def _run(words: Sequence[str], problem: str) -> None:
    process = subprocess.run(words, capture_output=True, text=True, check=False)
    if process.returncode:
        lines = process.stderr.strip().splitlines()
        error = next((each for each in lines if "error" in each), (lines or ["no reason"])[0])
        raise _Kept(f"{problem}: {error}")


if __name__ == "__main__":
    main()
