"""A compiled module as bytes, which are cached, saved, and loaded into a process.

The bytes come from files, which may be damaged. Invalid bytes raise a ValueError; then the module
is recompiled or rejected, and never run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX

from riselang.dialects.rise.types import SCALAR_NAMES, SCALARS, ScalarType
from riselang.interpreter.scalars import numpy_dtype
from riselang.nat import Nat, parse_nat
from riselang.native.llvm.entry_points import PREFIX
from riselang.runtime.executable import SCALAR_KINDS, Executable, Parameter
from riselang.runtime.launches import Kernels
from riselang.runtime.sealing import only_value_errors, seal, typed, unseal
from riselang.runtime.shapes import OpenLengths, OpenShapes
from riselang.support.errors import SourceLocation
from riselang.support.profiling import timed
from riselang.term.nodes import Term

Terms = Callable[[str], Sequence[Term]]
"""Returns the programs of a function, which restrict its symbolic sizes."""
Buffer = tuple[tuple[Nat, ...], ScalarType]
"""The lengths and the element type of a buffer."""
Wanted = Mapping[str, Sequence[Buffer] | None]
"""Expected functions, and the buffers they take, if known."""
_KIND = "compiled module"


@dataclass(frozen=True)
class CompiledFunction:
    """The metadata that a call of a function needs."""

    name: str
    parameters: tuple[Parameter, ...]
    open_lengths: OpenLengths | None = None
    """The symbolic shapes of the parameters; None if all are static."""
    checks: tuple[SourceLocation | None, ...] = ()
    """The source locations of the index checks that can fail at run time."""

    def takes(self, buffers: Sequence[Buffer]) -> bool:
        """Return whether its parameters have these shapes and types."""
        found = [(each.shape, each.type) for each in self.parameters]
        positions = {at for at, _ in self.open_lengths or ()}
        return len(found) == len(buffers) and all(
            (shape, type) == (tuple(map(_closed, lengths)), leaf)
            and (at in positions or all(length.is_constant for length in lengths))
            for at, ((shape, type), (lengths, leaf)) in enumerate(zip(found, buffers, strict=True))
        )


def _closed(length: Nat) -> int:
    return length.constant if length.is_constant else DYNAMIC_INDEX


@dataclass(frozen=True)
class Artefact:
    """Compiled functions and their machine code, in one object file or several."""

    functions: tuple[CompiledFunction, ...]
    objects: tuple[bytes, ...]
    libraries: tuple[str, ...] = ()
    """The libraries that the code calls: "openmp", "blas"."""
    kernels: Kernels | None = None
    """The kernels for a GPU, instead of machine code."""

    def to_bytes(self) -> bytes:
        head = {
            "functions": functions_to_json(self.functions),
            "objects": [len(code) for code in self.objects],
            "libraries": self.libraries,
            "kernels": self.kernels and self.kernels.to_json(),
        }
        return seal(_KIND, b"".join([json.dumps(head).encode(), b"\n", *self.objects]))

    @staticmethod
    def from_bytes(data: bytes) -> Artefact:
        """Read what `to_bytes` wrote; raise a ValueError for anything else."""
        text, _, code = unseal(_KIND, data).partition(b"\n")
        with only_value_errors("a compiled module"):
            head = json.loads(text)
            kernels = head["kernels"]
            return Artefact(
                functions_from_json(head["functions"]),
                tuple(_parts(code, head["objects"])),
                tuple(typed(each, str) for each in head["libraries"]),
                None if kernels is None else Kernels.from_json(kernels),
            )

    def check(self, wanted: Wanted) -> None:
        """Raise a ValueError if the code cannot be loaded here or lacks the wanted functions."""
        from riselang.native.llvm import codegen as llvm
        from riselang.native.llvm import shared_libraries as libraries

        known = {each.name: each for each in self.functions}
        missing = wanted.keys() - known.keys()
        missing |= {each for each in self.libraries if not libraries.is_found(each)}
        if missing:
            raise ValueError(f"there is no {min(missing)}")
        for name, buffers in wanted.items():
            if buffers is not None and not known[name].takes(buffers):
                raise ValueError(f"{name} takes other buffers")
        if self.kernels is not None:
            if self.objects or known.keys() != {each.function for each in self.kernels.plans}:
                raise ValueError("kernels for other functions")
            return
        for name in self.libraries:
            libraries.prepare(name)
        llvm.check_objects(self.objects, [f"{PREFIX}{each.name}" for each in self.functions])

    def executables(self, terms: Terms) -> dict[str, Executable]:
        """Load the functions into this process."""
        if self.kernels is not None:
            return self._on_gpu(self.kernels)
        from riselang.native.llvm import codegen as llvm
        from riselang.native.llvm import shared_libraries as libraries

        with timed("load"):
            for name in self.libraries:
                libraries.prepare(name)
            code = llvm.load_objects(self.objects)
        return {
            each.name: Executable(
                code, each.name, each.parameters, shapes_of(each, terms), each.checks
            )
            for each in self.functions
        }

    def _on_gpu(self, kernels: Kernels) -> dict[str, Executable]:
        from riselang.runtime.kernels import KernelCode

        with timed("load"):
            code = KernelCode(kernels)
        return {
            each.name: Executable(
                code,
                each.name,
                each.parameters,
                checks=each.checks,
                function=code.function(each.name, each.parameters, 32 if each.checks else 0),
            )
            for each in self.functions
        }


def _parts(code: bytes, lengths: Sequence[Any]) -> Iterator[bytes]:
    if sum(typed(each, int) for each in lengths) != len(code) or min(lengths, default=0) < 0:
        raise ValueError("the lengths of its objects do not add up")
    for length in lengths:
        yield code[:length]
        code = code[length:]


def shapes_of(function: CompiledFunction, terms: Terms) -> OpenShapes | None:
    if function.open_lengths is None:
        return None
    return OpenShapes(function.open_lengths, terms(function.name))


def functions_to_json(functions: Sequence[CompiledFunction]) -> list[dict[str, Any]]:
    return [_function_to_json(function) for function in functions]


def functions_from_json(data: Any) -> tuple[CompiledFunction, ...]:
    return tuple(_function_from_json(each) for each in data)


def _function_to_json(function: CompiledFunction) -> dict[str, Any]:
    lengths = function.open_lengths
    return {
        "name": function.name,
        "parameters": [
            [each.name, SCALAR_NAMES[each.type], each.shape, each.is_written, _nat(each.bound)]
            for each in function.parameters
        ],
        "open": lengths and [[at, [str(length) for length in each]] for at, each in lengths],
        "checks": [
            place and [place.file, place.line, place.column, place.length, place.text]
            for place in function.checks
        ],
    }


def _nat(nat: Nat | None) -> str | None:
    return None if nat is None else str(nat)


def _function_from_json(data: Any) -> CompiledFunction:
    parameters = tuple(_parameter(*each) for each in data["parameters"])
    lengths = None
    if data["open"] is not None:
        lengths = tuple(_open_lengths(at, each, parameters) for at, each in data["open"])
    known = {name for _, each in lengths or () for length in each for name in length.variables}
    if any(each.bound is not None and each.bound.variables - known for each in parameters):
        raise ValueError("an index bound with an unknown size")
    checks = tuple(None if each is None else _location(*each) for each in data["checks"])
    return CompiledFunction(typed(data["name"], str), parameters, lengths, checks)


def _parameter(name: Any, type: Any, shape: Any, is_written: Any, bound: Any) -> Parameter:
    scalar = SCALARS[type]
    if shape is None and numpy_dtype(scalar).name not in SCALAR_KINDS:
        raise ValueError(f"a scalar of type {type} cannot be passed")
    return Parameter(
        typed(name, str),
        scalar,
        None if shape is None else tuple(map(_length, shape)),
        typed(is_written, bool),
        None if bound is None else parse_nat(typed(bound, str)),
    )


def _length(value: Any) -> int:
    if not (0 <= typed(value, int) < 1 << 62 or value == DYNAMIC_INDEX):
        raise ValueError(f"expected a length, but found {value}")
    return value


def _open_lengths(
    position: Any, lengths: Any, parameters: Sequence[Parameter]
) -> tuple[int, tuple[Nat, ...]]:
    found = tuple(parse_nat(typed(each, str)) for each in lengths)
    shape = parameters[typed(position, int)].shape
    if position < 0 or shape is None or len(shape) != len(found):
        raise ValueError("lengths that do not belong to a parameter")
    return position, found


def _location(file: Any, line: Any, column: Any, length: Any, text: Any) -> SourceLocation:
    for number in (line, column, length):
        typed(number, int)
    return SourceLocation(typed(file, str), line, column, length, text and typed(text, str))
