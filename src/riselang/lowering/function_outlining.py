"""Outlines parts of long blocks into functions.

The time of several LLVM passes is quadratic or worse in the size of a function (a thousand small
loops took minutes), so the number of loops in a function is limited. The call overhead for so many
loops is not measurable.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue

from riselang.lowering.noalias import is_noalias, mark_noalias
from riselang.lowering.translation import TEMPORARY

LOOPS_PER_PART = 32
"""The number of loops, or other ops with a region, at the top level of an outlined part."""


def outline_long_blocks(function: func.FuncOp, used_names: set[str]) -> list[func.FuncOp]:
    """Outline parts of a function to new functions with unused names, and return these."""
    return [
        _outline(part, _new_name(function, used_names))
        for block in _long_blocks(function)
        for part in _split_block(block)
    ]


def _new_name(function: func.FuncOp, used_names: set[str]) -> str:
    """Return a new name; `native.llvm` prevents inlining of functions with such names."""
    number = 1
    while (name := f"rise_part_{function.sym_name.data}_{number}") in used_names:
        number += 1
    used_names.add(name)
    return name


def _long_blocks(function: func.FuncOp) -> list[Block]:
    """Return the long blocks, the inner ones first."""
    blocks: list[Block] = []
    for op in function.walk(reverse=True):
        for region in op.regions:
            blocks += [block for block in region.blocks if _loop_count(block) > 2 * LOOPS_PER_PART]
    return blocks


def _loop_count(block: Block) -> int:
    return sum(1 for op in block.ops if op.regions)


def _split_block(block: Block) -> list[list[Operation]]:
    """Split a block into runs of ops with `LOOPS` loops each; the remainder is not outlined."""
    _sink_temporaries(block)
    parts: list[list[Operation]] = []
    part: list[Operation] = []
    loops = 0
    for op in block.ops:
        part.append(op)
        loops += bool(op.regions)
        if loops == LOOPS_PER_PART:
            parts.append(part)
            part, loops = [], 0
    return parts


def _sink_temporaries(block: Block) -> None:
    """Sink temporaries to their first uses, into the part that uses them."""
    order = {op: position for position, op in enumerate(block.ops)}
    for op in reversed(list(block.ops)):
        if TEMPORARY in op.attributes:
            users = [block.find_ancestor_op_in_block(use.operation) for use in op.results[0].uses]
            users_in_block = [user for user in users if user is not None]
            if users_in_block:
                op.detach()
                block.insert_op_before(op, min(users_in_block, key=lambda user: order[user]))


def _outline(part: Sequence[Operation], name: str) -> func.FuncOp:
    """Replace consecutive ops by a call of a new function that contains them."""
    part = _hoist_shared_temporaries(part)
    part_ops = {inner for op in part for inner in op.walk()}
    constants, inputs = _captured_values(part, part_ops)
    outputs = [
        result
        for op in part
        for result in op.results
        if any(use.operation not in part_ops for use in result.uses)
    ]
    body = Block(arg_types=[value.type for value in inputs])
    for argument, value in zip(body.args, inputs, strict=True):
        argument.name_hint = value.name_hint
    function = func.FuncOp(
        name,
        ([value.type for value in inputs], [value.type for value in outputs]),
        Region(body),
        visibility="private",
    )
    mark_noalias(function, [position for position, value in enumerate(inputs) if is_noalias(value)])
    call = func.CallOp(function.sym_name.data, inputs, [value.type for value in outputs])
    block = part[0].parent
    assert block is not None
    block.insert_op_before(call, part[0])
    for result, value in zip(call.results, outputs, strict=True):
        value.replace_uses_with_if(result, lambda use: use.operation not in part_ops)
    copies = {constant: constant.clone() for constant in constants}
    body.add_ops(copies.values())
    for op in part:
        op.detach()
        body.add_op(op)
    mapping: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=True))
    for constant, copy in copies.items():
        mapping[constant.results[0]] = copy.results[0]
    for value, inner in mapping.items():
        value.replace_uses_with_if(inner, lambda use: use.operation in part_ops)
    body.add_op(func.ReturnOp(*outputs))
    return function


def _hoist_shared_temporaries(part: Sequence[Operation]) -> list[Operation]:
    """Move temporaries with uses outside of the part, and the ops for their sizes, before it.

    A buffer that a loop carries and returns also counts as used outside.
    """
    part_ops = {inner for op in part for inner in op.walk()}
    stays: set[Operation] = set()
    gives = any(_returns_buffer(op) and _is_used_outside(op, part_ops) for op in part)
    for op in reversed(part):
        carried = (use.operation for result in op.results for use in result.uses)
        is_given = gives and any(_returns_buffer(user) for user in carried)
        is_shared = is_given or _is_used_outside(op, part_ops)
        is_needed = any(use.operation in stays for result in op.results for use in result.uses)
        if is_needed or (is_shared and TEMPORARY in op.attributes):
            stays.add(op)
    for op in (op for op in part if op in stays):
        block = op.parent
        assert block is not None
        op.detach()
        block.insert_op_before(op, next(first for first in part if first not in stays))
    return [op for op in part if op not in stays]


def _returns_buffer(op: Operation) -> bool:
    """Whether an op is a loop that returns a buffer it carries."""
    return bool(op.regions) and any(isinstance(each.type, MemRefType) for each in op.results)


def _is_used_outside(op: Operation, part_ops: set[Operation]) -> bool:
    return any(use.operation not in part_ops for result in op.results for use in result.uses)


def _captured_values(
    part: Sequence[Operation], part_ops: set[Operation]
) -> tuple[list[arith.ConstantOp], list[SSAValue]]:
    """Return constants to copy into the part, and the other values that it captures."""
    constants: list[arith.ConstantOp] = []
    values: list[SSAValue] = []
    visited: set[SSAValue] = set()
    for op in part:
        for inner in op.walk():
            for operand in inner.operands:
                if operand in visited or _is_inside(operand, part_ops):
                    continue
                visited.add(operand)
                if isinstance(operand.owner, arith.ConstantOp):
                    constants.append(operand.owner)
                else:
                    values.append(operand)
    return constants, values


def _is_inside(value: SSAValue, part_ops: set[Operation]) -> bool:
    owner = value.owner
    return (owner.parent_op() if isinstance(owner, Block) else owner) in part_ops
