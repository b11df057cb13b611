"""Where the time from MLIR text to machine code goes (figure 11 of the paper), in a warm process.

The paper's figure counts passes alone, and so does "our passes" here; "all of ours" has reading,
checking and printing the text, too. Then, how the time of a function grows with its patterns. Last,
programs that people wait for: deep models beside JAX, image filters, a recursive transform, and a
matrix product in a new process beside numba, in CPU seconds and by the clock.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from timing import pin_threads

pin_threads()

from overhead import convolution, matmul  # noqa: E402
from reporting import record  # noqa: E402

import riselang as rl  # noqa: E402
from riselang.compiler import pipeline  # noqa: E402
from riselang.compiler.program_sources import ModuleSource  # noqa: E402
from riselang.dialects.module import parse_module, verify_module  # noqa: E402
from riselang.support.config import Options  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402

Laps = dict[str, float]
PASSES = "our passes"
NATIVE = ("MLIR", "LLVM")
BOUND = 0.15
"""The share of the time that our passes may take."""


class Watch:
    """Milliseconds of this process since the last lap, by name."""

    def __init__(self) -> None:
        self.laps: Laps = {}
        self._last = time.process_time()

    def lap(self, name: str) -> None:
        now = time.process_time()
        self.laps[name] = self.laps.get(name, 0.0) + (now - self._last) * 1e3
        self._last = time.process_time()


def compile_once(text: str) -> Laps:
    """What `rl.loads` does, step by step."""
    watch = Watch()
    module = parse_module(text)
    watch.lap("read")
    verify_module(module)
    watch.lap("check")
    lowered = pipeline.lower(ModuleSource(module), Options("affine"))
    watch.lap(PASSES)
    job = pipeline.emit(lowered)
    watch.lap("print")
    assert job.llvm_ir
    watch.lap("MLIR")
    assert job.object_code()
    watch.lap("LLVM")
    return watch.laps


def shares(name: str, text: str, rounds: int) -> None:
    for _ in range(3):
        compile_once(text)
    runs = [compile_once(text) for _ in range(rounds)]
    laps = {step: statistics.median(run[step] for run in runs) for step in runs[0]}
    total = sum(laps.values())
    print(f"{name}: {total:.1f} ms")
    for step, taken in laps.items():
        print(f"  {step:12} {taken:7.2f} ms  {taken / total:6.1%}")
    all_steps = Rival("all steps", tuple(sum(run.values()) / 1e3 for run in runs))
    for step in laps:
        taken = [run[step] / 1e3 for run in runs]
        record(f"{name}, {step}", taken, all_steps, bound=BOUND if step == PASSES else None)
    ours = total - sum(laps[step] for step in NATIVE)
    print(f"  {PASSES} {laps[PASSES] / total:.1%} of the time, all of ours {ours / total:.1%}")


def text_of(program: str) -> str:
    loaded: Any = rl.loads(program, name="program.rise", float="strict", strategy="none")
    return loaded.main.lower().as_text("rise")


def chain(length: int) -> str:
    """A function with a program of `length` patterns, each with a loop of its own."""
    lines = [
        "%add = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {",
        "%sum = rise.embed(%x) { %s = arith.addf %x, %x : f32 rise.return %s : f32 } "
        ": !rise.scalar<f32>",
        "rise.return %sum : !rise.scalar<f32> }",
        "%map = rise.mapSeq #rise.nat<64> #rise.scalar<f32> #rise.scalar<f32>",
    ]
    lines += [f"%x{i} = rise.apply %map, %add, %x{i - 1}" for i in range(1, length + 1)]
    body = "\n".join(lines)
    return f"""func.func @f(%out : memref<64xf32>, %in : memref<64xf32>) {{
      rise.lowering_unit {{
        %x0 = rise.in %in : !rise.array<64, scalar<f32>>
        {body}
        rise.out %out <- %x{length}
        rise.return
      }}
      return
    }}"""


def growth(text: Callable[[int], str], lengths: tuple[int, ...]) -> None:
    print("milliseconds for each pattern of a function with that many")
    each: list[float] = []
    for length in lengths:
        laps = compile_once(text(length))
        ours = sum(taken for step, taken in laps.items() if step not in NATIVE)
        taken = {"ours": ours, **{step: laps[step] for step in NATIVE}, "all": sum(laps.values())}
        shown = ", ".join(f"{step} {time / length:6.3f}" for step, time in taken.items())
        print(f"  {length:5} patterns: {shown}")
        each.append(taken["all"] / length / 1e3)
    rival = Rival(f"of {lengths[0]}", (each[0],))
    record(f"each pattern of a function with {lengths[-1]}", [each[-1]], rival)


CASES = (
    ("encoder", 1, "jax"), ("encoder", 2, "jax"), ("encoder", 8, "jax"), ("encoder", 24, "jax"),
    ("resnet", 1, "jax"), ("resnet", 2, "jax"), ("resnet", 8, "jax"), ("resnet", 24, "jax"),
    ("dense", 24, None), ("bilateral", 0, "jax"), ("fft", 256, None), ("lenet", 0, None),
)  # fmt: skip
"""What is compiled, how many layers or elements it has, and who compiles it, too."""
COLD = {
    "ours": """
