"""Converts affine loops without inner loops to `scf`, whose subscripts may be any values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import affine, memref, scf
from xdsl.ir import Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineMap
from xdsl.rewriter import InsertPoint
from xdsl.transforms.lower_affine import affine_expr_ops

from riselang.lowering.loop_emitter import Emitter

AffineAccess = affine.LoadOp | affine.ApplyOp


def can_convert(loop: affine.ForOp) -> bool:
    """Whether a loop has one upper bound, and all its subscripts are linear."""
    maps = [loop.upperBoundMap.data, *map(_subscripts, _loads(loop))]
    return len(loop.upperBoundMap.data.results) == 1 and all(map(_is_linear, maps))


def _loads(loop: affine.ForOp) -> list[AffineAccess]:
    return [op for op in loop.body.block.ops if isinstance(op, AffineAccess)]


def _subscripts(op: AffineAccess) -> AffineMap:
    assert op.map is not None
    return op.map.data


def _is_linear(map: AffineMap) -> bool:
    """Whether a map needs only additions and multiplications."""
    kinds = [
        part.kind
        for result in map.results
        for part in result.dfs()
        if isinstance(part, AffineBinaryOpExpr)
    ]
    return all(kind in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul) for kind in kinds)


def convert_to_scf(loop: affine.ForOp) -> scf.ForOp:
    """Replace an affine loop that counts from zero with the same `scf` loop."""
    emitter = Emitter(InsertPoint.before(loop))
    upper = loop.upperBoundMap.data
    (end,) = _evaluate(upper, loop.upperBoundOperands, emitter)
    for op in _loads(loop):
        inside = Emitter(InsertPoint.before(op))
        operands = op.indices if isinstance(op, affine.LoadOp) else op.mapOperands
        indices = _evaluate(_subscripts(op), operands, inside)
        if isinstance(op, affine.LoadOp):
            replacement = inside.add(memref.LoadOp.get(op.memref, indices)).results[0]
        else:
            (replacement,) = indices
        op.results[0].replace_all_uses_with(replacement)
        op.detach()
        op.erase()
    end_op = loop.body.block.last_op
    assert end_op is not None
    loop.body.block.add_op(scf.YieldOp(*end_op.operands))
    end_op.detach()
    end_op.erase()
    zero, one = emitter.constant(0), emitter.constant(1)
    body = Region()
    loop.body.move_blocks(body)
    converted = scf.ForOp(zero, end, one, loop.inits, body)
    converted.location = loop.location
    results = emitter.add(converted).results
    for old, new in zip(loop.results, results, strict=True):
        old.replace_all_uses_with(new)
    loop.detach()
    loop.erase()
    return converted


def _evaluate(map: AffineMap, operands: Sequence[SSAValue], emitter: Emitter) -> list[SSAValue]:
    dims, symbols = operands[: map.num_dims], operands[map.num_dims :]
    results: list[SSAValue] = []
    for expression in map.results:
        ops, value = affine_expr_ops(expression, dims, symbols)
        for op in ops:
            emitter.add(op)
        results.append(value)
    return results
