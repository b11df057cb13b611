"""The number of scalar operations of a term as written, from one visit of each distinct subterm.

`work.source_work` counts the same operations, and accesses as well, but evaluates a subterm as
often as it occurs. The counts differ where a function is computed by a let or an application,
which this count repeats with each call to the function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from riselang.dialects.rise.pattern_registry import LET
from riselang.dialects.rise.types import FunType
from riselang.term.counting import Count
from riselang.term.nodes import (
    Apply,
    Bound,
    Free,
    Key,
    Lambda,
    Pattern,
    Scalar,
    Term,
    spine,
    subterms,
)
from riselang.term.work import scalar_work, work_applications

PARAMETER = -1
"""The index of a lambda's own parameter among the functions that the lambda calls."""


@dataclass(frozen=True)
class _Operations:
    """Numbers of operations, and of evaluations of variables from outside.

    These are the function variables of enclosing lambdas, by index, and free variables, by name.
    """

    count: Count = 0
    calls: Mapping[int | str, Count] = field(default_factory=dict[int | str, Count])

    def __add__(self, other: _Operations) -> _Operations:
        calls = dict(self.calls)
        for name, times in other.calls.items():
            calls[name] = calls.get(name, 0) + times
        return _Operations(self.count + other.count, calls)

    def repeat(self, times: Count) -> _Operations:
        calls = {name: times * count for name, count in self.calls.items()}
        return _Operations(times * self.count, calls)


_Counts = Mapping[Key, _Operations]


def count_operations(program: Term) -> Count:
    """Return how many operations on scalars a program performs as written."""
    return _count(program).count


def count_evaluations(term: Term) -> Mapping[str, Count]:
    """Return how often a term evaluates its free variables, or calls those that are functions."""
    calls = _count(term).calls
    return {name: times for name, times in calls.items() if isinstance(name, str)}


def _count(program: Term) -> _Operations:
    counts: dict[Key, _Operations] = {}
    # Children before their parents.
    for term in sorted(subterms(program), key=lambda term: term.depth):
        if term.key not in counts:
            counts[term.key] = _term_operations(term, counts)
    return counts[program.key]


def _term_operations(term: Term, counts: _Counts) -> _Operations:
    """The operations of a term, from those of its children."""
    match term:
        case Apply():
            return _application_operations(term, counts)
        case Bound(index) if isinstance(term.type, FunType):
            return _Operations(0, {index: 1})
        case Free(name):
            return _Operations(0, {name: 1})
        case Lambda(_, _, body):
            inner = counts[body.key]
            calls = {
                name if isinstance(name, str) else name - 1: times
                for name, times in inner.calls.items()
                if isinstance(name, str) or name >= 0
            }
            return _Operations(inner.count, calls)
        case _:
            own = scalar_work(term) if isinstance(term, Scalar) else 0
            return sum((counts[child.key] for child in term.children), _Operations(own))


def _application_operations(term: Apply, counts: _Counts) -> _Operations:
    function, argument = counts[term.function.key], counts[term.argument.key]
    if not isinstance(term.argument.type, FunType):
        return function + argument
    if isinstance(term.function, Lambda):
        return function + argument.repeat(function.calls.get(PARAMETER, 0))
    if term.head is LET and term.argument_count == 2 and _takes_function(term.argument.type):
        # The bound function is counted where it is called.
        return argument + function.repeat(argument.calls.get(PARAMETER, 0))
    head, _ = spine(term)
    return function + argument.repeat(work_applications(head) if isinstance(head, Pattern) else 1)


def _takes_function(type: FunType) -> bool:
    return isinstance(type.input, FunType)
