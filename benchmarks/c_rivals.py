"""C compilers as rivals: a kernel compiled by each, and called with the same arrays in turn."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import riselang as rl
from riselang.frontends.c.emit.c_entry_points import is_buffer
from riselang.frontends.c.file import CFile
from riselang.frontends.c.model.footprints import evaluate_expression
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Variable

KERNELS = Path(__file__).parents[1] / "examples/c/kernels"
FLAGS = ("-O3", "-w", "-shared", "-fPIC")
NATIVE = ("-march=native", "-mcpu=native")
"""What tells a compiler to use all of this processor; clang 14 for Arm knows the second alone."""
_folder = tempfile.TemporaryDirectory(prefix="rise_bench_c_")
Array = np.ndarray[Any, np.dtype[Any]]


def _newest_clang() -> str | None:
    """Polly is part of Debian's clang from version 14 on."""
    names = [f"clang-{version}" for version in range(25, 13, -1)] + ["clang"]
    return next((name for name in names if shutil.which(name)), None)


def _compilers() -> dict[str, list[str]]:
    clang = _newest_clang()
    rivals = {
        "gcc": ["gcc", *FLAGS],
        "clang": [clang or "clang", *FLAGS],
        "polly": [clang or "clang", *FLAGS, "-mllvm", "-polly"],
    }
    found = {name: _native(command) for name, command in rivals.items()}
    return {name: command for name, command in found.items() if command is not None}


def _native(command: list[str]) -> list[str] | None:
    """The command with the option for this processor; None where it does not work at all."""
    for option in NATIVE:
        whole = [*command, option]
        test = [*whole, "-x", "c", "-", "-o", str(Path(_folder.name, "test.so"))]
        if not shutil.which(command[0]):
            return None
        if subprocess.run(test, input=b"", capture_output=True, check=False).returncode == 0:
            return whole
    return None


COMPILERS = _compilers()
RESTRICT = " with restrict"
"""How a rival is called whose parameters are declared `restrict`."""


class Contest:
    """One kernel at one size."""

    def __init__(self, name: str, sizes: Mapping[str, int], rivals: Sequence[str] = ()):
        """`rivals` are compilers, perhaps with `RESTRICT` after their names; by default all."""
        path = KERNELS / f"{name}.c"
        self._scop = CFile.parse_text(path.read_text(), path.name).model_function()
        self._arguments = _made(self._scop, sizes)
        self._ours: Callable[..., object] = rl.from_c(path, function=self._scop.name)
        self._rivals = {rival: self._compiled(path, rival) for rival in rivals or COMPILERS}

    def seconds(
        self, rounds: int, clock: Callable[[], float] = time.process_time
    ) -> dict[str, list[float]]:
        """The seconds that each took, in each round but the first, of the processor's by default.

        Arguments of rivals are converted before the clock starts, and those of ours after.
        """
        working = [a.copy() if isinstance(a, np.ndarray) else a for a in self._arguments]
        given = [passed(v, a) for v, a in zip(self._scop.inputs, working, strict=True)]
        calls = {"ours": partial(self._ours, *working)}
        calls |= {rival: partial(call, *given) for rival, call in self._rivals.items()}
        arrays = [
            (source, target) for source, target in zip(self._arguments, working, strict=True)
            if isinstance(source, np.ndarray)
        ]  # fmt: skip
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(rounds + 1):
            for name, call in calls.items():
                for source, target in arrays:
                    target[...] = source
                start = clock()
                call()
                end = clock()
                taken[name] += [end - start] if turn else []
        return taken

    def _compiled(self, path: Path, rival: str) -> Callable[..., object]:
        compiler = rival.removesuffix(RESTRICT)
        source, library = (Path(_folder.name, f"{path.stem}-{rival}.{end}") for end in ("c", "so"))
        text = path.read_text()
        source.write_text(_with_restrict(text) if rival != compiler else text)
        subprocess.run([*COMPILERS[compiler], source, "-o", library, "-lm"], check=True)
        function = getattr(ctypes.CDLL(str(library)), self._scop.name)
        function.restype = None
        return function

    @staticmethod
    def arguments(name: str, sizes: Mapping[str, int]) -> list[Any]:
        """Those of a kernel, made up."""
        return _made(
            CFile.parse_text((KERNELS / f"{name}.c").read_text(), name).model_function(), sizes
        )


def _with_restrict(text: str) -> str:
    """A file whose function promises that its arrays do not overlap."""
    end = text.index("{")
    return re.sub(r"(\w+)\[(\w+)\]((?:\[\w+\])*)", r"\1[restrict \2]\3", text[:end]) + text[end:]


def _made(scop: Scop, sizes: Mapping[str, int]) -> list[Any]:
    random = np.random.default_rng(0)
    known: dict[Variable, int] = {
        v: sizes[v.name] for v in scop.inputs
        if not is_buffer(scop, v) and v.type.is_integer
    }  # fmt: skip
    made: list[Any] = []
    for variable in scop.inputs:
        if is_buffer(scop, variable):
            shape = [evaluate_expression(e, known) for e in variable.extents if e is not None]
            made.append(_array(random, shape, variable))
        else:
            made.append(known.get(variable, 0.75))
    return made


def passed(variable: Variable, argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    kinds = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int32": ctypes.c_int32}
    return kinds[variable.type.dtype.name](argument)


def _array(random: np.random.Generator, shape: Sequence[Any], variable: Variable) -> Array:
    dtype = variable.type.dtype
    if dtype.kind != "f":
        high = 4 if variable.type.bits == 8 else 1000
        return random.integers(0, high, shape).astype(dtype)
    array = random.uniform(0.5, 1.5, shape)
    if len(shape) == 2 and shape[0] == shape[1]:
        array += np.eye(shape[0]) * 2 * shape[0]  # factorisations stay away from zero
    return array.astype(dtype)
