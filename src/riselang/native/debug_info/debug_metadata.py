"""Line tables of the functions through which Python calls, which are added to the IR as text.

LLVM inlines the function that is called, and forgets the lines of what it puts into a function
that has none itself.
"""

from __future__ import annotations

import re

from riselang.native.llvm.entry_points import PREFIX

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
    rf'^define void @"{PREFIX}(?P<name>[^"\n]+)"\((?P<parameters>[^\n]*)\) {{\n(?P<body>[^}}]*)}}$',
    re.MULTILINE,
)
_INSTRUCTION = re.compile(r"(?m)^(  .*)$")


def with_entry_lines(ir: str) -> str:
    """The module, whose entries have the line of the function that they call."""
    programs = {found["number"]: found for found in _PROGRAM.finditer(ir)}
    called = {found["name"]: programs.get(found["program"]) for found in _DEFINITION.finditer(ir)}
    number = max((int(found[1:]) for found in re.findall(r"^!\d+", ir, re.MULTILINE)), default=0)
    nodes: list[str] = []

    def located(found: re.Match[str]) -> str:
        program = called.get(found["name"])
        if program is None:
            return found[0]
        own, place = f"!{number + len(nodes) + 1}", f"!{number + len(nodes) + 2}"
        name = PREFIX + found["name"]
        nodes.append(f'{own} = distinct !DISubprogram(name: "{name}"{program["rest"]}')
        nodes.append(f"{place} = !DILocation(line: {program['line']}, scope: {own})")
        body = _INSTRUCTION.sub(rf"\1, !dbg {place}", found["body"])
        return f'define void @"{name}"({found["parameters"]}) !dbg {own} {{\n{body}}}'

    text = _ENTRY.sub(located, ir)
    return "\n".join([text, *nodes, ""])
