"""xDSL's constructors, insertions and checks behave as before they were replaced by faster ones."""

from __future__ import annotations

import pytest
from xdsl.builder import Builder, ImplicitBuilder
from xdsl.dialects import scf
from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.metaclasses import PlainClass


def number(value: int = 1) -> ConstantOp:
    return ConstantOp(IntegerAttr(value, i32))


def test_ops_are_inserted_before_and_at_the_end_in_order() -> None:
    first, second, third = number(1), number(2), number(3)
    block = Block([second])
    builder = Builder(InsertPoint.before(second))
    builder.insert(first)
    Builder(InsertPoint.at_end(block)).insert(third)
    assert list(block.ops) == [first, second, third]
    assert list(reversed(block.ops)) == [third, second, first]
    assert (block.first_op, block.last_op, first.parent) == (first, third, block)


def test_builders_insert_sequences_and_name_results_as_before() -> None:
    block = Block()
    builder = Builder(InsertPoint.at_end(block))
    builder.insert([number(1), number(2)])
    builder.name_hint = "one"
    assert builder.insert(number()).results[0].name_hint == "one"
    assert len(block.ops) == 3
    with ImplicitBuilder(implicit := Block()):
        op = number()
        with pytest.raises(ValueError, match="implicit builder"):
            builder.insert(op)
    assert list(implicit.ops) == [op]


def test_an_attached_op_is_not_inserted_again() -> None:
    op = number()
    Block([op])
    with pytest.raises(ValueError, match="already attached"):
        Block().add_op(op)
    with pytest.raises(ValueError, match="not in current block"):
        Block().insert_op_before(number(), op)


def test_an_op_is_not_inserted_into_itself() -> None:
    inner = Block()
    op = ModuleOp(Region(inner))
    with pytest.raises(ValueError, match="contained in the operation"):
        inner.add_op(op)


def test_ops_may_be_erased_while_a_block_is_iterated_over() -> None:
    block = Block([number(1), number(2), number(3)])
    for op in block.ops:
        op.detach()
        op.erase()
    assert block.is_empty


def test_an_attribute_whose_parameter_is_wrong_is_rejected_by_name() -> None:
    with pytest.raises(VerifyException, match="parameter 'element_type' does not verify"):
        ComplexType(StringAttr("f32"))  # pyright: ignore[reportArgumentType]
    ComplexType(f32)


def test_copies_have_the_names_and_operands_of_the_original() -> None:
    left, right = number(1), number(2)
    sum = AddiOp(left, right)
    sum.result.name_hint = "sum"
    mapping: dict[SSAValue, SSAValue] = {left.result: right.result}
    copy = sum.clone_without_regions(mapping)
    assert list(copy.operands) == [right.result, right.result]
    assert copy.result.name_hint == "sum"
    assert mapping[sum.result] is copy.result
    assert copy.attributes is not sum.attributes
    assert (
        len(scf.IfOp(left.result, [], Region(Block()), Region()).clone_without_regions().regions)
        == 2
    )


def test_classes_are_checked_by_their_bases() -> None:
    result, argument = number().result, Block(arg_types=[i1]).args[0]
    assert isinstance(result, OpResult)
    assert isinstance(argument, SSAValue)
    assert not isinstance(argument, OpResult)
    assert not isinstance(result, BlockArgument)
    assert isinstance(number(), Operation)
    assert isinstance(NoneAttr(), Attribute)
    assert {type(each) for each in (OpResult, Operation, ArrayAttr)} == {PlainClass}
    assert result == result
    assert result != argument
    assert len({result, argument}) == 2
