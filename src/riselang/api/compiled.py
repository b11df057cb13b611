"""A compiled program: called with arrays, saved to a file, loaded in another process."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from riselang.api.complex_arrays import (
    complex_argument,
    view_inputs,
    view_outputs,
    view_results,
)
from riselang.runtime import torch_calls
from riselang.runtime.array_calls import NativeCall, PreparedCall
from riselang.runtime.array_libraries import array_converter, convert_results
from riselang.runtime.arrays import Array, DeviceView, as_array, new_array, scalar_array
from riselang.runtime.device_arrays import DeviceArray, new_device_array, to_gpu
from riselang.runtime.executable import Executable, Parameter
from riselang.support.complex_views import view_if_complex
from riselang.support.counts import format_count
from riselang.support.errors import (
    CheckError,
    OutOfRangeError,
    RiseError,
    SourceLocation,
    UserError,
)
from riselang.support.html import code, details, paragraph, table
from riselang.support.lazy import cached_property
from riselang.support.observations import recording
from riselang.support.profiling import time_span
from riselang.support.structures import LEAF, PLAIN_INTERFACE, Interface, Structure, flatten
from riselang.support.tracebacks import shorten_traceback

if TYPE_CHECKING:
    from pathlib import Path

    from riselang.compiler.compilation import Compilation
    from riselang.term.cost import Cost
    from riselang.term.nodes import Term

SUFFIX = ".kernel"
"""The file name extension of compiled programs."""
Groups = tuple[int, ...]
"""The number of buffers of each result of a program: more than one for arrays of pairs."""


class Origin(Protocol):
    """The source of a compiled program."""

    @property
    def source(self) -> Term: ...

    @property
    def key(self) -> str:
        """The key of its machine code in the kernel cache."""
        ...

    @property
    def compilation(self) -> Compilation: ...

    def as_text(self, stage: str = ...) -> str: ...

    def cost_analysis(self) -> Cost: ...


@dataclass(frozen=True)
class Compiled:
    """The machine code of a program, for specific sizes or for all sizes."""

    function: Executable
    """Takes a buffer for each part of the results, then the inputs."""
    groups: Groups
    origin: Origin | None = None
    """The source it was compiled from; None if it was loaded from a file."""
    interface: Interface = PLAIN_INTERFACE

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """The parameters of a call: all but the results and the captured arrays."""
        parameters = self.function.parameters[sum(self.groups) :]
        return parameters[: len(parameters) - len(self.interface.captured)]

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """Return the results for these arrays; write them to `out`, shaped like the result."""
        try:
            result = self._prepared_call.native(arguments, out)
            return self._call_with_conversions(arguments, out) if result is None else result
        except RiseError as error:
            raise shorten_traceback(error) from error.__cause__

    def _call_with_conversions(self, arguments: Sequence[Any], out: Any) -> Any:
        if len(arguments) != len(self.inputs):
            names = ", ".join(each.name for each in self.inputs)
            raise UserError(
                f"{self.function.name} takes {format_count(len(self.inputs), 'argument')} "
                f"({names}), but got {len(arguments)}"
            )
        flags = self.interface.complex_inputs or (False,) * len(arguments)
        parameters = zip(self.inputs, arguments, flags, strict=True)
        arrays = [_argument_array(*each) for each in parameters]
        if out is not None:
            self.run_into(arrays, out)
            return out
        result, convert = self.run(arrays), array_converter(arguments)
        return result if convert is None else convert_results(result, convert)

    @cached_property
    def _prepared_call(self) -> PreparedCall:
        return self.prepare_call()

    def run(self, arrays: Sequence[Array]) -> Any:
        """Run the program, and return new arrays with the results."""
        inputs = view_inputs(arrays, self.interface.complex_inputs)
        buffers = self._call_with_checks((*inputs, *self.interface.captured))
        return pack_results(buffers, self.groups, self.interface)

    def _call_with_checks(self, arrays: Sequence[Array]) -> list[Array]:
        """Run the program with an array for each of its parameters, and return new buffers."""
        count = sum(self.groups)
        shapes = self.function.leading_shapes(count, arrays)
        parameters = self.function.parameters[:count]
        on_gpu = any(isinstance(array, DeviceView) for array in arrays)
        make = new_device_array if on_gpu else new_array
        buffers: list[Array] = [
            make(shape, parameter.dtype)
            for shape, parameter in zip(shapes, parameters, strict=True)
        ]
        with (
            self._locate_errors(),
            recording(self.interface.observations),
            time_span("run"),
        ):
            self.function(*buffers, *arrays)
        return [each.owner if isinstance(each, DeviceView) else each for each in buffers]

    def run_into(self, arrays: Sequence[Array], out: Any) -> None:
        """Write the results to `out`, which has the structure of the returned value."""
        buffers = self._output_buffers(out)
        if len(buffers) != sum(self.groups):
            raise UserError(
                f"out: expected {format_count(sum(self.groups), 'array')}, as {self.function.name} "
                f"returns, but got {len(buffers)}"
            )
        buffers = view_outputs(buffers, self.interface.complex_results)
        inputs = view_inputs(arrays, self.interface.complex_inputs)
        with (
            self._locate_errors(),
            recording(self.interface.observations),
        ):
            self.function(*buffers, *inputs, *self.interface.captured)

    def _output_buffers(self, out: Any) -> list[Any]:
        structure = self.interface.structure
        if structure is None:
            return _flatten_buffers(out)
        leaves, found = flatten(out, lambda value: isinstance(value, np.ndarray))
        if found != structure and sum(self.groups) == len(self.groups):
            raise UserError(
                f"out: expected the structure that {self.function.name} returns, but found "
                f"{type(out).__name__}"
            )
        return leaves

    def prepare_call(self, example: Sequence[Array] | None = None) -> PreparedCall:
        """Return a fast function of inputs; it does not check their types and shapes.

        If the program has symbolic sizes, `example` has arrays of the shapes to specialize for.
        """
        shapes = None
        if example is not None:
            inputs = view_inputs(example, self.interface.complex_inputs)
            example = (*inputs, *self.interface.captured)
            results = self.function.leading_shapes(sum(self.groups), example)
            shapes = [*results, *(array.shape for array in example)]
        fixed = [*[None] * len(self.inputs), *self.interface.captured]
        return PreparedCall(lambda: self._native_call(fixed, shapes), self.run)

    def prepare_tensor_call(
        self, example: Sequence[Any], fixed: Sequence[DeviceArray | None] | None = None
    ) -> NativeCall | None:
        """Return a fast call for PyTorch tensors on the GPU with the shapes of the example.

        `fixed` contains the inputs that are the same in each call, and None for the others. The
        result is None if calls need more checks or conversions.
        """
        program, count = self.function.device_function, sum(self.groups)
        captured = self.interface.captured
        is_plain = self.interface == replace(PLAIN_INTERFACE, captured=captured)
        if program is None or not is_plain or count != len(self.groups):
            return None
        fixed = fixed or [None] * len(self.inputs)
        results = [
            (parameter.shape or (), parameter.dtype)
            for parameter in self.function.parameters[:count]
        ]
        if any(dtype.name not in torch_calls.DTYPES for _, dtype in results):
            return None
        inputs = [*fixed, *map(to_gpu, captured)]
        return torch_calls.prepare_tensor_call(program, results, example, inputs)

    def prepare_call_with(self, fixed: Sequence[Array | None]) -> PreparedCall | None:
        """Like `prepare_call`, with some inputs fixed (None for the others); None if calls need
        more checks."""
        if not self.function.has_native_calls or self.interface.observations:
            return None

        def run(arguments: Sequence[Array]) -> Any:
            remaining = iter(arguments)
            inputs = [next(remaining) if each is None else each for each in fixed]
            return self.run(inputs[: len(self.inputs)])

        return PreparedCall(lambda: self._native_call(fixed, None), run)

    def _native_call(
        self, fixed: Sequence[Array | None], shapes: Sequence[tuple[int, ...]] | None
    ) -> NativeCall | None:
        if self.interface.observations:
            return None
        fixed = [None if each is None else view_if_complex(each) for each in fixed]
        pack = None if self._returns_buffers else self._pack
        return self.function.native_call(
            sum(self.groups), fixed, self.interface, pack, shapes, self._locate_errors
        )

    def _locate_errors(self) -> AbstractContextManager[None]:
        return locate_errors(None if self.origin is None else self.origin.source, self.interface)

    @property
    def _returns_buffers(self) -> bool:
        """Whether a call returns the only buffer of the results, or a tuple of all of them."""
        structure, count = self.interface.structure, len(self.groups)
        is_tuple = count > 1 and structure == Structure(tuple, tuple(range(count)), (LEAF,) * count)
        return sum(self.groups) == count and (structure is None or is_tuple)

    def _pack(self, results: Sequence[Array]) -> Any:
        return self.interface.unflatten(group_buffers(results, self.groups))

    def as_text(self, stage: str = "asm") -> str:
        """Return the program at a stage: notation, rise, imperative, affine, llvm or asm."""
        if self.origin is None:
            raise UserError("this program was loaded without its stages; compile it to see them")
        return self.origin.as_text(stage)

    def cost_analysis(self) -> Cost:
        """Count the operations and bytes of the source program."""
        if self.origin is None:
            raise UserError("this program was loaded without its source, which has the costs")
        return self.origin.cost_analysis()

    def save(self, path: str | Path) -> None:
        """Write a file that `rl.load` reads in another process, without the source.

        The file contains the machine code for this machine and the program as RISE IR, which is
        recompiled on a different machine, and the arrays that the program captures.
        """
        if self.origin is None:
            raise UserError("this program was loaded from a file already; copy that file")
        if self.interface.observations:
            raise UserError(
                f"{self.function.name} contains rl.debug.print or rl.debug.callback, which call "
                "Python functions of this process; remove them to save the program"
            )
        if not str(path).endswith(SUFFIX):
            raise UserError(f"expected a file name that ends in {SUFFIX}, but found {path}")
        from riselang.api.save_compiled import save

        save(self.function.name, self.groups, self.origin.compilation, self.interface, path)

    def _repr_html_(self) -> str:
        rows = [
            (each.name, each.element, "written" if each.is_written else "read")
            for each in self.function.parameters
        ]
        html = paragraph("", strong=self.function.name) + table(("buffer", "type", ""), rows)
        if self.origin is None:
            return html
        texts = [(stage, code(self.as_text(stage))) for stage in ("notation", "affine")]
        return html + "".join(details(stage, text) for stage, text in texts)

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.inputs)
        return f"<compiled program {self.function.name}({names})>"


def _argument_array(parameter: Parameter, argument: Any, is_complex: bool) -> Array:
    if is_complex:
        rank = len(parameter.shape or ()) - 1
        return complex_argument(argument, parameter.element, rank, parameter.name)
    if parameter.shape == () and not isinstance(argument, np.ndarray):
        return scalar_array(argument, parameter.element, parameter.name)
    return as_array(argument, parameter.name)


@contextmanager
def locate_errors(source: Term | None, interface: Interface = PLAIN_INTERFACE) -> Generator[None]:
    """Report a failed check at its location in the source, with its message."""
    try:
        yield
    except OutOfRangeError as error:
        message = dict(interface.messages).get(str(error.location))
        if source is not None:
            error.location = source_location(source, error.location)
        if message is not None:
            raise CheckError(message, error.location) from None
        raise


def source_location(term: Term, location: SourceLocation | None) -> SourceLocation | None:
    """Return the full source range of a location; an op knows only where it starts."""
    from riselang.term.nodes import Pattern, Scalar

    stack = [term]
    while stack and location is not None:
        current = stack.pop()
        found = current.location
        is_operation = isinstance(current, Pattern | Scalar)
        if is_operation and found is not None and str(found) == str(location):
            return found
        stack.extend(current.children)
    return location


def pack_results(
    buffers: Sequence[Array], groups: Groups, interface: Interface = PLAIN_INTERFACE
) -> Any:
    """Group buffers: an array for a result, a tuple of arrays for a result of pairs."""
    buffers = view_results(buffers, interface.complex_results)
    return interface.unflatten(group_buffers(buffers, groups))


def group_buffers(buffers: Sequence[Array], groups: Groups) -> list[Any]:
    """Return an array for each result, or a tuple of arrays for a result of pairs."""
    results: list[Any] = []
    for count in groups:
        group, buffers = buffers[:count], buffers[count:]
        results.append(group[0] if count == 1 else tuple(group))
    return results


def _flatten_buffers(out: Any) -> list[Any]:
    if isinstance(out, tuple):
        return [buffer for part in cast(tuple[Any, ...], out) for buffer in _flatten_buffers(part)]
    return [out]
