"""Decides which reductions may update their accumulator, an array, in place.

An iteration may do so if it reads only those elements of the accumulator that it is about to
write: element by element (`zip(x, accumulator) |> map(f)`), or in another such reduction that
starts from the accumulator; in the accumulator's layout, or in another layout that the result
undoes (`zip(x, accumulator |> split(4)) |> map(f) |> join`); for the first elements and then for
the others (`concat`). It may also overwrite some elements by `scatter`, `scatterWith` or
`updateAt`. What it computes from other elements has to be in memory of its own before anything is
stored: bound by a `let`, or by `toMem`. The components of a tuple are stored one after the other,
its scalars last, so that the functions of later components must not read earlier ones.
Otherwise, the accumulator is double-buffered.
"""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.pattern_registry import (
    CONCAT,
    DROP,
    FST,
    GENERATE,
    LET,
    MAP,
    PAD,
    PREFETCH,
    SCATTER,
    SCATTER_WITH,
    SND,
    TAKE,
    TUPLE,
    UPDATE_AT,
    WHILE,
    ZIP,
)
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import RiseType, components, contains_array, element_of
from riselang.lowering.binding import BUFFERED_PATTERNS, LOOPS, is_in_buffer, is_index_arithmetic
from riselang.nat import as_nat
from riselang.term.fusion import MAPS
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Term, apply_all, spine, subterms
from riselang.term.substitution import instantiate, shift
from riselang.term.view_inverses import invert_step, is_view

UPDATED_ARGUMENTS = {SCATTER: 1, SCATTER_WITH: 2, UPDATE_AT: 2}
"""The patterns that overwrite some elements of an array, and which argument that array is."""
REDUCTIONS = ("reduce", "reduceSeq", "reduceSeqUnroll", "reduceRank")


def can_update_in_place(function: Term) -> bool:
    """Whether the function of a reduction may overwrite the accumulator that it reads."""
    if not isinstance(function, Lambda) or not isinstance(function.body, Lambda):
        return False
    accumulator = Bound(1, function.parameter)
    return _can_store_in_place(function.body.body, accumulator, accumulator)


def can_iterate_in_place(function: Term) -> bool:
    """Whether the function of an iteration may overwrite the value that it reads."""
    if not isinstance(function, Lambda):
        return False
    value = Bound(0, function.parameter)
    return _can_store_in_place(function.body, value, value)


def is_elementwise(function: Term) -> bool:
    """Whether a function consists of maps without a chosen loop, and reductions over arrays."""
    parts = (part for part in subterms(function) if isinstance(part, Pattern))
    return all(_is_elementwise_pattern(part) for part in parts)


def _is_elementwise_pattern(pattern: Pattern) -> bool:
    if pattern.spec in UPDATED_ARGUMENTS:
        return False
    if pattern.spec.role not in (Role.LOOP, Role.PARALLEL, Role.GPU):
        return True
    if pattern.spec.name in REDUCTIONS:
        accumulator = pattern.argument("t")
        return isinstance(accumulator, RiseType) and contains_array(accumulator)
    return pattern.spec in (MAP, GENERATE)


def _can_store_in_place(body: Term, accumulator: Term, target: Term) -> bool:
    """Whether the body may be stored to `target`: the accumulator, maybe in another layout.

    The accumulator is a component of a variable. Views at the end of the body are undone on
    `target`, so that the value before them is compared with its own target.
    """
    if body == target or not _uses_accumulator(body, accumulator):
        return True
    head, arguments = spine(body)
    if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
        return False
    inverted = invert_step(body, target) or _undo_take(body, target)
    if inverted is not None:
        return _can_store_in_place(inverted[0], accumulator, inverted[1])
    if head.spec is CONCAT:
        for argument, part in zip(arguments, (TAKE, DROP), strict=True):
            part_target = Apply(Pattern(part, head.arguments), target)
            if not _can_store_in_place(argument, accumulator, part_target):
                return False
        return True
    if head.spec.name in MAPS or head.spec.role is Role.GPU:
        return _can_map_in_place(arguments[0], arguments[1], accumulator, target)
    if head.spec.name in REDUCTIONS:
        function, start, xs = arguments
        is_independent = not _uses_accumulator(function, accumulator) and not _uses_accumulator(
            xs, accumulator
        )
        is_started = _can_store_in_place(start, accumulator, target)
        return is_independent and is_started and can_update_in_place(function)
    if head.spec is WHILE:
        holds, function, start = arguments
        is_independent = not any(_uses_accumulator(each, accumulator) for each in (holds, function))
        is_started = _can_store_in_place(start, accumulator, target)
        return is_independent and is_started and can_iterate_in_place(function)
    if head.spec is LET and isinstance(arguments[1], Lambda):
        body = arguments[1].body
        if _is_independent(arguments[0], accumulator, is_bound=True):
            return _can_store_in_place(body, shift(accumulator, 1), shift(target, 1))
        # A view of the accumulator is read where it is used.
        return _can_store_in_place(instantiate(body, arguments[0]), accumulator, target)
    if head.spec is TUPLE:
        return _can_store_components(arguments, head, accumulator, target)
    if head.spec in UPDATED_ARGUMENTS:
        updated = arguments[UPDATED_ARGUMENTS[head.spec]]
        others = [each for each in arguments if each is not updated]
        return _can_store_in_place(updated, accumulator, target) and all(
            _is_independent(each, accumulator, is_bound=False) for each in others
        )
    return False


