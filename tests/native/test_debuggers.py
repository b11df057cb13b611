"""The page on debuggers and profilers shows what they print, where there are any."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from shutil import which

import numpy as np
import pytest

import riselang as rl
from making.pages import blocks
from riselang.native import code_loading
from riselang.native.debug_info import perf_map
from riselang.native.llvm import codegen as llvm

pytestmark = [pytest.mark.long, pytest.mark.nightly]
"""`test_debug_info.py` looks at what debuggers read."""

PAGE = Path(__file__).parents[2] / "docs/debugging.md"


def shown(tool: str) -> tuple[str, list[str]]:
    """The commands of the page that run a tool, and the lines it shows for them."""
    found = blocks(PAGE.read_text())
    for block, following in pairwise(found):
        if block.language == "sh" and tool in block.text:
            return block.text, following.text.splitlines()
    raise AssertionError(f"the page says nothing of {tool}")


def run(commands: str, folder: Path) -> str:
    for block in blocks(PAGE.read_text()):
        if block.file is not None:
            (folder / block.file).write_text(block.text)
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": programs}
    done = subprocess.run(
        ["sh", "-c", commands], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.skipif(which("gdb") is None, reason="there is no gdb")
def test_gdb_stops_in_a_kernel(tmp_path: Path) -> None:
    commands, expected = shown("gdb")
    output = run(commands, tmp_path)
    if "ptrace: Operation not permitted" in output:
        pytest.skip("processes must not be debugged here")
    # An address, the number of a place of several, and a thread are named if there are others.
    plain = re.sub(r"0x\w+ in |(?<=Breakpoint 1)\.\d+", "", output)
    for line in expected:
        assert line.removeprefix('Thread 1 "python" hit ') in plain, output


@pytest.mark.skipif(which("perf") is None, reason="there is no perf")
def test_perf_names_the_lines_of_a_kernel(tmp_path: Path) -> None:
    commands, (expected,) = shown("perf")
    output = run(commands, tmp_path)
    if "perf_event_paranoid" in output:
        pytest.skip("processes must not be profiled here")
    assert expected.partition("%")[2].strip() in output


def test_loaded_code_is_named() -> None:
    @rl.jit(debug_info=True, float="strict")
    def scaled(x: rl.Array["N", rl.f32]):
        return x | rl.map(lambda a: a * 2.0)

    x = np.ones(1000, np.float32)
    line = scaled.function.__code__.co_firstlineno + 2
    recorded: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        record = perf_map.record_code
        patch.setattr(
            perf_map,
            "record_code",
            lambda code, address: (recorded.append(code), record(code, address)),
        )
        scaled(x)
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    names = {name for _, _, name in perf_map.split_code(recorded[0])}
    assert f"scaled test_debuggers.py:{line}" in names
    if sys.platform.startswith("linux"):
        assert f" scaled test_debuggers.py:{line}\n" in path.read_text()
        path.unlink()


def test_code_without_debug_info_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_map, "_append", lambda path, text: pytest.fail("it is"))
    code_loading.load_objects([llvm.jit_object("define void @f() {\n  ret void\n}\n")])
