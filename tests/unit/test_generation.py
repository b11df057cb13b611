"""The example of text generation: a cache changes none of the tokens."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples/generation/generate.py"
PROMPT = b"ab"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    found = importlib.util.spec_from_file_location("generate", EXAMPLE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["generate"] = module
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def decoder(generate: ModuleType) -> Any:
    return generate.Decoder(generate.Sizes(1, 32, 2, 8))


@pytest.mark.rotating(6)
def test_the_tokens_are_those_without_a_cache(generate: ModuleType, decoder: Any) -> None:
    keys, values = decoder.keys, decoder.values
    tokens = list(decoder.generate(PROMPT, 6))
    assert len(set(tokens)) > 2
    assert tokens == generate.generate_without_cache(decoder, PROMPT, 6)
    assert list(decoder.generate(PROMPT, 6)) == tokens
    assert decoder.keys is keys
    assert decoder.values is values
    assert decoder.length == 7
    decoder.read(0)
    with pytest.raises(ValueError, match="holds 8 tokens"):
        decoder.read(0)


def test_rows_of_the_cache_that_are_not_in_use_change_nothing(decoder: Any) -> None:
    decoder.restart()
    scores = decoder.read(65)
    decoder.restart()
    decoder.keys[:] = decoder.values[:] = np.float32(7)
    assert np.array_equal(decoder.read(65), scores)


def test_the_example_prints_its_speed(
    generate: ModuleType, decoder: Any, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(generate, "Decoder", lambda sizes: decoder)
    monkeypatch.setattr(sys, "argv", ["generate.py", "--prompt", "ab", "--tokens", "5"])
    decoder.restart()
    generate.main()
    assert "tokens per second" in capsys.readouterr().out
