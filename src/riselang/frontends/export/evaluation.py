"""The evaluation of terms on tensors of a StableHLO graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riselang.dialects.rise.pattern_registry import CHUNK_LENGTH
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    TupleType,
    VectorType,
    components,
    element_of,
    uncurry,
)
from riselang.frontends.export.batches import Batch, Data, aligned, leaves
from riselang.frontends.export.patterns import export_pattern
from riselang.frontends.export.scalars import compute, element_of_scalar
from riselang.frontends.export.state import ExportState, size_of
from riselang.frontends.export.sums import export_reduction
from riselang.frontends.onnx.primitives.graph import NO_INPUTS, Value
from riselang.native.mlir.element_dtypes import dtype_of
from riselang.native.mlir.stablehlo_graph import GraphFunction
from riselang.support.errors import LimitationError
from riselang.support.recursion import with_deep_stack
from riselang.term.nodes import (
    Apply,
    Bound,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    parameter_names,
    spine,
)

Environment = tuple[Data, ...]


class Exporter(ExportState):
    """Evaluates terms."""

    def evaluate(self, term: Term, environment: Environment) -> Data:
        if isinstance(term, Bound):
            return environment[-1 - term.index]
        if isinstance(term, Lambda):
            return lambda value: self.evaluate(term.body, (*environment, value))
        if isinstance(term, Literal):
            element = element_of_scalar(term.attribute.scalar_type)
            return Batch(self.graph.constant(np.array(term.number, dtype_of(element)), element))
        if isinstance(term, Scalar):
            operands = [self.evaluate(each, environment) for each in term.operands]
            return self.scalar_operation(term, operands)
        if isinstance(term, Apply | Pattern):
            return self._apply(term, environment)
        raise LimitationError("a part of the program cannot be exported", term.location)

    def scalar_operation(self, term: Scalar, operands: Sequence[Batch]) -> Batch:
        values, axes = aligned(operands, self.lengths)
        return Batch(compute(term, values), axes)

    def _apply(self, term: Term, environment: Environment) -> Data:
        head, arguments = spine(term)
        if not isinstance(head, Pattern):
            function = self.evaluate(head, environment)
            for argument in arguments:
                function = function(self.evaluate(argument, environment))
            return function
        missing = head.spec.arity - len(arguments)
        if missing > 0:
            values = [self.evaluate(each, environment) for each in arguments]
            return _curried(lambda *rest: export_pattern(self, head, [*values, *rest]), missing)
        given, rest = arguments[: head.spec.arity], arguments[head.spec.arity :]
        found = self._reduced(head, given, environment)
        if found is None:
            values = [self.evaluate(each, environment) for each in given]
            found = export_pattern(self, head, values)
        for argument in rest:
            found = found(self.evaluate(argument, environment))
        return found

    def _reduced(
        self, head: Pattern, arguments: Sequence[Term], environment: Environment
    ) -> Data | None:
        name = head.spec.name
        if not name.startswith("reduce"):
            return None
        length = size_of(head.sizes["n"])
        # Each chunk of a parallel reduction begins with the start, and so do their results.
        starts = 1 + (-(-length // CHUNK_LENGTH) if name == "reducePar" else 0)
        return export_reduction(self, self.evaluate, arguments, environment, starts)


def _curried(function: Any, count: int, *given: Data) -> Data:
    if len(given) == count:
        return function(*given)
    return lambda value: _curried(function, count, *given, value)


@with_deep_stack
def export_graph(name: str, term: Term) -> GraphFunction:
    """Return a program of known sizes as a StableHLO function.

    Its parameters and results are the leaves of those of the program: two tensors for an array of
    pairs.
    """
    exporter = Exporter()
    parameters: list[Value] = []

    def parameter(type: RiseType, label: str, *outer: int) -> Data:
        if isinstance(type, TupleType):
            first, second = components(type)
            left = parameter(first, f"{label}_0", *outer)
            return left, parameter(second, f"{label}_1", *outer)
        if isinstance(type, ArrayType):
            return parameter(element_of(type), label, *outer, size_of(type.length))
        if isinstance(type, VectorType):
            return parameter(type.element, label, *outer, size_of(type.length))
        kind = (outer, element_of_scalar(type))
        made = exporter.graph.argument(label, kind, NO_INPUTS)
        parameters.append(made)
        return Batch(made)

    types, _ = uncurry(term.type)
    arguments = [
        parameter(type, label) for type, label in zip(types, parameter_names(term), strict=True)
    ]
    result = exporter.evaluate(term, ())
    for argument in arguments:
        result = result(argument)
    body = exporter.graph.finish(parameters, [each.value for each in leaves(result)])
    return GraphFunction(name, body, (), None)
