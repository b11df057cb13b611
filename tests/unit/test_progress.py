"""Progress: shown on a terminal or in a notebook after two seconds, and gone afterwards."""

from __future__ import annotations

import io
import os
import pty
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import numpy as np
import pytest

import riselang as rl
from riselang.support import profiling, progress
from riselang.support.profiling import Phases, time_span
from riselang.support.progress import can_show_progress
from riselang.tools import rise


class Clock:
    """Time that passes when a test says so, and the timers that run by it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Timer]] = []

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for time, timer in self.timers if time <= self.now]
        self.timers = [each for each in self.timers if each[0] > self.now]
        for timer in due:
            timer.function()


class Timer:
    """One of `threading`, by the clock of a test."""

    clock: Clock
    daemon = False

    def __init__(self, seconds: float, function: Callable[[], None]):
        self.seconds = seconds
        self.function = function

    def start(self) -> None:
        self.clock.timers.append((self.clock.now + self.seconds, self))

    def cancel(self) -> None:
        self.clock.timers = [each for each in self.clock.timers if each[1] is not self]

    def join(self) -> None:
        pass


class Terminal:
    """A terminal that is standard error, and what is written there."""

    def __init__(self) -> None:
        self._ours, theirs = pty.openpty()
        self.stream = os.fdopen(theirs, "w")

    def written(self) -> str:
        """All of it; the terminal is closed then."""
        self.stream.close()
        data = b""
        while True:
            try:
                part = os.read(self._ours, 4096)
            except OSError:  # what Linux says when the other end is closed
                break
            if not part:
                break
            data += part
        os.close(self._ours)
        return data.decode()


class Cell(io.StringIO):
    """Standard error of a notebook."""


Cell.__module__ = "ipykernel.iostream"


def plain(written: str) -> str:
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", written)


def is_taken_away(written: str) -> bool:
    """Whether the cursor is shown again, and the last thing done to the line is to erase it."""
    return "\x1b[?25h" in written and written.rstrip().endswith("\x1b[2K")


def on_screen(written: str) -> str:
    """What carriage returns leave of a line."""
    line = ""
    for part in written.split("\r"):
        line = part + line[len(part) :]
    return line


def replace_stderr(monkeypatch: pytest.MonkeyPatch, stream: TextIO | None) -> None:
    """For `progress` alone: pytest has its own at the beginning of each test."""
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.delenv("RISE_PROGRESS", raising=False)
    monkeypatch.setattr(Timer, "clock", clock, raising=False)
    monkeypatch.setattr(threading, "Timer", Timer)
    monkeypatch.setattr(progress, "monotonic", clock)
    return clock


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    terminal = Terminal()
    replace_stderr(monkeypatch, terminal.stream)
    yield terminal
    terminal.stream.close()


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    cell = Cell()
    replace_stderr(monkeypatch, cell)
    return cell


def test_what_is_quick_shows_nothing(clock: Clock, terminal: Terminal) -> None:
    with progress.progress("measuring"):
        clock.pass_by(1.9)
    clock.pass_by(10)
    assert terminal.written() == ""


def test_what_takes_long_is_shown_and_taken_away(clock: Clock, terminal: Terminal) -> None:
    with progress.progress("[measuring]", total=2) as steps:
        clock.pass_by(3)
        steps.advance("second half")
        clock.pass_by(60)
        steps.advance()
    written = terminal.written()
    text = plain(written)
    assert re.search(r"\[measuring\].*0/2 0:00:03", text)
    assert re.search(r"second half.*1/2 0:00:03", text)
    assert "2/2 0:01:03" in text
    assert is_taken_away(written)


def test_the_phase_is_named(clock: Clock, terminal: Terminal) -> None:
    with progress.progress("compiling f"):
        with time_span("rewrite"):
            pass
        with time_span("LLVM"), time_span("optimize"):
            clock.pass_by(2)
    text = plain(terminal.written())
    assert "compiling f: LLVM: optimize 0:00:02" in text
    assert "rewrite" not in text


def test_a_block_inside_another_is_a_part_of_it(clock: Clock, terminal: Terminal) -> None:
    with (
        progress.progress("compiling file.rise"),
        progress.progress("compiling f"),
        time_span("LLVM"),
    ):
        clock.pass_by(2)
    text = plain(terminal.written())
    assert "compiling file.rise: LLVM" in text
    assert "compiling f:" not in text


def test_of_several_threads_the_first_has_the_line(clock: Clock, terminal: Terminal) -> None:
    def second() -> None:
        with progress.progress("second"):
            clock.pass_by(2)

    with progress.progress("first"):
        clock.pass_by(2)
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    with progress.progress("third"):
        clock.pass_by(2)
    text = plain(terminal.written())
    assert "first" in text
    assert "second" not in text
    assert "third" in text


def test_an_error_takes_the_line_away(clock: Clock, terminal: Terminal) -> None:
    def fails() -> None:
        with progress.progress("compiling f"):
            clock.pass_by(2)
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        fails()
    assert is_taken_away(terminal.written())


def test_in_a_notebook_the_line_is_plain(clock: Clock, cell: Cell) -> None:
    with progress.progress("compiling f"):
        with time_span("rewrite"):
            clock.pass_by(75)
        assert on_screen(cell.getvalue()) == "compiling f: rewrite 1:15"
    assert on_screen(cell.getvalue()).strip() == ""
    assert cell.getvalue().endswith("\r")
    assert "\n" not in cell.getvalue()


def test_in_a_notebook_steps_are_counted(clock: Clock, cell: Cell) -> None:
    with progress.progress("measuring", total=3) as steps:
        clock.pass_by(2)
        steps.advance("more")
        assert on_screen(cell.getvalue()).rstrip() == "more 1/3 0:02"


@pytest.mark.parametrize(("setting", "shown"), [("0", False), ("1", True), ("auto", True)])
def test_the_setting_on_a_terminal(
    setting: str, shown: bool, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_PROGRESS", setting)
    assert can_show_progress() is shown


@pytest.mark.parametrize(("setting", "shown"), [("0", False), ("1", True), ("auto", False)])
def test_the_setting_without_a_terminal(
    setting: str, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_PROGRESS", setting)
    replace_stderr(monkeypatch, io.StringIO())
    assert can_show_progress() is shown


def test_what_is_no_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_PROGRESS", "yes")
    with pytest.raises(rl.UserError, match="RISE_PROGRESS must be auto, 0 or 1, but is 'yes'"):
        can_show_progress()


def test_a_process_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_stderr(monkeypatch, None)
    monkeypatch.setenv("RISE_PROGRESS", "1")
    assert not can_show_progress()


@pytest.fixture
def slow_llvm(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes when LLVM begins."""

    class Slow(Phases):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if value == ("LLVM",) and clock.timers:
                clock.pass_by(2)

    monkeypatch.setattr(profiling, "Phases", Slow)


