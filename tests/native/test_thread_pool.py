"""The thread pool: nested loops, several callers, forks, object files for C."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.native.llvm import linking, thread_pool
from riselang.support.errors import LimitationError
from riselang.tools import rise

pytestmark = pytest.mark.skipif(not thread_pool.IS_SUPPORTED, reason="needs POSIX threads")

ROWS = "fun((a : 40.9.f32), a |> mapPar(fun(row, row |> reduceSeq(add, 0.0))))"
NESTED = "fun((a : 5.40.9.f32), a |> mapPar(mapPar(fun(row, row |> reduceSeq(add, 0.0)))))"
REDUCTION = """\
func.func @total(%x: memref<64xf32>, %out: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sum = "scf.parallel"(%c0, %n, %c1, %zero) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%i: index):
    %element = memref.load %x[%i] : memref<64xf32>
    "scf.reduce"(%element) ({
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      "scf.reduce.return"(%r) : (f32) -> ()
    }) : (f32) -> ()
  }) : (index, index, index, f32) -> f32
  memref.store %sum, %out[%c0] : memref<1xf32>
  func.return
}
"""


def kernel(text: str, monkeypatch: pytest.MonkeyPatch, threads: int = 3) -> Any:
    monkeypatch.setenv("RISE_NUM_THREADS", str(threads))
    loaded: Any = rl.loads(text, name="a.rise", strategy="none", float="strict")
    return loaded.main


def integers(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).integers(0, 100, shape).astype(np.float32)


def test_several_python_threads_share_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    sums, a = kernel(ROWS, monkeypatch), integers(40, 9)
    expected, results = a.sum(axis=1), list[bool]()

    def call() -> None:
        results.append(all(np.array_equal(sums(a), expected) for _ in range(200)))

    threads = [Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def test_parallel_loops_inside_of_parallel_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    a = integers(5, 40, 9)
    assert np.array_equal(kernel(NESTED, monkeypatch)(a), a.sum(axis=2))


def test_a_parallel_loop_with_a_reduction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_NUM_THREADS", "3")
    module: Any = rl.loads(REDUCTION, name="a.mlir")
    x, out = integers(64), np.zeros(1, np.float32)
    for _ in range(50):
        module.total(x, out)
        assert out[0] == x.sum()


BODIES_WITHOUT_MEMORY = """
import numpy as np
import riselang as rl
from riselang.support.errors import LimitationError

text = ("fun((a : 40.9.f32), a |> mapPar(fun(x, let y = "
        "generate(fun(i : idx[99999999999999], x |> at(clampIdx(9, cast[i32](fromIdx(i)))))) "
        "|> toMem(heap); y |> take(4))))")
fails = rl.loads(text, name="a.rise", strategy="none").main
sums = rl.loads(TEXT, name="b.rise", strategy="none").main
a = np.ones((40, 9), np.float32)
for _ in range(20):
    try:
        fails(a)
    except LimitationError as error:
        assert "not enough memory for a temporary" in str(error)
    else:
        raise AssertionError
    assert sums(a).tolist() == [9] * 40
print("done")
"""


@pytest.mark.rotating(4)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_a_body_without_memory_ends_the_call_in_all_threads(threads: str) -> None:
    script = BODIES_WITHOUT_MEMORY.replace("TEXT", repr(ROWS))
    environment = {**os.environ, "RISE_NUM_THREADS": threads}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_ops_of_openmp_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'func.func @f() {\n  "omp.barrier"() : () -> ()\n  func.return\n}'
    with pytest.raises(LimitationError, match=r"'omp.barrier' cannot be compiled; use scf"):
        rl.loads(text, name="a.mlir").f()


FORKS = """
import os
import numpy as np
import riselang as rl

sums = rl.loads(TEXT, name="a.rise", strategy="none").main
a = np.ones((40, 9), np.float32)
expected = np.full(40, 9, np.float32)
for depth in range(3):
    assert np.array_equal(sums(a), expected)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert status == 0
        break
if depth == 2 and not child:
    # A pool that has been forked twice has workers of its own again.
    assert np.array_equal(sums(a), expected)
    print(len(os.listdir("/proc/self/task")) > 1, flush=True)
os._exit(0)
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_forked_processes_start_their_own_workers() -> None:
    script = FORKS.replace("TEXT", repr(ROWS))
    environment = {**os.environ, "RISE_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


MAIN = """\
#include <stdio.h>
#include "join.h"
#include "work.h"

int main(void) {
  static float a[40 * 9], sums[40], others[40];
  for (int i = 0; i < 40 * 9; i++) a[i] = i % 7;
  rise_call_join(sums, a);
  rise_call_work(others, a);
  float total = 0;
  for (int i = 0; i < 40; i++) total += sums[i] + others[i];
  printf("%g\\n", total);
  return 0;
}
"""


@pytest.mark.skipif(linking.find_c_compiler() is None, reason="there is no C compiler")
def test_objects_that_are_linked_share_a_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of their functions are those of functions in the pool."""
    monkeypatch.setenv("RISE_NUM_THREADS", "3")
    monkeypatch.chdir(tmp_path)
    for name in ("join", "work"):
        Path(f"{name}.rise").write_text(f"def {name} = {ROWS}\n")
        for kind, suffix in (("obj", "o"), ("header", "h")):
            rise.main(["compile", f"{name}.rise", "--emit", kind, "-o", f"{name}.{suffix}"])
    Path("main.c").write_text(MAIN)
    command = [*(linking.find_c_compiler() or ()), "main.c", "join.o", "work.o", "-o", "main"]
    subprocess.run([*command, "-lm", "-pthread"], check=True)
    done = subprocess.run(["./main"], check=True, capture_output=True, text=True)
    assert done.stdout == f"{2 * sum(i % 7 for i in range(360))}\n"
