"""Size expressions as arguments of patterns: `split(N floordiv 4)`."""

from __future__ import annotations

from collections.abc import Callable

from riselang.nat import Nat, NatError, nat_max, nat_min
from riselang.notation.name_resolution import Bindings
from riselang.notation.source import Source
from riselang.notation.syntax import (
    Binary,
    Call,
    Constant,
    Definition,
    DepFun,
    Name,
    Syntax,
    Unary,
)

OPERATORS: dict[str, Callable[[Nat, Nat], Nat]] = {
    "+": Nat.__add__,
    "-": Nat.__sub__,
    "*": Nat.__mul__,
    "floordiv": Nat.__floordiv__,
    "//": Nat.__floordiv__,
    "mod": Nat.__mod__,
    "%": Nat.__mod__,
}
EXTREMES: dict[str, Callable[..., Nat]] = {"min": nat_min, "max": nat_max}


def evaluate_size(syntax: Syntax, bindings: Bindings, source: Source, what: str) -> Nat:
    """Evaluate a size expression; names are size variables, or definitions of sizes."""

    def size(syntax: Syntax) -> Nat:
        match syntax:
            case Constant(value=int(value), type=None):
                return Nat.const(value)
            case Name():
                return name(syntax)
            case Unary(operator="-", operand=operand):
                return -size(operand)
            case Binary(operator=operator, left=left, right=right) if operator in OPERATORS:
                return OPERATORS[operator](size(left), size(right))
            case Call(function=Name(text=text), arguments=arguments) if text in EXTREMES:
                parts: list[Nat] = []
                for argument in arguments:
                    parts.append(size(argument))
                return EXTREMES[text](*parts)
            case _:
                raise NatError("a size consists of numbers, names and + - * floordiv mod min max")

    def name(name: Name) -> Nat:
        binder = bindings.get(name)
        if binder is None:
            return Nat.var(name.text)
        if isinstance(binder, Definition):
            return size(binder.value)
        if isinstance(binder, DepFun) and binder.kind == "nat":
            return Nat.var(binder.internal)
        raise NatError(f"'{name.text}' is a run-time value")

    try:
        return size(syntax)
    except NatError as error:
        raise source.error(f"{what}: this is not a size: {error}", syntax.span) from None


def is_size_like(syntax: Syntax, bindings: Bindings) -> bool:
    """Whether an expression may be a size, rather than a value, function or application."""
    match syntax:
        case Name():
            binder = bindings.get(syntax)
            return binder is None or isinstance(binder, Definition | DepFun)
        case Constant() | Binary() | Unary():
            return True
        case Call(function=Name(text=text)):
            return text in EXTREMES
        case _:
            return False
