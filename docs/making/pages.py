"""Pages of the documentation, and the output of the code and the commands in them.

The blocks of a page are run from top to bottom in one folder:

- a block that begins with a comment such as `// dot.rise` or `# dot.py` is written to that file;
- the `python` blocks of a page are executed as one program; a `text` block directly after one
  contains its output, including the message of the error that ends it, if any;
- `rise` and `mlir` blocks are parsed and checked, unless they are files, which a command must use;
- `console` blocks contain commands after `$ ` and their output; a line `...` matches any lines.

`render` returns the page with the actual output, so a page is correct if it equals its rendering.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import shlex
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from riselang.dialects.module import parse_module, verify_module
from riselang.notation.program import parse_program
from riselang.rewrite.registry import load_all
from riselang.rewrite.rule import RULES
from riselang.support.config import SETTINGS
from riselang.support.errors import RiseError
from riselang.tools import rise, rise_opt

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?://|#) ([\w-]+\.(?:rise|mlir|py|strategy|c|cpp|yaml))\n")
_MAINS = {"rise": rise.main, "rise-opt": rise_opt.main}
ELLIPSIS = "..."


class PageError(Exception):
    """A block whose result differs from what its page states."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line it begins in."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The name of the file to which the block is written."""
        found = _FILE.match(self.text)
        return found[1] if found else None


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [
        Block(found[1], found[2], page.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(page)
    ]


def render(page: str, folder: Path, session: Session | None = None) -> str:
    """Return the page with all output replaced with the actual output."""
    made = iter((session or Session(folder)).run(blocks(page)))

    def replaced(found: re.Match[str]) -> str:
        block = next(made)
        return f"```{block.language}\n{block.text}```"

    return _FENCE.sub(replaced, page)


class Session:
    """The blocks of one page, run in one folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "docs"}
        self.code = 0

    def run(self, found: Sequence[Block]) -> list[Block]:
        """Return the blocks with their actual output."""
        commands = "".join(block.text for block in found if block.language == "console")
        results: list[Block] = []
        printed = None
        with contextlib.chdir(self.folder), default_settings(), own_rules(), own_modules():
            for block, following in zip(found, [*found[1:], None], strict=False):
                if block.language == "text" and printed is not None:
                    if not printed:
                        raise PageError(f"line {block.line}: the code before it prints nothing")
                    block = replace(block, text=shown(printed, block.text))
                printed = self._python(block) if block.language == "python" else None
                is_shown = following is not None and following.language == "text"
                if "error: " in (printed or "") and not is_shown:
                    raise PageError(f"line {block.line}: {printed}")
                results.append(self._checked(block, commands))
        return results

    def _checked(self, block: Block, commands: str) -> Block:
        if block.file is not None:
            Path(block.file).write_text(block.text)
            if block.language != "python" and block.file not in commands:
                raise PageError(f"line {block.line}: no command uses {block.file}")
        elif block.language == "rise":
            parse_program(block.text)
        elif block.language == "mlir":
            verify_module(parse_module(block.text))
        elif block.language == "console":
            return replace(block, text=self._console(block.text))
        return block

    def _python(self, block: Block) -> str:
        # From a file, so that errors and traces find their source.
        file = block.file or "example.py"
        Path(file).write_text(block.text)
        # A rule belongs to its module, which another file of the page may import.
        self.names["__name__"] = Path(block.file).stem if block.file else "docs"
        linecache.clearcache()
        with captured() as output:
            try:
                exec(compile(block.text, file, "exec"), self.names)
            except RiseError as error:
                print(error)
        return output.getvalue()

    def _console(self, text: str) -> str:
        pieces = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)[1:]
        made: list[str] = []
        for command, expected in zip(pieces[::2], pieces[1::2], strict=True):
            made.append(f"$ {command}\n{shown(self._command(command), expected)}")
        return "".join(made)

    def _command(self, command: str) -> str:
        words = shlex.split(command)
        if words == ["echo", "$?"]:
            return f"{self.code}\n"
        variables: dict[str, str] = {}
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        if words[0] == "cat":
            return Path(words[1]).read_text()
        return self._tool(words, variables)

    def _tool(self, words: Sequence[str], variables: dict[str, str]) -> str:
        self.code = 0
        linecache.clearcache()
        with captured() as output, patch.dict(os.environ, variables):
            try:
                _MAINS[words[0]](words[1:])
            except SystemExit as exit:
                self.code = int(exit.code or 0)
        return output.getvalue()


@contextlib.contextmanager
def default_settings() -> Generator[None]:
    """No `RISE_*` variables, so that a page looks the same for everyone."""
    with patch.dict(os.environ):
        for setting in SETTINGS:
            os.environ.pop(setting.variable, None)
        yield


@contextlib.contextmanager
def own_rules() -> Generator[None]:
    """Rules that a page makes are those of that page alone."""
    load_all()
    with patch.dict(RULES):
        yield


@contextlib.contextmanager
def own_modules() -> Generator[None]:
    """The files of a page can be imported by the others, and are forgotten afterwards."""
    with patch.object(sys, "path", [os.getcwd(), *sys.path]):
        before = set(sys.modules)
        yield
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", None)).startswith(os.getcwd()):
                del sys.modules[name]


@contextlib.contextmanager
def captured() -> Generator[io.StringIO]:
    """Standard output and standard error as one text."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        yield output


def shown(printed: str, expected: str) -> str:
    """What a page shows for `printed`: the same, or `expected` if that leaves lines out."""
    printed = printed.rstrip("\n") + "\n" if printed.strip() else ""
    parts = re.split(rf"^{re.escape(ELLIPSIS)}\n", expected, flags=re.MULTILINE)
    pattern = ".*".join(re.escape(part) for part in parts)
    return expected if re.fullmatch(pattern, printed, re.DOTALL) else printed
