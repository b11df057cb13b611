"""Adds debug locations to the entry points for calls from Python, in LLVM IR text.

LLVM inlines the called function, and drops its debug locations if the caller has none.
"""

from __future__ import annotations

import re

from riselang.native.llvm.entry_points import ENTRY_PREFIX

_DEFINITION = re.compile(
    r"^define [^@\n]*@(?P<quote>\"?)(?P<name>[^\"(\n]+)(?P=quote)\("
    r".*!dbg (?P<program>!\d+) \{$",
    re.MULTILINE,
)
_PROGRAM = re.compile(
    r"^(?P<number>!\d+) = distinct !DISubprogram\(name: \"(?:[^\"]*)\""
    r"(?:, linkageName: \"[^\"]*\")?(?P<rest>, .*, line: (?P<line>\d+), .*)$",
    re.MULTILINE,
)
_ENTRY = re.compile(
    rf'^define void @"{ENTRY_PREFIX}(?P<name>[^"\n]+)"\((?P<parameters>[^\n]*)\) '
    r"{\n(?P<body>[^}]*)}$",
    re.MULTILINE,
)
_INSTRUCTION = re.compile(r"(?m)^(  .*)$")


def add_entry_locations(ir: str) -> str:
    """Give each entry point the line of the function that it calls."""
    programs = {match["number"]: match for match in _PROGRAM.finditer(ir)}
    programs_by_name = {
        match["name"]: programs.get(match["program"]) for match in _DEFINITION.finditer(ir)
    }
    number = max((int(match[1:]) for match in re.findall(r"^!\d+", ir, re.MULTILINE)), default=0)
    nodes: list[str] = []

    def add_location(match: re.Match[str]) -> str:
        program = programs_by_name.get(match["name"])
        if program is None:
            return match[0]
        own, location = f"!{number + len(nodes) + 1}", f"!{number + len(nodes) + 2}"
        name = ENTRY_PREFIX + match["name"]
        nodes.append(f'{own} = distinct !DISubprogram(name: "{name}"{program["rest"]}')
        nodes.append(f"{location} = !DILocation(line: {program['line']}, scope: {own})")
        body = _INSTRUCTION.sub(rf"\1, !dbg {location}", match["body"])
        return f'define void @"{name}"({match["parameters"]}) !dbg {own} {{\n{body}}}'

    text = _ENTRY.sub(add_location, ir)
    return "\n".join([text, *nodes, ""])
