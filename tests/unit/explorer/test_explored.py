"""What the explorer knows of a program: its steps, its stages, and what belongs together."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.explorer.numbering import PARTS_FILE, number_parts
from riselang.explorer.page_data import explore_program
from riselang.explorer.program_sources import find_source
from riselang.explorer.subject import make_subject
from riselang.notation.printer import show_term
from riselang.rewrite.derivation import derive
from riselang.rewrite.paths import subterm_at
from riselang.strategy import fuse
from riselang.support.errors import UserError
from riselang.term.nodes import Pattern, subterms

MATMUL = """def matmul = fun((A : N.K.f32, B : K.M.f32),
  A |> map(fun(row,
    B |> transpose |> map(fun(column,
      zip(row, column) |> map(mult) |> reduce(add, 0.0))))))
"""
TILED = "tile(4, 4) @ outermost('map', nest=2)"


@cache
def matmul() -> dict[str, Any]:
    program: Any = rl.loads(MATMUL, name="matmul.rise", strategy=TILED)
    traced = program.matmul.trace(N=8, K=8, M=8)
    source = find_source(traced.term)
    from riselang.explorer.subject import SourceText

    assert source.language == "rise"
    written = SourceText("matmul.rise", "rise", MATMUL.rstrip("\n"))
    return explore_program(make_subject(traced, written, {"N": 8, "K": 8, "M": 8}))


def states(data: dict[str, Any]) -> list[list[list[Any]]]:
    """The lines of each state, as the page makes them."""
    found: list[list[int]] = []
    lines: list[int] = []
    for first, removed, added, _, _ in data["states"]:
        lines = [*lines[:first], *added, *lines[first + removed :]]
        found.append(lines)
    return [[data["lines"][line] for line in each] for each in found]


def test_the_states_are_the_program_as_written_and_after_each_step() -> None:
    data = matmul()
    program: Any = rl.loads(MATMUL, name="matmul.rise", strategy=TILED)
    traced = program.matmul.trace(N=8, K=8, M=8)
    derivation = traced.derive()
    expected = [show_term(traced.term), *map(show_term, derivation.terms())]
    texts = ["\n".join(text for text, _ in state) for state in states(data)]
    assert texts == expected
    assert len(data["steps"]) == len(derivation.steps) + 1
    rules = [data["rules"][number] for number, _ in data["steps"]]
    assert rules[0]["law"] == "a * b + c ~> fma(a, b, c)"
    for rule, step in zip(rules[1:], derivation.steps, strict=True):
        assert (rule["name"], rule["law"]) == (str(step.rule), str(step.rule.law))


def test_what_a_step_made_is_marked_and_what_the_next_will_change() -> None:
    data = matmul()
    shown = states(data)
    for number, (_, _, _, made, next) in enumerate(data["states"]):
        lines = [text for text, _ in shown[number]]
        for mark in (made, next):
            if mark is not None:
                first, begin, last, end = mark
                assert (first, begin) < (last, end)
                assert lines[first][begin : begin + 1].strip()
                assert end <= len(lines[last])
    assert data["states"][-1][3] is not None
    assert data["states"][-1][4] is None


def test_loops_and_instructions_lead_to_patterns_and_those_to_the_source() -> None:
    data = matmul()
    last = states(data)[-1]
    words: dict[int, str] = {}
    for text, flat in last:
        for at in range(0, len(flat), 4):
            column, length, place, part = flat[at : at + 4]
            words[part] = text[column : column + length]
            assert data["parts"][part][1] == place
    affine, asm = (next(s for s in data["stages"] if s["key"] == k) for k in ("affine", "asm"))
    loops = [
        (line.strip(), part)
        for line, part in zip(affine["text"].split("\n"), affine["parts"], strict=True)
        if "affine.for" in line
    ]
    assert [words[part] for _, part in loops] == ["map", "map", "map", "map", "reduce"]
    assert len({part for _, part in loops}) == 5
    # An fma of the machine comes from the fma of the last program, and that from `add` in the file.
    named = {data["parts"][part][0] for part in asm["parts"] if part >= 0}
    assert {"reduce", "fma", "map"} <= named
    part = next(p for p in asm["parts"] if p >= 0 and data["parts"][p][0] == "fma")
    assert data["places"][data["parts"][part][1]] == "matmul.rise:4:47"
    line, flat = data["source"]["lines"][3]
    found = {flat[at + 2]: line[flat[at] :][: flat[at + 1]] for at in range(0, len(flat), 3)}
    assert found[data["parts"][part][1]] == "add"


def test_every_stage_is_there_and_says_nothing_of_our_numbers() -> None:
    data = matmul()
    keys = [stage["key"] for stage in data["stages"]]
    assert keys == ["rise", "imperative", "affine", "llvm", "optimized", "asm"]
    for stage in data["stages"]:
        assert stage["error"] is None
        assert len(stage["parts"]) == stage["text"].count("\n") + 1
        assert PARTS_FILE not in stage["text"]
        assert "!dbg" not in stage["text"]
        assert ".loc" not in stage["text"]


def test_the_code_is_the_one_that_is_compiled() -> None:
    program: Any = rl.loads(MATMUL, name="matmul.rise", strategy=TILED)
    lowered = program.matmul.lower(N=8, K=8, M=8)
    affine = next(stage for stage in matmul()["stages"] if stage["key"] == "affine")
    assert affine["text"].strip() == lowered.as_text("affine").strip()


def test_parts_are_numbered_one_by_one() -> None:
    program: Any = rl.loads(MATMUL, name="matmul.rise")
    derivation = derive(program.matmul.trace(N=8, K=8, M=8).term, fuse())
    found = number_parts(derivation.end)
    assert found.term == derivation.end
    patterns = [part for part in subterms(found.term) if isinstance(part, Pattern)]
    lines = [part.location.line for part in patterns if part.location is not None]
    assert len(lines) == len(set(lines)) == len(patterns)
    assert subterm_at(derivation.end, ()) is found.origins[0]


def test_a_python_function_is_its_own_source() -> None:
    @rl.jit(strategy="none")
    def twice(x: rl.Array["N", rl.f32]):
        return x | rl.map(lambda a: a * 2.0)

    page = rl.explore(twice, N=4)
    data = page.data
    assert data["source"]["file"] == __file__
    assert data["source"]["language"] == "python"
    words = [
        text[flat[at] :][: flat[at + 1]]
        for text, flat in data["source"]["lines"]
        for at in range(0, len(flat), 3)
    ]
    assert "rl.map" in words
    assert data["steps"] == []
    assert len(data["states"]) == 1


def test_a_page_is_made_of_arrays_and_of_stages_too() -> None:
    @rl.jit
    def total(x: rl.Array["N", rl.i32]):
        return x | rl.reduce(rl.add, 0)

    titles = [
        rl.explore(each).data["title"]
        for each in (total.trace(N=4), total.lower(np.ones(4, np.int32)))
    ]
    assert titles == ["total", "total"]
    assert rl.explore(total, np.ones(4, np.int32)).data["title"] == "total"


def test_what_cannot_be_compiled_is_shown_as_far_as_it_goes() -> None:
    program: Any = rl.loads("fun((x : 4.f32), x |> mapThread(0, sqrt))", name="gpu.rise")
    data = rl.explore(program).data
    last = data["stages"][-1]
    assert "mapThread" in last["error"]
    assert last["text"] == ""
    assert len(data["stages"]) < 6


def test_what_is_no_program_is_refused() -> None:
    with pytest.raises(UserError, match="expected a kernel, a model"):
        rl.explore(3)
    with pytest.raises(UserError, match="the sizes of this program are fixed"):
        rl.explore(rl.loads("fun((x : 4.f32), x)", name="a.rise").main.trace(), N=3)  # type: ignore[union-attr]


def test_a_page_needs_nothing_but_itself_and_escapes_what_it_shows(tmp_path: Path) -> None:
    text = "// </script><img src=x onerror=alert(1)>\nfun((x : 4.f32), x |> reverse)"
    (tmp_path / "odd.rise").write_text(text)
    program: Any = rl.load(tmp_path / "odd.rise")
    page = rl.explore(program)
    page.save(tmp_path / "odd.html")
    html = (tmp_path / "odd.html").read_text()
    assert "</script><img" not in html
    assert html.count("</script>") == 2
    for outside in ("http://", "https://", "@import", "url("):
        assert outside not in html.replace("http://www.w3.org/2000/svg", "")
    assert 'srcdoc="&lt;!doctype html&gt;' in page._repr_html_()
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
