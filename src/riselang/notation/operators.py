"""The scalar functions of the notation: their names, and the op for a name and an option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import IndexType

from riselang.dialects.rise.foreign_functions import FOREIGN, FOREIGN_LANES
from riselang.dialects.rise.types import (
    COMPLEX_TYPES,
    SCALARS,
    RiseType,
    ScalarType,
    i1,
    is_float,
)
from riselang.term.complex_arithmetic import COMPLEX_NAMES, COMPLEX_OPERATIONS, OPERATIONS
from riselang.term.conversion import bit_width, can_bitcast
from riselang.term.scalar_ops import (
    ANY_ORDER,
    CMPF_PREDICATES,
    CMPI_PREDICATES,
    OVERLOADS,
    REORDERABLE_OPS,
    SCALAR_OPS,
    overload_arity,
    resolve_op,
)

INFIX: Mapping[str, str] = {
    "+": "add", "-": "sub", "*": "mult", "/": "div", "//": "floordiv",
    "&": "bitand", "|": "bitor", "^": "bitxor", "<<": "shl", ">>": "shr",
}  # fmt: skip
PREFIX: Mapping[str, str] = {"-": "neg", "~": "bitnot"}
COMPARISONS: Mapping[str, str] = {
    "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne",
}  # fmt: skip
PREDICATES: Mapping[str, tuple[str, ...]] = {"cmpf": CMPF_PREDICATES, "cmpi": CMPI_PREDICATES}
EMBED = "embed"
FOREIGN_HEADS: Mapping[str, bool] = {FOREIGN: False, FOREIGN_LANES: True}
"""What C functions are called as patterns, and whether these apply to each lane of vectors."""
DERIVATIVES: Mapping[str, str] = {
    "grad": "the gradient of a function whose result is one float",
    "vjp": "the cotangents of the arguments of a function, from that of its result",
    "jvp": "the tangent of the result of a function, from those of its arguments",
}
"""The functions on functions that compute derivatives."""
KEYWORDS = frozenset(
    ["def", "let", "if", "then", "else", "fun", "depFun", "true", "false", "inf", "nan"]
)


@dataclass(frozen=True)
class ScalarFunction:
    """A function on scalars; `op` is an MLIR op, an overloaded name, `compare` or `cast`."""

    name: str
    op: str
    arity: int
    predicate: str | None = None
    target: ScalarType | None = None
    needs: str | None = None
    """The option that is required in brackets: `a scalar type` or `a predicate`."""
    takes_order: bool = False
    """Whether it takes the option `any`: a reduction may apply it in any order."""

    @property
    def choice_hint(self) -> str:
        """What may be in the brackets, for an error."""
        if self.needs is not None:
            return f"expected {self.needs} in brackets"
        return f"it takes only [{ANY_ORDER}]" if self.takes_order else "it takes no brackets"

    def with_choice(self, choice: RiseType | str) -> ScalarFunction | None:
        """Return this function with its option in brackets; None if it does not take it."""
        if self.needs == "a scalar type" and isinstance(choice, ScalarType):
            return replace(self, target=choice, needs=None)
        if self.needs == "a predicate" and choice in PREDICATES[self.name]:
            return replace(self, predicate=str(choice), needs=None)
        if self.takes_order and choice == ANY_ORDER:
            return replace(self, predicate=ANY_ORDER)
        return None


def _build_functions() -> dict[str, ScalarFunction]:
    table: dict[str, ScalarFunction] = {}
    for op in SCALAR_OPS.values():
        name = op.name.split(".")[1]
        needs = None
        if op.changes_type:
            needs = "a predicate" if name in PREDICATES else "a scalar type"
        takes_order = op.name in REORDERABLE_OPS
        table[name] = ScalarFunction(name, op.name, op.arity, needs=needs, takes_order=takes_order)
    for name, ops in OVERLOADS.items():
        takes_order = not REORDERABLE_OPS.isdisjoint(ops)
        table[name] = ScalarFunction(name, name, overload_arity(name), takes_order=takes_order)
    for name, arity in COMPLEX_OPERATIONS.items():
        table[name] = ScalarFunction(name, name, arity)
    table["cast"] = ScalarFunction("cast", "cast", 1, needs="a scalar type")
    return table


FUNCTIONS: Mapping[str, ScalarFunction] = _build_functions()
RAW_NAMES: Mapping[str, str] = {op: op.split(".")[1] for op in SCALAR_OPS}
"""The own name of each op, used if no overloaded name resolves to it."""


def comparison_function(operator: str) -> ScalarFunction:
    return ScalarFunction(operator, "compare", 2, COMPARISONS[operator])


OVERLOAD_ALTERNATIVES: Mapping[str, str] = {
    "div": "use //, or cast the operands",
    "floordiv": "use / and floor",
    "bitxor": "use pow(a, b) for a power",
    "bitand": "put the comparisons around it in parentheses",
    "bitor": "put the comparisons around it in parentheses",
    "shl": "multiply by a power of two",
    "shr": "divide by a power of two",
    "abs": "an unsigned integer is its own absolute value",
}
"""Alternatives to overloaded names that are not defined for a type."""


def infix_function(operator: str) -> ScalarFunction:
    """Return the function of an operator, named by its symbol."""
    name = "floordiv" if operator in ("%", "mod", "floordiv") else INFIX[operator]
    return replace(FUNCTIONS[name], name=operator)


def prefix_function(operator: str) -> ScalarFunction:
    """Return the function of an operator before its operand, named by its symbol."""
    return replace(FUNCTIONS[PREFIX[operator]], name=operator)


def operand_problem(function: ScalarFunction, source: ScalarType) -> str | None:
    """Return why a function does not take operands of type `source`, or None if it does."""
    if source.is_complex:
        return _complex_operand_problem(function)
    if function.op == "complex":
        return None if source in COMPLEX_TYPES else "it takes two scalars of type f32 or f64"
    if function.op in COMPLEX_OPERATIONS:
        return "it takes complex numbers"
    if function.op in OVERLOADS and function.op != "neg" and not resolve_op(function.op, source):
        kind = _operand_kind(function.op, source)
        instead = OVERLOAD_ALTERNATIVES.get(function.op)
        return f"it takes {kind}{f'; {instead}' if instead else ''}"
    if function.op not in SCALAR_OPS or function.op == "arith.select":
        return None
    if function.op == "arith.bitcast" and function.target is not None:
        can_convert = can_bitcast(source, function.target)
        return None if can_convert else "the types have different numbers of bits; use cast"
    if is_float(source) != _takes_floats(function.op):
        kind = "floats" if _takes_floats(function.op) else "integers"
        return f"it takes {kind}"
    if function.target is None or _can_convert(function.name, source, function.target):
        return None
    return "the types do not allow it; use cast"


def _complex_operand_problem(function: ScalarFunction) -> str | None:
    if function.op == "complex":
        return "it takes the two parts of a complex number"
    if function.op == "compare" and function.predicate not in ("eq", "ne"):
        return "complex numbers have no order; compare their parts, or their absolute values"
    if function.op == "cast":
        is_real = function.target is not None and not function.target.is_complex
        return "use real(z), imag(z) or abs(z)" if is_real else None
    if function.op in OPERATIONS:
        return None
    return f"the operations on complex numbers are {', '.join(COMPLEX_NAMES)}"


def _operand_kind(name: str, source: ScalarType) -> str:
    """Return what an overloaded function takes that is not defined on `source`."""
    overload = OVERLOADS[name]
    if is_float(source) or overload.on_floats is None:
        return "integers"
    return "floats and signed integers" if overload.on_signed and source != i1 else "floats"


def _takes_floats(op: str) -> bool:
    name = op.split(".")[1]
    if op.startswith("math."):
        return name not in ("absi", "ctpop", "ctlz")
    return name.endswith("f") or name in ("fptosi", "fptoui")


def _can_convert(name: str, source: ScalarType, target: ScalarType) -> bool:
    """Whether the conversion op `name` converts `source` to `target`."""
    if name == "index_cast":
        return isinstance(source.element, IndexType) != isinstance(target.element, IndexType)
    if isinstance(source.element, IndexType) or isinstance(target.element, IndexType):
        return False
    if is_float(target) != (name in ("extf", "truncf", "sitofp", "uitofp")):
        return False
    if name.startswith("ext"):
        return bit_width(source) < bit_width(target)
    if name.startswith("trunc"):
        return bit_width(source) > bit_width(target)
    return not is_float(target) if name.startswith("fp") else target in SCALARS.values()
