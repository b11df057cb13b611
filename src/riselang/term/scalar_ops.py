"""The scalar operations: the ops of arith and math that terms support.

Terms refer to operations by their MLIR names. Users write `add` or `a + b`; `resolve_op` selects
the op for the operand type. The only flag that terms have is `any`, MLIR's fastmath flag `reassoc`:
a reduction with such an operation may combine its elements in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from riselang.dialects.rise.types import ScalarType, i1, is_float
from riselang.term.mathlib import LIBRARY_NAMES


@dataclass(frozen=True)
class ScalarOp:
    """The signature of an MLIR op in terms."""

    name: str
    arity: int
    changes_type: bool = False


def _table(text: str, arity: int, **options: bool) -> dict[str, ScalarOp]:
    return {name: ScalarOp(name, arity, **options) for name in text.split()}


SCALAR_OPS: Mapping[str, ScalarOp] = {
    **_table(
        "arith.addf arith.subf arith.mulf arith.divf arith.maximumf arith.minimumf "
        "arith.maxnumf arith.minnumf arith.addi arith.subi arith.muli arith.divsi arith.divui "
        "arith.remsi arith.remui arith.floordivsi arith.ceildivsi arith.ceildivui arith.andi "
        "arith.ori arith.xori arith.shli arith.shrsi arith.shrui arith.maxsi arith.minsi "
        "arith.maxui arith.minui math.powf math.atan2 math.copysign",
        2,
    ),
    **_table("arith.cmpf arith.cmpi", 2, changes_type=True),
    **_table("arith.select math.fma", 3),
    **_table(
        "arith.negf math.absf math.absi math.sqrt math.exp math.exp2 math.expm1 math.log math.log2 "
        "math.log10 math.log1p math.sin math.cos math.tan math.asin math.acos math.atan math.sinh "
        "math.cosh math.tanh math.erf math.cbrt math.floor math.ceil math.trunc math.round "
        "math.roundeven math.ctpop math.ctlz",
        1,
    ),
    **_table(
        "arith.extf arith.truncf arith.sitofp arith.uitofp arith.fptosi arith.fptoui arith.extsi "
        "arith.extui arith.trunci arith.index_cast arith.bitcast",
        1,
        changes_type=True,
    ),
}

EXACT_NAMES = ("sqrt", "floor", "ceil", "trunc", "round", "roundeven", "copysign", "fma")
"""The math functions that hardware computes exactly."""


class Overload(NamedTuple):
    """The ops that a name in the source stands for; None where there is none."""

    on_floats: str | None
    on_signed: str | None
    on_unsigned: str | None


def _on_integers(op: str) -> Overload:
    return Overload(None, op, op)


OVERLOADS: Mapping[str, Overload] = {
    "add": Overload("arith.addf", "arith.addi", "arith.addi"),
    "sub": Overload("arith.subf", "arith.subi", "arith.subi"),
    "mult": Overload("arith.mulf", "arith.muli", "arith.muli"),
    "div": Overload("arith.divf", None, None),
    "floordiv": Overload(None, "arith.floordivsi", "arith.divui"),
    "max": Overload("arith.maximumf", "arith.maxsi", "arith.maxui"),
    "min": Overload("arith.minimumf", "arith.minsi", "arith.minui"),
    "abs": Overload("math.absf", "math.absi", None),
    "neg": Overload("arith.negf", None, None),
    "bitand": _on_integers("arith.andi"),
    "bitor": _on_integers("arith.ori"),
    "bitxor": _on_integers("arith.xori"),
    "bitnot": _on_integers("arith.xori"),
    "shl": _on_integers("arith.shli"),
    "shr": Overload(None, "arith.shrsi", "arith.shrui"),
    "popcount": _on_integers("math.ctpop"),
    "clz": _on_integers("math.ctlz"),
    "pow": Overload("math.powf", None, None),
    **{name: Overload(f"math.{name}", None, None) for name in (*LIBRARY_NAMES, *EXACT_NAMES)},
}
"""The ops of each name in the source."""
BOOLEAN_NAMES = ("bitand", "bitor", "bitxor", "bitnot")
"""The names that are defined on Booleans."""

FLOAT_PREDICATES = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
SIGNED_PREDICATES = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
UNSIGNED_PREDICATES = {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "eq": "eq", "ne": "ne"}
CMPF_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
CMPI_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


ANY_ORDER = "any"
"""The option of an operation that a reduction may apply in any order."""
REORDERABLE_OPS = frozenset({"arith.addf", "arith.mulf", "math.fma"})
"""The ops that take this option; those on integers, maximum and minimum do not need it."""


def order_option(op: str, option: str | None) -> str | None:
    """Return the option of an op, or None if the op computes the same bits in any order."""
    return option if op in REORDERABLE_OPS else None


def overload_arity(name: str) -> int:
    """The number of operands of an overloaded name; `~a` is an operation with all ones."""
    ops = [op for op in OVERLOADS[name] if op is not None]
    return 1 if name == "bitnot" else SCALAR_OPS[ops[0]].arity


def resolve_op(name: str, type: ScalarType) -> str | None:
    """The MLIR op that implements `name` on operands of `type`, or None if there is none."""
    overload = OVERLOADS[name]
    if is_float(type):
        return overload.on_floats
    if type == i1 and name not in BOOLEAN_NAMES:
        return None
    return overload.on_unsigned if type.is_unsigned else overload.on_signed


def comparison_op(name: str, type: ScalarType) -> tuple[str, str]:
    """The op and the predicate of a comparison such as `a < b`; false is less than true."""
    if is_float(type):
        return "arith.cmpf", FLOAT_PREDICATES[name]
    predicates = UNSIGNED_PREDICATES if type.is_unsigned or type == i1 else SIGNED_PREDICATES
    return "arith.cmpi", predicates[name]
