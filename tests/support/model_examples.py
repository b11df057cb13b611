"""The models in `examples/models`: their texts, arguments and expected results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[2] / "examples/models"
SETS = 3
TOLERANCE = 1e-5
"""How far a result may be off, as a part of the largest one."""


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.mlir"))


def text(name: str) -> str:
    return (FOLDER / f"{name}.mlir").read_text()


def arguments(name: str, number: int) -> list[Any]:
    """The arguments of one set; weights are the same in all of them."""
    with np.load(FOLDER / f"{name}.npz") as kept:
        found: list[Any] = []
        while True:
            position = len(found)
            own, shared = f"set{number}_arg{position}", f"arg{position}"
            key = own if own in kept else shared
            if key not in kept:
                return found
            found.append(kept[key])


def expected(name: str, number: int) -> list[Any]:
    with np.load(FOLDER / f"{name}.npz") as kept:
        found: list[Any] = []
        while (key := f"set{number}_result{len(found)}") in kept:
            found.append(kept[key])
        return found


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def assert_close(found: Any, wanted: Any) -> None:
    """Equal up to the tolerance; integers and truth values exactly."""
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    if found.dtype.kind in "biu":
        assert (found == wanted).all()
        return
    largest = max(float(np.abs(wanted).max(initial=0.0)), 1e-30)
    assert float(np.abs(found - wanted).max(initial=0.0)) <= TOLERANCE * largest
