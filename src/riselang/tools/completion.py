"""`rise completion`: completion scripts for shells, generated from the command-line parser."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Option:
    """An option of a command, or a positional argument with choices, which has no flags."""

    flags: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command, with what can follow it."""

    name: str
    summary: str
    options: tuple[Option, ...]

    @property
    def words(self) -> str:
        """The words that may stand anywhere after the command."""
        flags = [flag for option in self.options for flag in option.flags]
        return " ".join([*flags, *self.positional_choices])

    @property
    def positional_choices(self) -> tuple[str, ...]:
        return tuple(word for each in self.options if not each.flags for word in each.choices)


def add_completion_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=SHELLS, help="the shell whose script is printed")


def completion_script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the completion script for a shell."""
    commands = list(read_commands(parser))
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](parser.prog, commands)


def read_commands(parser: argparse.ArgumentParser) -> Iterator[Command]:
    """Yield the commands of a parser."""
    for action in _actions(parser):
        if not isinstance(action.choices, dict):
            continue
        summaries = {each.dest: each.help or "" for each in _subactions(action)}
        for name, command in action.choices.items():
            options = tuple(map(_option, _actions(command)))
            yield Command(name, summaries[name], options)


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions


def _subactions(action: argparse.Action) -> list[argparse.Action]:
    return list(action._get_subactions())  # type: ignore[attr-defined]


def _option(action: argparse.Action) -> Option:
    summary = " ".join((action.help or "").replace("%%", "%").split())
    choices = tuple(map(str, action.choices or ()))
    return Option(tuple(action.option_strings), summary, action.nargs != 0, choices)


def _bash(program: str, commands: list[Command]) -> str:
    values = [
        f'    "{command.name} {flag}") words="{" ".join(option.choices)}"; files= ;;'
        for command in commands
        for option in command.options
        for flag in option.flags
        if option.choices
    ]
    words = [f'      {each.name}) words="{each.words}" ;;' for each in commands]
    return "\n".join([
        f"_{program}() {{",
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
        "  local words= files=yes",
        '  if [[ $COMP_CWORD == 1 ]]; then',
        f'    words="{" ".join(each.name for each in commands)}" files=',
        "  else",
        '    case "${COMP_WORDS[1]} $previous" in',
        *(f"  {line}" for line in values),
        "    *)",
        '      case "${COMP_WORDS[1]}" in',
        *(f"  {line}" for line in words),
        "      esac ;;",
        "    esac",
        "  fi",
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
        '  if [[ $files && $current != -* ]]; then',
        '    COMPREPLY+=($(compgen -f -- "$current"))',
        "  fi",
        "}",
        f"complete -o filenames -F _{program} {program}",
        "",
    ])  # fmt: skip


def _zsh(program: str, commands: list[Command]) -> str:
    summaries = [f"    {shlex.quote(f'{each.name}:{each.summary}')}" for each in commands]
    cases = [line for command in commands for line in _zsh_case(command)]
    return "\n".join([
        f"#compdef {program}",
        f"_{program}() {{",
        "  local -a commands=(", *summaries, "  )",
        "  if (( CURRENT == 2 )); then",
        "    _describe command commands",
        "    return",
        "  fi",
        "  shift words",
        "  (( CURRENT-- ))",
        '  case "$words[1]" in',
        *cases,
        "  esac",
        "}",
        f"compdef _{program} {program}",
        "",
    ])  # fmt: skip


def _zsh_case(command: Command) -> list[str]:
    options = [
        shlex.quote(f"*{flag}[{_zsh_text(option.help)}]{_zsh_value(option)}")
        for option in command.options
        for flag in option.flags
    ]
    choices = " ".join(command.positional_choices)
    rest = shlex.quote(f"*:argument:({choices})" if choices else "*:file:_files")
    return [f"    {command.name}) _arguments {' '.join([*options, rest])} ;;"]


def _zsh_text(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace(":", "\\:")


def _zsh_value(option: Option) -> str:
    if option.choices:
        return f":value:({' '.join(option.choices)})"
    return ":value:_files" if option.takes_value else ""


def _fish(program: str, commands: list[Command]) -> str:
    start = f"complete -c {program}"
    lines: list[str] = []
    for command in commands:
        summary = _fish_text(command.summary)
        lines.append(f"{start} -f -n __fish_use_subcommand -a {command.name} -d {summary}")
        condition = f"-n '__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            if flags := " ".join(map(_fish_flag, option.flags)):
                value = _fish_value(option)
                lines.append(f"{start} {condition} {flags}{value} -d {_fish_text(option.help)}")
        if choices := " ".join(command.positional_choices):
            lines.append(f"{start} {condition} -f -a '{choices}'")
    return "\n".join([*lines, ""])


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _fish_flag(flag: str) -> str:
    return f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"


def _fish_value(option: Option) -> str:
    if option.choices:
        return f" -xa '{' '.join(option.choices)}'"
    return " -r" if option.takes_value else ""
