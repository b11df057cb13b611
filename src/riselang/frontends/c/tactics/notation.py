"""RISE programs of what was recognised, in notation.

A product is built from the outside in: for each loop of the target, the arrays that it runs along
are zipped and mapped over, and the others are used as they are; then the loops that are summed
over become a reduction, which begins with the element of the target that was there. That is the
order of the C loops, so the result is the same bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.frontends.c.model import ModelStatement, Scop
from riselang.frontends.c.syntax import Access, Expression, Literal, Variable
from riselang.frontends.c.tactics.matching import Factor, Update
from riselang.frontends.c.tactics.products import NoProduct, is_upward, lengths_of
from riselang.frontends.c.tactics.recognition import Recognised

LIFTED = frozenset(("gemm", "batched gemm", "gemv", "ger", "contraction", "reduction"))


class NotLifted(Exception):
    """Why what was recognised has no program of its own."""


@dataclass(frozen=True)
class _Part:
    """An array or a part of one, by name, with the loops that it still runs along."""

    text: str
    loops: tuple[str, ...]


def notation(scop: Scop, found: Recognised) -> str:
    """The program of a recognised update."""
    update = found.update
    if update is None or found.tactic not in LIFTED:
        raise NotLifted(f"{found.tactic} stays loops")
    if found.around:
        raise NotLifted("loops around it stay")
    if not is_upward(scop, found.statement):
        raise NotLifted("its sum runs downwards")
    if not update.is_from_left:
        raise NotLifted("its product is not computed from the left")
    lengths = _lengths(scop, found.statement, update)
    names = [_name(scop, factor) for factor in (update.target, *update.factors)]
    if len(set(names)) != len(names):
        raise NotLifted("an array is used twice")
    element = _type(update.target.array)
    parameters = [
        f"{name} : {'.'.join(lengths[loop] for loop in factor.loops)}.{element}"
        for name, factor in zip(names, (update.target, *update.factors), strict=True)
    ]
    scalars = [part for part in update.scale if isinstance(part, Access)]
    parameters += [f"{scop.names.of(part.variable)} : {_type(part.variable)}"
                   for part in dict.fromkeys(scalars)]  # fmt: skip
    used = zip(names, (update.target, *update.factors), strict=True)
    parts = [_Part(name, factor.loops) for name, factor in used]
    summed = [name for _, name in found.statement.iterators if name not in update.target.loops]
    body = _Builder(summed, update, scop).built(list(update.target.loops), parts)
    return f"fun(({', '.join(parameters)}),\n  {body})"


def _name(scop: Scop, factor: Factor) -> str:
    return scop.names.of(factor.array)


def _type(variable: Variable) -> str:
    type = variable.type
    return f"{'f' if type.is_float else 'i'}{type.bits}"


def _lengths(scop: Scop, statement: ModelStatement, update: Update) -> dict[str, str]:
    """The length of each loop, which has to be that of the dimensions it runs along."""
    try:
        return lengths_of(scop, statement, (update.target, *update.factors))
    except NoProduct as reason:
        raise NotLifted(str(reason)) from None


class _Builder:
    """Text of a program, from the outermost loop inwards."""

    def __init__(self, summed: list[str], update: Update, scop: Scop):
        self._summed = summed
        self._update = update
        self._scop = scop
        self._taken = {variable.name for variable in scop.inputs}
        self._count = 0

    def built(self, out: list[str], parts: list[_Part]) -> str:
        if out:
            return self._mapped(out[0], parts, lambda inner: self.built(out[1:], inner))
        target, *factors = parts
        return self._sum(list(self._summed), factors, target.text)

    def _sum(self, loops: list[str], factors: list[_Part], start: str) -> str:
        if not loops:
            return f"{self._product([part.text for part in factors])} + {start}"
        along, names, element = self._along(loops[0], factors)
        inner = [_Part(name, tuple(loop for loop in part.loops if loop != loops[0]))
                 for name, part in zip(names, factors, strict=True)]  # fmt: skip
        total = self._fresh("acc")
        body = self._sum(loops[1:], inner, total)
        return f"{along} |> reduce(fun(({element}, {total}), {body}), {start})"

    def _mapped(self, loop: str, parts: list[_Part], body: object) -> str:
        along, names, element = self._along(loop, parts)
        inner = [_Part(name, tuple(other for other in part.loops if other != loop))
                 for name, part in zip(names, parts, strict=True)]  # fmt: skip
        assert callable(body)
        return f"{along} |> map(fun({element}, {body(inner)}))"

    def _along(self, loop: str, parts: list[_Part]) -> tuple[str, list[str], str]:
        """The arrays along a loop, zipped; what each part is inside; and the name of an element."""
        rows = [_fronted(part, loop) for part in parts if loop in part.loops]
        element = self._fresh("x")
        *first, text = rows
        for row in reversed(first):
            text = f"zip({row}, {text})"
        components = iter(_components(element, len(rows)))
        names = [next(components) if loop in part.loops else part.text for part in parts]
        return text, names, element

    def _product(self, factors: list[str]) -> str:
        """The product in the order of the text."""
        elements = iter(factors)
        return " * ".join(
            next(elements)
            if isinstance(part, Access) and part.indices
            else _scale(part, self._scop)
            for part in self._update.parts
        )

    def _fresh(self, base: str) -> str:
        while True:
            self._count += 1
            name = f"{base}{self._count}"
            if name not in self._taken:
                return name


def _components(element: str, count: int) -> list[str]:
    """The components of an element of arrays that are zipped from the right."""
    if count == 1:
        return [element]
    return [f"fst({element})", *_components(f"snd({element})", count - 1)]


def _scale(part: Expression, scop: Scop) -> str:
    if isinstance(part, Access):
        return scop.names.of(part.variable)
    assert isinstance(part, Literal)
    return repr(part.value)


def _fronted(part: _Part, loop: str) -> str:
    """An array with the dimension of a loop as the outermost."""
    text = part.text
    for position in reversed(range(part.loops.index(loop))):
        swap = "transpose"
        for _ in range(position):
            swap = f"map({swap})"
        text = f"({text} |> {swap})"
    return text
