"""Importers of frameworks: what they say where their framework is not there, and types."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import riselang as rl
from riselang.api.specs import array_spec
from riselang.frontends.framework_types import constant_shape, spec_dimensions

IMPORTERS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "jax": (rl.from_jax, (abs,)),
    "keras": (rl.from_keras, (None,)),
    "tensorflow": (rl.from_tensorflow, (abs,)),
    "torch": (rl.from_torch, (None,)),
    "onnx": (rl.from_onnx, ("model.onnx",)),
}


@pytest.mark.parametrize("name", IMPORTERS)
def test_a_framework_that_is_missing_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    absent: Any = None
    monkeypatch.setitem(sys.modules, name, absent)
    function, arguments = IMPORTERS[name]
    with pytest.raises(rl.UserError, match=rf"from_{name} needs {name}.*riselang\[{name}\]"):
        function(*arguments)


def test_no_framework_is_imported_with_the_package() -> None:
    names = "{'jax', 'torch', 'tensorflow', 'keras', 'onnx'}"
    code = f"import sys, riselang; sys.exit(len({names} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_types_of_arguments() -> None:
    spec: Any = rl.Array["B", 3, rl.f32]
    lengths, element = spec_dimensions(spec, "test")
    assert [str(length) for length in lengths] == ["B", "3"]
    assert element == rl.f32
    fixed: Any = rl.Array[2, 3, rl.i8]
    assert constant_shape(fixed, "test") == ((2, 3), "int8")
    assert constant_shape(rl.f64, "test") == ((), "float64")
    with pytest.raises(rl.UserError, match="must be constants"):
        constant_shape(spec, "test")


def test_types_by_the_names_of_numpy() -> None:
    expected: Any = rl.Array["B", 4, rl.bf16]
    assert array_spec(["B", 4], "bfloat16") == expected
    with pytest.raises(rl.UserError, match="longdouble"):
        array_spec([1], "longdouble")
