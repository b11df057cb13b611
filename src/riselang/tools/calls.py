"""Arguments of programs on the command line: the given inputs, and generated arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from riselang.nat import Nat
from riselang.runtime.arrays import Array
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.tools.inputs import (
    generate_input,
    generate_values,
    is_generated,
    parse_sizes,
    read_array,
)

if TYPE_CHECKING:
    from riselang.api.kernel import Kernel
    from riselang.runtime.executable import Executable, Parameter

T = TypeVar("T")


def kernel_inputs(
    kernel: Kernel, inputs: Sequence[str], size_texts: Sequence[str]
) -> tuple[list[Array], Mapping[str, Nat]]:
    """Return arrays for the parameters of a kernel, and the known sizes."""
    sizes = kernel.named_sizes(parse_sizes(size_texts))
    texts = inputs or [f"random:{position}" for position in range(len(kernel.names))]
    if len(texts) != len(kernel.names):
        raise UserError(
            f"{kernel.__name__} takes {format_count(len(kernel.names), 'input')} "
            f"({', '.join(kernel.names)}), but found {len(texts)}"
        )
    parameters = list(zip(texts, kernel.types, kernel.names, strict=True))
    given = {
        name: read_array(text, type, name)
        for text, type, name in parameters
        if not is_generated(text)
    }
    sizes = {**kernel.sizes_of(given), **sizes}
    arrays = [
        given[name] if name in given else generate_input(text, type, sizes, name)
        for text, type, name in parameters
    ]
    return arrays, sizes


def select_function(file: str, asked: str | None, functions: Mapping[str, T]) -> T:
    """Return the requested function of a module, or its only one."""
    name = asked or (next(iter(functions)) if len(functions) == 1 else None)
    if not functions:
        raise UserError(f"{file} has no function")
    if name is None or name not in functions:
        missing = f"no function {name}" if name else "several functions; give --function"
        raise UserError(f"{file} has {missing}; it has: {', '.join(functions)}")
    return functions[name]


def function_arguments(executable: Executable, inputs: Sequence[str]) -> list[Any]:
    """Return arrays for a function of a module; `inputs` are for the buffers that are only read."""
    texts = list(inputs)
    arguments: list[Any] = []
    for position, parameter in enumerate(executable.parameters):
        text = "zeros" if parameter.is_written else None
        if text is None:
            text = texts.pop(0) if texts else f"random:{position}"
        arguments.append(_make_argument(parameter, text))
    if texts:
        raise UserError(f"{executable.name} takes fewer inputs; too many: {' '.join(texts)}")
    return arguments


def written_arguments(
    executable: Executable, originals: Sequence[Any], results: Sequence[Any]
) -> list[tuple[str, Array]]:
    """Return the buffers that a function wrote, by name: its results, and those that it changed.

    The results of programs are known. Other ops may change any buffer, so the bits are compared.
    """
    return [
        (parameter.name, new)
        for parameter, old, new in zip(executable.parameters, originals, results, strict=True)
        if parameter.shape is not None and (parameter.is_written or old.tobytes() != new.tobytes())
    ]


def _make_argument(parameter: Parameter, text: str) -> Any:
    if not is_generated(text):
        return read_array(text, parameter.type, parameter.name)
    if parameter.shape is None or min(parameter.shape, default=0) < 0:
        raise UserError(f"parameter {parameter.name} has no known shape; give a literal or a file")
    return generate_values(text, parameter.shape, parameter.type, parameter.name)