def _is_independent(value: Term, accumulator: Term, *, is_bound: bool) -> bool:
    """Whether a value does not change when the accumulator is overwritten after it is read.

    A value that is bound by a let is stored, unless it is a view.
    """
    if not _uses_accumulator(value, accumulator):
        return True
    if not contains_array(value.type):
        return not isinstance(value, Lambda)
    head, arguments = spine(value)
    if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
        return False
    if head.spec.name in BUFFERED_PATTERNS or head.spec.name in LOOPS:
        return True
    if head.spec.role is Role.VIEW:
        for each in arguments:  # noqa: SIM110 (recursion)
            if not _is_independent(each, accumulator, is_bound=is_bound):
                return False
        return True
    is_computed = not (is_view(value) or is_in_buffer(value) or is_index_arithmetic(value))
    return is_bound and head.spec.name in MAPS and is_computed


def _can_store_components(
    parts: Sequence[Term], pair: Pattern, accumulator: Term, target: Term
) -> bool:
    """Whether the components of a pair may be stored to those of the target, in order."""
    if target != accumulator:
        return False
    targets = [Apply(Pattern(spec, pair.arguments), target) for spec in (FST, SND)]
    having = [k for k, part in enumerate(parts) if contains_array(part.type)]
    for k in having:
        if not _can_store_in_place(parts[k], targets[k], targets[k]):
            return False
    is_unchanged = parts[0] == targets[0]
    return len(having) < 2 or is_unchanged or not _uses_accumulator(parts[1], targets[0])


def _undo_take(body: Term, target: Term) -> tuple[Term, Term] | None:
    """Undo a `take`, also one of each row: pad `target` as the body may do.

    If an iteration reads padding that it has already overwritten, `take` drops the result.
    """
    head, arguments = spine(body)
    assert isinstance(head, Pattern)
    if head.spec is TAKE:
        count, dropped, element = head.arguments
        filled = Pattern(PAD, (count, as_nat(0), dropped, element))
        return arguments[0], Apply(filled, target)
    if head.spec is not MAP or not isinstance(arguments[0], Lambda):
        return None
    row = arguments[0].body
    inner = _undo_take(row, Bound(0, row.type)) if isinstance(spine(row)[0], Pattern) else None
    if inner is None or inner[0] != Bound(0, arguments[0].parameter):
        return None
    function = Lambda("row", row.type, inner[1])
    count = head.argument("n")
    return arguments[1], apply_all(
        Pattern(MAP, (count, row.type, inner[1].type)), [function, target]
    )


def _can_map_in_place(function: Term, xs: Term, accumulator: Term, target: Term) -> bool:
    if not isinstance(function, Lambda) or _uses_accumulator(function, accumulator):
        return False
    element = _accumulator_component(xs, accumulator, target, Bound(0, function.parameter))
    if element is None:
        return False
    return not contains_array(element.type) or _can_store_in_place(function.body, element, element)


def _accumulator_component(xs: Term, accumulator: Term, target: Term, element: Term) -> Term | None:
    """Return the component of an element of `xs` that comes from `target`, if zipped in once."""
    if xs == target:
        return element
    head, arguments = spine(xs)
    if isinstance(head, Pattern) and head.spec is PREFETCH and len(arguments) == 1:
        return _accumulator_component(arguments[0], accumulator, target, element)
    if not isinstance(head, Pattern) or head.spec is not ZIP or len(arguments) != 2:
        return None
    having = [part for part in arguments if _uses_accumulator(part, accumulator)]
    if len(having) != 1:
        return None
    spec = FST if having[0] is arguments[0] else SND
    part = Apply(Pattern(spec, components(element_of(xs.type))), element)
    return _accumulator_component(having[0], accumulator, target, part)


def _uses_accumulator(term: Term, accumulator: Term) -> bool:
    """Whether a term uses the accumulator; other components of its variable do not count."""
    variable, path = _split_component(accumulator)
    assert isinstance(variable, Bound)
    stack = [(term, variable.index)]
    while stack:
        current, level = stack.pop()
        if current.open <= level:
            continue
        root, component = _split_component(current)
        if isinstance(root, Bound):
            if root.index == level and not _are_disjoint(path, component):
                return True
            continue
        inner = level + 1 if isinstance(current, Lambda) else level
        stack.extend((child, inner) for child in current.children)
    return False


def _split_component(term: Term) -> tuple[Term, tuple[str, ...]]:
    """Return the term that a term is a component of, and the component's path from outside."""
    path: list[str] = []
    while isinstance(term, Apply) and isinstance(term.function, Pattern):
        if term.function.spec not in (FST, SND):
            break
        path.append(term.function.spec.name)
        term = term.argument
    return term, tuple(reversed(path))


def _are_disjoint(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether neither of two components contains the other."""
    return any(one != other for one, other in zip(first, second, strict=False))
