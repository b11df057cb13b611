"""Runs the system's compiler, and then replaces functions in what it has written.

The command first runs unchanged, so its messages, its dependency files and its exit code are those
of the system's compiler, and its result is complete. Then a worker process compiles functions with
loops, for each C file that has any, and builds the object file anew with them. If anything fails,
the first result stays.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from riselang.support.errors import RiseError, UserError
from riselang.tools.cc.command_line import (
    CommandLine,
    join_words,
    parse_command_line,
    reason_to_pass,
)

COMPILER_VARIABLE = "RISE_CC"
"""The environment variable with the system's compiler."""
FLAGS_VARIABLE = "RISE_CC_FLAGS"
"""The environment variable with more `-frise-` flags."""
REPORT_VARIABLE = "RISE_CC_REPORT"
"""The environment variable with the file to which reports are added; `-` is standard error."""
MAX_SECONDS = 300
"""The limit on the time that one worker takes."""
MAX_RESTARTS = 8
"""How often a worker is started again without the function that ended it."""
MAX_CHARACTERS = 100_000
"""Longer command lines are passed in a file."""
LAUNCHER = "-frise-launcher"
CMAKE_FOLDER = Path(__file__).parent / "cmake"
"""The folder of the CMake package."""
_LOOP = re.compile(r"\b(for|while|do)\b")
SUMMARY = (
    "compile C with gcc's command line: loops by riselang, and the rest by the system's compiler"
)


def run_driver(words: Sequence[str]) -> None:
    """Run `rise cc`; exits with the code of the system's compiler."""
    try:
        compiler, words = _find_compiler(words)
        command = parse_command_line(words, shlex.split(os.environ.get(FLAGS_VARIABLE, "")))
    except RiseError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    if not words:
        print(f"usage: rise cc FLAG... FILE...\n\n{SUMMARY}", file=sys.stderr)
        raise SystemExit(2)
    if command.option("cmake-dir") is not None:
        print(CMAKE_FOLDER)
        return
    code = _run_compiler(compiler, [*command.words, *_libraries(command)])
    if code == 0:
        _Replacement(compiler, command).run()
    raise SystemExit(code)


def _find_compiler(words: Sequence[str]) -> tuple[list[str], Sequence[str]]:
    """Return the system's compiler, and its arguments.

    It follows the flag `-frise-launcher` if another tool starts `rise cc` in front of it.
    """
    if LAUNCHER in words[:-1]:
        at = words.index(LAUNCHER)
        return [words[at + 1]], [*words[:at], *words[at + 2 :]]
    return _named_compiler(), words


def _named_compiler() -> list[str]:
    given = shlex.split(os.environ.get(COMPILER_VARIABLE, ""))
    for name in [*given[:1], "cc", "gcc", "clang"]:
        if path := shutil.which(name):
            return [path, *given[1:]] if given else [path]
        if given:
            raise UserError(f"{COMPILER_VARIABLE}: the compiler {name} is not found")
    raise UserError(
        f"rise cc needs a C compiler, and none of cc, gcc and clang is found; install one, or set "
        f"{COMPILER_VARIABLE}"
    )


def _run_compiler(compiler: Sequence[str], words: Sequence[str], **settings: Any) -> int:
    """Run the compiler; very many words are passed in a file."""
    if sum(len(word) + 1 for word in words) < MAX_CHARACTERS:
        return _run([*compiler, *words], **settings)
    with tempfile.TemporaryDirectory(prefix="rise_cc_") as folder:
        file = Path(folder, "words")
        file.write_text(join_words(words))
        return _run([*compiler, f"@{file}"], **settings)


def _run(words: Sequence[str], **settings: Any) -> int:
    try:
        return subprocess.run(words, check=False, **settings).returncode
    except OSError as error:
        print(f"error: {words[0]} cannot be run: {error.strerror}", file=sys.stderr)
        return 1


def _libraries(command: CommandLine) -> list[str]:
    """Return the libraries that compiled functions may need, for a command that links."""
    refused = {"-r", "-nostdlib", "-nodefaultlibs", "-nolibc"}
    if command.mode != "link" or not command.inputs or any(
        each.flag in refused for each in command.arguments
    ):  # fmt: skip
        return []
    return ["-lm", "-pthread"]


