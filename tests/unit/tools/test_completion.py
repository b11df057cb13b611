"""Completion scripts for shells."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from riselang.tools import rise
from riselang.tools.completion import SHELLS, completion_script, read_commands

CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


def complete(*words: str) -> list[str]:
    """What bash offers for the last word."""
    script = completion_script("bash", rise.make_parser())
    line = " ".join(f"'{word}'" for word in words)
    command = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _rise\n"
    done = subprocess.run(
        ["bash", "-c", command + 'printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_completion_in_bash() -> None:
    assert complete("rise", "comp") == ["compile", "completion"]
    assert complete("rise", "compile", "--emit", "s") == ["shared"]
    assert complete("rise", "compile", "a.rise", "--ef") == ["--effort"]
    assert complete("rise", "completion", "z") == ["zsh"]
    assert complete("rise", "check", "/etc/host") != []


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_have_all_commands_and_options(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rise.main(["completion", shell])
    script = capsys.readouterr().out
    for command in read_commands(rise.make_parser()):
        assert command.name in script
        for option in command.options:
            assert all(flag.lstrip("-") in script for flag in option.flags)
    if shutil.which(shell) is not None:
        subprocess.run(CHECKS[shell], input=script, text=True, check=True)
