"""JSCoP, the JSON that Polly exports regions to and imports them from.

A region has a name, a context, arrays, and statements, each with a domain, accesses and a schedule,
which is a map from instances to vectors. Only schedules can be changed. As in Polly, statements and
parameters may have any names, since their order identifies them, and arrays have Polly's prefix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.syntax import Variable
from riselang.frontends.c.schedule.isl_input import find_unreadable
from riselang.frontends.c.tactics.extents import declared_extents
from riselang.support.errors import UserError

PREFIX = "MemRef_"
"""What Polly puts before the names of arrays."""
KINDS = ("read", "write")
_BEGIN = re.compile(r'\s*\{\s*["}]|\s*\[\s*[\]{]')
"""How JSON begins; the keys of isl's YAML have no quotes."""
_HINT = "'--emit jscop' writes one"


def is_jscop(text: str) -> bool:
    return _BEGIN.match(text) is not None


def format_jscops(scops: Sequence[Scop], trees: Sequence[Any]) -> str:
    """Format regions with their schedule trees: one as an object, several as a list."""
    found = [
        _describe_region(scop, tree)
        for scop, tree in zip(scops, trees, strict=True)
        if tree is not None
    ]
    return json.dumps(found[0] if len(found) == 1 else found, indent=2) + "\n"


def _describe_region(scop: Scop, tree: Any) -> dict[str, Any]:
    times = tree.get_map()
    return {
        "name": scop.name,
        "location": str(scop.location),
        "context": scop.context_set.to_str(),
        "arrays": describe_arrays(scop),
        "statements": [_describe_statement(each, times) for each in statements_of(scop)],
    }


def statements_of(scop: Scop) -> list[ModelStatement]:
    """Return the statements that have instances; trees do not have others."""
    return [each for each in scop.statements if not each.domain.is_empty()]


def describe_arrays(scop: Scop) -> list[dict[str, Any]]:
    """Describe the variables that are accessed; scalars have no sizes."""
    found = {
        relation.relation.get_tuple_name(isl().dim_type.out): access.variable
        for statement in statements_of(scop)
        for access, relation in statement.access_relations.items()
    }
    return [_describe_array(scop, name, variable) for name, variable in found.items()]


def _describe_array(scop: Scop, name: str, variable: Variable) -> dict[str, Any]:
    extents = declared_extents(scop, variable)
    sizes = ["*" if extent is None else str(extent) for extent in extents]
    if sizes and variable.is_pointer:
        sizes[0] = "*"
    return {"name": f"{PREFIX}{name}", "sizes": sizes, "type": _type_name(variable)}


def _type_name(variable: Variable) -> str:
    """Return the name of LLVM's type of the elements."""
    type = variable.type
    if type.is_float:
        return "double" if type.bits == 64 else "float"
    return f"i{type.bits}"


def _describe_statement(statement: ModelStatement, times: Any) -> dict[str, Any]:
    schedule = times.intersect_domain(isl().UnionSet.from_set(statement.domain))
    return {
        "name": statement.name,
        "domain": statement.domain.to_str(),
        "accesses": [
            {"kind": kind, "relation": _with_prefix(relation).to_str()}
            for kind, relation in _accesses(statement)
        ],
        "schedule": isl().Map.from_union_map(schedule).gist_domain(statement.domain).to_str(),
    }


def _accesses(statement: ModelStatement) -> Iterator[tuple[str, Any]]:
    """Yield the kind and the relation of each access: reads first, then writes, by location."""
    ordered = sorted(
        statement.access_relations.items(), key=lambda each: (str(each[0].location), str(each[1]))
    )
    for kind, accesses in zip(KINDS, (statement.reads, statement.writes), strict=True):
        for access, found in ordered:
            if access in accesses:
                yield kind, found.relation.gist_domain(statement.domain)


