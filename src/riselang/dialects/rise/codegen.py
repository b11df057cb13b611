"""The intermediate ops between the two lowering phases.

Values still have RISE types, but there are no functions anymore: each of these ops is a step of an
access path. Phase 2 follows the steps from each use back to a buffer and emits one load or store.
The steps that end in `Acc` are on the store side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerType,
    MemRefType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.codegen_views import (
    READ_OPS,
    STORE_OPS,
    data_type,
)
from riselang.dialects.rise.functional import returned_value
from riselang.dialects.rise.interface_ops import check_buffers
from riselang.dialects.rise.lane_types import unwrap_type
from riselang.dialects.rise.operation import RiseOperation
from riselang.dialects.rise.pattern_registry import (
    CONCAT,
    GATHER,
    PAD_CONST,
)
from riselang.dialects.rise.scheme_matching import match_scheme
from riselang.dialects.rise.traits import ReadsScalars, StoresScalar
from riselang.dialects.rise.types import (
    ArrayType,
    DataType,
    IdxType,
    NatAttr,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    array,
    components,
    element_of,
    idx,
    pair,
)
from riselang.nat import Nat

PAIR_FORMAT = "$first `,` $second attr-dict `:` type($first) `,` type($second) `->` type($result)"


@irdl_op_definition
class CastOp(RiseOperation):
    """Casts buffers or a builtin scalar to a RISE value, or a RISE scalar to a builtin one."""

    name = "rise.codegen.cast"
    sources = var_operand_def()
    result = result_def()
    traits = traits_def(ReadsScalars())
    assembly_format = "($sources^ `:` type($sources))? attr-dict `->` type($result)"

    def __init__(self, sources: Sequence[SSAValue], type: Attribute):
        super().__init__(operands=[sources], result_types=[type])

    def verify_(self) -> None:
        types = [source.type for source in self.sources]
        result = self.result.type
        if isinstance(result, DataType) and types and isinstance(types[0], MemRefType):
            check_buffers(types, result)
        elif len(types) != 1 or not _is_scalar_cast(types[0], result):
            raise VerifyException(f"cannot cast {[str(type) for type in types]} to {result}")


def _is_scalar_cast(one: Attribute, other: Attribute) -> bool:
    wrapped, plain = (one, other) if isinstance(one, RiseType) else (other, one)
    if isinstance(wrapped, IdxType):
        return isinstance(plain, IndexType)
    return isinstance(wrapped, ScalarType | VectorType) and unwrap_type(wrapped) == plain


@irdl_op_definition
class SizeOp(RiseOperation):
    """Declares the value of a size that types mention by name: `rise.codegen.size "N" = %n`."""

    name = "rise.codegen.size"
    size = prop_def(StringAttr)
    value = operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$size `=` $value attr-dict"

    def __init__(self, name: str, value: SSAValue):
        super().__init__(
            operands=[value], properties={"size": StringAttr(name)}, result_types=[IndexType()]
        )
        self.result.name_hint = name if SSAValue.is_valid_name(name) else None


@irdl_op_definition
class IdxOp(RiseOperation):
    """The element of an array at an index, to read or to write."""

    name = "rise.codegen.idx"
    array = operand_def(ArrayType)
    index = operand_def(IndexType)
    result = result_def(DataType)
    traits = traits_def(ReadsScalars())
    assembly_format = "$array `,` $index attr-dict `:` type($array) `->` type($result)"

    def __init__(self, array: SSAValue, index: SSAValue):
        element = element_of(data_type(array))
        super().__init__(operands=[array, index], result_types=[element])

    def verify_(self) -> None:
        _check_result(self, element_of(data_type(self.array)))


@irdl_op_definition
class ZipOp(RiseOperation):
    """Two arrays, read as an array of pairs."""

    name = "rise.codegen.zip"
    first = operand_def(ArrayType)
    second = operand_def(ArrayType)
    result = result_def(ArrayType)
    traits = traits_def(Pure())
    assembly_format = PAIR_FORMAT

    def __init__(self, first: SSAValue, second: SSAValue):
        super().__init__(operands=[first, second], result_types=[_zip_type(first, second)])

    def verify_(self) -> None:
        _check_result(self, _zip_type(self.first, self.second))


@irdl_op_definition
class TupleOp(RiseOperation):
    """Two values as a pair."""

    name = "rise.codegen.tuple"
    first = operand_def(DataType)
    second = operand_def(DataType)
    result = result_def(TupleType)
    traits = traits_def(ReadsScalars())
    assembly_format = PAIR_FORMAT

    def __init__(self, first: SSAValue, second: SSAValue):
        super().__init__(
            operands=[first, second], result_types=[pair(data_type(first), data_type(second))]
        )

    def verify_(self) -> None:
        _check_result(self, pair(data_type(self.first), data_type(self.second)))


@irdl_op_definition
class ListOp(RiseOperation):
    """An array whose elements are separate values; a run-time index selects one of them."""

    name = "rise.codegen.list"
    elements = var_operand_def(DataType)
    result = result_def(ArrayType)
    traits = traits_def(Pure())
    assembly_format = "$elements attr-dict `:` type($elements) `->` type($result)"

    def __init__(self, elements: Sequence[SSAValue], type: RiseType):
        super().__init__(operands=[elements], result_types=[type])

    def verify_(self) -> None:
        type = data_type(self.result)
        assert isinstance(type, ArrayType)
        if type.length != Nat.const(len(self.elements)):
            raise VerifyException(
                f"has {len(self.elements)} elements, but {type} has a different length"
            )
        for element in self.elements:
            if element.type != type.element:
                raise VerifyException(f"an element is {element.type}, not {type.element}")


@irdl_op_definition
class ConcatOp(RiseOperation):
    """Two arrays, read as their concatenation."""

    name = "rise.codegen.concat"
    first = operand_def(ArrayType)
    second = operand_def(ArrayType)
    result = result_def(ArrayType)
    traits = traits_def(Pure())
    assembly_format = PAIR_FORMAT

    def __init__(self, first: SSAValue, second: SSAValue, type: RiseType):
        super().__init__(operands=[first, second], result_types=[type])

    def verify_(self) -> None:
        types = [data_type(self.first), data_type(self.second), data_type(self.result)]
        if match_scheme(CONCAT.type, types) is None:
            raise VerifyException(f"{types[0]} and {types[1]} do not concatenate to {types[2]}")


@irdl_op_definition
class PadConstOp(RiseOperation):
    """An array with a value before and after it."""

    name = "rise.codegen.padConst"
    value = operand_def(DataType)
    source = operand_def(ArrayType)
    result = result_def(ArrayType)
    left = prop_def(NatAttr)
    traits = traits_def(Pure())
    assembly_format = (
        "$value `,` $source `left` $left attr-dict "
        "`:` type($value) `,` type($source) `->` type($result)"
    )

    def __init__(self, value: SSAValue, source: SSAValue, type: RiseType, left: NatAttr):
        super().__init__(operands=[value, source], result_types=[type], properties={"left": left})

    def verify_(self) -> None:
        types = [data_type(self.value), data_type(self.source), data_type(self.result)]
        if match_scheme(PAD_CONST.type, types, {"l": self.left.data}) is None:
            raise VerifyException(f"{types[1]} padded with {types[0]} is not {types[2]}")


@irdl_op_definition
class GatherOp(RiseOperation):
    """The elements of an array at the indices in another array."""

    name = "rise.codegen.gather"
    indices = operand_def(ArrayType)
    source = operand_def(ArrayType)
    result = result_def(ArrayType)
    traits = traits_def(Pure())
    assembly_format = (
        "$indices `,` $source attr-dict `:` type($indices) `,` type($source) `->` type($result)"
    )

    def __init__(self, indices: SSAValue, source: SSAValue, type: RiseType):
        super().__init__(operands=[indices, source], result_types=[type])

    def verify_(self) -> None:
        types = [data_type(self.indices), data_type(self.source), data_type(self.result)]
        if match_scheme(GATHER.type, types) is None:
            raise VerifyException(f"{types[0]} does not select {types[2]} from {types[1]}")


@irdl_op_definition
class SliceAtOp(RiseOperation):
    """A slice of an array, starting at an index, to read or to write."""

    name = "rise.codegen.sliceAt"
    source = operand_def(ArrayType)
    index = operand_def(IndexType)
    result = result_def(ArrayType)
    traits = traits_def(Pure())
    assembly_format = "$source `,` $index attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, index: SSAValue, type: RiseType):
        super().__init__(operands=[source, index], result_types=[type])

    def verify_(self) -> None:
        whole, part = data_type(self.source), data_type(self.result)
        assert isinstance(whole, ArrayType)
        assert isinstance(part, ArrayType)
        if whole.element != part.element:
            raise VerifyException(f"{part} is not a slice of {whole}")


@irdl_op_definition
class GenerateOp(RiseOperation):
    """An array whose elements are computed from their indices wherever they are read."""

    name = "rise.codegen.generate"
    body = region_def("single_block")
    result = result_def(ArrayType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `->` type($result) $body"

    def __init__(self, body: Region, type: RiseType):
        super().__init__(regions=[body], result_types=[type])

    def verify_(self) -> None:
        type = data_type(self.result)
        assert isinstance(type, ArrayType)
        if [argument.type for argument in self.body.block.args] != [idx(type.length)]:
            raise VerifyException(f"expected a region that takes an index below {type.length}")
        value = returned_value(self.body, "the generate")
        _check_result(self, array(type.length, data_type(value)))


class ZipAccOp(RiseOperation):
    """Writes one component of each pair of an array."""

    POSITION: ClassVar[int]
    target = operand_def(ArrayType)
    result = result_def(ArrayType)
    traits = traits_def(Pure())
    assembly_format = "$target attr-dict `:` type($target) `->` type($result)"

    def __init__(self, target: SSAValue):
        super().__init__(operands=[target], result_types=[self._component(target)])

    def _component(self, target: SSAValue) -> RiseType:
        type = data_type(target)
        assert isinstance(type, ArrayType)
        if not isinstance(type.element, TupleType):
            raise VerifyException(f"expected an array of pairs, but found {type}")
        return array(type.length, components(type.element)[self.POSITION])

    def verify_(self) -> None:
        _check_result(self, self._component(self.target))


@irdl_op_definition
class ZipFirstAccOp(ZipAccOp):
    """Writes the first component of each pair of an array."""

    name = "rise.codegen.zipAcc1"
    POSITION: ClassVar = 0


@irdl_op_definition
class ZipSecondAccOp(ZipAccOp):
    """Writes the second component of each pair of an array."""

    name = "rise.codegen.zipAcc2"
    POSITION: ClassVar = 1


class ElementsOp(RiseOperation):
    """Base class of ops on all elements of an array, with a region for one element."""

    source = operand_def(ArrayType)
    body = region_def("single_block")
    result = result_def(ArrayType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result) $body"

    def __init__(self, source: SSAValue, body: Region, type: RiseType):
        super().__init__(operands=[source], regions=[body], result_types=[type])

    def verify_(self) -> None:
        source = data_type(self.source)
        assert isinstance(source, ArrayType)
        if [argument.type for argument in self.body.block.args] != [source.element]:
            raise VerifyException(f"expected a region that takes one element of {source}")
        value = returned_value(self.body, f"the {self.name.rpartition('.')[2]}")
        _check_result(self, array(source.length, data_type(value)))


@irdl_op_definition
class MapReadOp(ElementsOp):
    """An array whose elements are computed wherever they are read; the region computes one."""

    name = "rise.codegen.mapread"


@irdl_op_definition
class MapAccOp(ElementsOp):
    """The result of a map of views, written through these views; the region contains them."""

    name = "rise.codegen.mapAcc"


@irdl_op_definition
class AssignOp(RiseOperation):
    """Stores a scalar or a vector through an access path."""

    name = "rise.codegen.assign"
    value = operand_def(DataType)
    target = operand_def(DataType)
    traits = traits_def(StoresScalar())
    assembly_format = "$value `,` $target attr-dict `:` type($value) `,` type($target)"

    def __init__(self, value: SSAValue, target: SSAValue):
        super().__init__(operands=[value, target])

    def verify_(self) -> None:
        for operand in (self.value, self.target):
            if not isinstance(operand.type, ScalarType | VectorType | IdxType):
                raise VerifyException(f"expected a scalar to store, but found {operand.type}")
        if self.value.type != self.target.type:
            raise VerifyException(
                f"stores a value of type {self.value.type} to a target of type {self.target.type}"
            )


@irdl_op_definition
class TensorMmaOp(RiseOperation):
    """Stores the part of a fragment that a lane holds: results of a matrix multiplication."""

    name = "rise.codegen.tensorMMA"
    rows = operand_def(ArrayType)
    columns = operand_def(ArrayType)
    init = operand_def()
    target = operand_def(ArrayType)
    sizes = prop_def(DenseArrayBase[IntegerType])
    """The parameters of the pattern, up to the depth k."""
    traits = traits_def(StoresScalar())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$rows `,` $columns `,` $init `,` $target attr-dict "
        "`:` type($rows) `,` type($columns) `,` type($init) `,` type($target)"
    )

    def __init__(
        self,
        rows: SSAValue,
        columns: SSAValue,
        init: SSAValue,
        target: SSAValue,
        sizes: Sequence[int],
    ):
        super().__init__(
            operands=[rows, columns, init, target],
            properties={"sizes": DenseArrayBase.from_list(i64, sizes)},
        )

    @property
    def size_values(self) -> tuple[int, ...]:
        return tuple(map(int, self.sizes.get_values()))

    def verify_(self) -> None:
        if len(self.size_values) != TENSOR_SIZES:
            raise VerifyException(f"expected {TENSOR_SIZES} sizes")


TENSOR_SIZES = 7
FstOp, SndOp, SplitOp, SlideOp, TakeOp, DropOp, PadWrapOp, PrefetchOp = (
    READ_OPS[name]
    for name in ("fst", "snd", "split", "slide", "take", "drop", "padWrap", "prefetch")
)
"""The steps generated from the registry that lowering refers to by name."""
NontemporalAccOp = STORE_OPS["nontemporal"]


@irdl_op_definition
class TensorAttentionOp(RiseOperation):
    """Stores the part of a fragment that a lane holds: results of attention."""

    name = "rise.codegen.tensorAttention"
    queries = operand_def(ArrayType)
    keys = operand_def(ArrayType)
    values = operand_def(ArrayType)
    scale = operand_def()
    empty = operand_def()
    last = operand_def()
    target = operand_def(ArrayType)
    sizes = prop_def(DenseArrayBase[IntegerType])
    """The parameters of the pattern, up to the length k of a query."""
    traits = traits_def(StoresScalar())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$queries `,` $keys `,` $values `,` $scale `,` $empty `,` $last `,` $target attr-dict `:` "
        "type($queries) `,` type($keys) `,` type($values) `,` type($scale) `,` type($empty) `,` "
        "type($last) `,` type($target)"
    )

    def __init__(self, operands: Sequence[SSAValue], sizes: Sequence[int]):
        super().__init__(
            operands=operands, properties={"sizes": DenseArrayBase.from_list(i64, sizes)}
        )

    @property
    def size_values(self) -> tuple[int, ...]:
        return tuple(map(int, self.sizes.get_values()))


CODEGEN_OPS = (
    CastOp, SizeOp, IdxOp, ZipOp, TupleOp, ConcatOp, PadConstOp, GatherOp, SliceAtOp, GenerateOp,
    ListOp, ZipFirstAccOp, ZipSecondAccOp, MapReadOp, MapAccOp, AssignOp,
    TensorMmaOp, TensorAttentionOp,
    *READ_OPS.values(), *STORE_OPS.values(),
)  # fmt: skip


def _zip_type(first: SSAValue, second: SSAValue) -> RiseType:
    left, right = data_type(first), data_type(second)
    assert isinstance(left, ArrayType)
    assert isinstance(right, ArrayType)
    if left.length != right.length:
        raise VerifyException(f"zips arrays of different lengths {left.length} and {right.length}")
    return array(left.length, pair(element_of(left), element_of(right)))


def _check_result(op: RiseOperation, expected: RiseType) -> None:
    found = op.results[0].type
    if found != expected:
        raise VerifyException(f"expected a result of type {expected}, but found {found}")
