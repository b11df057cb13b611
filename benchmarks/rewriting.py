"""How long rewriting takes: deriving the longest strategy, and replaying a long derivation."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Sequence

from reporting import report

from riselang.notation.program import parse_term
from riselang.rewrite.derivation import Derivation, derive, replay
from riselang.rewrite.strategy_text import parse_strategy

SHARE = float(os.environ.get("RISE_SCALING_SHARE", "1"))
ROUNDS = 5 if SHARE == 1 else 1
STEPS = 2000
MATMUL = """fun((A : 512.512.f32, B : 512.512.f32),
  A |> map(fun(row,
    B |> transpose |> map(fun(column,
      zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
CUBE = """fun((x : 64.f32, y : 64.f32, z : 64.f32),
  x |> map(fun(a, y |> map(fun(b, z |> map(fun(c, a * b + c)))))))"""
STENCIL = """fun((grid : 128.128.f32),
  grid |> map(pad(1, 1)) |> pad(1, 1) |> map(slide(3, 1)) |> slide(3, 1) |> map(transpose)
  |> map(map(fun(window, window |> join |> reduce(add, 0.0)))))"""
STRATEGIES: Sequence[tuple[str, str, str]] = (
    ("matmul in tiles", MATMUL, "fuse() >> tile(32, 32) @ outermost('map', nest=2)"),
    ("matmul, reordered", MATMUL, "fuse() >> reorder(3, 1, 2) @ outermost('map')"),
    ("a cube in tiles of tiles", CUBE, "tile(32, 16, 8) @ outermost('map', nest=3)"
     " >> tile(8, 4, 2) @ innermost('map', nest=3) >> everywhere(map_as_loop)"),
    ("a stencil, as loops", STENCIL, "fuse() >> simplify() >> everywhere(map_as_loop)"),
)  # fmt: skip
"""What to derive: a name, a program and a strategy."""


def seconds(action: Callable[[], object]) -> list[float]:
    """Seconds of this process for an action, several times."""
    taken: list[float] = []
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        action()
        taken.append(time.process_time() - start)
    return taken


def derived(program: str, strategy: str) -> Derivation:
    return derive(parse_term(program), parse_strategy(strategy), "strict")


def longest() -> tuple[str, str, str]:
    """The strategy with most steps."""
    return max(STRATEGIES, key=lambda each: len(derived(each[1], each[2])))


def many_maps(steps: int) -> Derivation:
    """A derivation of so many steps: a program of as many maps, each of which becomes a loop."""
    maps = " |> ".join(["x", *["map(fun(e, e + 1.0))"] * steps])
    made = derived(f"fun((x : 4.f32), {maps})", "normalize(map_as_loop)")
    assert len(made) == steps
    return made


def main() -> None:
    name, program, strategy = longest()
    steps = len(derived(program, strategy))
    report(f"deriving {name}, {steps} steps", seconds(lambda: derived(program, strategy)))
    count = max(2, round(STEPS * SHARE))
    kept = many_maps(count).to_json()
    report(f"deriving {count} steps", seconds(lambda: many_maps(count)))
    report(f"replaying {count} steps", seconds(lambda: replay(kept)))


if __name__ == "__main__":
    main()
