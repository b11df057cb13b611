"""Printing terms in functional notation, which parses back to the same term.

The parameters of the outermost function have type annotations, and so do parameters that are
functions; all other types can be inferred (see Note [What is annotated]).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from riselang.dialects.rise.attributes import Number, Numbers
from riselang.dialects.rise.foreign_functions import quote
from riselang.dialects.rise.pattern_registry import LET, PATTERNS, TUPLE
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_binding import nat_variables, type_variables
from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    FunType,
    RiseType,
    ScalarType,
    f32,
    fun,
    i1,
    i32,
    is_float,
    uncurry,
)
from riselang.nat import Nat
from riselang.notation import syntax
from riselang.notation.embedded_regions import region_text
from riselang.notation.layout import MARK, layout
from riselang.notation.operators import (
    COMPARISONS,
    EMBED,
    FOREIGN_HEADS,
    FUNCTIONS,
    INFIX,
    KEYWORDS,
    RAW_NAMES,
)
from riselang.notation.syntax import Syntax
from riselang.term.conversion import conversion_ops
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
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
from riselang.term.scalar_ops import (
    ANY_ORDER,
    OVERLOADS,
    SCALAR_OPS,
    comparison_op,
    resolve_op,
)
from riselang.term.size_substitution import open_term_binder

OVERLOADED = {
    op: name for name, ops in OVERLOADS.items() if name != "bitnot" for op in ops if op is not None
}
SYMBOLS = {name: symbol for symbol, name in INFIX.items()}
NOT_PIPED = frozenset({"zip", "tuple", "fst", "snd", "sizeOf"})
"""Patterns that read better as `f(x)` than as `x |> f`."""


@recursive
def show_term(term: Term) -> str:
    """Print a term, with line breaks where it is long."""
    printer = TermPrinter()
    printer.names.used |= explicit_size_names(term)
    return layout(printer.top(term))


def mark(term: Term) -> Term:
    """Return a subterm that is printed between marks, with an unchanged meaning."""
    return Apply(Free(MARK, fun(term.type, term.type)), term, term.location)


def explicit_size_names(term: Term) -> set[str]:
    """Return the size variables in expressions, as in `split(N)`, which no variable may shadow."""
    names: set[str] = set()
    stack = [term]
    while stack:
        current = stack.pop()
        stack.extend(current.children)
        if isinstance(current, Pattern):
            for size in current.spec.explicit:
                argument = current.argument(size)
                names.update(argument.variables if isinstance(argument, Nat) else ())
    return names


class TermPrinter:
    """Converts terms to syntax."""

    def __init__(self) -> None:
        self.names = _Names()

    def top(self, term: Term) -> Syntax:
        """Convert a term whose context does not determine its type."""
        if isinstance(term, Lambda):
            return self.function(term, annotated=frozenset(range(term.depth)))
        if not isinstance(term.type, FunType) or isinstance(spine(term)[0], Bound):
            return self.syntax(term)
        if (parts := _let_parts(term)) is not None:
            return self.let_body(*parts, is_top=True)
        return self.ascription(term)

    def ascription(self, term: Term) -> Syntax:
        return syntax.Ascription(self.argument(term), term.type)

    def syntax(self, term: Term) -> Syntax:
        match term:
            case Bound(index):
                return syntax.Name(self.names.name_of(index))
            case Free(name):
                return syntax.Name(name)
            case Literal():
                return _literal(term.number, term.attribute.scalar_type)
            case Pattern():
                return self.pattern(term)
            case Lambda():
                return self.function(term)
            case DepLambda():
                return self.dependent(term)
            case DepApply(function, argument):
                return syntax.DepCall(self.syntax(function), argument)
            case Apply():
                return self.application(term)
            case Scalar():
                return self.scalar(term)
            case Embed():
                text = syntax.Text(quote(region_text(term.region)))
                embed = syntax.Option(EMBED, term.type)
                return syntax.Call(embed, (text, *self.convert_all(term.operands)))
            case _:
                raise TypeError("not a term")

    def convert_all(self, terms: Sequence[Term]) -> tuple[Syntax, ...]:
        result: list[Syntax] = []
        for term in terms:
            result.append(self.syntax(term))
        return tuple(result)

    def function(self, term: Lambda, annotated: frozenset[int] = frozenset()) -> Syntax:
        """Convert nested lambdas to one function; the `annotated` parameters have types."""
        parameters: list[syntax.Parameter] = []
        body: Term = term
        while isinstance(body, Lambda):
            written = len(parameters) in annotated or isinstance(body.parameter, FunType)
            type = body.parameter if written else None
            parameters.append(syntax.Parameter(self.names.bind(body.name), type))
            body = body.body
        is_top = annotated.issuperset(range(len(parameters)))
        inner = self.top(body) if is_top else self.syntax(body)
        self.names.leave(len(parameters))
        return syntax.Fun(tuple(parameters), inner)

    def dependent(self, term: DepLambda) -> Syntax:
        """Convert a dependent function, whose types cannot be inferred from its context."""
        name, body = open_term_binder(term, self.names.used)
        self.names.used.add(name)
        inner = self.top(body)
        self.names.used.discard(name)
        return syntax.DepFun(name, term.kind, inner)

    def argument(self, term: Term, annotated: frozenset[int] = frozenset()) -> Syntax:
        """Convert a term with a known expected type, where an operator may stand for a lambda."""
        if not isinstance(term, Lambda):
            known = not annotated or isinstance(term, Bound)
            return self.syntax(term) if known else self.ascription(term)
        if not annotated and (name := _operator_name(term)) is not None:
            return name
        if not annotated and (pattern := _pattern_over_pair(term)) is not None:
            return self.pattern(pattern)
        return self.function(term, annotated)

    def application(self, term: Apply) -> Syntax:
        head, arguments = spine(term)
        if isinstance(head, Pattern):
            return self.pattern_application(head, arguments)
        if isinstance(head, Free) and head.name == MARK:
            part = syntax.Marked(self.syntax(arguments[0]))
            return _make_call(part, [self.argument(argument) for argument in arguments[1:]])
        texts: list[Syntax] = []
        for argument in arguments:
            texts.append(self.argument(argument))
        return syntax.Call(self.syntax(head), tuple(texts))

    def pattern_application(self, head: Pattern, arguments: list[Term]) -> Syntax:
        spec = head.spec
        if spec is LET and len(arguments) >= 2:
            return self.let(arguments)
        if spec is TUPLE and len(arguments) == 2:
            return self.tuple(arguments)
        open_parameters = _undetermined_variables(spec, len(arguments))
        texts: list[Syntax] = []
        for input, argument in zip(uncurry(spec.type)[0], arguments, strict=False):
            texts.append(self.argument(argument, _undetermined_positions(input, open_parameters)))
        function = self.pattern(head)
        if len(texts) == spec.arity and _is_piped(spec):
            return syntax.Pipe(texts[-1], _make_call(function, texts[:-1]))
        return _make_call(function, texts)

    def pattern(self, term: Pattern) -> Syntax:
        """Convert a pattern, with its explicit sizes."""
        name = term.spec.name
        if (foreign := term.spec.foreign) is not None:
            literals = [syntax.Text(quote(text)) for text in foreign.literals]
            return _make_call(syntax.Name(foreign.head), literals)
        function = syntax.Name(name) if term.to is None else syntax.Option(name, term.to)
        sizes = [syntax.Name(str(term.argument(size))) for size in term.spec.explicit]
        return _make_call(function, sizes)

    def tuple(self, arguments: list[Term]) -> Syntax:
        """Convert nested pairs to `(a, b, c)`: tuples nest to the right."""
        items: list[Syntax] = []
        while True:
            first, second = arguments
            items.append(self.syntax(first))
            head, arguments = spine(second)
            if not isinstance(head, Pattern) or head.spec is not TUPLE or len(arguments) != 2:
                return syntax.Tuple((*items, self.syntax(second)))

    def let(self, arguments: list[Term]) -> Syntax:
        value, body, *extra_arguments = arguments
        result = self.let_body(value, body)
        return (
            _make_call(result, [self.argument(argument) for argument in extra_arguments])
            if extra_arguments
            else result
        )

    def let_body(self, value: Term, body: Term, is_top: bool = False) -> Syntax:
        value_text = self.top(value)
        if not isinstance(body, Lambda):
            return syntax.Call(syntax.Name("let"), (value_text, self.syntax(body)))
        name = self.names.bind(body.name)
        inner = self.top(body.body) if is_top else self.syntax(body.body)
        self.names.leave(1)
        return syntax.Let(name, value_text, inner)

    def scalar(self, term: Scalar) -> Syntax:
        operands = self.convert_all(term.operands)
        source = scalar_type(term.operands[-1])
        if term.predicate == ANY_ORDER:
            return syntax.Call(_operation_name(term), operands)
        if term.predicate is not None:
            for symbol, name in COMPARISONS.items():
                if comparison_op(name, source) == (term.op, term.predicate):
                    return syntax.Binary(symbol, *operands)
            return syntax.Call(syntax.Option(RAW_NAMES[term.op], term.predicate), operands)
        if SCALAR_OPS[term.op].changes_type:
            return syntax.Call(_conversion(term.op, source, scalar_type(term)), operands)
        name = _function_name(term.op, source)
        if name in SYMBOLS:
            return syntax.Binary(SYMBOLS[name], *operands)
        return syntax.Call(syntax.Name(name), operands)


class _Names:
    """The names of the variables in scope, which are unique and not reserved."""

    def __init__(self) -> None:
        self._stack: list[tuple[str, str, int]] = []
        self.used: set[str] = set()
        self._next: dict[str, int] = {}

    def name_of(self, index: int) -> str:
        if index >= len(self._stack):
            return f"#{index - len(self._stack)}"
        return self._stack[-1 - index][0]

    def bind(self, hint: str) -> str:
        hint = _identifier(hint)
        previous_number = number = self._next.get(hint, 0)
        name = f"{hint}{number}" if number else hint
        while name in self.used or _is_reserved(name):
            number += 1
            name = f"{hint}{number}"
        self.used.add(name)
        self._next[hint] = number + 1
        self._stack.append((name, hint, previous_number))
        return name

    def leave(self, count: int) -> None:
        for _ in range(count):
            name, hint, before = self._stack.pop()
            self.used.discard(name)
            self._next[hint] = before


def _identifier(hint: str) -> str:
    name = re.sub(r"\W", "_", hint)
    return name if name and not name[0].isdecimal() else f"x{name}"


def _is_reserved(name: str) -> bool:
    return any(name in names for names in (KEYWORDS, PATTERNS, FUNCTIONS, FOREIGN_HEADS))


def _literal(number: Numbers, type: ScalarType) -> Syntax:
    if isinstance(number, tuple):
        return syntax.Array(tuple(_literal(each, type) for each in number))
    return syntax.Constant(number, _literal_text(number, type))


def _literal_text(number: Number, type: ScalarType) -> str:
    if type == i1:
        return "true" if number else "false"
    suffix = "" if type in (f32, i32) else f"_{SCALAR_NAMES[type]}"
    return f"{float(number) if is_float(type) else number}{suffix}"


def _make_call(function: Syntax, arguments: Sequence[Syntax]) -> Syntax:
    """Build a call, with `f(a)(b)` as `f(a, b)`."""
    if not arguments:
        return function
    if isinstance(function, syntax.Call):
        return syntax.Call(function.function, (*function.arguments, *arguments))
    return syntax.Call(function, tuple(arguments))


def _is_piped(spec: PatternSpec) -> bool:
    inputs, _ = uncurry(spec.type)
    is_named = spec.name in NOT_PIPED or spec.foreign is not None
    return not is_named and not isinstance(inputs[-1], FunType)


def _function_name(op: str, type: ScalarType) -> str:
    """Return the overloaded name that resolves to `op` for `type`, or the op's own name."""
    name = OVERLOADED.get(op)
    return name if name is not None and resolve_op(name, type) == op else RAW_NAMES[op]


