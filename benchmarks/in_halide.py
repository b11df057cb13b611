"""The rivals in Halide: schedules by hand, and those that its autoschedulers find.

Halide has wheels for some machines only; Debian has an older one for all of its machines. `x` runs
along rows. How many threads there are is said by HL_NUM_THREADS, once for a process. The schedule
of Harris is the one that Halide's own example has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rivals import Version, loaded

hl: Any = loaded("halide")

AUTOSCHEDULERS = {
    "Mullapudi2016": "autoschedule_mullapudi2016",
    "Adams2019": "autoschedule_adams2019",
}
"""Names, and the plugins that have them."""
Build = Callable[[Sequence[Any], bool], Any]
"""From the inputs to a Func; scheduled by hand if that is asked for."""


def lanes() -> int:
    return int(hl.get_host_target().natural_vector_size(hl.Float(32)))


def versions(build: Build, inputs: Sequence[Any], shape: tuple[int, ...]) -> Iterator[Version]:
    """One by hand, and one for each autoscheduler that can be loaded."""
    buffers = [_buffer(each) for each in inputs]
    yield _version("Halide, by hand", build(buffers, True), shape)
    for name, plugin in AUTOSCHEDULERS.items():
        try:
            hl.load_plugin(_found(plugin))
            func = build(buffers, False)
            _estimate(func, shape)
            _schedule(hl.Pipeline(func), name)
            version = _version(f"Halide, {name}", func, shape)
            version.call()  # some schedules read before the start of their input
        except (RuntimeError, *_ERRORS) as error:
            print(f"Halide's {name} is not measured: {str(error).splitlines()[0]}")
            continue
        yield version


def _buffer(array: Any) -> Any:
    """Version 14 has the first axis of numpy first, those after it the last one."""
    is_first_first = hl.Buffer(np.empty((1, 2), np.float32)).dim(0).extent() == 1
    return hl.Buffer(array.T if is_first_first else array)


def _found(plugin: str) -> str:
    """A plugin by name, or where Debian has it."""
    paths = sorted(Path("/usr/lib").glob(f"*/halide*/lib{plugin}.so"))
    return str(paths[-1]) if paths and not hasattr(hl, "AutoschedulerParams") else plugin


def _schedule(pipeline: Any, name: str) -> None:
    """Let an autoscheduler do its work on our threads; version 14 asks for it in its own way."""
    threads = os.environ.get("HL_NUM_THREADS", "1")
    if hasattr(hl, "AutoschedulerParams"):
        parameters = hl.AutoschedulerParams(name, {"parallelism": threads})
        pipeline.apply_autoscheduler(hl.get_host_target(), parameters)
        return
    cache, balance = 16 << 20, 40  # what it takes for a machine of which nothing is known
    parameters = hl.MachineParams(int(threads), cache, balance)
    pipeline.auto_schedule(name, hl.get_host_target(), parameters)


_ERRORS = (hl.HalideError,) if hasattr(hl, "HalideError") else ()


def _estimate(func: Any, shape: tuple[int, ...]) -> None:
    func.set_estimates([hl.Range(0, length) for length in reversed(shape)])


def _version(name: str, func: Any, shape: tuple[int, ...]) -> Version:
    out = np.empty(shape, np.float32)
    result = _buffer(out)
    func.compile_jit(hl.get_host_target())
    return Version(name, lambda: func.realize(result), out)


# Stencils


def jacobi(x: Any, shape: tuple[int, ...]) -> Iterator[Version]:
    return versions({1: _line, 2: _grid, 3: _volume}[len(shape)], [x], shape)


def _line(inputs: Sequence[Any], by_hand: bool) -> Any:
    (a,), x, out = inputs, hl.Var("x"), hl.Func("line")
    out[x] = hl.f32(0.33333334) * (a[x] + a[x + 1] + a[x + 2])
    if by_hand:
        block = hl.Var("block")
        out.split(x, block, x, 1 << 14).vectorize(x, lanes()).parallel(block)
    return out


def _grid(inputs: Sequence[Any], by_hand: bool) -> Any:
    (a,), x, y, out = inputs, hl.Var("x"), hl.Var("y"), hl.Func("grid")
    row = a[x + 1, y + 1] + a[x, y + 1] + a[x + 2, y + 1]
    out[x, y] = hl.f32(0.2) * (row + a[x + 1, y + 2] + a[x + 1, y])
    if by_hand:
        strip = hl.Var("strip")
        out.split(y, strip, y, 32, hl.TailStrategy.GuardWithIf).parallel(strip)
        out.vectorize(x, 2 * lanes(), hl.TailStrategy.GuardWithIf)
    return out


def _volume(inputs: Sequence[Any], by_hand: bool) -> Any:
    (a,), x, y, z, out = inputs, hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Func("volume")
    total = a[x + 1, y + 1, z] + a[x + 1, y + 1, z + 2] + a[x + 1, y, z + 1]
    total = total + a[x + 1, y + 2, z + 1] + a[x, y + 1, z + 1] + a[x + 2, y + 1, z + 1]
    out[x, y, z] = hl.f32(0.4) * a[x + 1, y + 1, z + 1] + hl.f32(0.1) * total
    if by_hand:
        out.parallel(z).vectorize(x, 2 * lanes(), hl.TailStrategy.GuardWithIf)
    return out


# Convolutions


def convolution(inputs: Sequence[Any], shape: tuple[int, ...]) -> Iterator[Version]:
    for name, build in (("direct", _direct), ("separated", _separated)):
        for each in versions(build, inputs, shape):
            yield Version(f"{each.name}, {name}", each.call, each.result)


def _direct(inputs: Sequence[Any], by_hand: bool) -> Any:
    vertical, horizontal, image = inputs
    width = vertical.width()
    x, y, out, total = hl.Var("x"), hl.Var("y"), hl.Func("direct"), hl.Func("total")
    window = hl.RDom([(0, width), (0, width)])
    weight = vertical[window.y] * horizontal[window.x]
    total[x, y] = hl.f32(0)
    total[x, y] += weight * image[x + window.x, y + window.y]
    out[x, y] = total[x, y]
    if by_hand:
        xi, yi = hl.Var("xi"), hl.Var("yi")
        out.tile(x, y, xi, yi, 4 * lanes(), 4, hl.TailStrategy.GuardWithIf)
        out.vectorize(xi, lanes()).unroll(xi).unroll(yi).parallel(y)
        total.compute_at(out, x).vectorize(x, lanes()).unroll(x).unroll(y)
        total.update().reorder(x, y, window.x, window.y).vectorize(x, lanes()).unroll(x).unroll(y)
    return out


def _separated(inputs: Sequence[Any], by_hand: bool) -> Any:
    vertical, horizontal, image = inputs
    width = vertical.width()
    x, y, out, line = hl.Var("x"), hl.Var("y"), hl.Func("separated"), hl.Func("line")
    line[x, y] = _sum(vertical[i] * image[x, y + i] for i in range(width))
    out[x, y] = _sum(horizontal[i] * line[x + i, y] for i in range(width))
    if by_hand:
        strip = hl.Var("strip")
        out.split(y, strip, y, 32, hl.TailStrategy.GuardWithIf).parallel(strip)
        out.vectorize(x, 2 * lanes(), hl.TailStrategy.GuardWithIf)
        line.compute_at(out, y).vectorize(x, 2 * lanes())
    return out


def _sum(terms: Iterator[Any]) -> Any:
    total = next(terms)
    for term in terms:
        total = total + term
    return total


# Harris


def harris(image: Any, shape: tuple[int, ...]) -> Iterator[Version]:
    return versions(_harris, [image], shape)


def _harris(inputs: Sequence[Any], by_hand: bool) -> Any:
    (image,), x, y = inputs, hl.Var("x"), hl.Var("y")
    gray, across, down = hl.Func("gray"), hl.Func("across"), hl.Func("down")
    gray[x, y] = (
        hl.f32(0.299) * image[x, y, 0]
        + hl.f32(0.587) * image[x, y, 1]
        + hl.f32(0.114) * image[x, y, 2]
    )
    across[x, y] = _slope(*(gray[x + i, y + j] for j in range(3) for i in (0, 2)))
    down[x, y] = _slope(*(gray[x + i, y + j] for i in range(3) for j in (0, 2)))
    sums: list[Any] = []
    for first, second in ((across, across), (across, down), (down, down)):
        indices = [(x + i, y + j) for j in range(3) for i in range(3)]
        sums.append(_sum(first[index] * second[index] for index in indices))
    xx, xy, yy = sums
    out = hl.Func("harris")
    out[x, y] = xx * yy - xy * xy - hl.f32(0.04) * (xx + yy) * (xx + yy)
    if by_hand:
        yi = hl.Var("yi")
        out.split(y, y, yi, 32, hl.TailStrategy.GuardWithIf).parallel(y)
        out.vectorize(x, lanes(), hl.TailStrategy.GuardWithIf)
        gray.store_at(out, y).compute_at(out, yi).vectorize(x, lanes())
        across.store_at(out, y).compute_at(out, yi).vectorize(x, lanes())
        down.store_at(out, y).compute_at(out, yi).vectorize(x, lanes()).compute_with(
            hl.LoopLevel(across, x, 0)
        )
    return out


def _slope(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    return hl.f32(0.083333336) * (b - a + hl.f32(2.0) * (d - c) + f - e)
