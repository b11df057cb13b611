"""Scalar accumulators become the array elements that they are stored to.

    s = 0;  for (...) s += ...;  C[i][j] = s / d;

is the same as

    C[i][j] = 0;  for (...) C[i][j] += ...;  C[i][j] = C[i][j] / d;

if nothing else accesses the element between the first and the last statement. A scalar is one
memory location that all iterations of the surrounding loops use, which forces them into an order;
elements are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from riselang.frontends.c.model import accesses
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import AccessRelation, ModelStatement, Scop
from riselang.frontends.c.parse.substitution import substitute_statement
from riselang.frontends.c.parse.syntax import Access, Assign, Variable, walk_expression


class Lifetime(NamedTuple):
    """The statements from one that sets a scalar to the last that reads it."""

    users: Sequence[ModelStatement]
    """Those that access the scalar: the first sets it, the last stores it to an element."""
    between: Sequence[ModelStatement]
    """The other statements after the first and before the last, in source order."""

    @property
    def first(self) -> ModelStatement:
        return self.users[0]

    @property
    def last(self) -> ModelStatement:
        return self.users[-1]

    @property
    def element(self) -> Access:
        assert isinstance(self.last.body, Assign)
        return self.last.body.target


def replace_accumulators(scop: Scop) -> Scop:
    """Return a region in which elements of arrays replace scalar accumulators."""
    if scop.schedule is None or scop.as_written is not None:
        return scop
    written, replaced = scop, set[Variable]()
    for variable in scop.locals:
        lifetimes = find_lifetimes(scop, variable)
        if lifetimes and all(_is_replaceable(each, variable) for each in lifetimes):
            replaced.add(variable)
            changed = {
                user.name: _use_element(user, variable, lifetime)
                for lifetime in lifetimes
                for user in lifetime.users
            }
            statements = tuple(changed.get(each.name, each) for each in scop.statements)
            scop = replace(scop, statements=statements)
    if not replaced:
        return scop
    statements = tuple(each for each in scop.statements if not _has_no_effect(each))
    domain = isl().UnionSet(f"{scop.prefix}{{ }}")
    for statement in statements:
        domain = domain.union(isl().UnionSet.from_set(statement.domain))
    return replace(
        scop,
        statements=statements,
        schedule=scop.schedule.intersect_domain(domain),
        locals=tuple(each for each in scop.locals if each not in replaced),
        written_variables=scop.written_variables - replaced,
        as_written=written,
    )


def find_lifetimes(scop: Scop, variable: Variable) -> list[Lifetime]:
    """Return the lifetimes of a scalar; none if one does not begin with an assignment."""
    if variable.is_array or variable.type.is_record or _is_in_result(scop, variable):
        return []
    found: list[list[int]] = []
    for position, statement in enumerate(scop.statements):
        if not _accesses(statement, variable):
            continue
        if not isinstance(statement.body, Assign):
            return []
        if _is_set_by(statement.body, variable):
            found.append([])
        if not found:
            return []
        found[-1].append(position)
    return [
        Lifetime(
            [scop.statements[each] for each in users],
            [scop.statements[each] for each in range(users[0] + 1, users[-1]) if each not in users],
        )
        for users in found
    ]


def _is_in_result(scop: Scop, variable: Variable) -> bool:
    parts = () if scop.result is None else walk_expression(scop.result)
    return any(isinstance(part, Access) and part.variable is variable for part in parts)


def _accesses(statement: ModelStatement, variable: Variable) -> bool:
    return any(access.variable is variable for access in statement.access_relations)


def _is_set_by(statement: Assign, variable: Variable) -> bool:
    """Whether an assignment sets a scalar to a value that does not depend on it."""
    return statement.target.variable is variable and not any(
        isinstance(part, Access) and part.variable is variable
        for part in walk_expression(statement.value)
    )


def _is_replaceable(lifetime: Lifetime, variable: Variable) -> bool:
    """Whether a scalar accumulates in inner loops, is stored once, and nothing else accesses the
    element until then."""
    first, last, element = lifetime.first, lifetime.last, lifetime.element
    if len(lifetime.users) < 2 or element.variable is variable:
        return False
    depth, array = len(first.iterators), element.variable
    subscript = last.access_relations[element]
    return (
        last.iterators == first.iterators
        and any(len(each.iterators) > depth for each in lifetime.users)
        and all(is_inside(each, first) for each in lifetime.users)
        and element in last.must_accesses
        and array.is_array
        and not array.row_pointers
        and array.type == variable.type
        and subscript.is_exact
        and subscript.indices is not None
        and subscript.conditional_relation is None
        and _moved(first.domain, first, last).is_equal(last.domain)
        and not any(
            _meets_element(each, lifetime) for each in (*lifetime.users[1:], *lifetime.between)
        )
    )


def is_inside(statement: ModelStatement, outer: ModelStatement) -> bool:
    """Whether a statement is in the same iteration of the loops around another."""
    depth = len(outer.iterators)
    return statement.iterators[:depth] == outer.iterators and (
        statement is outer
        or bool(_moved(statement.domain, statement, outer).is_subset(outer.domain))
    )


def _moved(instances: Any, source: ModelStatement, target: ModelStatement) -> Any:
    """Return the instances of another statement in the same iterations of its loops."""
    return instances.apply(_to_outer(source, target))


def _to_outer(source: ModelStatement, target: ModelStatement) -> Any:
    inner, outer = (
        f"{each.name}[{', '.join(name for _, name in each.iterators)}]" for each in (source, target)
    )
    return isl().Map(f"{{ {inner} -> {outer} }}")


def _meets_element(statement: ModelStatement, lifetime: Lifetime) -> bool:
    """Whether a statement accesses the element in the same iteration of the outer loops, other
    than by storing it at the end."""
    element = lifetime.element
    own = _relation_of_element(statement, lifetime)
    return any(
        access.variable is element.variable
        and not (statement is lifetime.last and access == element and access not in statement.reads)
        and not subscript.relation.intersect(own).is_empty()
        for access, subscript in statement.access_relations.items()
    )


def _relation_of_element(statement: ModelStatement, lifetime: Lifetime) -> Any:
    """Return the map from the instances of a statement to the elements of their iterations."""
    last = lifetime.last
    stored = last.access_relations[lifetime.element].relation
    reached = _to_outer(statement, last).intersect_domain(statement.domain)
    return reached.apply_range(stored)


def _use_element(
    statement: ModelStatement, variable: Variable, lifetime: Lifetime
) -> ModelStatement:
    """Access the element instead of the scalar."""
    element = lifetime.element
    relation = AccessRelation(
        lifetime.last.access_relations[element].indices,
        _relation_of_element(statement, lifetime),
        is_exact=True,
    )
    return use_element(statement, variable, element, relation)


def use_element(
    statement: ModelStatement, variable: Variable, element: Access, relation: AccessRelation
) -> ModelStatement:
    """Return a statement that accesses an element instead of a scalar."""
    body = substitute_statement(statement.body, {variable: element})
    relations = {
        access: relation
        for access, relation in statement.access_relations.items()
        if access.variable is not variable
    }
    relations[element] = relation
    return replace(
        statement,
        body=body,
        access_relations=relations,
        writes=frozenset(accesses.write_accesses(body)),
        reads=frozenset(accesses.read_accesses(body)) & relations.keys(),
        must_accesses=frozenset(accesses.must_accesses(body)) - statement.checked_accesses,
    )


def _has_no_effect(statement: ModelStatement) -> bool:
    """Whether a statement assigns an element to itself."""
    return isinstance(statement.body, Assign) and statement.body.target == statement.body.value