def _conversion(op: str, source: ScalarType, target: ScalarType) -> Syntax:
    is_cast = target != i1 and conversion_ops(source, target) == [(op, target)]
    return syntax.Option("cast" if is_cast else RAW_NAMES[op], target)


def _operation_name(term: Scalar) -> Syntax:
    """Return `add`, or `add[any]` if a reduction may add in any order."""
    name = _function_name(term.op, scalar_type(term))
    return syntax.Name(name) if term.predicate is None else syntax.Option(name, term.predicate)


def _operator_name(term: Lambda) -> Syntax | None:
    """Return `add` for `fun((a, b), a + b)`, also if the operands are the components of a pair."""
    depth = 0
    body: Term = term
    while isinstance(body, Lambda):
        depth += 1
        body = body.body
    if not isinstance(body, Scalar) or SCALAR_OPS[body.op].changes_type:
        return None
    if body.op == "arith.select" or len(body.operands) not in (depth, 2):
        return None
    name = _operation_name(body)
    if body.operands == tuple(Bound(depth - 1 - i, body.type) for i in range(depth)):
        return name
    is_paired = depth == 1 and len(body.operands) == 2 and _are_projections(body.operands)
    return name if is_paired else None


def _pattern_over_pair(term: Lambda) -> Pattern | None:
    """Return `zip` for `fun(p, zip(fst(p), snd(p)))`."""
    head, arguments = spine(term.body)
    if isinstance(head, Pattern) and head.spec is not LET and len(arguments) == 2:
        return head if head.spec.arity == 2 and _are_projections(tuple(arguments)) else None
    return None


