"""The example programs on ranks have the bits of the interpreter."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.kernel import Kernel

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "examples" / "programs").glob("*.py"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ranks", [1, 3, (2, 2)], ids=str)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_examples_on_ranks(path: Path, ranks: Any) -> None:
    values = runpy.run_path(str(path))
    kernels = [each for each in values.values() if isinstance(each, Kernel)]
    kernel = values.get(path.stem, kernels[-1])
    inputs = values["inputs"]()
    expected = kernel.interpreted()(*inputs)
    result = rl.distribute(kernel, ranks=ranks)(*inputs)
    for one, other in zip(_arrays(result), _arrays(expected), strict=True):
        assert np.array_equal(one, other)


def _arrays(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.rotating(3)
def test_the_plate_is_the_interpreter_s(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "ranks" / "heat.py"), run_name="__main__")
    assert "the ranks agree with the interpreter" in capsys.readouterr().out
