"""Terms in functional notation: how programs are shown to people."""

from __future__ import annotations

from riselang.dialects.rise.types import SCALAR_NAMES, f32, i32, is_float, show
from riselang.term.nodes import (
    Apply,
    Bound,
    Embed,
    Free,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    scalar_type,
    spine,
)
from riselang.term.recursion import stack_for
from riselang.term.scalars import OVERLOADS

WIDTH = 88
INFIX = {
    "arith.addf": "+", "arith.addi": "+", "arith.subf": "-", "arith.subi": "-",
    "arith.mulf": "*", "arith.muli": "*", "arith.divf": "/", "arith.floordivsi": "//",
}  # fmt: skip
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
FUNCTION_NAMES = {op: name for name, ops in OVERLOADS.items() for op in ops if op is not None}
# The last argument of these stands before the bar: `xs |> map(f)`.
MAXIMUM_INLINE_DEPTH = 400


def show_term(term: Term) -> str:
    """The term as text, broken into lines where it is long."""
    with stack_for(term.depth, frames_per_level=12):
        return _Printer().top(term)


class _Printer:
    def __init__(self) -> None:
        self.names: list[str] = []

    def top(self, term: Term) -> str:
        if not isinstance(term, Lambda):
            return self.text(term, 0)
        parameters: list[str] = []
        while isinstance(term, Lambda):
            parameters.append(f"{self.bind(term.name)} : {show(term.parameter)}")
            term = term.body
        head = f"fun(({', '.join(parameters)}),"
        return f"{head}\n  {self.text(term, 2)})"

    def bind(self, hint: str) -> str:
        name, number = hint or "x", 0
        while name in self.names:
            number += 1
            name = f"{hint}{number}"
        self.names.append(name)
        return name

    def text(self, term: Term, indent: int) -> str:
        match term:
            case Bound(index):
                free = index >= len(self.names)
                return f"#{index}" if free else self.names[-1 - index]
            case Free(name):
                return name
            case Literal():
                return _literal(term)
            case Pattern():
                return _pattern(term)
            case Lambda():
                return self.function(term, indent)
            case Apply():
                return self.application(term, indent)
            case Scalar():
                return self.scalar(term, indent)
            case Embed():
                operands = ", ".join([self.text(operand, indent) for operand in term.operands])
                return f"embed({operands})"
            case _:
                raise TypeError("not a term")

    def function(self, term: Lambda, indent: int) -> str:
        if (name := _operator_name(term)) is not None:
            return name
        names: list[str] = []
        body: Term = term
        while isinstance(body, Lambda):
            names.append(self.bind(body.name))
            body = body.body
        inner = self.text(body, indent + 2)
        del self.names[len(self.names) - len(names) :]
        head = names[0] if len(names) == 1 else f"({', '.join(names)})"
        if "\n" not in inner and len(inner) + len(head) + indent < WIDTH // 2:
            return f"fun({head}, {inner})"
        return f"fun({head},\n{' ' * (indent + 2)}{inner})"

    def application(self, term: Apply, indent: int) -> str:
        head, arguments = spine(term)
        if isinstance(head, Pattern) and head.spec.name == "let" and len(arguments) == 2:
            return self.let(arguments, indent)
        texts = [self.text(argument, indent) for argument in arguments]
        if isinstance(head, Pattern):
            piped = head.spec.name not in ("zip", "tuple", "fst", "snd")
            if piped and len(texts) == head.spec.arity:
                return _pipe(texts[-1], _call(_pattern(head), texts[:-1]), indent)
            return _call(_pattern(head), texts)
        return _call(f"({self.text(head, indent)})", texts)

    def let(self, arguments: list[Term], indent: int) -> str:
        value, body = arguments
        if not isinstance(body, Lambda):
            return _call("let", [self.text(value, indent), self.text(body, indent)])
        value_text = self.text(value, indent)
        name = self.bind(body.name)
        rest = self.text(body.body, indent)
        self.names.pop()
        return f"let {name} = {value_text};\n{' ' * indent}{rest}"

    def scalar(self, term: Scalar, indent: int) -> str:
        operands = [self.operand(operand, indent) for operand in term.operands]
        if term.op in INFIX:
            return f"{operands[0]} {INFIX[term.op]} {operands[1]}"
        if term.predicate is not None and term.predicate[1:] in COMPARISONS:
            return f"{operands[0]} {COMPARISONS[term.predicate[1:]]} {operands[1]}"
        if term.predicate is not None:
            relation = COMPARISONS.get(term.predicate, term.predicate)
            return f"{operands[0]} {relation} {operands[1]}"
        texts = [self.text(operand, indent) for operand in term.operands]
        name = FUNCTION_NAMES.get(term.op)
        if term.op == "arith.select":
            name = "select"
        if name is None:
            name = f"{term.op.split('.')[1]}[{show(term.type)}]"
        return f"{name}({', '.join(texts)})"

    def operand(self, term: Term, indent: int) -> str:
        text = self.text(term, indent)
        simple = not isinstance(term, Scalar | Apply) or (
            text.endswith(")") and text.isidentifier()
        )
        return text if simple else f"({text})"


def _operator_name(term: Lambda) -> str | None:
    """`add` for `fun((a, b), a + b)`, also where the two come as a pair."""
    depth = 0
    body: Term = term
    while isinstance(body, Lambda):
        depth += 1
        body = body.body
    if not isinstance(body, Scalar) or body.op not in FUNCTION_NAMES:
        return None
    if body.operands == tuple(Bound(depth - 1 - i, body.type) for i in range(depth)):
        return FUNCTION_NAMES[body.op]
    if depth == 1 and len(body.operands) == 2 and _projects(body.operands):
        return FUNCTION_NAMES[body.op]
    return None


def _projects(operands: tuple[Term, ...]) -> bool:
    for operand, wanted in zip(operands, ("fst", "snd"), strict=True):
        head, arguments = spine(operand)
        if not (isinstance(head, Pattern) and head.spec.name == wanted and len(arguments) == 1):
            return False
        if not (isinstance(arguments[0], Bound) and arguments[0].index == 0):
            return False
    return True


def _literal(term: Literal) -> str:
    type = scalar_type(term)
    suffix = "" if type == (f32 if is_float(type) else i32) else f"_{SCALAR_NAMES[type]}"
    return f"{term.number}{suffix}"


def _pattern(term: Pattern) -> str:
    if not term.spec.explicit:
        return term.spec.name
    return f"{term.spec.name}({', '.join(str(term.argument(name)) for name in term.spec.explicit)})"


def _call(name: str, arguments: list[str]) -> str:
    return f"{name}({', '.join(arguments)})" if arguments else name


def _pipe(value: str, function: str, indent: int) -> str:
    last_line = value.rsplit("\n", 1)[-1]
    if "\n" not in function and len(last_line) + len(function) + indent < WIDTH:
        return f"{value} |> {function}"
    first, *rest = function.split("\n", 1)
    if len(last_line) + len(first) + indent < WIDTH:
        return f"{value} |> {function}"
    return f"{value}\n{' ' * indent}|> {function}" if not rest else f"{value} |> {function}"


Term.show = show_term