def _let_parts(term: Term) -> tuple[Term, Lambda] | None:
    """Return the value and the function of `let x = value; body`."""
    head, arguments = spine(term)
    if isinstance(head, Pattern) and head.spec is LET and len(arguments) == 2:
        value, body = arguments
        return (value, body) if isinstance(body, Lambda) else None
    return None


def _are_projections(operands: tuple[Term, ...]) -> bool:
    for operand, wanted in zip(operands, ("fst", "snd"), strict=True):
        head, arguments = spine(operand)
        if not (isinstance(head, Pattern) and head.spec.name == wanted and len(arguments) == 1):
            return False
        if not (isinstance(arguments[0], Bound) and arguments[0].index == 0):
            return False
    return True


def _variables(type: RiseType) -> frozenset[str]:
    """Return the size and type variables of a type."""
    return nat_variables(type) | frozenset(type_variables(type))


def _undetermined_variables(spec: PatternSpec, argument_count: int) -> frozenset[str]:
    """Return the variables that neither data arguments nor explicit sizes determine."""
    inputs, _ = uncurry(spec.type)
    if argument_count < len(inputs):
        return frozenset()
    determined = frozenset(spec.explicit)
    for input in inputs:
        if not isinstance(input, FunType):
            determined |= _variables(input)
    return _variables(spec.type) - determined


def _undetermined_positions(input: RiseType, unknown: frozenset[str]) -> frozenset[int]:
    """Return the parameters of a function argument whose types cannot be inferred."""
    parameters, _ = uncurry(input)
    return frozenset(
        position for position, parameter in enumerate(parameters) if _variables(parameter) & unknown
    )


Term.format = show_term

# Note [What is annotated]
#
# The parser infers the types of a term by unification, which finds the most general typing of the
# text; the term's own typing is an instance of that. So a type annotation is needed only where
# nothing else determines the type: at the outermost parameters, and where a pattern takes a
# function but no data that determines the function's parameters (`generate`). There, either the
# parameters of a lambda or the whole function are annotated:
# `generate((fromIdx : idx[4] -> index))`; so is a whole term that is a function but not a lambda.
# The body of an annotated function and that of a `let` are such terms too, unless they apply a
# variable, whose type is written where it is bound.
# Unification never makes an unknown a function type, so parameters that are functions are annotated
# as well. A literal without suffix is f32 or i32 unless its context determines another type, and in
# a well-typed term it does not.
