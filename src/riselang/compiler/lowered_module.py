"""A module after all riselang passes, with the metadata that calls of its functions need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from riselang import pipelines
from riselang.compiler.module_facts import ModuleFacts
from riselang.compiler.signatures import Signature, stored_parameters
from riselang.dialects.module import functions
from riselang.lowering.passes.check_floats import FloatChecks
from riselang.lowering.runtime_checks import failure_parameter
from riselang.native.llvm import shared_libraries as libraries
from riselang.native.llvm.thread_pool import has_threads
from riselang.runtime.artifact import CompiledFunction
from riselang.runtime.executable import entry_point_ir
from riselang.support.config import Options
from riselang.support.errors import SourceLocation
from riselang.support.lazy import cached_property


@dataclass(frozen=True)
class LoweredModule:
    """A module for native MLIR."""

    module: ModuleOp
    signatures: tuple[Signature, ...]
    """The functions as they were before lowering."""
    checks: tuple[SourceLocation | None, ...]
    """The source locations of the index checks that can fail at run time."""
    facts: ModuleFacts
    options: Options
    float_checks: FloatChecks = ()
    """The operations that report results that are not finite."""

    @cached_property
    def uses_threads(self) -> bool:
        """Whether parallel loops run in several threads."""
        # Operations are checked in the order of the program.
        is_ordered = bool(self.float_checks)
        return self.facts.has_parallel_loops and has_threads() and not is_ordered

    @property
    def libraries(self) -> tuple[str, ...]:
        """The libraries that the code calls."""
        return (libraries.BLAS,) if self.facts.calls_blas else ()

    @cached_property
    def functions(self) -> tuple[CompiledFunction, ...]:
        """The metadata that a call needs of each function."""
        return tuple(self._compiled_function(each) for each in self.signatures if each.is_callable)

    @cached_property
    def entry_functions_ir(self) -> str:
        """LLVM IR of the entry points that Python calls."""
        return "\n".join(
            entry_point_ir(
                each.name,
                each.parameters,
                fails=each.name in self._functions_with_checks,
                has_descriptors=self.facts.has_descriptors,
            )
            for each in self.signatures
            if each.is_callable
        )

    def _compiled_function(self, signature: Signature) -> CompiledFunction:
        name = signature.name
        written = signature.written | self._planned_stores.get(name, frozenset())
        return CompiledFunction(
            name,
            tuple(
                replace(parameter, is_written=position in written)
                for position, parameter in enumerate(signature.parameters)
            ),
            signature.dynamic_dimensions,
            self.checks if name in self._functions_with_checks else (),
        )

    @cached_property
    def _planned_stores(self) -> Mapping[str, frozenset[int]]:
        """The parameters that functions with planned passes store to; these passes rely on the
        parameters not to alias."""
        return {
            function.sym_name.data: stored_parameters(function)
            for function in functions(self.module)
            if pipelines.PLANNED_PASSES in function.attributes
        }

    @cached_property
    def _functions_with_checks(self) -> frozenset[str]:
        """The functions whose last parameter is a buffer for a failed check."""
        all_functions = functions(self.module)
        return frozenset(
            each.sym_name.data for each in all_functions if failure_parameter(each) is not None
        )
