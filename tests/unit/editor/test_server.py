"""The language server, driven as an editor does it: a process, and messages on its pipes."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls: pip install -e '.[editor]'")

from lsprotocol import types

from support.broken_modules import MODULES
from support.broken_notation import NOTATION
from support.editing import Editor, Server
from support.mutation import Language

PROGRAMS = Path(__file__).parents[3] / "examples" / "programs"
MATMUL = """// C = A B
def dot = fun((row, column),
  zip(row, column) |> map(mult) |> reduce(add, 0.0))

def matmul = fun((A : N.K.f32, B : K.M.f32),
  A |> map(fun(row,
    B |> transpose |> map(fun(column, dot(row, column))))))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


def test_errors_appear_while_typing_and_go_when_mended(server: Server) -> None:
    async def use(editor: Editor) -> None:
        assert await editor.diagnostics() == []
        editor.type(MATMUL.replace("transpose", "transposed"))
        (problem,) = await editor.diagnostics()
        assert problem.message == "unknown name 'transposed'; did you mean 'transpose'?"
        assert (problem.range.start.line, problem.range.start.character) == (6, 9)
        assert problem.range.end.character == 19
        editor.type(MATMUL)
        assert await editor.diagnostics() == []

    server.edit("matmul.rise", MATMUL, use)


def test_all_that_is_wrong_is_shown(server: Server) -> None:
    text = "def a = fun(x : N.f32, x |> foo |> bar)\n\ndef b = fun(x : , x)\n\ndef c = b\n\n"

    async def use(editor: Editor) -> None:
        found = await editor.diagnostics()
        assert [(each.range.start.line, each.message.split(";")[0]) for each in found] == [
            (0, "unknown name 'foo'"),
            (0, "unknown name 'bar'"),
            (2, "expected a type, but found ','"),
        ]

    server.edit("wrong.rise", text, use)


def test_hover_definition_completion_and_formatting_of_notation(server: Server) -> None:
    async def use(editor: Editor) -> None:
        row = await editor.hover("row,\n")
        assert row is not None
        assert "row : K.f32" in row
        assert "K * 4 bytes" in row
        transpose = await editor.hover("transpose")
        assert transpose is not None
        assert "n.m.t -> m.n.t" in transpose
        assert "gives `M.K.f32`" in transpose
        assert "matmul : N.K.f32 -> K.M.f32 -> N.M.f32" in str(await editor.hover("matmul"))
        assert "every" in str(await editor.hover("dot"))  # it has no sizes of its own
        assert await editor.hover("// C") is None

        assert await editor.definition("dot(") == "2: dot"
        assert await editor.definition("column)") == "2: column"
        assert await editor.definition("row, column))))") == "6: row"
        assert await editor.definition("transpose") is None

        found = await editor.suggestions("transpose")
        assert {"map", "reduce", "dot", "row", "A", "fun", "f32"} <= set(found)
        assert "matmul" not in found  # no definition uses itself
        assert found["row"].detail == "K.f32"
        assert found["map"].detail == "map : (s -> t) -> n.s -> n.t"

        assert await editor.formatted() is None  # it is formatted
        editor.type(MATMUL.replace("zip(row, column) |> ", "zip(row,   column)\n|> "))
        assert await editor.formatted() == MATMUL
        editor.type("// my only copy\ndef a = fun(x")
        assert await editor.formatted() is None

    server.edit("matmul.rise", MATMUL, use)


def test_a_module_of_mlir(server: Server) -> None:
    text = (PROGRAMS.parent / "seeds" / "000_matmul.mlir").read_text()

    async def use(editor: Editor) -> None:
        assert await editor.diagnostics() == []
        hover = await editor.hover("%B")
        assert hover is not None
        assert "!rise.array<5, array<9, scalar<f32>>>" in hover
        assert "`5.9.f32` in notation" in hover
        assert "Pairs the elements of two arrays." in str(await editor.hover("rise.zip"))
        assert "%first : f32" in str(await editor.hover("%first, %second : f32"))
        assert "%first : !rise.scalar<f32>" in str(await editor.hover("%first, %second, %acc"))
        line = await editor.definition("%B\n")
        assert line is not None
        assert line.endswith(": %B")
        assert "rise.reduceSeq" in await editor.suggestions("rise.")
        assert await editor.formatted() is None
        editor.type(text.replace("rise.zip", "rise.zipp"))
        (problem,) = await editor.diagnostics()
        assert problem.message == "unknown op 'rise.zipp'"

    server.edit("matmul.mlir", text, use)


def test_a_strategy(server: Server) -> None:
    async def use(editor: Editor) -> None:
        assert await editor.diagnostics() == []
        assert "tile" in str(await editor.hover("tile"))
        assert await editor.definition("blocks", 2) == "1: blocks"
        found = await editor.suggestions("tile")
        assert {"split_join", "fuse", "outermost", "blocks"} <= set(found)
        editor.type("tiles(32)\n")
        assert len(await editor.diagnostics()) == 1

    server.edit(
        "matmul.strategy", "blocks = tile(32, 32)\nblocks @ outermost('map', nest=2)\n", use
    )


def test_places_are_counted_as_editors_count_them(server: Server) -> None:
    text = "/* \U0001f600 is two units */ fun(x : N.f32, x |> unknown_here)\r\n"

    async def use(editor: Editor) -> None:
        (problem,) = await editor.diagnostics()
        column = len(text[: text.index("unknown")].encode("utf-16-le")) // 2
        assert problem.range.start.character == column

    server.edit("units.rise", text, use)


@pytest.mark.sampled(1)
@pytest.mark.rotating(4)
@pytest.mark.parametrize(("name", "language"), [("a.rise", NOTATION), ("a.mlir", MODULES)])
def test_random_edits_never_stop_the_server(server: Server, name: str, language: Language) -> None:
    choices = random.Random(7)

    async def use(editor: Editor) -> None:
        for seed in range(100):
            editor.type(language.broken(seed).decode(errors="replace"))
            if seed % 10 == 0 and editor.text:
                word = choices.choice(editor.text)
                await editor.hover(word)
                await editor.definition(word)
                await editor.suggestions(word)
                assert not is_defect(await editor.diagnostics())
        editor.type("")
        await editor.diagnostics()

    server.edit(name, "", use)


def is_defect(found: list[types.Diagnostic]) -> bool:
    """Whether what is wrong is the server."""
    return any(re.match(r"\w*(Error|Exception):", each.message) for each in found)
