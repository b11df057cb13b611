"""Calls that end early: Ctrl-C in long loops, and temporaries that no memory holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.native.llvm import guard
from riselang.support.errors import LimitationError
from support.pairwise import each_once

pytestmark = [
    pytest.mark.skipif(not guard.IS_SUPPORTED, reason="needs POSIX signals"),
    pytest.mark.rotating(6),
]

LOOPS = {
    "carries a number": "def main = fun((x : f32), "
    "x |> iterate(20000000000, fun(y, y * 0.5 + 1.0)))",
    "carries an array": "def main = fun((x : f32), generate(fun(i : idx[8], x)) |> "
    "iterate(20000000000, fun(y, y |> map(fun(e, e * 0.5)))) |> take(1) |> reduce(add, 0.0))",
    "ends on a condition": "def main = fun((x : f32), "
    "x |> while(fun(y, y < 3.0), fun(y, y * 0.5)))",
    "has temporaries": "def main = fun((x : f32), x |> iterate(20000000000, fun(y, "
    "let z = generate(fun(i : idx[50000], y)) |> toMem(heap); z |> reduce(max, 0.0))))",
    "is around a parallel one": "def main = fun((x : f32), x |> iterate(20000000000, fun(y, "
    "generate(fun(i : idx[64], y)) |> mapPar(fun(e, e * 0.5)) |> reduce(max, 0.0))))",
    "is parallel": "def main = fun((x : f32), generate(fun(i : idx[100000], x)) |> "
    "mapPar(fun(e, e |> iterate(2000000, fun(y, y * 0.5 + 1.0)))) |> reduce(max, 0.0))",
}
RUN = """
import os, signal, sys, threading, time
import numpy as np
import riselang as rl

kernel = rl.loads(sys.argv[1], name="a.rise", loops=sys.argv[2], float="strict").main
kernel.lower().compile()

def interrupt():
    time.sleep(0.7)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

sent = []
threading.Thread(target=interrupt).start()
try:
    kernel(np.float32(1))
except KeyboardInterrupt:
    print("ended" if time.monotonic() - sent[0] < LIMIT else "late")
short = rl.loads("def main = fun((x : f32), x + 1.0)", name="b.rise").main
assert short(np.float32(1)) == 2
"""


def run(text: str, *arguments: str) -> str:
    """What a process prints; one that goes on is stopped after a minute."""
    command = [sys.executable, "-c", text.replace("LIMIT", "10"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(("name", "loops"), each_once(LOOPS, ["affine", "scf"]))
@pytest.mark.sampled(3)
def test_a_signal_ends_a_long_loop_that(name: str, loops: str) -> None:
    assert run(RUN, LOOPS[name], loops) == "ended"


def test_a_handler_that_raises_nothing_lets_the_loop_go_on() -> None:
    text = """
import os, signal, threading, time
import numpy as np
import riselang as rl

seen = []
signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
text = "def main = fun((x : f32), x |> iterate(1000000000, fun(y, y * 0.5 + 1.0)))"
kernel = rl.loads(text, name="a.rise", float="strict").main
kernel.lower().compile()
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
assert kernel(np.float32(0)) == 2
time.sleep(0.3)
print(seen == [signal.SIGINT])
"""
    assert run(text) == "True"


def test_another_exception_of_a_handler_is_raised() -> None:
    text = """
import os, signal, threading
import numpy as np
import riselang as rl

class Enough(Exception):
    pass

def handler(number, frame):
    raise Enough("now")

signal.signal(signal.SIGALRM, handler)
text = "def main = fun((x : f32), x |> iterate(20000000000, fun(y, y * 0.5 + 1.0)))"
kernel = rl.loads(text, name="a.rise", float="strict").main
kernel.lower().compile()
signal.setitimer(signal.ITIMER_REAL, 0.5)
try:
    kernel(np.float32(0))
except Enough as error:
    print(error)
"""
    assert run(text) == "now"


def test_temporaries_of_a_call_that_ended_are_given_back() -> None:
    text = """
import os, signal, threading
from pathlib import Path
import numpy as np
import riselang as rl

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

text = ("def main = fun((x : f32), let z = generate(fun(i : idx[25000000], x)) |> toMem(heap); "
        "x |> iterate(20000000000, fun(y, y * 0.5 + (z |> at(clampIdx(25000000, cast[i32](y)))))))")
kernel = rl.loads(text, name="a.rise", float="strict", strategy="none").main
kernel.lower().compile()
sizes = []
for _ in range(4):
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        kernel(np.float32(0))
    except KeyboardInterrupt:
        sizes.append(resident())
print(len(sizes), max(sizes) - min(sizes) < 150_000_000)
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("reads /proc")
    assert run(text) == "4 True"


def test_a_temporary_that_no_memory_holds_is_refused() -> None:
    text = (
        "def main = fun((x : 4.f32), let y = generate(fun(i : idx[99999999999999], x |> at("
        "clampIdx(4, cast[i32](fromIdx(i)))))) |> toMem(heap); y |> take(4))"
    )
    kernel = rl.loads(text, name="a.rise", strategy="none").main
    with pytest.raises(LimitationError, match="not enough memory for a temporary"):
        kernel(np.ones(4, np.float32))
    assert rl.loads("def main = fun((x : f32), x + 1.0)", name="b.rise").main(np.float32(1)) == 2


def test_an_object_for_others_does_not_poll() -> None:
    text = "def main = fun((x : f32), x |> iterate(20000000000, fun(y, y * 0.5 + 1.0)))"
    program: Any = rl.loads(text, name="a.rise")
    lowered = program.main.lower()
    assert "rise_poll" in lowered.as_text("llvm")
    code = guard.remove_polls(lowered.as_text("llvm"))
    assert "declare void @rise_poll" not in code
    assert "define internal void @rise_poll" in code


@pytest.mark.sampled(1)
@pytest.mark.parametrize("result", ["void", "double"])
def test_a_signal_ends_long_loops_of_c(result: str) -> None:
    pytest.importorskip("clang")
    pytest.importorskip("islpy")
    text = """
import signal
import numpy as np
import riselang as rl

ending = "" if "RESULT" == "void" else "double t = s[0]; return t;"
function = rl.from_c('''RESULT f(int n, double s[1], double x[n]) {
  for (int r = 0; r < 2000000000; r++)
    for (int i = 0; i < n; i++)
      s[0] = s[0] * 0.5 + x[i];
  ENDING
}'''.replace("ENDING", ending), schedule="source")
signal.setitimer(signal.ITIMER_REAL, 1.0)
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    function(1000, np.zeros(1), np.ones(1000))
except KeyboardInterrupt:
    print("ended")
"""
    assert run(text.replace("RESULT", result)) == "ended"
