"""Products of matrices in RISE's notation, in the shape that the default strategy knows.

A sum is made in the order of the C loops, from what is there or from zero, with numbers multiplied
as there, so the result is the same bit by bit. Where that is not possible, and the permission is to
add in another order, a product is computed on its own, and then scaled and added to what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.frontends.c.syntax import Access, Expression, Literal
from riselang.frontends.c.tactics.products import Product, grouped

NAME = "product"
LEFT, RIGHT, TARGET = "left", "right", "target"


def scalars(product: Product) -> list[Access]:
    """The variables that a product is multiplied with, each once."""
    return list(dict.fromkeys(part for part in product.scale if isinstance(part, Access)))


def program(product: Product) -> str:
    """The program of a whole product; it takes the target, if that is added to, then both factors
    as they lie in memory, then `scalars`."""
    element = element_type(product)
    left, right = (_factor(product, side, product.keeps_order) for side in (LEFT, RIGHT))
    body = _sums(left, right, element)
    scale = _scale(product, element)
    if product.keeps_order and not product.begins_with_zero:
        body = _sums_from(TARGET, left, right)
    elif not product.begins_with_zero:
        body = _each(
            f"zip({TARGET}, {body} |> toMem(heap))",
            lambda pair: _each(
                f"zip(fst({pair}), snd({pair}))", lambda e: f"fst({e}) + {scale(f'snd({e})')}", "e"
            ),
            "pair",
        )
    elif not product.keeps_order:
        body = _each(
            f"{body} |> toMem(heap)", lambda line: _each(line, lambda e: scale(e), "e"), "line"
        )
    return f"def {NAME} =\nfun(({', '.join(_parameters(product, element))}),\n  {body})\n"


def panels_program(product: Product, height: int, width: int) -> str:
    """The product of matrices that come in panels of rows, each panel turned round."""
    element = element_type(product)
    parameters = f"{LEFT} : n.l.{height}.{element}, {RIGHT} : m.l.{width}.{element}"
    left, right = (f"{side} |> map(transpose) |> join" for side in (LEFT, RIGHT))
    return f"def {NAME} =\nfun(({parameters}),\n  {_sums(left, right, element)})\n"


def panel_program(product: Product, height: int) -> str:
    """Copies rows to panels, which are short: each of their rows is written out."""
    parameter = f"rows : n.{height}.l.{element_type(product)}"
    line = "mapSeq(fun(line, line |> mapSeqUnroll(fun(e, e))))"
    body = f"rows |> mapSeq(fun(panel, panel |> transpose |> {line}))"
    return f"def {NAME} =\nfun(({parameter}),\n  {body})\n"


def element_type(product: Product) -> str:
    return f"f{product.target.array.type.bits}"


def _sums(left: str, right: str, element: str) -> str:
    """The sums of products of each row with each other."""
    fold = f"reduce(fun((acc, p), acc + fst(p) * snd(p)), 0.0_{element})"
    return f"{left} |> map(fun(row, {right} |> map(fun(column, zip(row, column) |> {fold}))))"


def _sums_from(target: str, left: str, right: str) -> str:
    """The same, where each sum goes on from an element of the target."""
    fold = "reduce(fun((acc, p), acc + fst(p) * snd(p)), snd(pair))"
    return f"zip({left}, {target}) |> map(fun(line, zip({right}, snd(line)) |> " + (
        f"map(fun(pair, zip(fst(line), fst(pair)) |> {fold}))))"
    )


def _each(array: str, body: Callable[[str], str], name: str) -> str:
    return f"{array} |> map(fun({name}, {body(name)}))"


def _parameters(product: Product, element: str) -> list[str]:
    sizes = {product.rows: "n", product.columns: "m", product.depth: "l"}
    groups = list(sizes)
    named = [(LEFT, product.left), (RIGHT, product.right)]
    if not product.begins_with_zero:
        named.insert(0, (TARGET, product.target))
    found: list[str] = []
    for name, factor in named:
        shape = grouped(factor, (product.batch, *groups)) or ()
        lengths = [sizes[group] for group in shape if group != product.batch]
        found.append(f"{name} : {'.'.join(lengths)}.{element}")
    return [*found, *(f"s{at} : {element}" for at, _ in enumerate(scalars(product)))]


def _factor(product: Product, side: str, is_scaled: bool) -> str:
    """A factor with the loop that is summed over as the inner one, scaled if it is the one."""
    factor = product.left if side == LEFT else product.right
    text = side
    if is_scaled and product.scale and factor is product.scaled:
        other = product.right if side == LEFT else product.left
        chain = [part for part in product.parts if part != other.access]
        element = element_type(product)
        text = _each(
            text,
            lambda line: _each(
                line, lambda e: _chain(product, chain, factor.access, e, element), "e"
            ),
            "line",
        )
        text = f"{text} |> toMem(heap)"
    is_turned = factor.loops[-1] not in product.depth
    return f"{text} |> transpose" if is_turned else text


def _chain(
    product: Product, parts: Sequence[Expression], access: Access, name: str, element: str
) -> str:
    """A product from the left, with a name in the place of an element."""
    return " * ".join(name if part == access else _number(product, part, element) for part in parts)


def _number(product: Product, part: Expression, element: str) -> str:
    if isinstance(part, Access):
        return f"s{scalars(product).index(part)}"
    assert isinstance(part, Literal)
    return f"{float(part.value)!r}_{element}"


def _scale(product: Product, element: str) -> Callable[[str], str]:
    numbers = [_number(product, part, element) for part in product.scale]
    return lambda text: " * ".join([*numbers, text])
