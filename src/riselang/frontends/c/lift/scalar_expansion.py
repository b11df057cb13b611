"""Scalar expansion: an array replaces a scalar that accumulates a matrix multiplication.

    for (i...) for (j...) { s = 0;  for (k...) s += A[i][k] * B[k][j];
                            C[i][j] = alpha * s + beta * C[i][j]; }

All iterations use the one scalar, and the last statement reads the element that it writes, so that
the element cannot replace the scalar (`accumulators.py`). With an element `s[i][j]` for each
iteration of the outer loops, the statements become a product and a loop over all elements.
"""

from __future__ import annotations

from dataclasses import replace

from riselang.frontends.c.model.accumulators import find_lifetimes, is_inside, use_element
from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import AccessRelation, ModelStatement, Scop
from riselang.frontends.c.parse.c_types import LONG
from riselang.frontends.c.parse.syntax import Access, Expression, Literal, Variable
from riselang.frontends.c.tactics.boxes import NotLifted, read_box
from riselang.frontends.c.tactics.loop_fission import is_separable, separate_parts
from riselang.frontends.c.tactics.matrix_products import MatrixProduct
from riselang.support.errors import SourceLocation

MIN_LOOPS = 2
"""The loops around a scalar that accumulates a matrix multiplication: over rows and columns."""


def expand_accumulators(scop: Scop) -> Scop:
    """Return a region in which arrays, which are further inputs, replace the scalars that
    accumulate matrix multiplications."""
    if scop.schedule is None or not is_separable(scop):
        return scop
    for variable in scop.locals:
        expanded = _expand(scop, variable)
        if expanded is not None and _has_product(expanded, expanded.inputs[-1]):
            scop = expanded
    return scop


def _has_product(scop: Scop, array: Variable) -> bool:
    """Whether a matrix multiplication is computed in an array."""
    return dependences(scop) is not None and any(
        isinstance(part.product, MatrixProduct) and part.product.target.array is array
        for part in separate_parts(scop)
    )


def _expand(scop: Scop, variable: Variable) -> Scop | None:
    """Return a region in which an array replaces a scalar; None if that is not possible."""
    lifetimes = find_lifetimes(scop, variable)
    if len(lifetimes) != 1 or len(lifetimes[0].first.iterators) < MIN_LOOPS:
        return None
    (lifetime,) = lifetimes
    first, depth = lifetime.first, len(lifetime.first.iterators)
    is_local = first.has_must_writes and all(is_inside(each, first) for each in lifetime.users)
    if not is_local or all(len(each.iterators) == depth for each in lifetime.users):
        return None
    lengths = _lengths(scop, first, variable.location)
    if lengths is None:
        return None
    array = Variable(variable.name, variable.type, variable.location, lengths, is_pointer=True)
    indices = tuple(
        Access(variable.location, iterator.type, iterator, ()) for iterator, _ in first.iterators
    )
    element = Access(variable.location, variable.type, array, indices)
    changed = {
        user.name: use_element(user, variable, element, _relation(scop, user, first, array))
        for user in lifetime.users
    }
    return replace(
        scop,
        is_whole=False,
        inputs=(*scop.inputs, array),
        locals=tuple(each for each in scop.locals if each is not variable),
        statements=tuple(changed.get(each.name, each) for each in scop.statements),
        written_variables=(scop.written_variables - {variable}) | {array},
        as_written=None,
    )


def _relation(
    scop: Scop, user: ModelStatement, first: ModelStatement, array: Variable
) -> AccessRelation:
    """Return the map from the instances of a statement to the elements of their iterations."""
    names = [name for _, name in first.iterators]
    inner = ", ".join(name for _, name in user.iterators)
    text = f"{{ {user.name}[{inner}] -> {scop.names.name_of(array)}[{', '.join(names)}] }}"
    relation = isl().Map(text).intersect_domain(user.domain)
    return AccessRelation(tuple(map(Linear.of, names)), relation, is_exact=True)


def _lengths(
    scop: Scop, statement: ModelStatement, location: SourceLocation
) -> tuple[Expression, ...] | None:
    """Return the lengths of an array that has an element for each instance of a statement; None if
    they are not constants or parameters."""
    try:
        ranges = read_box(scop, statement)
    except NotLifted:
        return None
    found: list[Expression] = []
    for _, name in statement.iterators:
        first, end = ranges[name].first, ranges[name].first + ranges[name].length
        length = _length(scop, end, location)
        if length is None or not first.is_constant or first.constant < 0:
            return None
        found.append(length)
    return tuple(found)


def _length(scop: Scop, end: Linear, location: SourceLocation) -> Expression | None:
    """Return a length that is not smaller than the end of a range."""
    if end.is_constant:
        return Literal(location, LONG, max(0, end.constant))
    for parameter in scop.parameters:
        source = parameter.source
        gap = Linear.of(parameter.name) - end
        if isinstance(source, Variable) and gap.is_constant and gap.constant >= 0:
            return Access(location, source.type, source, ())
    return None