@dataclass
class _Replacement:
    """Replaces functions in the result of a command."""

    compiler: list[str]
    command: CommandLine
    report: list[str] = field(default_factory=list[str])

    def run(self) -> None:
        command = self.command
        if command.mode == "other" or not command.sources:
            return
        if reason := reason_to_pass(command):
            self.report += [f"{source}: left to the system's compiler: {reason}"
                            for source in command.sources]  # fmt: skip
        elif command.mode == "compile":
            for source in command.sources:
                self._replace_in(source, command.output_of(source))
        else:
            self._link_again()
        self._write_report()

    def _link_again(self) -> None:
        """Link again, with object files in place of the C files of which functions are replaced."""
        with tempfile.TemporaryDirectory(prefix="rise_cc_") as folder:
            objects: dict[str, str] = {}
            for number, source in enumerate(dict.fromkeys(self.command.sources)):
                target = str(Path(folder, f"{number}.o"))
                if self._replace_in(source, target):
                    objects[source] = target
            if not objects:
                return
            output = self.command.output or "a.out"
            new = str(Path(folder, "output"))
            words = [*self.command.with_objects(objects), *_libraries(self.command), "-o", new]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            if _run_compiler(self.compiler, ["-w", *words], **quiet) == 0:
                _move(new, output)
            else:
                self.report.append(f"{output}: cannot be linked with the functions of riselang")

    def _replace_in(self, source: str, target: str) -> bool:
        """Build an object file with functions of riselang; return whether it has any."""
        if not _has_loops(source):
            self.report.append(f"{source}: left to the system's compiler: there are no loops")
            return False
        request: dict[str, Any] = {
            "compiler": self.compiler, "source": source, "target": target,
            "preprocess": self.command.preprocess_flags, "compile": self.command.compile_flags,
            "options": dict(self.command.rise_options), "skip": {},
        }  # fmt: skip
        for _ in range(MAX_RESTARTS):
            result = _run_worker(request)
            self.report += result.messages
            if result.crashed_in is None:
                return result.is_replaced
            request["skip"] |= {result.crashed_in: result.reason}
        return False

    def _write_report(self) -> None:
        target = self.command.option("report")
        target = os.environ.get(REPORT_VARIABLE) if target is None else target or "-"
        if not target:
            return
        text = "".join(f"{line}\n" for line in self.report)
        if target == "-":
            sys.stderr.write(text)
            return
        try:
            with Path(target).open("a") as file:
                file.write(text)
        except OSError as error:
            print(f"warning: {target} cannot be written: {error.strerror}", file=sys.stderr)


def _has_loops(source: str) -> bool:
    """Whether a file, or a file that it includes, may have loops."""
    try:
        text = Path(source).read_text(errors="replace")
    except OSError:
        return False
    return bool(_LOOP.search(text)) or '#include "' in text or "# include" in text


@dataclass(frozen=True)
class _WorkerResult:
    messages: list[str]
    is_replaced: bool = False
    crashed_in: str | None = None
    reason: str = ""


def _run_worker(request: Mapping[str, Any]) -> _WorkerResult:
    """Run a worker; if it ends early, return the function at which it did."""
    words = [sys.executable, "-P", "-m", "riselang.tools.cc.worker"]
    started = ""
    try:
        process = subprocess.run(
            words, input=json.dumps(request), capture_output=True, text=True, check=False,
            timeout=MAX_SECONDS,
        )  # fmt: skip
        output, reason = process.stdout, _format_end(process.returncode, process.stderr)
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode()
        reason = f"riselang took more than {MAX_SECONDS} seconds"
    for line in output.splitlines():
        event: dict[str, Any] = json.loads(line)
        if "messages" in event:
            return _WorkerResult(event["messages"], event["is_replaced"])
        started = event["function"]
    if not started or started in request["skip"]:
        source = request["source"]
        return _WorkerResult([f"{source}: left to the system's compiler: {reason}"])
    return _WorkerResult([], crashed_in=started, reason=reason)


def _format_end(code: int, errors: str) -> str:
    last = (errors.strip().splitlines() or [""])[-1]
    return f"riselang ended with code {code}" + (f" ({last})" if last else "")


def _move(source: str, target: str) -> None:
    """Replace a file by another, also on another file system; its mode stays."""
    mode = Path(target).stat().st_mode
    temporary = f"{target}.rise{os.getpid()}"
    shutil.copyfile(source, temporary)
    os.chmod(temporary, mode)
    os.replace(temporary, target)
