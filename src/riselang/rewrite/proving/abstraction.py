"""Abstraction of terms over their scalar operations, so that these can be run on symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import FunType, RiseType, fun
from riselang.interpreter import scalar_semantics
from riselang.rewrite.proving.models import Inputs, Origin, Symbol
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Lambda,
    Scalar,
    Term,
    apply_all,
    scalar_type,
    subterms,
)


def operations_of(term: Term) -> list[Scalar]:
    """Return one term for each distinct scalar operation, in the order of the parameters."""
    operations: dict[tuple[object, ...], Scalar] = {}
    for part in subterms(term):
        if isinstance(part, Scalar):
            operations.setdefault(_signature(part), part)
    return list(operations.values())


def _signature(term: Scalar) -> tuple[object, ...]:
    return term.op, term.predicate, term.type, *(operand.type for operand in term.operands)


@recursive
def abstract_operations(term: Term, operations: Sequence[Scalar]) -> Term:
    """Abstract `term` over its operations, the first of which is the outermost parameter."""
    count = len(operations)
    positions = {_signature(operation): i for i, operation in enumerate(operations)}
    types = [_function_type(operation) for operation in operations]

    def visit(term: Term, depth: int) -> Term:
        match term:
            case Lambda():
                return Lambda(term.name, term.parameter, visit(term.body, depth + 1))
            case Apply():
                return Apply(visit(term.function, depth), visit(term.argument, depth))
            case DepLambda():
                return DepLambda(term.kind, term.name, visit(term.body, depth), term.binder)
            case DepApply():
                return DepApply(visit(term.function, depth), term.argument)
            case Scalar():
                position = positions[_signature(term)]
                function = Bound(depth + count - 1 - position, types[position])
                return apply_all(function, [visit(operand, depth) for operand in term.operands])
            case _:
                return term

    body = visit(term, 0)
    for operation, type in zip(reversed(operations), reversed(types), strict=True):
        body = Lambda(operation.op, type, body)
    return body


def _function_type(operation: Scalar) -> FunType:
    parts: list[RiseType] = [operand.type for operand in operation.operands]
    return fun(*parts, operation.type)


def symbolic_operation(operation: Scalar, inputs: Inputs) -> Callable[[Any], Any]:
    """Return the operation as a curried function, which computes if all operands are concrete."""
    name = ".".join(filter(None, (operation.op, operation.predicate)))

    def result(operands: list[Any]) -> Any:
        if operation.op == "arith.select" and not isinstance(operands[0], Symbol):
            return operands[1] if operands[0] else operands[2]
        if not any(isinstance(operand, Symbol) for operand in operands):
            source = scalar_type(operation.operands[-1])
            return scalar_semantics.evaluate_op(
                operation.op, operands, source, scalar_type(operation), operation.predicate
            )
        origin = Origin(f"{name}:{format_type(operation.type)}")
        for operand in operands:
            origin = origin.apply_to(operand)
        return inputs.symbol_for(origin)

    def curry(earlier_operands: list[Any]) -> Callable[[Any], Any]:
        def apply(operand: Any) -> Any:
            operands = [*earlier_operands, operand]
            return result(operands) if len(operands) == len(operation.operands) else curry(operands)

        return apply

    return curry([])
