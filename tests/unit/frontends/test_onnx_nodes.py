"""ONNX's own cases of single ops, in the interpreter; `make conformance` compiles all of them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")
sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))
onnx_nodes: Any = importlib.import_module("onnx_nodes")
PACKAGE = "onnx.backend.test.case.node"
MOST_ELEMENTS = 3000
"""Cases with larger tensors take long in the interpreter."""
MOST = 12
"""The number of cases of a module that run."""


def modules() -> list[str]:
    node: Any = importlib.import_module(PACKAGE)
    found = [each.name for each in pkgutil.iter_modules(node.__path__)]
    return [each for each in found if not each.startswith("_")]


def cases_of(module: str) -> list[Any]:
    """The cases that a module defines when it is imported."""
    node: Any = importlib.import_module(PACKAGE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module(f"{PACKAGE}.{module}")
    op = module.replace("_", "").lower()
    cases: list[Any] = node._NodeTestCases
    return [
        each
        for each in cases
        if each.name.replace("_", "").startswith(f"test{op}") and _size(each) <= MOST_ELEMENTS
    ]


def _size(case: Any) -> int:
    """The number of elements of the largest tensor."""
    inputs, outputs = case.data_sets[0]
    return max((_elements(each) for each in (*inputs, *outputs)), default=1)


def _elements(value: Any) -> int:
    if isinstance(value, list):
        parts: list[Any] = value
        return sum(map(_elements, parts))
    return int(getattr(value, "size", 1))


@pytest.mark.parametrize("module", modules())
@pytest.mark.sampled(10)
def test_cases_of_an_op_pass_or_are_refused(module: str) -> None:
    for case in cases_of(module)[:MOST]:
        status, reason = onnx_nodes.outcome(case, "interpret")
        assert status in ("passed", "refused"), f"{case.name}: {reason}"
        if status == "refused":
            assert "is not supported" in reason or "are not supported" in reason, reason