@pytest.mark.usefixtures("slow_llvm")
def test_a_kernel(terminal: Terminal) -> None:
    @rl.jit
    def twice(x: rl.Array["N", rl.f32]):
        return x | rl.map(lambda a: a * 2.0)

    assert twice(np.ones(8, np.float32)).sum() == 16
    assert twice(np.ones(8, np.float32)).sum() == 16
    written = terminal.written()
    assert "compiling twice: LLVM" in plain(written)
    assert is_taken_away(written)


@pytest.mark.usefixtures("slow_llvm")
def test_a_module(terminal: Terminal) -> None:
    module: Any = rl.loads(MODULE, name="module.mlir")
    assert module.f
    assert "compiling module.mlir: LLVM" in plain(terminal.written())


MODULE = """
func.func @f(%out: memref<4xf32>, %x: memref<4xf32>) {
  "memref.copy"(%x, %out) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
"""


@pytest.mark.usefixtures("slow_llvm")
def test_a_model(terminal: Terminal) -> None:
    model: Any = rl.from_stablehlo(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = stablehlo.add %x, %x : tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}"
    )
    assert model(np.ones(4, np.float32)).sum() == 8
    assert "compiling main: LLVM" in plain(terminal.written())


@pytest.mark.usefixtures("slow_llvm")
def test_the_output_of_a_command_is_not_touched(
    tmp_path: Path, terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "twice.rise"
    file.write_text("def f = fun((x : 3.f32), x |> map(fun(a, a + a)))\n")
    rise.main(["run", str(file), "ones"])
    assert capsys.readouterr().out == "[2. 2. 2.]\n"
    assert "running f" in plain(terminal.written())
