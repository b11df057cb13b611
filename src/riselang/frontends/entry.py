"""What users call to bring in programs of other languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from riselang.frontends.c.calling import CFunction


def from_c(
    source: str | Path,
    *,
    function: str | None = None,
    defines: Mapping[str, object] | None = None,
    include: Sequence[str | Path] = (),
    float: str | None = None,
    schedule: str = "source",
) -> CFunction:
    """A function of a C file, or of C text, as a Python function with the same parameters.

    Scalars are passed by value and arrays as numpy arrays, which are written in place. `function`
    may be left out where the file has one function, or one with `#pragma scop`. `defines` are
    macros (`-D`), `include` folders with headers (`-I`). With `schedule="isl"` the loops are in an
    order that isl finds, with the same result, bit by bit.
    """
    from riselang.frontends.c.loading import load_function

    return load_function(source, function, defines, include, float, schedule)
