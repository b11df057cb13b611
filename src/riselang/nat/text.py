"""Naturals as text: `N * 4 + 1`, `(N + 3) floordiv 4`, `min(N, 8)`.

    sum     ::= product (("+" | "-") product)*
    product ::= signed (("*" | "floordiv" | "mod") signed)*
    signed  ::= "-"* primary
    primary ::= integer | name | "(" sum ")" | ("min" | "max") "(" sum ("," sum)* ")"

`parse_nat` reads the output of `format_nat` back as the same natural.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from riselang.nat.atoms import Atom, FloorDiv, Max, Min, Mod, Term, Variable
from riselang.nat.errors import NatError, NatSyntaxError
from riselang.nat.extrema import nat_max, nat_min
from riselang.nat.natural import KEYWORDS, MAX_DIGITS, NAME_PATTERN, Nat

MAX_NESTING = 100


def format_nat(nat: Nat) -> str:
    """Format a natural, starting with a term that is not negative if there is one."""
    terms = list(nat.terms())
    if not terms:
        return "0"
    first = next((term for term in terms if term[0] > 0), terms[0])
    terms.remove(first)
    pieces = [_format_term(first) if first[0] > 0 else _format_negated(first)]
    pieces.extend((" - " if term[0] < 0 else " + ") + _format_term(term) for term in terms)
    return "".join(pieces)


def parse_nat(text: str) -> Nat:
    """Parse a natural; raise NatSyntaxError if `text` is not one."""
    parser = _Parser(_tokenize(text))
    nat = parser.parse_sum()
    if parser.token.text:
        raise parser.error("an operator or the end of the text")
    return nat


def _format_term(term: Term) -> str:
    """Format a term without its sign."""
    magnitude, monomial = abs(term[0]), term[1]
    factors = [atom for atom, power in monomial for _ in range(power)]
    if not factors:
        return str(magnitude)
    if magnitude == 1 and len(factors) == 1:
        return _format_atom(factors[0])
    pieces = [_format_operand(Nat.from_atom(factor)) for factor in factors]
    return " * ".join(pieces if magnitude == 1 else [*pieces, str(magnitude)])


def _format_negated(term: Term) -> str:
    atom = (-Nat.from_terms((term,))).atom
    # The sign binds tighter than floordiv and mod.
    return f"-{_format_term(term) if atom is None else _format_operand(Nat.from_atom(atom))}"


def _format_atom(atom: Atom) -> str:
    match atom:
        case Variable(name):
            return name
        case FloorDiv(dividend, divisor):
            return f"{_format_operand(dividend)} floordiv {_format_operand(divisor)}"
        case Mod(dividend, divisor):
            return f"{_format_operand(dividend)} mod {_format_operand(divisor)}"
        case Min(arguments):
            return f"min({', '.join(map(format_nat, arguments))})"
        case Max(arguments):
            return f"max({', '.join(map(format_nat, arguments))})"


def _format_operand(nat: Nat) -> str:
    stands_alone = isinstance(nat.atom, Variable | Min | Max)
    if stands_alone or (nat.is_constant and nat.offset >= 0):
        return format_nat(nat)
    return f"({format_nat(nat)})"


@dataclass(frozen=True, slots=True)
class _Token:
    """A token; the end of the text is a token with empty text."""

    text: str
    position: int

    @property
    def is_name(self) -> bool:
        return bool(re.match(NAME_PATTERN, self.text)) and self.text not in KEYWORDS

    @property
    def is_integer(self) -> bool:
        return "0" <= self.text[:1] <= "9"


_TOKEN = re.compile(rf"\s*(?:({NAME_PATTERN}|[0-9]+|[-+*(),])|$|(.))", re.DOTALL)

_BinaryOperator: TypeAlias = Callable[[Nat, Nat], Nat]
_SUMS: dict[str, _BinaryOperator] = {"+": Nat.__add__, "-": Nat.__sub__}
_PRODUCTS: dict[str, _BinaryOperator] = {
    "*": Nat.__mul__,
    "floordiv": Nat.__floordiv__,
    "mod": Nat.__mod__,
}
_CALLS: dict[str, Callable[..., Nat]] = {"min": nat_min, "max": nat_max}


def _tokenize(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(text):
        if match[2]:
            raise NatSyntaxError(f"unexpected character {match[2]!r}", match.start(2))
        if match[1]:
            tokens.append(_Token(match[1], match.start(1)))
    return [*tokens, _Token("", len(text))]


class _Parser:
    """A recursive descent parser; the nesting depth is bounded, and so is the stack."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._index = 0
        self._nesting = 0

    @property
    def token(self) -> _Token:
        return self._tokens[self._index]

    def error(self, expected: str) -> NatSyntaxError:
        token_text = f"'{_shorten(self.token.text)}'" if self.token.text else "the end of the text"
        return NatSyntaxError(f"expected {expected}, but found {token_text}", self.token.position)

    def parse_sum(self) -> Nat:
        return self._parse_binary(_SUMS, self._parse_product)

    def _parse_product(self) -> Nat:
        return self._parse_binary(_PRODUCTS, self._parse_signed)

    def _parse_binary(
        self, operators: dict[str, _BinaryOperator], parse_operand: Callable[[], Nat]
    ) -> Nat:
        left = parse_operand()
        while self.token.text in operators:
            token = self._take()
            right = parse_operand()
            try:
                left = operators[token.text](left, right)
            except NatError as error:
                raise NatSyntaxError(str(error), token.position) from error
        return left

    def _parse_signed(self) -> Nat:
        negative = False
        while self.token.text == "-":
            self._take()
            negative = not negative
        nat = self._parse_primary()
        return -nat if negative else nat

    def _parse_primary(self) -> Nat:
        if self.token.is_integer:
            return self._parse_integer()
        if self.token.is_name:
            return Nat.var(self._take().text)
        if self.token.text in _CALLS:
            return self._parse_call()
        if self.token.text == "(":
            return self._parse_arguments(1)[0]
        raise self.error("a number, a name or '('")

    def _parse_integer(self) -> Nat:
        token = self._take()
        if len(token.text) > MAX_DIGITS:
            raise NatSyntaxError(
                f"expected an integer of at most {MAX_DIGITS} digits, but found {len(token.text)}",
                token.position,
            )
        return Nat.const(int(token.text))

    def _parse_call(self) -> Nat:
        token = self._take()
        if self.token.text != "(":
            raise self.error("'('")
        arguments = self._parse_arguments(None)
        try:
            return _CALLS[token.text](*arguments)
        except NatError as error:
            raise NatSyntaxError(str(error), token.position) from error

    def _parse_arguments(self, count: int | None) -> list[Nat]:
        if self._nesting == MAX_NESTING:
            raise self.error(f"at most {MAX_NESTING} nested parentheses")
        self._nesting += 1
        self._take()
        arguments = [self.parse_sum()]
        while count is None and self.token.text == ",":
            self._take()
            arguments.append(self.parse_sum())
        if self.token.text != ")":
            raise self.error("')'" if count else "',' or ')'")
        self._take()
        self._nesting -= 1
        return arguments

    def _take(self) -> _Token:
        token = self.token
        self._index += 1
        return token


def _shorten(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}..."
