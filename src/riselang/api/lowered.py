"""A program for given sizes, or for all: look at any stage of it, run it, interpret it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from riselang.dialects.rise.types import RiseType, leaves, result_types, uncurry
from riselang.errors import OutOfRangeError, SourceLocation, UserError
from riselang.interpreter.scalars import numpy_dtype
from riselang.nat import Nat
from riselang.runtime.arrays import Array
from riselang.term.nodes import Pattern, Term
from riselang.term.sizes import at_sizes, check_sizes
from riselang.timing import timed

if TYPE_CHECKING:
    from riselang.api.compile import Compilation
    from riselang.runtime.executable import Executable


@dataclass(frozen=True)
class Lowered:
    """A program for given sizes, or for all: look at any stage of it, or compile it."""

    name: str
    source: Term
    """The program as it was written."""
    results: int
    compilation: Compilation
    _checked: set[tuple[tuple[str, Nat], ...]] = field(
        default_factory=set[tuple[tuple[str, Nat], ...]]
    )

    @cached_property
    def term(self) -> Term:
        """The program as it runs, under its float permission."""
        return self.compilation.term(self.name)

    @property
    def inputs(self) -> tuple[RiseType, ...]:
        """The types of the parameters, which may say more of the sizes than was written."""
        return uncurry(self.source.type)[0]

    def as_text(self, stage: str = "rise") -> str:
        """The program at a stage: notation, rise, imperative, affine, llvm or asm."""
        if stage == "notation":
            return repr(self.source)
        return self.compilation.text(stage)

    def compile(self) -> Executable:
        """The compiled function: buffers for the results, then the inputs."""
        return self.compilation.functions[self.name]

    def check(self, sizes: Mapping[str, Nat]) -> None:
        """Refuses sizes that a program for all sizes does not permit."""
        given = tuple(sorted(sizes.items(), key=lambda item: item[0]))
        if given not in self._checked:
            check_sizes(self.source, sizes)
            self._checked.add(given)

    def run(self, arrays: Sequence[Array], sizes: Mapping[str, Nat]) -> Any:
        """The results of the compiled program; `sizes` are those that it leaves open."""
        outputs = _outputs(self, sizes)
        executable = self.compile()
        with self._located(), timed("run"):
            executable(*[buffer for group in outputs for buffer in group], *arrays)
        return _packed(outputs)

    def run_into(self, arrays: Sequence[Array], out: Any) -> None:
        """Run the compiled program and leave the results in `out`, shaped as they are returned."""
        buffers = _flattened(out)
        wanted = sum(len(list(leaves(t))) for t in result_types(self.source.type, self.results))
        if len(buffers) != wanted:
            raise UserError(
                f"out: expected {wanted} arrays, as {self.name} returns, but found {len(buffers)}"
            )
        with self._located():
            self.compile()(*buffers, *arrays)

    def prepared(self) -> Callable[[Sequence[Array]], Any]:
        """The compiled program as a function of its inputs, for sizes that are known."""
        groups = [
            [([_known(length, {}) for length in lengths], numpy_dtype(leaf))
             for lengths, leaf in leaves(type)]
            for type in result_types(self.source.type, self.results)
        ]  # fmt: skip
        executable = self.compile()
        if executable.can_fail:
            return lambda arrays: self.run(arrays, {})
        if len(groups) == 1 and len(groups[0]) == 1:
            (shape, dtype), empty = groups[0][0], np.empty

            def single(arrays: Sequence[Array]) -> Any:
                output = empty(shape, dtype)
                executable.call_quickly((output,), arrays)
                return output

            return single

        def several(arrays: Sequence[Array]) -> Any:
            outputs = [[np.empty(shape, dtype) for shape, dtype in group] for group in groups]
            executable.call_quickly([buffer for group in outputs for buffer in group], arrays)
            return _packed(outputs)

        return several

    @contextmanager
    def _located(self) -> Generator[None]:
        """A check that fails is shown where the source has it."""
        try:
            yield
        except OutOfRangeError as error:
            error.location = _as_written(self.source, error.location)
            raise

    def interpret(self, arrays: Sequence[Array], sizes: Mapping[str, Nat]) -> Any:
        """The results by the reference interpreter."""
        from riselang.interpreter.evaluate import from_buffers, run, to_buffers

        term = at_sizes(self.term, sizes)
        inputs, _ = uncurry(term.type)
        values = [from_buffers(type, [array]) for type, array in zip(inputs, arrays, strict=True)]
        with self._located(), timed("run"):
            value = run(term, values)
        outputs: list[list[Array]] = []
        types = result_types(term.type, self.results)
        for position, type in enumerate(types):
            part = value
            if position < len(types) - 1:
                part, value = value
            outputs.append(to_buffers(type, part))
        return _packed(outputs)


def lower_term(source: Term, name: str, results: int, float: str, loops: str) -> Lowered:
    """A closed term, ready to be looked at, compiled or interpreted."""
    # The compiler is imported when the first program is compiled, to keep the import fast.
    with timed("import the compiler"):
        from riselang.api.compile import Compilation
        from riselang.dialects.module import verify_module
        from riselang.term.to_dialect import program_module

    with timed("to the dialect"):
        module = program_module(source, name, results)
    verify_module(module)
    return Lowered(name, source, results, Compilation(module, loops, float))


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


def _outputs(lowered: Lowered, sizes: Mapping[str, Nat]) -> list[list[Array]]:
    return [
        [
            np.empty([_known(length, sizes) for length in lengths], numpy_dtype(leaf))
            for lengths, leaf in leaves(type)
        ]
        for type in result_types(lowered.source.type, lowered.results)
    ]


def _known(length: Nat, sizes: Mapping[str, Nat]) -> int:
    length = length.substitute(sizes)
    if not length.is_constant:
        raise UserError(
            f"the size {min(length.variables)} is not determined by the shapes of the arrays; "
            "give it a number"
        )
    return length.constant


def _flattened(out: Any) -> list[Any]:
    if isinstance(out, tuple):
        return [buffer for part in cast(tuple[Any, ...], out) for buffer in _flattened(part)]
    return [out]


def _packed(outputs: Sequence[Sequence[Array]]) -> Any:
    """One array for one result; a tuple for a result of pairs, and for several results."""
    results = [group[0] if len(group) == 1 else tuple(group) for group in outputs]
    return results[0] if len(results) == 1 else tuple(results)
