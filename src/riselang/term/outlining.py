"""Repeated structure as functions: what a program computes several times the same way.

    let a = x |> map(f(u)); let b = a |> map(f(v)); g(b)
    ~>  let repeated = fun((p, q), p |> map(f(q))); let a = repeated(x, u); ...

The layers of a deep network differ in their weights alone. Each becomes a call of one function,
which is rewritten, lowered and compiled once. The values that a program stores or names are taken
in the order in which they are computed; runs of them that occur twice or more, wired in the same
way, become functions of what they take from outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from riselang.dialects.rise.schemes import FST, LET, SND, TO_MEM, TUPLE
from riselang.dialects.rise.types import FunType, RiseType, components, contains_array
from riselang.term.finish import SHARED
from riselang.term.nodes import (
    Bound,
    Free,
    Lambda,
    Pattern,
    Scalar,
    Term,
    apply_all,
    has_pattern,
    spine,
    subterms,
)
from riselang.term.recursion import recursive
from riselang.term.repeats import Repeats
from riselang.term.substitution import with_children

LEAST_SAVING = 100
"""How many nodes of the program a function must spare to be worth a call."""
NAME = "repeated"


@dataclass(eq=False)
class _Value:
    """Something that the program computes and keeps, between the others of its kind."""

    variable: Free
    name: str
    term: Term
    """Mentions other values, and parameters of the program, as free variables."""
    kind: str
    """How the program keeps it: `named` by a let, `stored` by toMem, or a `result`."""
    taken: tuple[Free, ...] = ()
    """What it mentions, each once, in the order of the text."""
    shape: Term | None = None
    """Its term with the variables numbered in that order: equal for what is computed alike."""
    size: int = 0


@recursive
def outline(program: Term) -> Term:
    """The program with functions for what it computes repeatedly; itself where that is nothing."""
    if not has_pattern(program, "let", "toMem", "tuple") or _calls_named_functions(program):
        return program
    flat = _Flattened(program)
    blocks = _chosen_blocks(flat.values)
    return _rebuilt(flat, blocks) if blocks else program


def _calls_named_functions(program: Term) -> bool:
    return any(
        isinstance(each, Pattern) and each.spec is LET and isinstance(each.argument("s"), FunType)
        for each in subterms(program)
    )


# Taking the program apart


class _Flattened:
    """A program as a sequence of values and a result that mentions them."""

    def __init__(self, program: Term):
        self.values: list[_Value] = []
        self.parameters: list[Lambda] = []
        self._count = 0
        self._known: dict[Term, Free] = {}
        scope: list[Free] = []
        while isinstance(program, Lambda):
            self.parameters.append(program)
            scope.append(self._new(program.parameter))
            program = program.body
        self.inputs = tuple(scope)
        while (let := _applied_let(program)) is not None:
            value, function = let
            scope.append(self._keep(self._stored(_opened(value, scope)), "named", function.name))
            program = function.body
        self.result = self._results(_opened(program, scope))
        for value in self.values:
            value.shape, value.taken, value.size = _shape(value.term)

    def _new(self, type: RiseType) -> Free:
        self._count += 1
        return Free(f"${self._count}", type)

    def _keep(self, term: Term, kind: str, name: str = SHARED) -> Free:
        variable = self._new(term.type)
        self.values.append(_Value(variable, name, term, kind))
        return variable

    def _results(self, term: Term) -> Term:
        head, arguments = spine(term)
        if isinstance(head, Pattern) and head.spec is TUPLE and len(arguments) == 2:
            return apply_all(head, [self._results(each) for each in arguments])
        if isinstance(term, Free):
            return term
        return self._keep(self._stored(term), "result")

    def _stored(self, term: Term) -> Term:
        """The term with a variable for each value in it that is stored, in no function."""
        head, arguments = spine(term)
        if not isinstance(head, Pattern) or head.spec is LET or not arguments:
            return term
        if not has_pattern(term, "toMem"):
            return term
        arguments = [
            each if isinstance(each.type, FunType) else self._stored(each) for each in arguments
        ]
        if not (head.spec is TO_MEM and head.argument("space") == "heap"):
            result = apply_all(head, arguments)
            result.location = term.location
            return result
        (inner,) = arguments
        if inner not in self._known:
            self._known[inner] = self._keep(inner, "stored")
        return self._known[inner]


def _applied_let(term: Term) -> tuple[Term, Lambda] | None:
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec is not LET or len(arguments) != 2:
        return None
    value, function = arguments
    return (value, function) if isinstance(function, Lambda) else None


def _opened(term: Term, scope: Sequence[Free]) -> Term:
    """The term with free variables in the place of those that lambdas around it bind."""

    def visit(term: Term, level: int) -> Term:
        if term.open <= level:
            return term
        if isinstance(term, Bound):
            return scope[level - 1 - term.index]
        return with_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))

    return visit(term, 0)


def _shape(term: Term) -> tuple[Term, tuple[Free, ...], int]:
    """The term with its free variables numbered, these variables, and how large it is."""
    numbered: dict[Term, Free] = {}
    size = 0

    def visit(term: Term) -> Term:
        nonlocal size
        size += 1
        if isinstance(term, Free):
            if term not in numbered:
                numbered[term] = Free(f"#{len(numbered)}", term.type)
            return numbered[term]
        return with_children(term, visit, visit)

    shape = visit(term)
    return shape, tuple(each for each in numbered if isinstance(each, Free)), size


# Choosing what becomes a function


@dataclass(eq=False)
class _Block:
    """Runs of values that are computed alike, each to be a call of one function."""

    runs: list[range]
    given: list[int]
    """Positions in a run of the values that are needed outside of it."""


def _chosen_blocks(values: Sequence[_Value]) -> list[_Block]:
    """What spares the most first; no value is in two blocks."""
    numbers: dict[Term | None, int] = {}
    shapes = [numbers.setdefault(value.shape, len(numbers)) for value in values]
    sizes = [value.size for value in values]
    uses = _Uses(values)
    repeats = Repeats(shapes, sizes, LEAST_SAVING)
    blocks: list[_Block] = []
    for run in repeats:
        block = _block(repeats.occurrences(run), values, uses)
        if block is not None:
            blocks.append(block)
            repeats.taken.update(at for each in block.runs for at in each)
    return blocks


class _Uses:
    """Which values mention which."""

    def __init__(self, values: Sequence[_Value]):
        self.number = {value.variable: at for at, value in enumerate(values)}
        self.users: list[list[int]] = [[] for _ in values]
        for at, value in enumerate(values):
            for taken in value.taken:
                if taken in self.number:
                    self.users[self.number[taken]].append(at)


def _block(runs: Sequence[range], values: Sequence[_Value], uses: _Uses) -> _Block | None:
    """The runs that are wired like the first, where they may become calls of one function."""
    wirings = [_wiring(each, values, uses) for each in runs]
    alike = [each for each, wiring in zip(runs, wirings, strict=True) if wiring == wirings[0]]
    if not alike or (len(alike) - 1) * sum(values[at].size for at in alike[0]) < LEAST_SAVING:
        return None
    length = len(alike[0])
    given = [at for at in range(length) if any(_is_given(r, at, values, uses) for r in alike)]
    if not given:
        return None
    if len(given) > 1 and any(values[each[at]].kind == "result" for each in alike for at in given):
        # They would be copied to where the program leaves its results.
        return None
    block = _Block(alike, given)
    return block if all(_can_be_called(r, given, values, uses) for r in alike) else None


def _wiring(run: range, values: Sequence[_Value], uses: _Uses) -> list[list[int]]:
    """What each value of a run takes: another one of the run, or something outside, by number."""
    outside: dict[Free, int] = {}
    found: list[list[int]] = []
    for at in run:
        taken: list[int] = []
        for variable in values[at].taken:
            number = uses.number.get(variable)
            is_inside = number is not None and number in run
            taken.append(
                number - run.start
                if number is not None and is_inside
                else -1 - outside.setdefault(variable, len(outside))
            )
        found.append(taken)
    return found


def _is_given(run: range, at: int, values: Sequence[_Value], uses: _Uses) -> bool:
    """Whether a value is needed outside of its run."""
    number = run[at]
    return values[number].kind == "result" or any(each not in run for each in uses.users[number])


def _can_be_called(run: range, given: Sequence[int], values: Sequence[_Value], uses: _Uses) -> bool:
    """Whether what a run gives are arrays that no loop behind it would take in."""
    types = [values[run[at]].variable.type for at in given]
    return all(map(contains_array, types)) and not any(
        _is_taken_in(run[at], run, values, uses) for at in given
    )


def _is_taken_in(number: int, run: range, values: Sequence[_Value], uses: _Uses) -> bool:
    """Whether a loop outside may become a part of the one that computes a value: a bias, say."""
    value = values[number]
    if value.kind != "stored" or not has_pattern(value.term, "reduce"):
        return False
    users = [values[each].term for each in uses.users[number] if each not in run]
    return any(not has_pattern(user, "reduce") and _computes(user) for user in users)


def _computes(term: Term) -> bool:
    return any(isinstance(each, Scalar) for each in subterms(term))


# Putting it together again


def _rebuilt(flat: _Flattened, blocks: Sequence[_Block]) -> Term:
    calls: dict[int, tuple[_Block, range, Free]] = {}
    functions: list[tuple[Free, Term]] = []
    for number, block in enumerate(blocks):
        function = outline(_function(flat.values, block))
        variable = Free(f"${NAME}{number}", function.type)
        functions.append((variable, function))
        for run in block.runs:
            calls[run.start] = (block, run, variable)
    writer = _Writer()
    for variable, function in functions:
        writer.bind(variable, function, NAME)
    at = 0
    while at < len(flat.values):
        if at not in calls:
            writer.keep(flat.values[at], is_named=flat.values[at].kind == "named")
            at += 1
            continue
        block, run, function = calls[at]
        _write_call(writer, [flat.values[each] for each in run], block, function)
        at = run.stop
    return _closed(flat.parameters, flat.inputs, writer.whole(flat.result))


def _function(values: Sequence[_Value], block: _Block) -> Term:
    """The function that a block of runs becomes, by the first of them."""
    run = [values[at] for at in block.runs[0]]
    inside = {value.variable for value in run}
    parameters = _outer(run)
    given = [run[at] for at in block.given]
    used = {variable for value in run for variable in value.taken if variable in inside}
    writer = _Writer()
    for value in run:
        is_given_and_used = value in given and value.variable in used
        writer.keep(
            value, is_named=is_given_and_used or (value.kind == "named" and value not in given)
        )
    results = [writer.plain(value) for value in given]
    body = writer.whole(_tuple(results))
    names = [Lambda(f"x{at}", each.type, each) for at, each in enumerate(parameters)]
    return _closed(names, parameters, body)


def _outer(run: Sequence[_Value]) -> tuple[Free, ...]:
    """What a run takes from outside, in the order of the text."""
    inside = {value.variable for value in run}
    found = dict.fromkeys(each for value in run for each in value.taken if each not in inside)
    return tuple(found)


def _write_call(writer: _Writer, run: Sequence[_Value], block: _Block, function: Free) -> None:
    call = apply_all(function, [writer.written(each) for each in _outer(run)])
    given = [run[at] for at in block.given]
    if len(given) == 1:
        (value,) = given
        writer.keep_as(value, call, is_named=value.kind != "result")
        return
    whole = Free(f"{given[0].variable.name}.all", call.type)
    writer.bind(whole, call, "results")
    parts = _parts(whole, len(given))
    for value, part in zip(given, parts, strict=True):
        writer.use(value, part)


class _Writer:
    """Writes values that were taken apart as lets, or where they are used."""

    def __init__(self) -> None:
        self._bindings: list[tuple[Free, Term, str]] = []
        self._meanings: dict[Term, Term] = {}
        """What stands for a variable that has no let."""
        self._plain: dict[Free, Term] = {}

    def bind(self, variable: Free, term: Term, name: str) -> None:
        self._bindings.append((variable, term, name))

    def use(self, value: _Value, term: Term) -> None:
        self._meanings[value.variable] = term

    def keep(self, value: _Value, *, is_named: bool) -> None:
        self.keep_as(value, self.written(value.term), is_named=is_named)

    def keep_as(self, value: _Value, term: Term, *, is_named: bool) -> None:
        self._plain[value.variable] = term
        if value.kind == "stored":
            term = apply_all(Pattern(TO_MEM, ("heap", term.type)), [term])
        if is_named:
            self.bind(value.variable, term, value.name)
        else:
            self.use(value, term)

    def plain(self, value: _Value) -> Term:
        """A value as the result of a function: its variable where it has one."""
        if any(variable == value.variable for variable, _, _ in self._bindings):
            return value.variable
        return self._plain[value.variable]

    def written(self, term: Term) -> Term:
        """A term with what stands for the variables in it."""
        if not self._meanings:
            return term
        known: dict[Term, Term] = {}

        def visit(term: Term) -> Term:
            if isinstance(term, Free):
                return self._meanings.get(term, term)
            if not term.children:
                return term
            if term not in known:
                known[term] = with_children(term, visit, visit)
            return known[term]

        return visit(term)

    def whole(self, result: Term) -> _Lets:
        return _Lets(tuple(self._bindings), self.written(result))


@dataclass(frozen=True)
class _Lets:
    """Bindings and what they are for."""

    bindings: tuple[tuple[Free, Term, str], ...]
    result: Term


def _closed(parameters: Sequence[Lambda], variables: Sequence[Free], body: _Lets) -> Term:
    """A function of these variables, called as these parameters are."""
    levels: dict[Term, int] = {each: at for at, each in enumerate(variables)}
    values: list[Term] = []
    for variable, value, _ in body.bindings:
        values.append(_bound(value, levels, len(levels)))
        levels[variable] = len(levels)
    term = _bound(body.result, levels, len(levels))
    for (variable, _, name), value in reversed(list(zip(body.bindings, values, strict=True))):
        function = Lambda(name, variable.type, term)
        term = apply_all(Pattern(LET, (variable.type, term.type)), [value, function])
    for parameter in reversed(parameters):
        term = Lambda(parameter.name, parameter.parameter, term, parameter.location)
    return term


def _bound(term: Term, levels: Mapping[Term, int], depth: int) -> Term:
    def visit(term: Term, depth: int) -> Term:
        if isinstance(term, Free):
            return Bound(depth - 1 - levels[term], term.type, term.location)
        if not term.children:
            return term
        return with_children(term, lambda t: visit(t, depth), lambda t: visit(t, depth + 1))

    return visit(term, depth)


def _tuple(parts: Sequence[Term]) -> Term:
    *first, result = parts
    for part in reversed(first):
        result = apply_all(Pattern(TUPLE, (part.type, result.type)), [part, result])
    return result


def _parts(whole: Term, count: int) -> Iterator[Term]:
    for _ in range(count - 1):
        first, second = components(whole.type)
        yield apply_all(Pattern(FST, (first, second)), [whole])
        whole = apply_all(Pattern(SND, (first, second)), [whole])
    yield whole
