"""Making a failing program small, by taking its term apart.

Hypothesis does not know that a part of a program is a program; here every part is tried: a subterm
alone (what it has of bound variables becomes inputs), an input or a zero in place of a subterm, a
subterm in place of one around it that has the same type, a beta reduction, a simpler pattern.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import FunType, ScalarType
from riselang.term.nodes import (
    Apply,
    Bound,
    Free,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    operation_type,
    spine,
)
from support.programs import Program, close

SIMPLER = {
    "mapSeq": "map", "mapPar": "map", "mapSeqUnroll": "map", "mapWarp": "map", "mapLane": "map",
    "reduceSeq": "reduce", "reduceSeqUnroll": "reduce", "scanSeq": "scan", "iterateSeq": "iterate",
}  # fmt: skip
_serial = itertools.count()

Property = Callable[[Program], None]


def holds(property: Property, program: Program, seconds: float = 60) -> None:
    """Check the property; where it fails, fail with the smallest program that fails alike."""
    failure = _failure(property, program)
    if failure is None:
        return
    small = smallest(program, lambda other: _failure(property, other) == failure, seconds)
    try:
        property(small)
    except Exception as error:
        error.add_note(f"the smallest program found: {small!r}\nmade from: {program!r}")
        raise
    raise AssertionError(f"fails only sometimes: {small!r}")


def all_hold(property: Callable[[Sequence[Program]], None], batch: Sequence[Program]) -> None:
    """Check the property of all programs at once; where it fails, find one that fails alone."""
    try:
        property(batch)
    except Exception:
        for program in batch:
            holds(lambda other: property([other]), program)
        raise


def _failure(property: Property, program: Program) -> str | None:
    """What kind of failure the program gives: the exception, without numbers and names."""
    try:
        property(program)
    except AssertionError:
        return "AssertionError"
    except Exception as error:
        last = (str(error).strip().splitlines() or [""])[-1]
        return f"{type(error).__name__} {re.sub(r'[0-9]+', '#', last)[:60]}"
    return None


def smallest(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """A program that fails and has no smaller neighbour that does, if the time suffices."""
    end = time.monotonic() + seconds
    term, results = _opened(program.term), program.results
    found = True
    while found and time.monotonic() < end:
        found = False
        size = _size(term)
        for candidate in _smaller(term):
            if _size(candidate) >= size or time.monotonic() > end:
                continue
            count = results if candidate.type == term.type else 1
            closed = _closed(candidate)
            if closed is not None and fails(Program(closed, count)):
                term, results, found = candidate, count, True
                break
    closed = _closed(term)
    assert closed is not None
    return Program(closed, results)


def _smaller(term: Term) -> Iterator[Term]:
    parts = list(_changeable(term))
    values = sorted((t for t in parts if not isinstance(t.type, FunType)), key=_size)
    yield from (part for part in values if part is not term)
    for part in reversed(values):
        if isinstance(part.type, ScalarType) and not isinstance(part, Literal):
            yield _replace(term, part, Literal(literal(0, part.type)))
        if not isinstance(part, Free | Literal):
            yield _replace(term, part, Free(f"v{next(_serial)}", part.type))
    for part in parts:
        for inner in _subterms(part):
            if inner is not part and inner.type == part.type:
                yield _replace(term, part, inner)
        for reduced in _reduced(part):
            yield _replace(term, part, reduced)


def _reduced(term: Term) -> Iterator[Term]:
    match term:
        case Apply(Lambda(name, _, body), argument):
            yield _substitute(body, name, argument)
        case Apply(Apply(Pattern() as let, value), Lambda(name, _, body)):
            if let.spec.name == "let":
                yield _substitute(body, name, value)
        case Pattern(spec):
            yield Pattern(PATTERNS[SIMPLER.get(spec.name, spec.name)], term.arguments)
            yield Pattern(spec, term.arguments)
        case _:
            return


def _size(term: Term) -> int:
    total = 0
    for part in _subterms(term):
        total += 2 if isinstance(part, Apply | Scalar) else 1
        if isinstance(part, Pattern):
            total += (part.to is not None) + (part.spec.name in SIMPLER)
    return total


def _subterms(term: Term) -> Iterator[Term]:
    yield term
    for child in term.children:
        yield from _subterms(child)


def _changeable(term: Term) -> Iterator[Term]:
    """The subterms, without those of a while, which has to end."""
    yield term
    head, _ = spine(term)
    if isinstance(head, Pattern) and head.spec.name == "while":
        return
    for child in term.children:
        yield from _changeable(child)


def _rebuilt(term: Term, change: Callable[[Term], Term]) -> Term:
    match term:
        case Lambda(name, parameter, body):
            return Lambda(name, parameter, change(body))
        case Apply(function, argument):
            return Apply(change(function), change(argument))
        case Scalar(op, operands):
            return Scalar(op, [change(x) for x in operands], operation_type(term), term.predicate)
        case _:
            return term


def _replace(term: Term, part: Term, other: Term) -> Term:
    """`term` with `other` wherever the object `part` stands in it."""
    return other if term is part else _rebuilt(term, lambda t: _replace(t, part, other))


def _substitute(term: Term, name: str, value: Term) -> Term:
    if isinstance(term, Free):
        return value if term.name == name else term
    return _rebuilt(term, lambda t: _substitute(t, name, value))


def _opened(program: Term) -> Term:
    """The body of the program with free variables, all with names of their own."""

    def go(term: Term, names: tuple[str, ...]) -> Term:
        match term:
            case Bound(index):
                return Free(names[-1 - index], term.type)
            case Lambda(name, parameter, body):
                fresh = f"{name}_{next(_serial)}"
                return Lambda(fresh, parameter, go(body, (*names, fresh)))
            case _:
                return _rebuilt(term, lambda t: go(t, names))

    term = go(program, ())
    while isinstance(term, Lambda):
        term = term.body
    return term


def _closed(term: Term) -> Term | None:
    """The program whose inputs are the free variables, unless one of them is a function."""
    for variable in _free(term).values():
        if isinstance(variable.type, FunType):
            return None
        term = Lambda(variable.name, variable.type, term)
    return close(term)


def _free(term: Term) -> dict[str, Free]:
    if isinstance(term, Free):
        return {term.name: term}
    found: dict[str, Free] = {}
    for child in term.children:
        found.update(_free(child))
    if isinstance(term, Lambda):
        found.pop(term.name, None)
    return found
