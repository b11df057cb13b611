"""Broken `.mlir` files are refused in a sentence with a place, or are modules after all."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp

from riselang.dialects.module import module_text, parse_module, verify_module, walk
from riselang.support.errors import RiseError
from riselang.term.from_dialect import read_units
from riselang.tools import rise, rise_opt
from support.broken_modules import MODULES
from support.fuzzing import Ran, seeds
from support.small_runs import run_small
from support.tool_runs import SECONDS, called, limited

pytestmark = pytest.mark.rotating(6)

PASSES = "convert-rise-to-imperative,resolve-rise-access"


@seeds(1000, nightly=5000, fuzzed=50_000, batch=250)
def test_broken_modules_are_rejected_with_a_location(
    seeds: range, tmp_path: Path, ran: Ran
) -> None:
    accepted = small = 0
    for seed in seeds:
        path = tmp_path / f"broken{seed}.mlir"
        path.write_bytes(MODULES.broken(seed))
        if seed % 2 == 0:
            outcome = called(rise.main, ["check", str(path)])
        else:
            outcome = called(rise_opt.main, [str(path), "-p", PASSES])
        outcome.check(path)
        if outcome.code == 0:
            accepted += 1
            small += check_module(path.read_bytes().decode(), seed)
        path.unlink()
    ran("broken .mlir files", len(seeds))
    ran("broken .mlir files that are modules after all", accepted)
    ran("programs in broken .mlir files, interpreted", small)


def check_module(text: str, seed: int) -> int:
    """What is accepted is printed and read back, and runs."""
    if "stablehlo." in text:
        return 0  # rise-opt lets MLIR read it, and has the generic form
    with limited(SECONDS):
        module = parse_module(text)
        printed = module_text(module)
        again = parse_module(printed)
        verify_module(again)
        assert module_text(again) == printed, text
        return sum(run_function(op, seed) for op in walk(module) if isinstance(op, FuncOp))


def run_function(function: FuncOp, seed: int) -> int:
    with suppress(RiseError):
        return sum(run_small(unit.term, seed) for _, unit in read_units(function))
    return 0
