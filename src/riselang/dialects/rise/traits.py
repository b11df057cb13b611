"""Traits of the ops for generic passes: memory effects, constant folding, and calls.

Most ops are `Pure`. The traits here are for the ops that are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import (
    CallableOpInterface,
    EffectInstance,
    HasCanonicalizationPatternsTrait,
    HasFolder,
    MemoryEffect,
    MemoryEffectKind,
)

from riselang.dialects.rise.attributes import LiteralAttr
from riselang.dialects.rise.types import FunType, RiseType, contains_array, uncurry
from riselang.transforms.interfaces import CallOpInterface

_READ = EffectInstance(MemoryEffectKind.READ)
_NONE: frozenset[EffectInstance] = frozenset()
_READS = frozenset((_READ,))


class StoresProgram(MemoryEffect):
    """The op reads the buffers that its value depends on, and writes its own buffers.

    So `rise.in`, which only declares that a program reads a buffer, is pure.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        targets = (operand for operand in op.operands if isinstance(operand.type, MemRefType))
        return {_READ, *(EffectInstance(MemoryEffectKind.WRITE, target) for target in targets)}


class StoresScalar(MemoryEffect):
    """The op reads through one access path, and writes through another."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {_READ, EffectInstance(MemoryEffectKind.WRITE)}


class ReadsScalars(MemoryEffect):
    """An op of an access path reads memory if its result contains no array, else it is pure.

    Phase 2 loads a value without arrays right after its definition, so two of them are equal only
    if there is no store in between.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        type = op.results[0].type
        return _NONE if isinstance(type, RiseType) and contains_array(type) else _READS


class ConstantFolder(HasFolder):
    """The value of a literal is a constant."""

    @classmethod
    def fold(cls, op: Operation) -> Sequence[SSAValue | Attribute]:
        return (op.properties["value"],)


class ApplicationFolder(HasFolder):
    """Applies laws whose right-hand side is one of the operands; see `canonicalization.py`."""

    @classmethod
    def fold(cls, op: Operation) -> Sequence[SSAValue | Attribute] | None:
        # Deferred: ops have these traits, and the canonicalization is defined on ops.
        from riselang.dialects.rise.canonicalization import fold_application

        value = fold_application(op)
        return None if value is None else (value,)


class ApplicationPatterns(HasCanonicalizationPatternsTrait):
    """Merges a partial application into the application that uses it."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        # Deferred: ops have these traits, and the canonicalization is defined on ops.
        from riselang.dialects.rise.canonicalization import FlattenApplication

        return (FlattenApplication(),)


class LambdaCallable(CallableOpInterface):
    """A lambda can be called, with arguments for all its parameters."""

    @classmethod
    def get_callable_region(cls, op: Operation) -> Region:
        return op.regions[0]

    @classmethod
    def get_argument_types(cls, op: Operation) -> tuple[Attribute, ...]:
        return tuple(argument.type for argument in op.regions[0].block.args)

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        type = op.results[0].type
        assert isinstance(type, FunType)
        inputs, result = uncurry(type)
        count = len(op.regions[0].block.args)
        for input in reversed(inputs[count:]):
            result = FunType(input, result)
        return (result,)


class AppliesFunction(CallOpInterface):
    """An application calls the function that is its first operand."""

    @classmethod
    def get_callee(cls, op: Operation) -> SSAValue:
        return op.operands[0]

    @classmethod
    def get_arguments(cls, op: Operation) -> Sequence[SSAValue]:
        return op.operands[1:]


class RiseConstants(ConstantMaterializationInterface):
    """Materializes constants of this dialect as literals."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        # Deferred: ops have these traits, and this one makes an op.
        from riselang.dialects.rise.functional import LiteralOp

        if isinstance(value, LiteralAttr) and value.type == type:
            return LiteralOp(value)
        return None
