"""The values that a generic space has for each number of a schedule, and which of them fit.

Numbers without an entry in `VALUES` have multiples of the number that the default strategy chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from riselang.rewrite.parameters import Choice
from riselang.support.machine import this_machine

Numbers = Mapping[str, int]
"""The numbers of a schedule by the names of its parameters."""
FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
COARSE_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
FIRST_COUNTS = (0, 1, 2, 4, 8, 16)
"""The values of a number that is 0 by default."""
TILE_ROWS = (1, 2, 3, 4, 5, 6, 8, 12, 14)
TILE_VECTORS = (1, 2, 3, 4, 6)
DISTANCES = (0.5, 1.0, 2.0)
MAX_SPILLED = 1.5
"""The factor by which the accumulators of a tile may exceed the registers: code with more spends
its time on spills."""

OPENED = {
    "stencils.vectors": (
        "(fuse() >> reduce_by_rows() >> hoist()"
        " >> stencil(lanes=0, vectors=0, slices=0, rows=0) @ loop(1))"
    ),
    "convolution.by_lines": "sums_by_lines(band_rows=0, vectors=0, line_vectors=4)",
}
"""Schedules with numbers that do the same as named strategies; 0 stands for the default."""
FIXED = ("path", "loop", "by_size", "at")
"""Calls whose numbers are addresses or sizes of the program."""


def _lanes(numbers: Numbers) -> Sequence[int]:
    lanes = numbers["lanes"]
    return (max(1, lanes // 2), lanes)


def _distances(name: str, first: Sequence[int]) -> Callable[[Numbers], Sequence[int]]:
    """Return 0 and numbers around the default; `first` if the default is 0."""

    def values(numbers: Numbers) -> Sequence[int]:
        number = numbers[name]
        return (0, *first) if number == 0 else (0, *multiples(number, DISTANCES))

    return values


def _vector_lanes(_: Numbers) -> Sequence[int]:
    return [0, *(1 << power for power in range(2, 7) if 4 << power <= this_machine().vector_bytes)]


VALUES: Mapping[str, Callable[[Numbers], Sequence[int]]] = {
    "register_tiles.rows": lambda numbers: (*TILE_ROWS, numbers["rows"]),
    "register_tiles.columns": lambda numbers: (
        *(count * numbers["lanes"] for count in TILE_VECTORS),
        numbers["columns"],
    ),
    "register_tiles.lanes": _lanes,
    "register_tiles.block": lambda numbers: multiples(numbers["block"], COARSE_FACTORS),
    "column_tiles.rows": lambda numbers: (*TILE_ROWS, numbers["rows"]),
    "column_tiles.columns": lambda numbers: (
        *(count * numbers["lanes"] for count in TILE_VECTORS),
        numbers["columns"],
    ),
    "column_tiles.lanes": _lanes,
    "column_tiles.block": lambda numbers: multiples(numbers["block"], COARSE_FACTORS),
    "register_tiles.depth": lambda numbers: (0, 64, 128, 256, numbers["depth"]),
    "register_tiles.rows_ahead": _distances("rows_ahead", (16, 64)),
    "register_tiles.columns_ahead": _distances("columns_ahead", (8, 32)),
    "register_tiles.piece": _distances("piece", (4, 16)),
    "blocked_reduction.blocks": lambda numbers: multiples(numbers["blocks"], COARSE_FACTORS),
    "blocked_reduction.vectors": lambda numbers: (1, 2, 4, 8, 12, 16, numbers["vectors"]),
    "blocked_reduction.lanes": lambda numbers: (*_lanes(numbers), 2 * numbers["lanes"]),
    "stencil.lanes": _vector_lanes,
    "stencil.vectors": lambda _: (0, 1, 2, 3, 4, 6, 8, 12),
    "stencil.slices": lambda _: (0, 1, 2, 3, 4, 6, 8, 12),
    "stencil.rows": lambda _: (0, 8, 16, 24, 32, 48, 64, 96, 128),
    "sums_by_lines.band_rows": lambda _: (0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32),
    "sums_by_lines.vectors": lambda _: (0, 1, 2, 3, 4, 6, 8),
    "sums_by_lines.line_vectors": lambda _: (1, 2, 3, 4, 6, 8),
    "tensor_tiles.step": lambda _: (32, 64, 128),
    "tensor_tiles.stages": lambda _: (2, 3, 4, 5, 6),
    "tensor_tiles.row_warps": lambda _: (2, 4, 8),
    "tensor_tiles.column_warps": lambda _: (1, 2),
    "tensor_tiles.row_tiles": lambda _: (1, 2, 4),
    "tensor_tiles.column_tiles": lambda _: (4, 8, 16, 32),
    "tensor_tiles.group": lambda _: (1, 4, 8, 16),
    "on_gpu.threads": lambda _: (0, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024),
    "on_gpu.lanes": lambda _: (0, 1, 2, 4, 8, 16),
    "on_gpu.partial_sums": lambda _: (0, 2, 4, 8, 16, 32, 64, 128),
}
"""The values by schedule and parameter, from the numbers that the default strategy chooses."""


def values_for(schedule: str, parameter: str, numbers: Numbers) -> list[int]:
    """Return the values of a number of a schedule in a generic space, in order of size."""
    value = numbers[parameter]
    if isinstance(value, bool):
        is_without_threads = parameter == "in_parallel" and this_machine().cores == 1
        return [value] if is_without_threads else [False, True]
    find = VALUES.get(f"{schedule}.{parameter}")
    if find is not None:
        return sorted({value, *find(numbers)})
    return sorted({value, *FIRST_COUNTS}) if value == 0 else multiples(value, FACTORS)


def multiples(value: int, factors: Sequence[float]) -> list[int]:
    """Return a number times each factor, without those that are less than 1."""
    return sorted({int(value * factor) for factor in factors if value * factor >= 1})


def has_effect(schedule: str, choices: Mapping[str, Choice], default: Numbers) -> bool:
    """Whether the numbers of a schedule fit the registers of this machine, and no number without
    an effect differs from the default."""
    check = _CHECKS.get(schedule)
    return check is None or check(choices, default)


def _register_tiles_fit(choices: Mapping[str, Choice], default: Numbers) -> bool:
    rows, columns, lanes = (int(choices[name]) for name in ("rows", "columns", "lanes"))
    vectors = max(1, columns // lanes)
    fits = rows * vectors + vectors <= MAX_SPILLED * this_machine().registers
    # Rows that are kept in registers are loaded in vectors.
    loads_vectors = not choices.get("kept", False) or rows % lanes == 0
    unused: list[str] = []
    if not choices.get("packed", True):
        unused += ["transposed", "packs_rows", "piece", "packs_pieces"]
    elif not choices.get("piece", 0):
        unused.append("packs_pieces")
    is_default = all(choices[name] == default[name] for name in unused if name in choices)
    return columns % lanes == 0 and fits and loads_vectors and is_default


def _stencil_has_effect(choices: Mapping[str, Choice], default: Numbers) -> bool:
    # Slices that are computed together are not divided into rows.
    is_default = choices.get("rows") == default.get("rows")
    return int(choices.get("slices", 0)) <= 1 or is_default


def _lines_have_effect(choices: Mapping[str, Choice], default: Numbers) -> bool:
    # A band of one row is computed without storing lines.
    is_default = choices.get("line_vectors") == default.get("line_vectors")
    return choices.get("band_rows") != 1 or is_default


def _tensor_tiles_fit(choices: Mapping[str, Choice], default: Numbers) -> bool:
    numbers = {**default, **{name: int(value) for name, value in choices.items()}}
    sums = numbers["row_tiles"] * numbers["column_tiles"] * 4
    warps = numbers["row_warps"] * numbers["column_warps"]
    rows = numbers["row_warps"] * numbers["row_tiles"] * 16
    columns = numbers["column_warps"] * numbers["column_tiles"] * 8
    shared_bytes = (rows + columns) * numbers["step"] * 2 * numbers["stages"]
    return sums <= MAX_THREAD_SUMS and 4 <= warps <= 16 and shared_bytes <= MAX_SHARED_BYTES


MAX_THREAD_SUMS = 128
"""The sums of a thread for which a GPU's 255 registers suffice."""
MAX_SHARED_BYTES = 227 << 10
"""The shared memory of a block on the GPUs with the most."""
_CHECKS: Mapping[str, Callable[[Mapping[str, Choice], Numbers], bool]] = {
    "register_tiles": _register_tiles_fit,
    "column_tiles": _register_tiles_fit,
    "stencil": _stencil_has_effect,
    "sums_by_lines": _lines_have_effect,
    "tensor_tiles": _tensor_tiles_fit,
}
