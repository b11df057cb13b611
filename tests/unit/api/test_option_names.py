"""Options that an entry point does not have are errors, as for every Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import riselang as rl
from riselang.api.options import CompileOptions, LoadOptions, ModelOptions

MISSPELLED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "load": (rl.load, ("missing.rise",)),
    "loads": (rl.loads, ("",)),
    "load_model": (rl.load_model, ("missing.model",)),
    "from_stablehlo": (rl.from_stablehlo, ("",)),
    "from_jax": (rl.from_jax, (abs,)),
    "from_onnx": (rl.from_onnx, ("missing.onnx",)),
    "from_keras": (rl.from_keras, (None,)),
    "from_tensorflow": (rl.from_tensorflow, (None,)),
    "from_torch": (rl.from_torch, (None,)),
}


@pytest.mark.parametrize("name", MISSPELLED)
def test_a_misspelled_option_is_named(name: str) -> None:
    function, arguments = MISSPELLED[name]
    message = rf"^{name}\(\) got an unexpected keyword argument 'flaot'; did you mean 'float'\?$"
    with pytest.raises(TypeError, match=message):
        function(*arguments, flaot="strict")


def test_every_entry_point_has_the_options_of_jit() -> None:
    shared = CompileOptions.__optional_keys__
    names = ("backend", "float", "loops", "debug_info", "library", "effort", "device", "strategy")
    assert shared == set(names)
    assert LoadOptions.__optional_keys__ - shared == {"contracted"}
    assert ModelOptions.__optional_keys__ - shared == {"fallback"}
