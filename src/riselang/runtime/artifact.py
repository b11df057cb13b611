"""A compiled module as bytes, which are cached, saved, and loaded into a process.

The bytes come from files, which may be damaged. Invalid bytes raise a ValueError; then the module
is recompiled or rejected, and never run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from riselang.native.llvm.entry_points import ENTRY_PREFIX
from riselang.runtime.executable import SCALAR_KINDS, Executable, Parameter
from riselang.runtime.sealing import as_value_errors, check_json_type, seal, split_line, unseal
from riselang.support.element_types import COMPLEX_ELEMENTS, DTYPE_NAMES, DYNAMIC_LENGTH
from riselang.support.errors import SourceLocation
from riselang.support.profiling import time_span

if TYPE_CHECKING:
    from riselang.nat import Nat
    from riselang.runtime.launches import Kernels
    from riselang.runtime.shapes import DynamicDimensions, DynamicShapes
    from riselang.term.nodes import Term

Terms = Callable[[str], "Sequence[Term]"]
"""Returns the programs of a function, which restrict its symbolic sizes."""
Buffer = tuple[tuple["Nat", ...], str]
"""The lengths of a buffer, and the name of its element type."""
ExpectedFunctions = Mapping[str, Sequence[Buffer] | None]
"""Expected functions, and the buffers they take, if known."""
_SEAL_KIND = "compiled module"


@dataclass(frozen=True)
class CompiledFunction:
    """The metadata that a call of a function needs."""

    name: str
    parameters: tuple[Parameter, ...]
    dynamic_dimensions: DynamicDimensions | None = None
    """The symbolic shapes of the parameters; None if all are static."""
    checks: tuple[SourceLocation | None, ...] = ()
    """The source locations of the index checks that can fail at run time."""

    def accepts(self, buffers: Sequence[Buffer]) -> bool:
        """Return whether its parameters have these shapes and types."""
        own_buffers = [(each.shape, each.element) for each in self.parameters]
        positions = {position for position, _ in self.dynamic_dimensions or ()}
        return len(own_buffers) == len(buffers) and all(
            (shape, element) == (tuple(map(_static_length, lengths)), leaf)
            and (position in positions or all(length.is_constant for length in lengths))
            for position, ((shape, element), (lengths, leaf)) in enumerate(
                zip(own_buffers, buffers, strict=True)
            )
        )


def _static_length(length: Nat) -> int:
    return length.constant if length.is_constant else DYNAMIC_LENGTH


@dataclass(frozen=True)
class Artifact:
    """Compiled functions and their machine code, in one object file or several."""

    functions: tuple[CompiledFunction, ...]
    objects: tuple[bytes | memoryview, ...]
    libraries: tuple[str, ...] = ()
    """The libraries that the code calls: "blas", or none."""
    kernels: Kernels | None = None
    """The kernels for a GPU, instead of machine code."""

    def to_bytes(self) -> bytes:
        head = {
            "functions": functions_to_json(self.functions),
            "objects": [len(code) for code in self.objects],
            "libraries": self.libraries,
            "kernels": self.kernels and self.kernels.to_json(),
        }
        return seal(_SEAL_KIND, b"".join([json.dumps(head).encode(), b"\n", *self.objects]))

    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview) -> Artifact:
        """Read what `to_bytes` wrote; raise a ValueError for anything else.

        The objects are views of the data: they may be large.
        """
        text, code = split_line(unseal(_SEAL_KIND, memoryview(data)))
        with as_value_errors("a compiled module"):
            head = json.loads(text)
            kernels = head["kernels"]
            return Artifact(
                functions_from_json(head["functions"]),
                tuple(_split_objects(code, head["objects"])),
                tuple(check_json_type(each, str) for each in head["libraries"]),
                None if kernels is None else _kernels_from_json(kernels),
            )

    def check(self, expected: ExpectedFunctions) -> None:
        """Raise a ValueError if the code cannot be loaded here or lacks the wanted functions."""
        from riselang.native import code_loading
        from riselang.native.llvm import shared_libraries as libraries

        by_name = {each.name: each for each in self.functions}
        missing = expected.keys() - by_name.keys()
        missing |= {each for each in self.libraries if not libraries.is_installed(each)}
        if missing:
            raise ValueError(f"there is no {min(missing)}")
        for name, buffers in expected.items():
            if buffers is not None and not by_name[name].accepts(buffers):
                raise ValueError(f"{name} takes different buffers")
        if self.kernels is not None:
            if self.objects or by_name.keys() != {each.function for each in self.kernels.plans}:
                raise ValueError("kernels for other functions")
            return
        for name in self.libraries:
            libraries.prepare_library(name)
        names = [f"{ENTRY_PREFIX}{each.name}" for each in self.functions]
        code_loading.check_objects(self.objects, names)

    def load_executables(self, terms: Terms) -> dict[str, Executable]:
        """Load the functions into this process."""
        if self.kernels is not None:
            return self._gpu_executables(self.kernels)
        from riselang.native import code_loading
        from riselang.native.llvm import shared_libraries as libraries
        from riselang.runtime.shared_code import use_cached_code

        use_cached_code()
        with time_span("load"):
            for name in self.libraries:
                libraries.prepare_library(name)
            code = code_loading.load_objects(self.objects)
        return {
            each.name: Executable(
                code, each.name, each.parameters, make_dynamic_shapes(each, terms), each.checks
            )
            for each in self.functions
        }

    def _gpu_executables(self, kernels: Kernels) -> dict[str, Executable]:
        from riselang.runtime.gpu_kernels import KernelCode

        with time_span("load"):
            code = KernelCode(kernels)
        executables: dict[str, Executable] = {}
        for each in self.functions:
            program = code.program(each.name, each.parameters, 32 if each.checks else 0)
            executables[each.name] = Executable(
                code,
                each.name,
                each.parameters,
                checks=each.checks,
                function=program.run,
                device_function=program.device_function,
            )
        return executables


def _kernels_from_json(data: Any) -> Kernels:
    # Imported only where needed: code for a CPU does without.
    from riselang.runtime.launches import Kernels

    return Kernels.from_json(data)


def _nat_from_json(text: Any) -> Nat:
    from riselang.nat import parse_nat

    return parse_nat(check_json_type(text, str))


def _split_objects(code: memoryview, lengths: Sequence[Any]) -> Iterator[memoryview]:
    if (
        sum(check_json_type(each, int) for each in lengths) != len(code)
        or min(lengths, default=0) < 0
    ):
        raise ValueError("the lengths of its objects do not add up")
    for length in lengths:
        yield code[:length]
        code = code[length:]


def make_dynamic_shapes(function: CompiledFunction, terms: Terms) -> DynamicShapes | None:
    if function.dynamic_dimensions is None:
        return None
    from riselang.runtime.shapes import DynamicShapes

    return DynamicShapes(function.dynamic_dimensions, terms(function.name))


def functions_to_json(functions: Sequence[CompiledFunction]) -> list[dict[str, Any]]:
    return [_function_to_json(function) for function in functions]


def functions_from_json(data: Any) -> tuple[CompiledFunction, ...]:
    return tuple(_function_from_json(each) for each in data)


def _function_to_json(function: CompiledFunction) -> dict[str, Any]:
    lengths = function.dynamic_dimensions
    return {
        "name": function.name,
        "parameters": [
            [
                each.name,
                each.element,
                each.shape,
                each.is_written,
                _format_bound(each.bound),
            ]
            for each in function.parameters
        ],
        "open": lengths
        and [[position, [str(length) for length in each]] for position, each in lengths],
        "checks": [
            location
            and [location.file, location.line, location.column, location.length, location.text]
            for location in function.checks
        ],
    }


def _format_bound(nat: Nat | None) -> str | None:
    return None if nat is None else str(nat)


def _function_from_json(data: Any) -> CompiledFunction:
    parameters = tuple(_parameter_from_json(*each) for each in data["parameters"])
    lengths = None
    if data["open"] is not None:
        lengths = tuple(
            _dynamic_dimensions_from_json(position, each, parameters)
            for position, each in data["open"]
        )
    bound_names = {
        name for _, each in lengths or () for length in each for name in length.variables
    }
    if any(each.bound is not None and each.bound.variables - bound_names for each in parameters):
        raise ValueError("an index bound with an unknown size")
    checks = tuple(None if each is None else _location_from_json(*each) for each in data["checks"])
    return CompiledFunction(check_json_type(data["name"], str), parameters, lengths, checks)


def _parameter_from_json(
    name: Any, type: Any, shape: Any, is_written: Any, bound: Any
) -> Parameter:
    dtype = DTYPE_NAMES[check_json_type(type, str)]
    if type in COMPLEX_ELEMENTS.values() or (shape is None and dtype not in SCALAR_KINDS):
        raise ValueError(f"a scalar of type {type} cannot be passed")
    return Parameter(
        check_json_type(name, str),
        type,
        None if shape is None else tuple(map(_length_from_json, shape)),
        check_json_type(is_written, bool),
        None if bound is None else _nat_from_json(bound),
    )


def _length_from_json(value: Any) -> int:
    if not (0 <= check_json_type(value, int) < 1 << 62 or value == DYNAMIC_LENGTH):
        raise ValueError(f"expected a length, but found {value}")
    return value


def _dynamic_dimensions_from_json(
    position: Any, lengths: Any, parameters: Sequence[Parameter]
) -> tuple[int, tuple[Nat, ...]]:
    dimensions = tuple(map(_nat_from_json, lengths))
    shape = parameters[check_json_type(position, int)].shape
    if position < 0 or shape is None or len(shape) != len(dimensions):
        raise ValueError("lengths that do not belong to a parameter")
    return position, dimensions


def _location_from_json(
    file: Any, line: Any, column: Any, length: Any, text: Any
) -> SourceLocation:
    for number in (line, column, length):
        check_json_type(number, int)
    return SourceLocation(
        check_json_type(file, str), line, column, length, text and check_json_type(text, str)
    )