def _with_prefix(relation: Any) -> Any:
    out = isl().dim_type.out
    return relation.set_tuple_name(out, f"{PREFIX}{relation.get_tuple_name(out)}")


@dataclass(frozen=True)
class _Statement:
    """A statement in a file."""

    domain: str
    schedule: str
    accesses: tuple[tuple[str, str], ...]
    """Kinds and relations."""


@dataclass(frozen=True)
class Jscop:
    """A region in a file; its texts are such that isl can read them."""

    name: str
    context: str
    arrays: tuple[tuple[str, int, str], ...]
    """Names, numbers of dimensions, and types."""
    statements: tuple[_Statement, ...]

    def texts(self) -> list[tuple[str, str, str]]:
        """Return the texts for isl: where they are, of which class, and the text."""
        found = [("context", "Set", self.context)]
        for number, each in enumerate(self.statements):
            where = f"statement {number}"
            found += [(f"the domain of {where}", "Set", each.domain)]
            found += [(f"the schedule of {where}", "Map", each.schedule)]
            found += [(f"an access of {where}", "Map", text) for _, text in each.accesses]
        return found


def find_jscop(scop: Scop, text: str) -> Jscop:
    """Return the region of a file that has the name of a region, or is the only one."""
    found = read_jscops(text)
    if len(found) == 1:
        return found[0]
    for each in found:
        if each.name == scop.name:
            return each
    names = ", ".join(each.name for each in found) or "none"
    raise UserError(f"no JSCoP has the name {scop.name}; found: {names}; {_HINT}", scop.location)


def read_jscops(text: str) -> list[Jscop]:
    """Read all regions of a file."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the schedule is not JSON ({error}); {_HINT}") from None
    found = [_read_region(each) for each in (value if isinstance(value, list) else [value])]
    for region in found:
        texts = region.texts()
        unreadable = find_unreadable([(kind, text) for _, kind, text in texts])
        if unreadable is not None:
            where, kind, text = texts[unreadable[0]]
            noun = "map" if kind == "Map" else "set"
            raise UserError(
                f"JSCoP {region.name}: {where} is not a {noun} of isl: {text!r} ({unreadable[1]})"
            )
    return found


def _read_region(value: Any) -> Jscop:
    name = str(value.get("name", "")) if isinstance(value, dict) else ""
    where = f"JSCoP {name}".rstrip()
    return Jscop(
        name,
        _member(value, "context", str, where),
        tuple(
            (
                _member(each, "name", str, f"{where}: an array"),
                len(_member(each, "sizes", list, f"{where}: an array")),
                _member(each, "type", str, f"{where}: an array"),
            )
            for each in _member(value, "arrays", list, where, default=[])
        ),
        tuple(
            _read_statement(each, f"{where}: statement {number}")
            for number, each in enumerate(_member(value, "statements", list, where))
        ),
    )


def _read_statement(value: Any, where: str) -> _Statement:
    accesses = [
        (_member(each, "kind", str, where), _member(each, "relation", str, where))
        for each in _member(value, "accesses", list, where)
    ]
    for kind, _ in accesses:
        if kind not in KINDS:
            raise UserError(f"{where}: the kind of an access is read or write, but found {kind!r}")
    domain = _member(value, "domain", str, where)
    return _Statement(domain, _member(value, "schedule", str, where), tuple(accesses))


_NOUNS: Mapping[type, str] = {str: "a string", list: "a list"}


def _member(value: Any, key: str, expected: type, where: str, default: Any = None) -> Any:
    """Return a member of an object, which must have a type."""
    found = value.get(key, default) if isinstance(value, dict) else None
    if isinstance(found, expected):
        return found
    if not isinstance(value, dict):
        raise UserError(f"{where}: expected an object with {key!r}, but found {value!r}; {_HINT}")
    said = f"is {found!r}" if key in value else "is missing"
    raise UserError(f"{where}: {key!r} must be {_NOUNS[expected]}, but {said}; {_HINT}")
