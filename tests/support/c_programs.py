"""C functions, compiled by a C compiler and by us, on the same arrays: every bit is compared.

`fixed` and `enlarged` make other programs of one with symbolic bounds: one with numbers in the
place of its sizes, and one whose arrays are declared larger than what its loops run over.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.emit.c_entry_points import is_buffer
from riselang.frontends.c.file import CFile
from riselang.frontends.c.model.footprints import evaluate_expression
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Variable
from riselang.native.llvm.linking import find_c_compiler
from riselang.support.config import Options

KERNELS = Path(__file__).parents[2] / "examples" / "c" / "kernels"
EXTRA = Path(__file__).parents[2] / "examples" / "c" / "extra"
FLAGS = ("-O2", "-ffp-contract=off", "-w", "-shared", "-fPIC")
_numbers = count()
_folder = tempfile.TemporaryDirectory(prefix="rise_c_")
_CTYPES: Mapping[str, Any] = {
    "float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool,
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32,
    "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
}  # fmt: skip


@lru_cache(maxsize=512)
def compiled_by_c(text: str) -> ctypes.CDLL:
    """A library of a C text; each has a name of its own, since libraries are loaded by name."""
    compiler = find_c_compiler()
    assert compiler is not None
    base = Path(_folder.name, f"program{next(_numbers)}")
    source, library = base.with_suffix(".c"), base.with_suffix(".so")
    source.write_text(text)
    command = [*compiler, *FLAGS, "-o", str(library), str(source), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(library))


_DEFINED = re.compile(r"^(?:\w+ ){0,3}(\w+)(?= ?[({\[;=])", re.MULTILINE)
"""What a text defines at file level, where lines are not indented."""


def compiled_together(texts: Sequence[str]) -> list[SimpleNamespace]:
    """The functions `f` of several C texts, compiled as one text, which takes less time.

    What they define at file level gets other names in each.
    """
    lines: list[str] = []
    for number, text in enumerate(texts):
        names = sorted(set(_DEFINED.findall(text)))
        split = [line.startswith("#include") for line in text.splitlines()].index(False)
        own = text.splitlines()
        lines += [*own[:split], *(f"#define {name} {name}_{number}" for name in names)]
        lines += [*own[split:], *(f"#undef {name}" for name in names)]
    library = compiled_by_c("\n".join(lines))
    return [SimpleNamespace(f=library[f"f_{number}"]) for number in range(len(texts))]


def model(text: str, function: str | None = None) -> Scop:
    return CFile.parse_text(text, "test.c").model_function(function)


def compiled_by_us(text: str, function: str | None = None, schedule: str = "source") -> CFunction:
    return compiled_model(model(text, function), schedule)


def compiled_model(scop: Scop, schedule: str = "source") -> CFunction:
    options = Options("affine", "strict")
    return make_program([scop], options, schedule).functions()[scop.name]


def arguments_for(
    scop: Scop, sizes: Mapping[str, int], seed: int, lengths: Mapping[str, int] | None = None
) -> list[Any]:
    """Random arguments of a function; `lengths` are those of arrays that have none declared."""
    random = np.random.default_rng(seed)
    scalars: dict[Variable, int] = {}
    made: list[Any] = []
    for variable in scop.inputs:
        if is_buffer(scop, variable):
            made.append(None)
        elif variable.type.is_float:
            made.append(float(np.float32(random.uniform(0.3, 1.7))))
        else:
            scalars[variable] = sizes.get(variable.name, 3)
            made.append(scalars[variable])
    for at, variable in enumerate(scop.inputs):
        if is_buffer(scop, variable):
            shape = [
                (lengths or {})[variable.name]
                if extent is None
                else evaluate_expression(extent, scalars)
                for extent in variable.extents
            ]
            made[at] = _array(random, shape, variable)
    return made


def _array(random: np.random.Generator, shape: Sequence[Any], variable: Variable) -> Any:
    dtype = variable.type.dtype
    if dtype.kind == "f":
        array = random.uniform(0.5, 1.5, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            # Large diagonals keep factorisations away from roots of negatives.
            array += np.eye(shape[0]) * 2 * shape[0]
        return array.astype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    low = 0 if dtype.kind == "u" else -20
    return random.integers(low, 100 if low else 120, shape).astype(dtype)


def run_by_c(text: str, scop: Scop, arguments: Sequence[Any]) -> Any:
    """Call what the C compiler made; arrays are changed in place."""
    function = getattr(compiled_by_c(text), scop.name)
    function.restype = None
    if scop.result is not None:
        function.restype = _CTYPES[scop.result.type.dtype.name]
    passed = [
        argument.ctypes.data_as(ctypes.c_void_p)
        if isinstance(argument, np.ndarray)
        else _CTYPES[variable.type.dtype.name](argument)
        for variable, argument in zip(scop.inputs, arguments, strict=True)
    ]
    return function(*passed)


def same_bits(left: Any, right: Any) -> bool:
    """Whether two arrays are the same bit by bit; a NaN is a NaN."""
    left, right = np.asarray(left), np.asarray(right)
    if left.dtype.kind == "f":
        both = np.isnan(left) & np.isnan(right)
        unsigned = f"u{left.dtype.itemsize}"
        return bool(((left.view(unsigned) == right.view(unsigned)) | both).all())
    return bool((left == right).all())


def check_same(
    text: str,
    function: str | None,
    sizes: Mapping[str, int],
    seed: int = 0,
    schedule: str = "source",
    lengths: Mapping[str, int] | None = None,
    is_changed: bool = True,
) -> None:
    """Fails where our code and the C compiler's differ in any element of any array."""
    scop = model(text, function)
    ours = compiled_model(scop, schedule)
    given = arguments_for(scop, sizes, seed, lengths)
    theirs = [argument.copy() if isinstance(argument, np.ndarray) else argument
              for argument in given]  # fmt: skip
    before = [argument.copy() for argument in given if isinstance(argument, np.ndarray)]
    result, expected = ours(*given), run_by_c(text, scop, theirs)
    for variable, mine, right in zip(scop.inputs, given, theirs, strict=True):
        if isinstance(mine, np.ndarray):
            assert same_bits(mine, right), f"{variable.name} differs"
    if scop.result is not None:
        assert same_bits(np.array([result]), np.array([expected])), "the result differs"
    after = [argument for argument in given if isinstance(argument, np.ndarray)]
    is_run = scop.result is None and all(sizes.get(v.name, 3) > 2 for v in scop.inputs)
    if is_changed and is_run:
        changed = any(not same_bits(a, b) for a, b in zip(before, after, strict=True))
        assert changed, "nothing was computed"


_SIGNATURE = re.compile(r"\w+ \w+\(([^)]*)\) \{")


def fixed(text: str, sizes: Mapping[str, int]) -> str:
    """The program for one set of sizes: each is a number wherever it stands."""
    head = _SIGNATURE.search(text)
    assert head is not None
    for name in sizes:
        text = re.sub(rf"\bint {name}([,)])", rf"int {name}_unused\1", text)
    defined = "\n".join(f"#define {name} {value}" for name, value in sizes.items())
    return text[: head.start()] + defined + "\n" + text[head.start() :]


def enlarged(text: str, sizes: Mapping[str, int], more: int) -> str:
    """The program with arrays that are declared `more` longer than what loops run over."""
    head = _SIGNATURE.search(text)
    assert head is not None
    signature = head[0]
    for name, value in sizes.items():
        signature = signature.replace(f"[{name}]", f"[{value + more}]")
    return text[: head.start()] + signature + text[head.end() :]
