"""Strategies as text on several lines, which parses back, and files of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategy_files import check_extension, read_strategy
from riselang.rewrite.strategy_layout import WIDTH, format_strategy
from riselang.rewrite.strategy_text import parse_strategy
from riselang.support.errors import UserError

CHOICE = "try(fuse()) | (simplify() >> repeat(fuse() >> simplify()) >> tile(32, 32))"


@pytest.mark.parametrize(
    "text",
    [
        "fuse()",
        "try(fuse()) | not(fuse()) >> (tile(8, 16) >> fuse()) @ outermost('map', nest=2)",
        " >> ".join(["simplify()"] * 20),
        f"({CHOICE}) @ outermost('map', nest=2) >> ({CHOICE}) @ outermost('map') >> fuse()",
        f"({' >> '.join(['simplify()'] * 12)}) @ outermost('map')",
        f"{CHOICE} | {CHOICE} >> {CHOICE}",
        f"repeat(try({CHOICE}) >> {CHOICE}) >> fuse()",
        "prepare_computations() >> column_tiles(8, 8, 8, kept=True, transposed=True, "
        "in_parallel=True, rows_ahead=4, columns_ahead=2, packs_rows=False) @ path('0.0')",
        "tile(param('rows', [4, 8, 16]), param('columns', [8, 16, 32, 64])) @ "
        "outermost('map', nest=2) >> alternatives('loops', parallel() @ outermost('map'), id)",
    ],
)
def test_the_text_of_a_strategy_on_lines_parses_back(text: str) -> None:
    strategy = parse_strategy(text)
    lines = format_strategy(strategy)
    assert parse_strategy(lines) == strategy
    assert str(parse_strategy(lines)) == str(strategy)
    assert all(len(line) <= WIDTH for line in lines.splitlines())
    assert ("\n" in lines) == (len(str(strategy)) > WIDTH)


def test_operators_begin_lines() -> None:
    text = f"tile(8, 8) @ outermost('map', nest=2) >> ({CHOICE}) @ outermost('map', nest=2)"
    assert format_strategy(parse_strategy(text)) == (
        "(\n"
        "    tile(8, 8) @ outermost('map', nest=2)\n"
        "    >> (\n"
        "        try(fuse())\n"
        "        | (simplify() >> repeat(fuse() >> simplify()) >> tile(32, 32))\n"
        "    ) @ outermost('map', nest=2)\n"
        ")"
    )


def test_a_file_may_have_the_default_strategy(tmp_path: Path) -> None:
    path = tmp_path / "fast.strategy"
    path.write_text("# nothing is faster\n\ndefault\n")
    assert read_strategy(str(path)) is DEFAULT


def test_a_file_for_a_strategy_has_the_extension_of_one() -> None:
    check_extension("fast.strategy")
    with pytest.raises(UserError, match=r"ends in \.strategy, but the name is 'fast\.txt'"):
        check_extension("fast.txt")
