"""Laws of patterns by which `canonicalize` simplifies programs, with bitwise identical results.

A law whose right-hand side is one of the operands is a folder, which creates no ops. Low-level
patterns (`mapSeq`, `toMem`, ...) are not changed: they fix the implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from riselang.dialects.rise.functional import ApplyOp, LambdaOp, ReturnOp
from riselang.dialects.rise.pattern_ops import PatternOp
from riselang.dialects.rise.pattern_registry import (
    AS_SCALAR,
    AS_VECTOR,
    CONCAT,
    DROP,
    FST,
    JOIN,
    MAP,
    REVERSE,
    SND,
    SPLIT,
    TAKE,
    TRANSPOSE,
    TUPLE,
)
from riselang.dialects.rise.pattern_spec import PatternSpec

Law = Callable[[Sequence[SSAValue]], SSAValue | None]
"""Returns the value that a pattern applied to these arguments is equal to, or None."""
LAWS: dict[str, Law] = {}


def pattern_application(value: SSAValue) -> tuple[PatternSpec, list[SSAValue]] | None:
    """The pattern whose application is `value`, and its arguments, also of nested applications."""
    arguments: list[SSAValue] = []
    while isinstance(value, OpResult) and isinstance(value.op, ApplyOp):
        arguments = [*value.op.arguments, *arguments]
        value = value.op.function
    if isinstance(value, OpResult) and isinstance(value.op, PatternOp):
        return value.op.spec, arguments
    return None


def fold_application(op: Operation) -> SSAValue | None:
    """The value that an application is equal to by one of the laws; it has the same type."""
    found = pattern_application(op.results[0])
    if found is None or len(found[1]) != found[0].arity or found[0].name not in LAWS:
        return None
    value = LAWS[found[0].name](found[1])
    return value if value is not None and value.type == op.results[0].type else None


def law(spec: PatternSpec) -> Callable[[Law], Law]:
    """Register a law for applications of a pattern."""

    def register(law: Law) -> Law:
        LAWS[spec.name] = law
        return law

    return register


def _register_inverse(outer: PatternSpec, inner: PatternSpec) -> None:
    """`outer(inner(x)) ~> x`, where the types are the same."""

    @law(outer)
    def undo(arguments: Sequence[SSAValue]) -> SSAValue | None:
        found = pattern_application(arguments[0])
        if found is not None and found[0] is inner and len(found[1]) == 1:
            return found[1][0]
        return None


for _outer, _inner in (
    (TRANSPOSE, TRANSPOSE),
    (REVERSE, REVERSE),
    (JOIN, SPLIT),
    (SPLIT, JOIN),
    (AS_SCALAR, AS_VECTOR),
    (AS_VECTOR, AS_SCALAR),
):
    _register_inverse(_outer, _inner)


def _register_projection(outer: PatternSpec, inner: PatternSpec, position: int) -> None:
    """`outer(inner(x0, x1)) ~> x<position>`, where the types are the same."""

    @law(outer)
    def project(arguments: Sequence[SSAValue]) -> SSAValue | None:
        found = pattern_application(arguments[0])
        if found is not None and found[0] is inner and len(found[1]) == 2:
            return found[1][position]
        return None


for _outer, _inner, _position in (
    (FST, TUPLE, 0),
    (SND, TUPLE, 1),
    (TAKE, CONCAT, 0),
    (DROP, CONCAT, 1),
):
    _register_projection(_outer, _inner, _position)


@law(MAP)
def map_of_identity(arguments: Sequence[SSAValue]) -> SSAValue | None:
    """`map(fun(x, x)) ~> id`"""
    function, array = arguments
    return array if _is_identity(function) else None


def _is_identity(function: SSAValue) -> bool:
    if not isinstance(function, OpResult) or not isinstance(function.op, LambdaOp):
        return False
    block = function.op.body.block
    last = block.last_op
    return isinstance(last, ReturnOp) and len(block.args) == 1 and last.values[0] is block.args[0]


class FlattenApplication(RewritePattern):
    """`apply(apply(f, x), y) ~> apply(f, x, y)`

    Only if the partial application has no other use: otherwise its work may be shared.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ApplyOp, rewriter: PatternRewriter) -> None:
        function = op.function
        inner = function.owner
        if isinstance(inner, ApplyOp) and function.has_one_use() and inner.parent is op.parent:
            application = ApplyOp(inner.function, [*inner.arguments, *op.arguments])
            application.location = op.location
            rewriter.replace(op, application)
            rewriter.erase(inner)
