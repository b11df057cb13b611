"""Entry points of the front ends, whose machinery is imported at their first use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riselang.rewrite.core import Strategy


def from_stablehlo(
    source: str | bytes | Path,
    *,
    function: str | None = None,
    backend: str = "compile",
    float: str | None = None,
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    strategy: Strategy | str | None = None,
) -> Any:
    """A StableHLO module, as text, as bytecode or in a file, as a model to call.

    `function` is the one to take, `main` by default. The other options are those of `rl.jit`;
    `float` is "relaxed" by default, since StableHLO leaves the order of reductions open. A module
    that leaves lengths open, such as that of a batch, is compiled for the shapes of each call.
    """
    from riselang.frontends.stablehlo.reading import read_model

    return read_model(
        source, function=function, backend=backend, strategy=strategy,
        float=float, loops=loops, debug_info=debug_info, library=library,
    )  # fmt: skip


def load_model(
    path: str | Path,
    *,
    backend: str = "compile",
    float: str | None = None,
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    strategy: Strategy | str | None = None,
) -> Any:
    """A model that was saved, with the arrays that were bound; the options are its own, or new."""
    from riselang.api.lowered import as_strategy
    from riselang.frontends.stablehlo.saving import load_model_file

    choices = {"float": float, "loops": loops, "debug_info": debug_info, "library": library}
    return load_model_file(path, backend, as_strategy(strategy), choices)
