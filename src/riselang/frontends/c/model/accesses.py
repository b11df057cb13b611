"""Array and scalar accesses: access relations, and linearized subscripts recovered as rows and
columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from riselang.frontends.c.model.access_conditions import access_conditions
from riselang.frontends.c.model.affine_arithmetic import NotAffine, Pieces
from riselang.frontends.c.model.isl_text import Names, isl, join_conditions
from riselang.frontends.c.model.iteration_sets import loop_bound
from riselang.frontends.c.model.linear import Linear, Strided
from riselang.frontends.c.model.quasi_affine import AffineReader
from riselang.frontends.c.model.scop import AccessRelation, View
from riselang.frontends.c.model.scop_parameters import LoopNest
from riselang.frontends.c.parse.libc import ARITY
from riselang.frontends.c.parse.syntax import (
    Access,
    ArrayValue,
    Assign,
    Binary,
    Call,
    Conditional,
    Declare,
    Expression,
    For,
    Statement,
    Variable,
    direct_expressions,
    direct_operands,
    walk_expression,
    walk_statement,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct

Strides = tuple[Linear, ...]


class RawAccess:
    """The subscripts of an access as read from the source, with their loop nest."""

    def __init__(
        self, nest: LoopNest, dimensions: tuple[Pieces, ...] | None, reached: Sequence[str]
    ):
        self.nest = nest
        self.conditions = reached
        """The conditions under which the access happens; one of them holds."""
        self.dimensions = dimensions
        """None where one of the subscripts is not affine."""

    @property
    def strided_indices(self) -> list[Strided]:
        return [value for pieces in self.dimensions or () for _, value in pieces]

    @property
    def is_linear(self) -> bool:
        return self.dimensions is not None and all(
            v.linear is not None for v in self.strided_indices
        )


def write_accesses(statement: Statement) -> Iterator[Access]:
    """Yield the accesses that a statement, or one nested in it, writes."""
    for inner in walk_statement(statement):
        if isinstance(inner, Assign):
            yield inner.target
        elif isinstance(inner, Declare) and inner.value is not None:
            yield Access(inner.location, inner.variable.type, inner.variable, ())


def read_accesses(statement: Statement) -> Iterator[Access]:
    """Yield the accesses that a statement, or one nested in it, reads, including those in
    subscripts of targets."""
    for inner in walk_statement(statement):
        parts: Sequence[Expression] = direct_expressions(inner)
        if isinstance(inner, Assign):
            parts = (*inner.target.indices, inner.value)
        for expression in parts:
            for found in walk_expression(expression):
                if isinstance(found, Access):
                    yield found


def must_accesses(statement: Statement) -> Iterator[Access]:
    """Yield the must-accesses of a statement: those that no condition guards."""
    if not isinstance(statement, Assign):
        return
    yield statement.target
    stack: list[Expression] = [statement.value, *statement.target.indices]
    while stack:
        expression = stack.pop()
        match expression:
            case Conditional():
                stack.append(expression.condition)
            case Binary(operator="&&" | "||"):
                stack.append(expression.left)
            case _:
                if isinstance(expression, Access):
                    yield expression
                stack.extend(direct_operands(expression))


def check_call(expression: Expression) -> None:
    """Reject calls of functions that are not known to be free of side effects."""
    if isinstance(expression, ArrayValue):
        raise UnsupportedConstruct(expression.location, "an array cannot be a value here")
    if isinstance(expression, Call) and (
        ARITY.get(expression.function) != len(expression.arguments)
    ):
        raise UnsupportedConstruct(
            expression.location,
            f"{expression.function} is neither defined in this file nor a function of the math "
            "library, so its effects are not known",
            "define it in the file, or compute the value outside the region",
        )


def check_opaque_loop(loop: For, written: frozenset[Variable]) -> None:
    """Check that a loop with a data-dependent bound has a trip count that is known when it
    begins."""
    bound = loop_bound(loop)
    operators = ("<", "<=") if loop.step > 0 else (">", ">=")
    if bound is None or bound[0] not in operators or not loop.variable.type.is_signed:
        raise UnsupportedConstruct(
            loop.location, "the iterations of this loop cannot be counted",
            "write for (i = first; i < end; i += step), with an end that the loop does not change",
        )  # fmt: skip
    changed_variables = {access.variable for access in write_accesses(loop.body)}
    changed_variables |= {
        inner.variable for inner in walk_statement(loop.body) if isinstance(inner, For)
    }
    for part in walk_expression(bound[1]):
        if isinstance(part, Access) and (part.variable in changed_variables | {loop.variable}):
            raise UnsupportedConstruct(
                loop.location, f"the end of this loop depends on {part.variable.name}",
                "compute the end before the loop",
            )  # fmt: skip
        check_call(part)


def collect_accesses(
    statement: Statement, reader: AffineReader, is_memory: Callable[[Variable], bool]
) -> Mapping[Access, RawAccess]:
    """Collect all memory accesses of a statement."""
    accesses: dict[Access, RawAccess] = {}
    reached = access_conditions(statement, reader)
    for access in (*write_accesses(statement), *read_accesses(statement)):
        is_loop = reader.nest.iterator_name(access.variable) is not None
        if access in accesses or is_loop or not is_memory(access.variable):
            continue
        try:
            dimensions = tuple(_read_index(index, access, reader) for index in access.indices)
        except NotAffine:
            dimensions = None
        accesses[access] = RawAccess(reader.nest, dimensions, reached.get(access, ()))
    return accesses


def _read_index(index: Expression, access: Access, reader: AffineReader) -> Pieces:
    if len(access.indices) == 1:
        return reader.read_value(index)
    return tuple((condition, Strided.of(value)) for condition, value in reader.read_linear(index))


# Linearized subscripts as rows and columns


def delinearize_arrays(
    drafts: Sequence[Mapping[Access, RawAccess]], prove: Callable[[LoopNest, str], bool]
) -> Mapping[Variable, View]:
    """Delinearize each array: if every access is `a[i*n + j]`, it is an array with rows of length
    n."""
    known: dict[Variable, list[RawAccess]] = {}
    for draft in drafts:
        for access, found in draft.items():
            known.setdefault(access.variable, []).append(found)
    views: dict[Variable, View] = {}
    for variable, found in known.items():
        if not variable.is_array:
            continue
        views[variable] = View(variable.extents)
        if all(each.is_linear for each in found) or len(variable.extents) != 1:
            continue
        chain = _stride_chain(found)
        if chain is not None and all(_indices_fit(each, chain, prove) for each in found):
            views[variable] = View((None, *_inner_lengths(chain)))
    return views


def _stride_chain(accesses: Sequence[RawAccess]) -> list[Strides] | None:
    """Return the strides of all accesses, each dividing the next: n, then n*m."""
    strides = {
        parts for each in accesses for value in each.strided_indices for parts, _ in value.parts
    }
    chain = sorted((each for each in strides if each), key=len)
    for shorter, longer in zip([(), *chain], chain, strict=False):
        if _divide_strides(longer, shorter) is None:
            return None
    return chain or None


def _divide_strides(longer: Strides, shorter: Strides) -> Strides | None:
    left = list(longer)
    for stride in shorter:
        if stride not in left:
            return None
        left.remove(stride)
    return tuple(left) or None


def _inner_lengths(chain: Sequence[Strides]) -> list[Strides]:
    """Return the lengths of the inner dimensions, outermost first."""
    lengths = [
        _divide_strides(longer, shorter)
        for shorter, longer in zip([(), *chain], chain, strict=False)
    ]
    return [each for each in reversed(lengths) if each is not None]


def _delinearize_index(value: Strided, chain: Sequence[Strides]) -> tuple[Linear, ...]:
    """Return the indices of the dimensions that the strides imply, outermost first."""
    parts = dict(value.parts)
    return tuple(parts.get(stride, Linear()) for stride in (*reversed(chain), ()))


def _indices_fit(
    access: RawAccess, chain: Sequence[Strides], prove: Callable[[LoopNest, str], bool]
) -> bool:
    """Whether no inner index of an access exceeds its row."""
    if access.dimensions is None or len(access.dimensions[0]) != 1:
        return False
    (pieces,) = access.dimensions
    indices = _delinearize_index(pieces[0][1], chain)
    for index, length in zip(indices[1:], _inner_lengths(chain), strict=True):
        if len(length) != 1 or not prove(access.nest, f"0 <= {index} and {index} < {length[0]}"):
            return False
    return True


def _view_strides(view: View) -> list[Strides] | None:
    """Return the strides that a view was derived from, innermost first."""
    chain: list[Strides] = []
    stride: Strides = ()
    for extent in reversed(view.extents[1:]):
        if not isinstance(extent, tuple):
            return None
        stride = tuple(sorted((*stride, *extent), key=str))
        chain.append(stride)
    return chain or None


# Access relations


def access_relation(
    access: Access,
    found: RawAccess,
    view: View | None,
    prefix: str,
    source: str,
    domain: str,
    names: Names,
) -> AccessRelation:
    """Build the access relation of a statement; `source` is the tuple of its instances."""
    name = names.name_of(access.variable)
    chain = _view_strides(view) if view is not None else None
    rank = len(view.extents) if view is not None else 0
    if found.dimensions is None or (chain is None and not found.is_linear):
        anywhere = ", ".join(f"o{position}" for position in range(rank))
        relation = isl().Map(f"{prefix}{{ {source} -> {name}[{anywhere}] : {domain} }}")
        return AccessRelation(None, relation, is_exact=False)
    if chain is not None:
        indices = _delinearize_index(found.dimensions[0][0][1], chain)
        return AccessRelation(
            indices, _isl_map(prefix, source, name, indices, domain), is_exact=True
        )
    relation: Any = None
    last: tuple[Linear, ...] = ()
    for combination in product(*found.dimensions):
        last = tuple(value.linear or Linear() for _, value in combination)
        holds = join_conditions([domain, *(condition for condition, _ in combination)])
        part = _isl_map(prefix, source, name, last, holds)
        relation = part if relation is None else relation.union(part)
    is_single = all(len(pieces) == 1 for pieces in found.dimensions)
    return AccessRelation(last if is_single else None, relation, is_exact=True)


def with_conditions(
    subscript: AccessRelation, access: RawAccess, prefix: str, source: str
) -> AccessRelation:
    """Add the part of the relation for which the conditions around the access hold."""
    is_always = access.nest.condition in access.conditions
    if not subscript.is_exact or is_always or not access.conditions:
        return subscript
    condition = " or ".join(f"({each})" for each in access.conditions)
    instances = isl().Set(f"{prefix}{{ {source} : {condition} }}")
    return replace(subscript, conditional_relation=subscript.relation.intersect_domain(instances))


def _isl_map(prefix: str, source: str, name: str, indices: Sequence[Linear], holds: str) -> Any:
    target = ", ".join(f"({index})" for index in indices)
    return isl().Map(f"{prefix}{{ {source} -> {name}[{target}] : {holds} }}")
