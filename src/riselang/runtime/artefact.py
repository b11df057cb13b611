"""A compiled module as bytes: what is cached, saved, and loaded into a process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.dialects.rise.types import SCALAR_NAMES, SCALARS
from riselang.errors import SourceLocation
from riselang.nat import Nat, parse_nat
from riselang.runtime.executable import Executable, Parameter
from riselang.runtime.launches import Kernels
from riselang.runtime.shapes import OpenLengths, OpenShapes
from riselang.term.nodes import Term
from riselang.timing import timed

Terms = Callable[[str], Sequence[Term]]
"""The programs of a function; asked for where sizes are open, which they restrict."""


@dataclass(frozen=True)
class CompiledFunction:
    """What a call has to know of a function."""

    name: str
    parameters: tuple[Parameter, ...]
    open_lengths: OpenLengths | None = None
    """Where sizes are open."""
    checks: tuple[SourceLocation | None, ...] = ()
    """Where the checks were written that can fail when the function runs."""


@dataclass(frozen=True)
class Artefact:
    """Compiled functions and their machine code, in one object file or several."""

    functions: tuple[CompiledFunction, ...]
    objects: tuple[bytes, ...]
    libraries: tuple[str, ...] = ()
    """What the code calls: "openmp", "blas"."""
    kernels: Kernels | None = None
    """For a GPU, in the place of machine code."""

    def to_bytes(self) -> bytes:
        head = {
            "functions": functions_to_json(self.functions),
            "objects": [len(code) for code in self.objects],
            "libraries": self.libraries,
            "kernels": self.kernels and self.kernels.to_json(),
        }
        return b"".join([json.dumps(head).encode(), b"\n", *self.objects])

    @staticmethod
    def from_bytes(data: bytes) -> Artefact:
        """What `to_bytes` wrote; anything else is a ValueError."""
        text, _, code = data.partition(b"\n")
        try:
            head = json.loads(text)
            functions = functions_from_json(head["functions"])
            objects: list[bytes] = []
            for length in head["objects"]:
                objects.append(code[:length])
                code = code[length:]
            kernels = head["kernels"] and Kernels.from_json(head["kernels"])
            return Artefact(functions, tuple(objects), tuple(head["libraries"]), kernels)
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"not a compiled module: {error}") from None

    def executables(self, terms: Terms) -> dict[str, Executable]:
        """The functions in this process, ready to call."""
        if self.kernels is not None:
            return self._on_gpu(self.kernels)
        from riselang.native import libraries, llvm

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
    return CompiledFunction(
        data["name"],
        tuple(
            Parameter(
                name,
                SCALARS[type],
                None if shape is None else tuple(shape),
                is_written,
                None if bound is None else parse_nat(bound),
            )
            for name, type, shape, is_written, bound in data["parameters"]
        ),
        data["open"]
        and tuple((at, tuple(parse_nat(each) for each in lengths)) for at, lengths in data["open"]),
        tuple(place and SourceLocation(*place) for place in data["checks"]),
    )
