"""Progress: shown on a terminal after two seconds, never elsewhere, and never in the output."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

SLEEPING = """
import sys, time
from riselang.tools import progress
progress.DELAY = {delay}
with progress.progress("[measuring]", total=2) as steps:
    time.sleep({first})
    steps.advance("second half")
    time.sleep({second})
    steps.advance()
print("result", "rich.progress" in sys.modules)
"""
COMMAND = """
from riselang.tools import progress, rise
progress.DELAY = 0.0
rise.main(["run", "twice.rise", "ones"])
"""


class Run(NamedTuple):
    output: str
    shown: str


def on_a_terminal(code: str, folder: Path) -> Run:
    """Run code whose standard error is a terminal."""
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # what Linux says when the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert run.stdout is not None
    output = run.stdout.read().decode()
    assert run.wait() == 0, shown.decode()
    return Run(output, shown.decode())


def test_what_is_quick_shows_nothing(tmp_path: Path) -> None:
    code = SLEEPING.format(delay=2.0, first=0.1, second=0.1)
    assert on_a_terminal(code, tmp_path) == ("result False\n", "")


def test_what_takes_long_is_shown_and_taken_away(tmp_path: Path) -> None:
    run = on_a_terminal(SLEEPING.format(delay=1.1, first=1.6, second=0.4), tmp_path)
    assert run.output == "result True\n"
    text = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", run.shown)
    assert "[measuring]" in text
    assert "0/2 0:00:01" in text
    assert "second half" in text
    assert "1/2" in text
    # The cursor is shown again, and the last thing done to the line is to erase it.
    assert "\x1b[?25h" in run.shown
    assert run.shown.rstrip().endswith("\x1b[2K")


def test_the_output_of_a_command_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "twice.rise").write_text("def f = fun((x : 3.f32), x |> map(fun(a, a + a)))\n")
    run = on_a_terminal(COMMAND, tmp_path)
    assert run.output == "[2. 2. 2.]\n"
    assert "reading twice.rise" in run.shown


def test_nothing_is_shown_where_there_is_no_terminal(tmp_path: Path) -> None:
    code = SLEEPING.format(delay=0.0, first=0.2, second=0.2)
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert (run.stdout, run.stderr) == ("result False\n", "")
