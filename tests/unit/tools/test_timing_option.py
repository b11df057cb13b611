"""`--timing` of the commands: every stage that ran is there by name, on standard error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from riselang.tools import rise

PROGRAM = "def twice = fun((x : 3.f32), x |> map(fun(a, a * 2.0)))\n"
PYTHON = """import riselang as rl

@rl.jit
def twice(x: rl.Array["N", rl.f32]):
    return x | rl.map(lambda a: a * 2.0)
"""
OURS = ["our passes", "convert-rise-to-imperative", "resolve-rise-access"]
NATIVE = ["print", "MLIR", "canonicalize", "convert-func-to-llvm", "translate", "LLVM", "optimize"]


@pytest.mark.parametrize(
    ("command", "file", "stages"),
    [
        (["check"], "twice.rise", ["read", "check"]),
        (["check"], "twice.py", ["read", "trace"]),
        (["show", "--as", "affine"], "twice.rise", ["read", "check", *OURS, "print"]),
        (["compile", "-o", "twice.o"], "twice.rise", ["read", *OURS, *NATIVE, "emit"]),
        (["run", "--size", "N=3"], "twice.py", ["trace", *OURS, *NATIVE, "load", "run"]),
        (["run", "--backend", "interpret"], "twice.rise", ["read", "check", "run"]),
    ],
)
def test_the_tree_names_every_stage(
    command: list[str],
    file: str,
    stages: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).write_text(PYTHON if file.endswith(".py") else PROGRAM)
    name, *options = command
    rise.main([name, file, *options, "--timing"])
    captured = capsys.readouterr()
    found = re.findall(r"^[│ ]*[├└]─ (.*?) +\d+\.\d\d ms +\d+\.\d%$", captured.err, re.MULTILINE)
    assert f"rise {name} {file} " in captured.err
    assert set(stages) <= set(found), captured.err
    assert "─" not in captured.out
    rise.main([name, file, *options])
    assert "─" not in capsys.readouterr().err


def test_a_mistake_is_shown_without_a_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.rise"
    file.write_text("def f = fun((x : 3.f32), x + )")
    with pytest.raises(SystemExit) as exit:
        rise.main(["check", str(file), "--timing"])
    assert exit.value.code == 1
    assert "─" not in capsys.readouterr().err
