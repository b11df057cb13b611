"""Steps of access paths that are views: each is a pattern of one argument, to read or to write.

Those that end in `Acc` stand on the store side: what the pattern gives is to be written as what it
was given.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.matching import match_scheme
from riselang.dialects.rise.operation import RiseOperation
from riselang.dialects.rise.schemes import (
    AS_SCALAR,
    AS_VECTOR,
    DROP,
    FST,
    JOIN,
    PAD,
    PAD_REFLECT,
    PAD_WRAP,
    PREFETCH,
    REVERSE,
    SLIDE,
    SND,
    SPLIT,
    TAKE,
    TRANSPOSE,
    UNZIP,
    PatternSpec,
)
from riselang.dialects.rise.traits import ReadsScalars
from riselang.dialects.rise.types import DataType, NatAttr, RiseType
from riselang.nat import Nat


def data_type(value: SSAValue) -> RiseType:
    if not isinstance(value.type, DataType):
        raise VerifyException(f"expected RISE data, but found {value.type}")
    return value.type


class ViewOp(RiseOperation):
    """Base of the steps with one operand; `spec` relates operand and result as the pattern does."""

    SPEC: ClassVar[PatternSpec]
    IS_STORE: ClassVar[bool] = False
    """Acceptors run the other way: the pattern maps the result type to the operand type."""

    source = operand_def(DataType)
    result = result_def(DataType)
    traits = traits_def(ReadsScalars())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, type: RiseType):
        super().__init__(operands=[source], result_types=[type])

    def known_sizes(self) -> dict[str, Nat]:
        return {}

    def verify_(self) -> None:
        before, after = data_type(self.source), data_type(self.result)
        if self.IS_STORE:
            before, after = after, before
        if match_scheme(self.SPEC.type, [before, after], self.known_sizes()) is None:
            raise VerifyException(
                f"{self.source.type} and {self.result.type} are not related by {self.SPEC}"
            )


@irdl_op_definition
class FstOp(ViewOp):
    """The first of a pair."""

    name = "rise.codegen.fst"
    SPEC: ClassVar = FST


@irdl_op_definition
class SndOp(ViewOp):
    """The second of a pair."""

    name = "rise.codegen.snd"
    SPEC: ClassVar = SND


@irdl_op_definition
class UnzipOp(ViewOp):
    """An array of pairs, read as a pair of arrays."""

    name = "rise.codegen.unzip"
    SPEC: ClassVar = UNZIP


@irdl_op_definition
class UnzipAccOp(ViewOp):
    """What `unzip` gives, to be written as the array of pairs."""

    name = "rise.codegen.unzipAcc"
    SPEC: ClassVar = UNZIP
    IS_STORE: ClassVar = True


@irdl_op_definition
class SplitOp(ViewOp):
    """An array, read as chunks of it."""

    name = "rise.codegen.split"
    SPEC: ClassVar = SPLIT


@irdl_op_definition
class SplitAccOp(ViewOp):
    """What `split` gives, to be written as the array."""

    name = "rise.codegen.splitAcc"
    SPEC: ClassVar = SPLIT
    IS_STORE: ClassVar = True


@irdl_op_definition
class JoinOp(ViewOp):
    """An array of arrays, read as one."""

    name = "rise.codegen.join"
    SPEC: ClassVar = JOIN


@irdl_op_definition
class JoinAccOp(ViewOp):
    """What `join` gives, to be written as the array of arrays."""

    name = "rise.codegen.joinAcc"
    SPEC: ClassVar = JOIN
    IS_STORE: ClassVar = True


@irdl_op_definition
class TransposeOp(ViewOp):
    """An array of arrays, read with the two dimensions swapped."""

    name = "rise.codegen.transpose"
    SPEC: ClassVar = TRANSPOSE


@irdl_op_definition
class TransposeAccOp(ViewOp):
    """What `transpose` gives, to be written as the array of arrays before it."""

    name = "rise.codegen.transposeAcc"
    SPEC: ClassVar = TRANSPOSE
    IS_STORE: ClassVar = True


@irdl_op_definition
class AsVectorOp(ViewOp):
    """An array of scalars, read in vectors."""

    name = "rise.codegen.asVector"
    SPEC: ClassVar = AS_VECTOR


@irdl_op_definition
class AsVectorAccOp(ViewOp):
    """What `asVector` gives, to be written as the scalars before it."""

    name = "rise.codegen.asVectorAcc"
    SPEC: ClassVar = AS_VECTOR
    IS_STORE: ClassVar = True


@irdl_op_definition
class AsScalarOp(ViewOp):
    """An array of vectors, read as that of their scalars."""

    name = "rise.codegen.asScalar"
    SPEC: ClassVar = AS_SCALAR


@irdl_op_definition
class AsScalarAccOp(ViewOp):
    """What `asScalar` gives, to be written as the vectors before it."""

    name = "rise.codegen.asScalarAcc"
    SPEC: ClassVar = AS_SCALAR
    IS_STORE: ClassVar = True


@irdl_op_definition
class SlideOp(ViewOp):
    """An array, read as overlapping windows."""

    name = "rise.codegen.slide"
    SPEC: ClassVar = SLIDE
    step = prop_def(NatAttr)
    assembly_format = "$source `step` $step attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, type: RiseType, step: NatAttr):
        super().__init__(source, type)
        self.properties["step"] = step

    def known_sizes(self) -> dict[str, Nat]:
        return {"sp": self.step.data}


@irdl_op_definition
class ReverseOp(ViewOp):
    """An array, read back to front."""

    name = "rise.codegen.reverse"
    SPEC: ClassVar = REVERSE


@irdl_op_definition
class ReverseAccOp(ViewOp):
    """What `reverse` gives, to be written as the array before it."""

    name = "rise.codegen.reverseAcc"
    SPEC: ClassVar = REVERSE
    IS_STORE: ClassVar = True


@irdl_op_definition
class PrefetchOp(ViewOp):
    """An array; what comes later in it is fetched where an element is read."""

    name = "rise.codegen.prefetch"
    SPEC: ClassVar = PREFETCH
    distance = prop_def(NatAttr)
    assembly_format = "$source `by` $distance attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, type: RiseType, distance: NatAttr):
        super().__init__(source, type)
        self.properties["distance"] = distance

    def known_sizes(self) -> dict[str, Nat]:
        return {"d": self.distance.data}


@irdl_op_definition
class TakeOp(ViewOp):
    """The beginning of an array."""

    name = "rise.codegen.take"
    SPEC: ClassVar = TAKE


@irdl_op_definition
class TakeAccOp(ViewOp):
    """What `take` gives, to be written as the array before it: what is too much is dropped."""

    name = "rise.codegen.takeAcc"
    SPEC: ClassVar = TAKE
    IS_STORE: ClassVar = True


@irdl_op_definition
class DropOp(ViewOp):
    """The rest of an array."""

    name = "rise.codegen.drop"
    SPEC: ClassVar = DROP


class ShiftedPadOp(ViewOp):
    """Base of the pads that need to know how much stands on the left."""

    left = prop_def(NatAttr)
    assembly_format = "$source `left` $left attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, type: RiseType, left: NatAttr):
        super().__init__(source, type)
        self.properties["left"] = left

    def known_sizes(self) -> dict[str, Nat]:
        return {"l": self.left.data}


@irdl_op_definition
class PadOp(ShiftedPadOp):
    """An array with its first and last elements repeated."""

    name = "rise.codegen.pad"
    SPEC: ClassVar = PAD


@irdl_op_definition
class PadWrapOp(ShiftedPadOp):
    """An array with its end before it and its beginning after it."""

    name = "rise.codegen.padWrap"
    SPEC: ClassVar = PAD_WRAP


@irdl_op_definition
class PadReflectOp(ShiftedPadOp):
    """An array with its ends mirrored."""

    name = "rise.codegen.padReflect"
    SPEC: ClassVar = PAD_REFLECT
