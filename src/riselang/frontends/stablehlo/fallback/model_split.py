"""A model split into units: ops without patterns go through MLIR's own lowering.

`op_partition.py` decides which ops form a unit. The units run in sequence on arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

import numpy as np

from riselang.api.lowered import resolve_strategy
from riselang.frontends.stablehlo.elements import (
    COMPLEX_OPS,
    ELEMENT_TYPES,
    TensorType,
    tensor_type,
)
from riselang.frontends.stablehlo.fallback.op_partition import (
    CONSTANT,
    LINALG,
    PATTERNS,
    Section,
    module_part,
    partition_ops,
    section_function,
    single_op_sections,
)
from riselang.frontends.stablehlo.fallback.units import LinalgUnit, PatternUnit, Unit
from riselang.frontends.stablehlo.lowering import Program, UnsupportedOp, lower_function, op_name
from riselang.frontends.stablehlo.model.argument_names import argument_names
from riselang.frontends.stablehlo.model.body import ModelBody
from riselang.frontends.stablehlo.model.op_report import format_op_report
from riselang.frontends.stablehlo.model.origin import ModelOrigin, Signature
from riselang.frontends.stablehlo.model.program_kernel import ProgramKernel
from riselang.frontends.stablehlo.registry import (
    ELEMENTWISE_LOWERINGS,
    STRUCTURAL_OPS,
    TENSOR_LOWERINGS,
)
from riselang.native.mlir.linalg import LegalizationFailed, NotLegalized, legalize_to_linalg
from riselang.native.mlir.stablehlo_graph import GraphFunction, GraphOp, GraphValue, TensorKind
from riselang.rewrite.core import Strategy
from riselang.runtime.array_calls import PreparedCall
from riselang.runtime.arrays import as_array
from riselang.support.config import Options
from riselang.support.errors import LimitationError, UserError
from riselang.support.lazy import cached_property


def body_with_fallback(
    origin: ModelOrigin,
    graph: GraphFunction,
    backend: str,
    options: Options,
    strategy: Strategy | str | None,
) -> ModelBody:
    """Return the program of a model, or its units if some ops do not become patterns."""
    foreign: dict[GraphOp, str] = {
        op: reason
        for op in graph.body.operations[:-1]
        if (reason := _find_obstacle(op)) is not None
    }
    taken = [each.type for each in graph.body.arguments]
    if all(op.name == CONSTANT for op in foreign) and all(map(_is_program_type, taken)):
        body = ModelBody(origin, backend, options, strategy)
        try:
            return body.with_graph(graph)
        except UnsupportedOp as error:
            foreign[error.op] = error.message
    return SplitBody(origin, graph, foreign, backend, options, strategy)


def _find_obstacle(op: GraphOp) -> str | None:
    """Return why an op does not become patterns, judging by its name and types; None if it does."""
    known = {*TENSOR_LOWERINGS, *ELEMENTWISE_LOWERINGS, *STRUCTURAL_OPS, CONSTANT}
    for each in (op, *(inner for region in op.regions for inner in region.walk())):
        if op_name(each) not in known:
            return "it has no patterns" if each is op else f"{op_name(each)} in it has no patterns"
        for value in (*each.operands, *each.results):
            if not _is_program_type(value.type):
                return f"{value.type} is not supported in programs"
            if _is_complex(value.type) and op_name(each) not in COMPLEX_OPS:
                return f"{op_name(each)} of {value.type} has no patterns"
    return None


def _is_program_type(type: TensorKind | str) -> bool:
    """Whether a type is supported in programs; non-tensor types are rejected elsewhere."""
    return not isinstance(type, TensorKind) or type.element in ELEMENT_TYPES


def _is_complex(type: TensorKind | str) -> bool:
    if not isinstance(type, TensorKind):
        return False
    return type.element in ELEMENT_TYPES and ELEMENT_TYPES[type.element].is_complex


class SplitBody(ModelBody):
    """Units that run in sequence."""

    is_split = True

    def __init__(
        self,
        origin: ModelOrigin,
        graph: GraphFunction,
        foreign: Mapping[GraphOp, str],
        backend: str,
        options: Options,
        strategy: Strategy | str | None,
    ):
        super().__init__(origin, backend, options, strategy)
        self._graph = graph
        self._foreign = dict(foreign)
        self._programs: dict[Section, Program] = {}
        self._sections = self._partition()
        self._texts = self._lower_to_linalg()

    def _partition(self) -> list[Section]:
        """Return the units, after everything that can become patterns has."""
        while True:
            found = partition_ops(
                self._graph, lambda op: LINALG if op in self._foreign else PATTERNS
            )
            try:
                self._programs = {
                    section: self._lower_section(number, section)
                    for number, section in enumerate(found)
                    if section.target == PATTERNS
                }
            except UnsupportedOp as error:
                self._foreign[error.op] = error.message
                continue
            return found

    def _lower_section(self, number: int, section: Section) -> Program:
        graph = section_function(self._graph, section, f"{self._graph.name}_{number}")
        return lower_function(
            graph, argument_names([each.name for each in section.inputs]), self._graph
        )

    def _lower_to_linalg(self) -> dict[Section, str]:
        """Lower the other units with MLIR; raises an error for ops that it does not support
        either."""
        foreign = [section for section in self._sections if section.target == LINALG]
        try:
            texts = self._linalg_texts(foreign)
        except NotLegalized as error:
            self._raise_unsupported(error)
        except LegalizationFailed as error:
            raise self._diagnose_failure(foreign, str(error)) from None
        return dict(zip(foreign, texts, strict=True))

    def _linalg_texts(self, foreign: Sequence[Section]) -> list[str]:
        origin = self.origin
        parts = [module_part(self._graph, section) for section in foreign]
        return legalize_to_linalg(
            origin.content, origin.file, origin.types, self._graph.name, parts
        )

    def _diagnose_failure(self, foreign: Sequence[Section], reason: str) -> LimitationError:
        """Return the error for the op that MLIR fails on: the first that fails alone, if any.

        If none fails alone, the error names all of them.
        """
        tried = [alone for section in foreign for alone in single_op_sections(self._graph, section)]
        for alone in tried:
            try:
                self._linalg_texts([alone])
            except NotLegalized:
                continue
            except LegalizationFailed as error:
                return self._lowering_error(alone, str(error))
        return self._lowering_error(foreign[0], reason)

    def _lowering_error(self, section: Section, reason: str) -> LimitationError:
        operations = [self._graph.body.operations[position] for position in section.positions]
        operations = [op for op in operations if op.name != CONSTANT] or operations
        names = ", ".join(dict.fromkeys(map(op_name, operations)))
        why = self._foreign.get(operations[0], "it has no patterns")
        return LimitationError(
            f"{names} {'is' if len(operations) == 1 else 'are'} not supported: {why}, and {reason}",
            operations[0].location,
        )

    def _raise_unsupported(self, error: NotLegalized) -> NoReturn:
        position = [why for op, why in self._foreign.items() if op.location == error.location]
        reason = position[0] if position and error.location is not None else "it has no patterns"
        raise LimitationError(
            f"{error.op} is not supported: {reason}, and stablehlo-legalize-to-linalg does not "
            "support it",
            error.location,
        ) from None

    @property
    def is_cached(self) -> bool:
        return False

    @cached_property
    def signature(self) -> Signature:
        graph = self._graph
        names = argument_names([each.name for each in graph.body.arguments])
        arguments = [
            tensor_type(each, f"argument {name}", graph.location)
            for name, each in zip(names, graph.body.arguments, strict=True)
        ]
        results = [self._tensor_type(each) for each in graph.body.operations[-1].operands]
        return Signature(graph.name, tuple(names), tuple(arguments), tuple(results), ())

    def _tensor_type(self, value: GraphValue) -> TensorType:
        return tensor_type(value, "a value between units", self._graph.location)

    @cached_property
    def units(self) -> list[Unit]:
        """The units in execution order."""
        return [self._make_unit(section) for section in self._sections]

    def _make_unit(self, section: Section) -> Unit:
        if section.target == PATTERNS:
            program = self._programs[section]
            return PatternUnit(
                ProgramKernel(program, self.backend, self.options, resolve_strategy(self.strategy))
            )
        return LinalgUnit(
            self._texts[section],
            tuple(map(self._tensor_type, section.inputs)),
            tuple(map(self._tensor_type, section.outputs)),
            lambda reason: self._lowering_error(section, reason),
        )

    def run(self, arrays: Sequence[Any]) -> Any:
        values: dict[GraphValue, Any] = dict(zip(self._graph.body.arguments, arrays, strict=True))
        for section, unit, dead in zip(self._sections, self.units, self._dead_values, strict=True):
            results = unit.run([values[each] for each in section.inputs])
            values.update(zip(section.outputs, results, strict=True))
            for each in dead:
                del values[each]
        found = [values[each] for each in self._result_values]
        # No one else holds a result: not a caller as an argument, nor another result.
        own = [each.copy() if k in self._shared_results else each for k, each in enumerate(found)]
        return own[0] if len(own) == 1 else tuple(own)

    @cached_property
    def _result_values(self) -> tuple[GraphValue, ...]:
        return self._graph.body.operations[-1].operands

    @cached_property
    def _shared_results(self) -> set[int]:
        """The results that are arguments, or equal to earlier results."""
        seen = set(self._graph.body.arguments)
        return {k for k, each in enumerate(self._result_values) if each in seen or seen.add(each)}

    @cached_property
    def _dead_values(self) -> list[list[GraphValue]]:
        """The values that no unit needs any more, after each unit."""
        needed = set(self._result_values)
        found: list[list[GraphValue]] = []
        for section in reversed(self._sections):
            used = {*section.inputs, *section.outputs}
            found.insert(0, [each for each in used if each not in needed])
            needed |= used
        return found

    def run_into(self, arrays: Sequence[Any], out: Any) -> None:
        given = cast(Sequence[Any], out if isinstance(out, tuple) else (out,))
        if len(given) != len(self._result_values):
            raise UserError(
                f"out: expected {len(self._result_values)} arrays, but found {len(given)}"
            )
        results = self.run(arrays)
        for k, result in enumerate(results if isinstance(results, tuple) else (results,)):
            array = as_array(given[k], "out")
            if array.shape != result.shape or array.dtype != result.dtype:
                raise UserError(
                    f"out: expected {result.dtype}{result.shape}, but found "
                    f"{array.dtype}{array.shape}"
                )
            np.copyto(array, result)

    def bound_program(self, bound: Mapping[str, Any]) -> None:
        return None

    @cached_property
    def constants(self) -> tuple[Any, ...]:
        """None: each unit has its own."""
        return ()

    def bind_arrays(self, fixed: Sequence[Any]) -> PreparedCall | None:
        return None

    def as_text(self, stage: str) -> str:
        """Print each unit at a stage; units of the fallback as MLIR loops."""
        return "\n\n".join(
            f"// unit {number}: {unit.target}\n{unit.as_text(stage).rstrip()}"
            for number, unit in enumerate(self.units)
        )

    def report(self) -> str:
        return format_op_report(self._graph, self._sections)

    @cached_property
    def kernel(self) -> ProgramKernel:
        raise UserError(
            f"the model {self._graph.name} is {len(self._sections)} units, which "
            "as_text prints; it is not a single program"
        )
