"""Versions of a schedule by size: one for arrays that stay in a cache, and one for larger ones.

Loops that statements share read elements again before they leave the cache, but their rows have
conditions, and are computed in parts. If all arrays stay in the cache, loops of their own are
faster. Sizes are parameters, so the schedule contains both versions, each for some values of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Variable
from riselang.support.machine import Machine

PROBED_SIZE = 1 << 10
"""Parameters are sizes of arrays if one of them, rather than so many, makes arrays smaller."""
MAX_SIZE = 1 << 24
"""The largest size that is tried."""
LONG_VECTOR_BYTES = 64
CACHE_SHARE = 4
"""A quarter of the last cache holds arrays; the rest is for other data and other cores."""


def cached_bytes(machine: Machine, *, in_planes: bool = False) -> int:
    """Return the number of bytes of arrays that stay in a cache that delivers them as fast as loops
    read them.

    With vectors of 64 bytes, only the L1 cache does. With vectors of 32 bytes, rows in a cache of
    level 3 take as long as in L1. If loops compute one plane after another, they read most elements
    while these are in L1, so L2 is fast enough.
    """
    if machine.vector_bytes >= LONG_VECTOR_BYTES:
        return machine.cache_bytes(2 if in_planes else 1)
    return max(machine.cache_bytes(2), machine.cache_bytes(3) // CACHE_SHARE)


def sizes_up_to(scop: Scop, bytes: int) -> Any:
    """Return the values of the parameters for which all accessed elements have at most so many
    bytes, as an isl set; None if that is not known.

    With several sizes, these are the values whose sum is at most that of equal sizes which have so
    many bytes, since the product of numbers with a given sum is largest if they are equal.
    """
    elements = _accessed_elements(scop)
    names = [each.name for each in scop.parameters]
    if elements is None:
        return None

    def bytes_at(size: int, changes: Mapping[str, int] = {}) -> int:
        values = {name: changes.get(name, size) for name in names}
        return sum(_box_bytes(scop, *each, values) for each in elements.items())

    probed = bytes_at(PROBED_SIZE)
    sizes = [name for name in names if bytes_at(PROBED_SIZE, {name: 1}) < probed // 2]
    if not sizes or not bytes_at(1) <= bytes < bytes_at(MAX_SIZE):
        return None
    smallest, largest = 0, MAX_SIZE
    while smallest < largest - 1:
        middle = (smallest + largest) // 2
        smallest, largest = (middle, largest) if bytes_at(middle) <= bytes else (smallest, middle)
    return isl().Set(f"{scop.prefix}{{ : {' + '.join(sizes)} <= {len(sizes) * smallest} }}")


def versions_by_size(small: Any, large: Any, sizes: Any) -> Any:
    """Return a schedule that is `small` for some values of the parameters, and `large` for all
    others."""
    domain = large.get_domain()
    first = small.intersect_domain(domain.intersect_params(sizes))
    return first.sequence(large.intersect_domain(domain.intersect_params(sizes.complement())))


def _accessed_elements(scop: Scop) -> dict[Variable, Any] | None:
    """Return the accessed elements of each array; None if not all of them are known."""
    elements: dict[Variable, Any] = {}
    for statement in scop.statements:
        for access, subscript in statement.access_relations.items():
            if not access.variable.is_array:
                continue
            if subscript.indices is None:
                return None
            accessed = subscript.relation.intersect_domain(statement.domain).range()
            known = elements.get(access.variable)
            elements[access.variable] = accessed if known is None else known.union(accessed)
    return elements


def _box_bytes(scop: Scop, variable: Variable, elements: Any, values: Mapping[str, int]) -> int:
    """Return the bytes of the smallest box around elements of an array, for these parameters."""
    conditions = " and ".join(f"{name} = {value}" for name, value in values.items()) or "0 = 0"
    found = elements.intersect_params(isl().Set(f"{scop.prefix}{{ : {conditions} }}"))
    if found.is_empty():
        return 0
    lengths = [
        found.dim_max_val(position).to_python() - found.dim_min_val(position).to_python() + 1
        for position in range(found.dim(isl().dim_type.set))
    ]
    return prod(lengths) * variable.type.bits // 8
