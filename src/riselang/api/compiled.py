"""A compiled program: called with arrays, saved to a file, loaded in another process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from riselang.api.binding import scalar_array
from riselang.dialects.rise.types import SCALAR_NAMES
from riselang.errors import OutOfRangeError, SourceLocation, UserError
from riselang.interpreter.scalars import numpy_dtype
from riselang.markup import code, details, paragraph, table
from riselang.runtime.arrays import Array, as_array
from riselang.runtime.executable import Executable, Parameter
from riselang.runtime.kinds import as_kind, kind_of
from riselang.term.cost import Cost
from riselang.term.nodes import Pattern, Term
from riselang.timing import timed

if TYPE_CHECKING:
    from pathlib import Path

    from riselang.api.lowered import Lowered

SUFFIX = ".kernel"
"""What the names of files with compiled programs end in."""
Groups = tuple[int, ...]
"""How many buffers each result of a program has: more than one where it is of pairs."""


@dataclass(frozen=True)
class Compiled:
    """Machine code of a program, for given sizes or for all."""

    function: Executable
    """Takes a buffer for each part of the results, then the inputs."""
    groups: Groups
    lowered: Lowered | None = None
    """What it was compiled from; nothing for one that was loaded."""

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        return self.function.parameters[sum(self.groups) :]

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """The results for these arrays, new or in `out`: an array, or what would be returned."""
        if len(arguments) != len(self.inputs):
            names = ", ".join(each.name for each in self.inputs)
            raise UserError(
                f"{self.function.name} takes {len(self.inputs)} arguments ({names}), "
                f"but found {len(arguments)}"
            )
        arrays = [_array(*pair) for pair in zip(self.inputs, arguments, strict=True)]
        if out is not None:
            self.run_into(arrays, out)
            return out
        result, convert = self.run(arrays), kind_of(arguments)
        return result if convert is None else as_kind(result, convert)

    def run(self, arrays: Sequence[Array]) -> Any:
        """New arrays with the results."""
        count = sum(self.groups)
        shapes = self.function.shapes_of_first(count, arrays)
        parameters = self.function.parameters[:count]
        buffers = [
            np.empty(shape, numpy_dtype(parameter.type))
            for shape, parameter in zip(shapes, parameters, strict=True)
        ]
        with located(self.lowered and self.lowered.source), timed("run"):
            self.function(*buffers, *arrays)
        return packed(buffers, self.groups)

    def run_into(self, arrays: Sequence[Array], out: Any) -> None:
        """Leave the results in `out`, shaped as they are returned."""
        buffers = _flattened(out)
        if len(buffers) != sum(self.groups):
            raise UserError(
                f"out: expected {sum(self.groups)} arrays, as {self.function.name} returns, "
                f"but found {len(buffers)}"
            )
        with located(self.lowered and self.lowered.source):
            self.function(*buffers, *arrays)

    def prepared(self, example: Sequence[Array] | None = None) -> Callable[[Sequence[Array]], Any]:
        """A function of inputs whose types and shapes are right, for sizes that are known.

        Where they are not, the shapes are those of an example that fits.
        """
        if self.function.can_fail:
            return self.run
        if example is not None:
            return self._prepared_for(example)
        general = self._calling(self.function.call_quickly)
        if self.groups != (1,):
            return general
        return self.function.with_new_result(general) or general

    def prepared_into(
        self, out: Array, example: Sequence[Array]
    ) -> Callable[[Sequence[Array], Sequence[Array]], None] | None:
        """A function of one result and of inputs that are as these, which fit; None where a call
        needs more than that."""
        if self.groups != (1,):
            return None
        return self.function.at_shapes([out.shape, *(array.shape for array in example)])

    def _prepared_for(self, example: Sequence[Array]) -> Callable[[Sequence[Array]], Any]:
        results = self.function.shapes_of_first(sum(self.groups), example)
        call = self.function.at_shapes([*results, *(array.shape for array in example)])
        return self.run if call is None else self._calling(call, results)

    def prepared_with(
        self, fixed: Sequence[Array | None]
    ) -> Callable[[Sequence[Array]], Any] | None:
        """The same with some inputs given for good, where that is possible; None for the others."""
        call = self.function.with_fixed(sum(self.groups), fixed)
        return None if call is None else self._calling(call)

    def _calling(
        self,
        call: Callable[[Sequence[Array], Sequence[Array]], None],
        shapes: Sequence[tuple[int, ...]] | None = None,
    ) -> Callable[[Sequence[Array]], Any]:
        """A function of inputs that returns what a call leaves in new arrays."""
        groups, empty = self.groups, np.empty
        parameters = self.function.parameters[: sum(groups)]
        known = shapes or [each.shape for each in parameters]
        dtypes = [numpy_dtype(each.type) for each in parameters]
        parts = list(zip(known, dtypes, strict=True))
        if groups == (1,):
            shape, dtype = parts[0]

            def single(arrays: Sequence[Array]) -> Any:
                output = empty(cast(Any, shape), dtype)
                call((output,), arrays)
                return output

            return single

        def several(arrays: Sequence[Array]) -> Any:
            buffers = [empty(cast(Any, shape), dtype) for shape, dtype in parts]
            call(buffers, arrays)
            return packed(buffers, groups)

        return several

    def as_text(self, stage: str = "asm") -> str:
        """The program at a stage: notation, rise, imperative, affine, llvm or asm."""
        if self.lowered is None:
            raise UserError("this program was loaded without its stages; compile it to see them")
        return self.lowered.as_text(stage)

    def cost_analysis(self) -> Cost:
        """Operations and bytes of the program as it is written."""
        if self.lowered is None:
            raise UserError("this program was loaded without its source, which has the costs")
        return self.lowered.cost_analysis()

    def save(self, path: str | Path) -> None:
        """Write a file that `rl.load` reads in another process; it has no need of the source.

        The file has the machine code for this machine and the program as RISE IR, which is
        compiled anew on a machine of another kind.
        """
        from riselang.api.saving import save

        if self.lowered is None:
            raise UserError("this program was loaded from a file already; copy that file")
        if not str(path).endswith(SUFFIX):
            raise UserError(f"the name of the file must end in {SUFFIX}, but is {path}")
        save(self.lowered, self.groups, path)

    def _repr_html_(self) -> str:
        rows = [
            (each.name, SCALAR_NAMES[each.type], "written" if each.is_written else "read")
            for each in self.function.parameters
        ]
        shown = paragraph("", strong=self.function.name) + table(("buffer", "type", ""), rows)
        if self.lowered is None:
            return shown
        texts = [(stage, code(self.as_text(stage))) for stage in ("notation", "affine")]
        return shown + "".join(details(stage, text) for stage, text in texts)

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.inputs)
        return f"<compiled program {self.function.name}({names})>"


def _array(parameter: Parameter, argument: Any) -> Array:
    if parameter.shape == () and not isinstance(argument, np.ndarray):
        return scalar_array(argument, parameter.type, parameter.name)
    return as_array(argument, parameter.name)


@contextmanager
def located(source: Term | None) -> Generator[None]:
    """A check that fails is shown where the source has it."""
    try:
        yield
    except OutOfRangeError as error:
        if source is not None:
            error.location = _as_written(source, error.location)
        raise


def _as_written(term: Term, location: SourceLocation | None) -> SourceLocation | None:
    """The whole of a place in the program; an op knows only where it starts."""
    stack = [term]
    while stack and location is not None:
        current = stack.pop()
        found = current.location
        if isinstance(current, Pattern) and found is not None and str(found) == str(location):
            return found
        stack.extend(current.children)
    return location


def packed(buffers: Sequence[Array], groups: Groups) -> Any:
    """One array for one result; a tuple for a result of pairs, and for several results."""
    results: list[Any] = []
    for count in groups:
        group, buffers = buffers[:count], buffers[count:]
        results.append(group[0] if count == 1 else tuple(group))
    return results[0] if len(results) == 1 else tuple(results)


def _flattened(out: Any) -> list[Any]:
    if isinstance(out, tuple):
        return [buffer for part in cast(tuple[Any, ...], out) for buffer in _flattened(part)]
    return [out]