import numpy as np, riselang as rl
@rl.jit
def product(a: rl.Array["N", "K", rl.f32], b: rl.Array["K", "M", rl.f32]):
    return a | rl.map(lambda row: b | rl.transpose | rl.map(
        lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)))
x = np.ones((512, 512), np.float32)
assert product(x, x)[0, 0] == 512""",
    "numba": """
import numba, numpy as np
@numba.njit(fastmath=True)
def product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c
x = np.ones((512, 512), np.float32)
assert product(x, x)[0, 0] == 512""",
}
"""A matrix product from the start of a process to its result."""


def waiting(rounds: int) -> None:
    """Each program in processes of its own, ours and a rival's in turn; the medians."""
    for kind, count, rival in CASES:
        if kind in ("encoder", "resnet"):
            _case("text", kind, count)
        found: dict[str, list[dict[str, float]]] = {}
        for _ in range(rounds):
            for who in ("ours", *([rival] if rival else [])):
                answer = _case(who, kind, count)
                found.setdefault(who, []).extend([answer] if answer else [])
        _tell(f"{kind} {count}" if count else kind, found)
    cold: dict[str, list[dict[str, float]]] = {}
    for code in COLD.values():
        _cold(code)  # stores the bytecode of the modules, which an installed package has
    for _ in range(rounds):
        for who, code in COLD.items():
            answer = _cold(code)
            cold.setdefault(who, []).extend([answer] if answer else [])
    _tell("matmul 512 from the start of the process", cold)


def _case(who: str, kind: str, count: int) -> dict[str, float] | None:
    command = [sys.executable, "benchmarks/compile_cases.py", who, kind, str(count)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=_with_bytecode())
    return json.loads(run.stdout) if run.returncode == 0 and run.stdout else None


def _with_bytecode() -> dict[str, str]:
    """The environment of a process that stores the bytecode of modules, as installed ones have."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def _cold(code: str) -> dict[str, float] | None:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**_with_bytecode(), "RISE_CACHE": "0"}
    run = subprocess.run([sys.executable, "-c", code], check=False, env=environment)
    if run.returncode:
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "clock": time.perf_counter() - start}


def _tell(name: str, found: dict[str, list[dict[str, float]]]) -> None:
    for what in ("cpu", "clock"):
        taken = {who: [run[what] for run in runs] for who, runs in found.items() if runs}
        if "ours" not in taken:
            continue
        shown = ", ".join(f"{who} {statistics.median(each):.2f} s" for who, each in taken.items())
        print(f"{name}, {what}: {shown}", flush=True)
        others = [Rival(who, tuple(each)) for who, each in taken.items() if who != "ours"]
        record(f"{name}, {what}", taken["ours"], others[0] if others else None)


def main(share: float) -> None:
    rounds = max(1, round(15 * share))
    shares("matmul", text_of(matmul(1024, 1024, 1024, 1, 1).program), rounds)
    shares("convolution", text_of(convolution(512, 3).program), rounds)
    growth(chain, tuple(max(1, round(length * share)) for length in (125, 250, 500, 1000, 2000)))
    if share == 1:
        waiting(3)


if __name__ == "__main__":
    main(float(os.environ.get("RISE_SCALING_SHARE", "1")))
