"""A program whose operations on floats are checked while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from riselang.api.compiled import Compiled, source_location
from riselang.api.lowered import Lowered
from riselang.dialects.rise.types import VectorType
from riselang.interpreter.observation import checking_floats, not_finite_message
from riselang.nat import Nat
from riselang.runtime.arrays import Array
from riselang.runtime.artifact import Artifact
from riselang.support.errors import NotFiniteError
from riselang.support.lazy import cached_property
from riselang.support.observations import recording_floats
from riselang.term.nodes import subterms

if TYPE_CHECKING:
    from riselang.lowering.passes.check_floats import FloatChecks


class CheckedProgram:
    """A program that reports the first operation on floats whose result is not finite.

    Its machine code is not cached on disk. It computes in the order of the source program, on one
    thread. A program with vectors runs in the interpreter.
    """

    def __init__(self, program: Lowered):
        self._original = program
        options = replace(
            program.options, loops="scf", library="none", effort="fast", checks_floats=True
        )
        self._checked = replace(program, options=options, strategy=None)

    def run(self, arrays: Sequence[Array], sizes: Mapping[str, Nat]) -> Any:
        """Return the results; raise an error at the first operation that returns no number."""
        if self._has_vectors:
            with checking_floats():
                return self._original.interpret(arrays, sizes)
        compiled, checks = self._compiled
        with recording_floats([check.operand_count for check in checks]) as recorder:
            result = compiled.run(arrays)
        if recorder.failure is None:
            return result
        number, operands, value = recorder.failure
        raise NotFiniteError(
            not_finite_message(checks[number].name, operands, value),
            source_location(self._original.source, checks[number].location),
        )

    @cached_property
    def _has_vectors(self) -> bool:
        parts = subterms(self._original.source)
        return any(isinstance(part.type, VectorType) for part in parts)

    @cached_property
    def _compiled(self) -> tuple[Compiled, FloatChecks]:
        """The machine code, and the operations that it checks."""
        from riselang.native.llvm.observation_callbacks import define_observation_functions

        define_observation_functions()
        compilation = self._checked.compilation
        module, code = compilation.lowered_module, compilation.job.object_code()
        artifact = Artifact(module.functions, (code,), module.libraries)
        functions = artifact.load_executables(lambda _: [self._original.source])
        return self._original.with_code(functions[self._original.name]), module.float_checks
