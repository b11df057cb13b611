"""A lit format that runs `rise-opt ... | filecheck ...` inside of lit's own processes.

Starting Python takes longer than most of these tests. A test with any other command runs in a
shell, as usual.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import lit.formats
import lit.Test
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from riselang.tools import rise_opt

RUN = re.compile(r"//\s*RUN:\s*(.*)")
PIPELINE = re.compile(r"rise-opt (?P<passes>[^|<>&;]*)\| filecheck (?P<checks>[^|<>&;]*)")


class InProcess(lit.formats.ShTest):
    """Runs the pipelines of a test in this process if it has no other commands."""

    def execute(self, test: Any, litConfig: Any) -> Any:
        path = test.getSourcePath()
        with open(path) as file:
            commands = RUN.findall(file.read())
        pipelines = [PIPELINE.fullmatch(command.strip()) for command in commands]
        others = [command for command in commands if "%" in command.replace("%s", "")]
        if not pipelines or None in pipelines or others:
            return super().execute(test, litConfig)
        for command, pipeline in zip(commands, pipelines, strict=True):
            assert pipeline is not None
            passes, checks = (
                [word.replace("%s", path) for word in shlex.split(pipeline[name])]
                for name in ("passes", "checks")
            )
            output = run_pipeline(passes, checks)
            if output is not None:
                return lit.Test.Result(lit.Test.FAIL, f"{command}\n{output}")
        return lit.Test.Result(lit.Test.PASS)


def run_pipeline(passes: Sequence[str], checks: Sequence[str]) -> str | None:
    """Return what was printed if a pipeline fails, else None."""
    status, printed, errors = captured(lambda: rise_opt.main(passes))
    if status:
        return printed + errors

    def check() -> None:
        options = parse_argv_options(["filecheck", *checks])
        matcher = Matcher(options, FInput("rise-opt", printed), Parser.from_opts(options))
        raise SystemExit(matcher.run())

    status, found, errors = captured(check)
    return f"{found}{errors}{printed}" if status else None


def captured(run: Callable[[], None]) -> tuple[int, str, str]:
    """The exit status of a command, and what it prints to stdout and stderr."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            run()
            status = 0
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    return status, output.getvalue(), errors.getvalue()
