"""The parse tables are loaded if they are those of the grammar, and computed otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from riselang.notation import parse_tables, reader
from riselang.notation.source import Source

TEXT = "fun((x : 4.(f32 x i8), n : idx[2]), x |> map(fun(p, p |> fst + 1.5_f32)))"


def test_loaded_and_computed_tables_build_the_same_syntax(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = reader.parse_definitions(Source(TEXT, "p.rise"))
    outdated = tmp_path / "parse_tables.json"
    outdated.write_text('{"version": "another"}')
    monkeypatch.setattr(parse_tables, "TABLES_FILE", outdated)
    reader._parser.cache_clear()
    computed = reader.parse_definitions(Source(TEXT, "p.rise"))
    reader._parser.cache_clear()
    assert repr(loaded) == repr(computed)
