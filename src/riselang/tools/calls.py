"""Arguments of programs on the command line: the given inputs, and generated arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX

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
    from riselang.runtime.executable import Executable

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
            f"({', '.join(kernel.names)}), but got {len(texts)}"
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
        raise UserError(f"{file} contains no functions")
    if name is None or name not in functions:
        names = ", ".join(functions)
        if name is None:
            raise UserError(
                f"{file} contains several functions: {names}; select one with --function"
            )
        raise UserError(f"{file} contains no function '{name}'; it contains: {names}")
    return functions[name]


def function_arguments(
    executable: Executable, inputs: Sequence[str], size_texts: Sequence[str] = ()
) -> list[Any]:
    """Return arrays for a function of a module; `inputs` are for the buffers that are only read.

    Arrays without an input are generated. Their dynamic dimensions follow from the other arrays and
    the given sizes; otherwise, `inputs` has an array for each of them, too.
    """
    texts = _argument_texts(executable, inputs)
    parameters = executable.parameters
    given = {
        position: read_array(text, parameters[position].type, parameters[position].name)
        for position, text in enumerate(texts)
        if not is_generated(text)
    }
    shapes = {position: array.shape for position, array in given.items()}
    sizes = executable.sizes(shapes, _function_sizes(executable, size_texts))
    return [
        given[position]
        if position in given
        else _generate_argument(executable, position, text, sizes)
        for position, text in enumerate(texts)
    ]


def _argument_texts(executable: Executable, inputs: Sequence[str]) -> list[str]:
    """Return the text of each argument: an input, or how to generate it."""
    parameters = executable.parameters
    texts = [
        "zeros" if each.is_written else f"random:{position}"
        for position, each in enumerate(parameters)
    ]
    read = [at for at, each in enumerate(parameters) if not each.is_written]
    dynamic = _read_or_dynamic(executable)
    if len(inputs) > len(read) and len(inputs) != len(dynamic):
        expected = dict.fromkeys(_format_inputs(executable, each) for each in (read, dynamic))
        raise UserError(f"{executable.name} takes {', or '.join(expected)}, but got {len(inputs)}")
    for position, text in zip(read if len(inputs) <= len(read) else dynamic, inputs, strict=False):
        texts[position] = text
    return texts


def _read_or_dynamic(executable: Executable) -> list[int]:
    """Return the positions of the parameters that are only read, or have a dynamic dimension."""
    return [
        position
        for position, each in enumerate(executable.parameters)
        if not each.is_written or DYNAMIC_INDEX in (each.shape or ())
    ]


def _format_inputs(executable: Executable, positions: Sequence[int]) -> str:
    names = ", ".join(executable.parameters[position].name for position in positions)
    return f"{format_count(len(positions), 'input')}{f' ({names})' if names else ''}"


def _function_sizes(executable: Executable, texts: Sequence[str]) -> dict[str, Nat]:
    sizes = parse_sizes(texts)
    for name in sizes:
        if name not in executable.size_names:
            known = ", ".join(sorted(executable.size_names)) or "none"
            raise UserError(f"{executable.name} has no size {name}; it has: {known}")
    return {name: Nat.const(size) for name, size in sizes.items()}


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


def _generate_argument(
    executable: Executable, position: int, text: str, sizes: Mapping[str, Nat]
) -> Any:
    parameter = executable.parameters[position]
    if parameter.shape is None:
        raise UserError(f"parameter {parameter.name} is a scalar; pass its value")
    lengths = executable.lengths(position)
    taken = [executable.parameters[each].name for each in _read_or_dynamic(executable)]
    remedy = f"a literal or a .npy file for {' and '.join(taken)}"
    if lengths is None:
        raise UserError(
            f"parameter {parameter.name} has a dynamic dimension that no other array determines; "
            f"pass {remedy}"
        )
    known = [length.substitute(sizes) for length in lengths]
    for length in known:
        if not length.is_constant:
            raise UserError(
                f"parameter {parameter.name}: the size {length} is not known; pass --size "
                f"{min(length.variables)}=..., or {remedy}"
            )
    shape = [length.constant for length in known]
    return generate_values(text, shape, parameter.type, parameter.name)


def exact_text(result: Any) -> str:
    """Format the results of a call; floats have as many digits as are needed to read them back."""
    import numpy as np

    with np.printoptions(floatmode="unique"):
        return str(result)
