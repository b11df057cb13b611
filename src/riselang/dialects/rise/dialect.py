"""The dialect `rise`, with all its ops, types and attributes."""

from xdsl.ir import Dialect

from riselang.dialects.rise.attributes import TYPE_ATTRIBUTES, LiteralAttr
from riselang.dialects.rise.codegen import CODEGEN_OPS
from riselang.dialects.rise.dependent import DepApplyOp, DepLambdaOp
from riselang.dialects.rise.functional import ApplyOp, LambdaOp, LiteralOp, ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp, InOp, LoweringUnitOp, OutOp
from riselang.dialects.rise.pattern_ops import PATTERN_OPS, ForeignOp
from riselang.dialects.rise.scopes import RiseInlining
from riselang.dialects.rise.traits import RiseConstants
from riselang.dialects.rise.types import (
    ArrayType,
    DepFunType,
    FunType,
    IdxType,
    NatAttr,
    ScalarType,
    TupleType,
    TypeVariable,
    VectorType,
)

Rise = Dialect(
    "rise",
    [
        LambdaOp, ApplyOp, ReturnOp, LoweringUnitOp, InOp, OutOp, EmbedOp, LiteralOp,
        DepLambdaOp, DepApplyOp,
        *PATTERN_OPS.values(), ForeignOp, *CODEGEN_OPS,
    ],
    [
        ScalarType, ArrayType, TupleType, IdxType, VectorType, FunType, DepFunType,
        TypeVariable, NatAttr, LiteralAttr, *TYPE_ATTRIBUTES,
    ],
    [RiseConstants(), RiseInlining()],
)  # fmt: skip
