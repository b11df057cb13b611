"""Random closed programs over all patterns, made from the type that is wanted downwards.

While a program is made, its variables are `Free` with names of their own; `close` binds them at the
end, so inputs can be added wherever a value of some type is needed and nothing else has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.schemes import PATTERNS, Argument
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    array,
    components,
    element_of,
    fun,
    i1,
    i32,
    idx,
    index,
    is_float,
    pair,
    result_types,
    uncurry,
)
from riselang.nat import Nat
from riselang.term.nodes import (
    Apply,
    Bound,
    Free,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    apply_all,
)
from support.choices import Choices
from support.random_scalars import RandomScalars
from support.random_types import MAXIMUM_RANK, RandomTypes, is_matrix, length_of, rank, volume

Scope = tuple[Free, ...]
Producer = Callable[[RiseType, "Place"], Term]

ROOM = 160
"""How many scalars a value may have, counting every iteration of the loops around it."""
BUDGETS = (4, 8, 12, 20)
"""How many patterns, operations and lambdas programs may have, more or less."""


@dataclass(frozen=True)
class Program:
    """A closed term from inputs to results; several results are a nested tuple."""

    term: Term
    results: int

    @property
    def input_types(self) -> list[RiseType]:
        types: list[RiseType] = []
        term = self.term
        while isinstance(term, Lambda):
            types.append(term.parameter)
            term = term.body
        return types

    @property
    def result_types(self) -> list[RiseType]:
        return result_types(self.term.type, self.results)


@dataclass(frozen=True)
class Place:
    """Where a term is made: the variables, how deep it may become, and how large its values."""

    scope: Scope
    depth: int
    room: int

    def inside(self, variable: Free) -> Place:
        return Place((*self.scope, variable), self.depth - 1, self.room)

    def repeated(self, times: int) -> Place:
        return Place(self.scope, self.depth - 1, self.room // max(times, 1))

    @property
    def deeper(self) -> Place:
        return Place(self.scope, self.depth - 1, self.room)


def programs() -> st.SearchStrategy[Program]:
    """Programs by seed; `support.shrinking` makes the ones that fail small."""
    return st.integers(0, 1 << 40).map(seeded_program)


def compiled_programs() -> st.SearchStrategy[Program]:
    """Programs without what only the interpreter runs."""
    return st.integers(0, 1 << 40).map(lambda seed: seeded_program(seed, compiled=True))


def batches(count: int) -> st.SearchStrategy[list[Program]]:
    """Several programs to compile, from one seed."""
    return st.integers(0, 1 << 36).map(
        lambda seed: [
            seeded_program(seed * count + position, compiled=True) for position in range(count)
        ]
    )


def seeded_program(seed: int, *, compiled: bool = False) -> Program:
    return random_program(Choices(seed), compiled=compiled)


def random_program(choices: Choices, *, compiled: bool = False) -> Program:
    """A program, of `compiled` patterns only or of all of them."""
    generator = _Generator(choices, compiled)
    count = choices.weighted([(6, 1), (2, 2), (1, 3)])
    types = [generator.types.data(ROOM // count) for _ in range(count)]
    body = generator.body(types)
    for variable in reversed(generator.inputs):
        body = Lambda(variable.name, variable.type, body)
    return Program(close(body), count)


def close(term: Term) -> Term:
    """The term with its free variables bound by the lambdas of the same name."""

    def go(term: Term, names: tuple[str, ...]) -> Term:
        match term:
            case Free(name):
                return Bound(names[::-1].index(name), term.type)
            case Lambda(name, parameter, body):
                return Lambda(name, parameter, go(body, (*names, name)))
            case Apply(function, argument):
                return Apply(go(function, names), go(argument, names))
            case Scalar(op, operands):
                assert isinstance(term.type, ScalarType)
                bound = [go(operand, names) for operand in operands]
                return Scalar(op, bound, term.type, term.predicate)
            case _:
                return term

    return go(term, ())


@cache
def _use(name: str, *arguments: RiseType | int | str, to: str | None = None) -> Pattern:
    parts: list[Argument] = [Nat.const(x) if isinstance(x, int) else x for x in arguments]
    return Pattern(PATTERNS[name], parts, to)


class _Generator:
    def __init__(self, choices: Choices, compiled: bool):
        self.choices = choices
        self.compiled = compiled
        self.types = RandomTypes(choices)
        self.scalars = RandomScalars(choices, self.types)
        self.inputs: list[Free] = []
        self.budget = choices.of(BUDGETS)
        self.serial = 0

    def body(self, types: Sequence[RiseType]) -> Term:
        """The results as a tuple, under a let now and then; or any term of the tuple's type."""
        place = Place((), 7, ROOM)
        wanted = types[-1]
        for type in reversed(types[:-1]):
            wanted = pair(type, wanted)
        if len(types) == 1 or self.choices.one_in(4):
            return self.term(wanted, place)
        if self.choices.one_in(3):
            return self.let(wanted, place)
        return self.results(types, place)

    def results(self, types: Sequence[RiseType], place: Place) -> Term:
        parts = [self.term(type, place) for type in types]
        body = parts[-1]
        for part in reversed(parts[:-1]):
            body = apply_all(_use("tuple", part.type, body.type), [part, body])
        return body

    # Any type

    def term(self, type: RiseType, place: Place) -> Term:
        if isinstance(type, FunType):
            return self.function(type, place)
        if place.depth <= 0 or self.budget <= 0 or type == idx(0):
            return self.leaf(type, place)
        options: list[tuple[int, Producer]] = [(3, self.leaf), *self.special(type, place)]
        options += [
            (2, self.let),
            (1, self.applied_lambda),
            (1, self.projection),
            (1, self.applied_variable),
            (1, self.let_of_function),
            (1, self.at),
            (1, self.to_memory),
        ]
        if volume(type) <= place.room:
            options += [(2, self.reduction), (1, self.iteration), (1, self.while_loop)]
        chosen = self.choices.weighted(options)
        if chosen != self.leaf:
            self.budget -= 1
        return chosen(type, place)

    def special(self, type: RiseType, place: Place) -> list[tuple[int, Producer]]:
        """The producers that only some types have."""
        if isinstance(type, ScalarType):
            return [(8, self.operation)]
        if isinstance(type, IdxType):
            return [(8, self.clamped)]
        if isinstance(type, TupleType):
            first, second = components(type)
            options: list[tuple[int, Producer]] = [(4, self.tuple)]
            both = isinstance(first, ArrayType) and isinstance(second, ArrayType)
            if both and length_of(first) == length_of(second):
                options.append((4, self.unzip))
            return options
        options = [(8, self.map), (3, self.pad), (2, self.join), (1, self.unzipped)]
        options += [(9, self.rearranged), (6, self.indexed), (4, self.generate), (4, self.scan)]
        if isinstance(element_of(type), TupleType):
            options.append((4, self.zip))
        if is_matrix(type):
            options += [(3, self.transpose), (3, self.slide), (2, self.split), (2, self.windows)]
        return options

    def variable(self, type: RiseType, hint: str) -> Free:
        self.serial += 1
        return Free(f"{hint}{self.serial}", type)

    def leaf(self, type: RiseType, place: Place) -> Term:
        """A variable or a part of one, a literal, or a new input."""
        reachable = self.reachable(place)
        found = [term for term in reachable if term.type == type]
        if isinstance(type, ScalarType) and place.scope and not self.choices.one_in(3):
            # Use what the lambdas around give, by a conversion where the type is another.
            near = [term for term in reachable[:4] if isinstance(term.type, ScalarType)]
            if near:
                return self.scalars.converted(self.choices.of(near), type)
        if isinstance(type, IdxType):
            return self.index_leaf(type, found, reachable)
        if isinstance(type, ScalarType) and (not found or self.choices.one_in(4)):
            if len(found) < 4 and self.choices.one_in(4):
                return self.input(type)
            return self.scalars.literal(type)
        if not found or (len(self.inputs) < 4 and self.choices.one_in(5)):
            return self.input(type)
        return self.choices.of(found)

    def index_leaf(self, type: IdxType, found: list[Term], reachable: list[Term]) -> Term:
        """A variable, an integer that is near, or a new input."""
        if type == idx(0) or (found and not self.choices.one_in(3)):
            return self.choices.of(found)
        near = [term for term in reachable[:6] if _is_integer(term.type)]
        if near and not self.choices.one_in(4):
            return self.clamp(self.choices.of(near), type)
        if self.choices.one_in(2):
            return self.input(type)
        return self.clamp(self.scalars.literal(self.integer()), type)

    def input(self, type: RiseType) -> Term:
        self.inputs.append(self.variable(type, "in"))
        return self.inputs[-1]

    def reachable(self, place: Place) -> list[Term]:
        """The variables, inner ones first, their components, and their indices as numbers."""
        found: list[Term] = []
        stack: list[Term] = [*self.inputs, *place.scope]
        while stack:
            term = stack.pop()
            found.append(term)
            if isinstance(term.type, TupleType):
                parts = components(term.type)
                stack += [Apply(_use(name, *parts), term) for name in ("snd", "fst")]
            if isinstance(term.type, IdxType):
                stack.append(Apply(_use("fromIdx", term.type.bound.constant), term))
        return found

    def source(
        self, place: Place, accepts: Callable[[RiseType], bool], other: Callable[[], RiseType]
    ) -> RiseType:
        """The type of a variable that will do, mostly; else another type."""
        found = [term.type for term in self.reachable(place) if accepts(term.type)]
        if found and not self.choices.one_in(3):
            return self.choices.of(found)
        return other()

    def let(self, type: RiseType, place: Place) -> Term:
        value_type = self.choices.weighted(
            [(2, lambda: type), (2, lambda: self.types.data(min(place.room, 40)))]
        )()
        value = self.term(value_type, place.deeper)
        x = self.variable(value_type, "x")
        body = self.using(x, self.term(type, place.inside(x)), place)
        let = _use("let", value_type, type)
        return apply_all(let, [value, Lambda(x.name, value_type, body)])

    def let_of_function(self, type: RiseType, place: Place) -> Term:
        """A let whose function is no lambda."""
        value_type = self.source(place, _is_data, lambda: self.types.data(min(place.room, 40)))
        value = self.term(value_type, place.deeper)
        function = self.term(fun(value_type, type), place.deeper)
        return apply_all(_use("let", value_type, type), [value, function])

    def applied_lambda(self, type: RiseType, place: Place) -> Term:
        """A lambda of one to three parameters, some of them functions, and all its arguments."""
        parameters = [self.parameter(type, place) for _ in range(1 + self.choices.below(3))]
        arguments = [self.term(variable.type, place.deeper) for variable in parameters]
        inner = place
        for variable in parameters:
            inner = inner.inside(variable)
        body = self.term(type, inner)
        for variable in parameters:
            body = self.using(variable, body, place)
        for variable in reversed(parameters):
            body = Lambda(variable.name, variable.type, body)
        return apply_all(body, arguments)

    def parameter(self, type: RiseType, place: Place) -> Free:
        room = min(place.room, 30)
        make: Callable[[], RiseType] = self.choices.weighted([
            (2, lambda: type),
            (2, lambda: self.types.data(room)),
            (1, lambda: fun(type, type)),
            (2, lambda: fun(self.types.data(room), type)),
            (1, lambda: fun(self.types.data(room), self.types.data(room), type)),
            (1, lambda: fun(fun(self.types.scalar(), self.types.scalar()), type)),
        ])  # fmt: skip
        wanted = make() if type != idx(0) else self.types.data(room)
        return self.variable(wanted, "f" if isinstance(wanted, FunType) else "x")

    def applied_variable(self, type: RiseType, place: Place) -> Term:
        """A function variable with all its arguments, or an identity lambda where there is none."""
        functions = [v for v in place.scope if uncurry(v.type)[1] == type and v.type != type]
        if not functions:
            x = self.variable(type, "x")
            return Apply(Lambda(x.name, type, x), self.term(type, place.deeper))
        function = self.choices.of(functions[::-1])
        arguments = [self.term(t, place.deeper) for t in uncurry(function.type)[0]]
        return apply_all(function, arguments)

    def projection(self, type: RiseType, place: Place) -> Term:
        other = self.types.data(min(place.room, 20), 2)
        name, parts = self.choices.of((("fst", (type, other)), ("snd", (other, type))))
        return Apply(_use(name, *parts), self.term(pair(*parts), place.deeper))

    def reduction(self, type: RiseType, place: Place) -> Term:
        room = place.room // max(volume(type), 1)
        source = self.source(
            place,
            lambda t: isinstance(t, ArrayType) and length_of(t) <= max(room, 1),
            lambda: array(self.types.length(room), self.types.data(min(room, 12), 2)),
        )
        length, element = length_of(source), element_of(source)
        name = self.choices.of(("reduce", "reduceSeq", "reduceSeqUnroll"))
        reduce = _use(name, length, element, type, to=self.target())
        step = self.term(fun(element, type, type), place.repeated(length))
        init = self.term(type, place.deeper)
        return apply_all(reduce, [step, init, self.term(source, place.deeper)])

    def iteration(self, type: RiseType, place: Place) -> Term:
        times = self.choices.below(4)
        iterate = _use(self.choices.of(("iterate", "iterateSeq")), times, type, to=self.target())
        step = self.term(fun(type, type), place.repeated(times))
        return apply_all(iterate, [step, self.term(type, place.deeper)])

    def while_loop(self, type: RiseType, place: Place) -> Term:
        """A while over a counter and a value, so that it ends."""
        state = pair(index, type)
        inner = place.repeated(3)
        x, y = self.variable(state, "x"), self.variable(state, "y")
        limit = Literal(literal(self.choices.below(4), index))
        counted = Scalar("arith.cmpi", [Apply(_use("fst", index, type), x), limit], i1, "slt")
        condition = Scalar("arith.andi", [counted, self.term(i1, inner.inside(x))], i1)
        one = Literal(literal(1, index))
        count = Scalar("arith.addi", [Apply(_use("fst", index, type), y), one], index)
        step = apply_all(_use("tuple", index, type), [count, self.term(type, inner.inside(y))])
        start = [self.clamped_number(place), self.term(type, place.deeper)]
        result = apply_all(_use("while", state, to=self.target()), [
            Lambda(x.name, state, condition),
            Lambda(y.name, state, step),
            apply_all(_use("tuple", index, type), start),
        ])  # fmt: skip
        return Apply(_use("snd", index, type), result)

    def clamped_number(self, place: Place) -> Term:
        return Apply(_use("fromIdx", 4), self.term(idx(4), place.deeper))

    def at(self, type: RiseType, place: Place) -> Term:
        source = self.source(
            place,
            lambda t: isinstance(t, ArrayType) and length_of(t) > 0 and element_of(t) == type,
            lambda: array(max(1, self.types.length(place.room // max(volume(type), 1))), type),
        )
        n = length_of(source)
        arguments = [self.term(t, place.deeper) for t in (idx(n), source)]
        return apply_all(_use("at", n, type), arguments)

    def to_memory(self, type: RiseType, place: Place) -> Term:
        space = self.choices.of(("heap", "stack", "register"))
        return Apply(_use("toMem", space, type), self.term(type, place.deeper))

    def target(self) -> str | None:
        return self.choices.weighted([(8, None), (1, "affine"), (1, "scf")])

    # Functions

    def function(self, type: FunType, place: Place) -> Term:
        options: list[tuple[int, Callable[[FunType, Place], Term]]] = [(6, self.abstraction)]
        if any(variable.type == type for variable in place.scope):
            options.append((4, self.function_variable))
        if place.depth > 0 and self.budget > 0:
            options += [(1, self.partial), (1, self.let_function)]
            if self.matching(type):
                options.append((4, self.pattern_function))
        return self.choices.weighted(options)(type, place)

    def abstraction(self, type: FunType, place: Place) -> Term:
        x = self.variable(type.input, "f" if isinstance(type.input, FunType) else "x")
        body = self.term(type.output, place.inside(x))
        return Lambda(x.name, type.input, self.using(x, body, place))

    def function_variable(self, type: FunType, place: Place) -> Term:
        return self.choices.of([variable for variable in place.scope if variable.type == type])

    def partial(self, type: FunType, place: Place) -> Term:
        """A lambda of more parameters with its first argument."""
        self.budget -= 1
        x = self.parameter(type.input, place)
        function = Lambda(x.name, x.type, self.function(type, place.inside(x)))
        return Apply(function, self.term(x.type, place.deeper))

    def let_function(self, type: FunType, place: Place) -> Term:
        """A function that shares a value between its calls."""
        self.budget -= 1
        value_type = self.types.data(min(place.room, 20))
        x = self.variable(value_type, "x")
        function = Lambda(x.name, value_type, self.function(type, place.inside(x)))
        value = self.term(value_type, place.deeper)
        return apply_all(_use("let", value_type, type), [value, function])

    def pattern_function(self, type: FunType, place: Place) -> Term:
        """A pattern that lacks its last argument."""
        self.budget -= 1
        make = self.choices.of(self.matching(type))
        return make(place)

    def matching(self, type: FunType) -> list[Callable[[Place], Term]]:
        source, target = type.input, type.output
        found: list[Callable[[Place], Term]] = []
        if isinstance(source, TupleType):
            parts = components(source)
            if target in parts:
                name = "fst" if parts[0] == target else "snd"
                found.append(lambda place: _use(name, *parts))
        if isinstance(source, FunType) or isinstance(target, FunType):
            return found
        if isinstance(source, IdxType) and target == index:
            found.append(lambda place: _use("fromIdx", source.bound.constant))
        if _is_integer(source) and isinstance(target, IdxType) and target != idx(0):
            found.append(lambda place: _use("clampIdx", target.bound.constant, source))
        if isinstance(source, ArrayType) and isinstance(target, ArrayType):
            if source.length == target.length:
                a, b, n = element_of(source), element_of(target), length_of(source)
                found.append(lambda place: Apply(
                    self.map_pattern(n, a, b), self.term(fun(a, b), place.repeated(n))
                ))  # fmt: skip
            found += self.matching_views(source, target)
        if isinstance(source, ArrayType):
            a, n = element_of(source), length_of(source)
            found.append(lambda place: apply_all(
                _use("reduce", n, a, target),
                [self.term(fun(a, target, target), place.repeated(n)), self.term(target, place)],
            ))  # fmt: skip
        return found

    def matching_views(self, source: ArrayType, target: ArrayType) -> list[Callable[[Place], Term]]:
        found: list[Callable[[Place], Term]] = []
        total, length, element = length_of(source), length_of(target), element_of(source)
        found.append(lambda place: _use("reverse", total, element))
        if total > length:
            found.append(lambda place: _use("take", length, total - length, element))
            found.append(lambda place: _use("drop", total - length, length, element))
        if is_matrix(source):
            inner = element_of(source)
            n, m, t = length_of(source), length_of(inner), element_of(inner)
            found += [lambda place: _use("transpose", n, m, t), lambda place: _use("join", n, m, t)]
        if is_matrix(target):
            inner = element_of(target)
            count, chunk, part = length_of(target), length_of(inner), element_of(inner)
            if chunk >= 1:
                found.append(lambda place: _use("split", chunk, count, part))
        wanted = fun(source, target)
        place = Place((), 0, 0)
        return [make for make in found if make(place).type == wanted]

    # Using what is there

    def using(self, x: Free, body: Term, place: Place) -> Term:
        """The body, changed so that it depends on the variable, if it does not yet."""
        if not (_is_data(x.type) and _is_data(body.type)) or self.choices.one_in(6):
            return body
        if _occurs(x.name, body) or volume(x.type) * volume(body.type) > place.room:
            return body
        return self.mixed(body, x)

    def mixed(self, body: Term, x: Term) -> Term:
        """The body with some of its scalars combined with `x`."""
        if isinstance(body.type, ScalarType):
            return self.scalars.binary(body.type, [body, self.digest(x, body.type)])
        if isinstance(body.type, IdxType):
            if body.type == idx(0):
                return body
            number = Apply(_use("fromIdx", body.type.bound.constant), body)
            return self.clamp(self.mixed(number, x), body.type)
        y = self.variable(body.type, "y")
        if isinstance(body.type, ArrayType):
            n, e = length_of(body.type), self.variable(element_of(body.type), "e")
            function = Lambda(e.name, e.type, self.mixed(e, x))
            return apply_all(self.map_pattern(n, e.type, e.type), [function, body])
        parts = components(body.type)
        values: list[Term] = [Apply(_use(name, *parts), y) for name in ("fst", "snd")]
        side = self.choices.below(2)
        values[side] = self.mixed(values[side], x)
        result = apply_all(_use("tuple", *parts), values)
        return apply_all(_use("let", y.type, y.type), [body, Lambda(y.name, y.type, result)])

    def digest(self, x: Term, type: ScalarType) -> Term:
        """A scalar that depends on `x`."""
        if isinstance(x.type, ScalarType):
            return self.scalars.converted(x, type)
        if isinstance(x.type, TupleType):
            name = self.choices.of(("fst", "snd"))
            return self.digest(Apply(_use(name, *components(x.type)), x), type)
        if isinstance(x.type, IdxType):
            return self.digest(Apply(_use("fromIdx", x.type.bound.constant), x), type)
        e, a = self.variable(element_of(x.type), "e"), self.variable(type, "a")
        step = self.scalars.binary(type, [self.digest(e, type), a])
        function = Lambda(e.name, e.type, Lambda(a.name, type, step))
        reduce = _use("reduce", length_of(x.type), e.type, type, to=self.target())
        return apply_all(reduce, [function, self.scalars.literal(type), x])

    # Scalars and pairs

    def operation(self, type: RiseType, place: Place) -> Term:
        assert isinstance(type, ScalarType)
        return self.scalars.operation(type, lambda wanted: self.term(wanted, place.deeper))

    def tuple(self, type: RiseType, place: Place) -> Term:
        parts = components(type)
        return apply_all(_use("tuple", *parts), [self.term(t, place.deeper) for t in parts])

    def unzip(self, type: RiseType, place: Place) -> Term:
        first, second = components(type)
        a, b, n = element_of(first), element_of(second), length_of(first)
        return Apply(_use("unzip", n, a, b), self.term(array(n, pair(a, b)), place.deeper))

    # Arrays

    def map_pattern(self, n: int, source: RiseType, target: RiseType) -> Pattern:
        name = self.choices.weighted(
            [(10, "map"), (4, "mapSeq"), (4, "mapPar"), (2, "mapSeqUnroll")]
        )
        return _use(name, n, source, target, to=self.target())

    def map(self, type: RiseType, place: Place) -> Term:
        n, target = length_of(type), element_of(type)
        inner = place.repeated(n)
        source = self.source(
            place,
            lambda t: isinstance(t, ArrayType) and length_of(t) == n,
            lambda: array(n, self.element(target, inner)),
        )
        element = element_of(source)
        function = self.term(fun(element, target), inner)
        return apply_all(
            self.map_pattern(n, element, target), [function, self.term(source, place.deeper)]
        )

    def element(self, target: RiseType, place: Place) -> RiseType:
        return self.choices.weighted(
            [(2, lambda: target), (3, lambda: self.types.data(min(place.room, 16), 2))]
        )()

    def zip(self, type: RiseType, place: Place) -> Term:
        n, (first, second) = length_of(type), components(element_of(type))
        arguments = [self.term(array(n, t), place.deeper) for t in (first, second)]
        return apply_all(_use("zip", n, first, second), arguments)

    def unzipped(self, type: RiseType, place: Place) -> Term:
        """One side of an unzip."""
        n, wanted = length_of(type), element_of(type)
        other = self.types.data(min(place.room // max(n, 1), 6), 1)
        name, parts = self.choices.of((("fst", (wanted, other)), ("snd", (other, wanted))))
        pairs = self.term(array(n, pair(*parts)), place.deeper)
        arrays = [array(n, part) for part in parts]
        return Apply(_use(name, *arrays), Apply(_use("unzip", n, *parts), pairs))

    def split(self, type: RiseType, place: Place) -> Term:
        n, inner = length_of(type), element_of(type)
        m, t = length_of(inner), element_of(inner)
        if m == 0:
            return self.leaf(type, place)
        return Apply(_use("split", m, n, t), self.term(array(n * m, t), place.deeper))

    def join(self, type: RiseType, place: Place) -> Term:
        length, t = length_of(type), element_of(type)
        if rank(type) == MAXIMUM_RANK:
            return self.leaf(type, place)
        if length == 0:
            n, m = self.choices.of(((0, 2), (2, 0), (0, 0), (3, 0)))
        else:
            n = self.choices.of([k for k in range(1, length + 1) if length % k == 0])
            m = length // n
        return Apply(_use("join", n, m, t), self.term(array(n, array(m, t)), place.deeper))

    def transpose(self, type: RiseType, place: Place) -> Term:
        m, inner = length_of(type), element_of(type)
        n, t = length_of(inner), element_of(inner)
        source = array(n, array(m, t))
        return Apply(_use("transpose", n, m, t), self.term(source, place.deeper))

    def slide(self, type: RiseType, place: Place) -> Term:
        n, inner = length_of(type), element_of(type)
        size, t = length_of(inner), element_of(inner)
        steps = [step for step in (1, 2, 3, 5) if step * n + size - step >= 0]
        if size == 0 or not steps:
            return self.leaf(type, place)
        step = self.choices.of(steps)
        source = array(step * n + size - step, t)
        return Apply(_use("slide", n, size, step, t), self.term(source, place.deeper))

    def pad(self, type: RiseType, place: Place) -> Term:
        length, t = length_of(type), element_of(type)
        if length == 0:
            return self.leaf(type, place)
        left = self.choices.below(min(length, 4))
        right = self.choices.below(min(length - left, 4))
        n = length - left - right
        return Apply(_use("pad", n, left, right, t), self.term(array(n, t), place.deeper))

    def rearranged(self, type: RiseType, place: Place) -> Term:
        """A view that takes elements away, adds some, or turns them round."""
        length, t = length_of(type), element_of(type)
        more = self.choices.below(4)
        left = self.choices.below(min(length, 4) + 1)
        right = self.choices.below(min(length - left, 4) + 1)
        n = length - left - right
        options: list[tuple[Pattern, list[RiseType]]] = [
            (_use("reverse", length, t), [type]),
            (_use("take", length, more, t), [array(length + more, t)]),
            (_use("drop", more, length, t), [array(length + more, t)]),
            (_use("concat", left, length - left, t), [array(left, t), array(length - left, t)]),
            (_use("padConst", n, left, right, t), [t, array(n, t)]),
        ]
        if max(left, right) <= n:
            options.append((_use("padWrap", n, left, right, t), [array(n, t)]))
        if max(left, right) < n:
            options.append((_use("padReflect", n, left, right, t), [array(n, t)]))
        pattern, sources = self.choices.of(options)
        return apply_all(pattern, [self.term(source, place.deeper) for source in sources])

    def windows(self, type: RiseType, place: Place) -> Term:
        """Windows of a mapped array."""
        n, inner = length_of(type), element_of(type)
        size, t = length_of(inner), element_of(inner)
        if size == 0:
            return self.leaf(type, place)
        length = n + size - 1
        pattern, s = _use("rotateValues", size, n, t), t
        if self.choices.one_in(2):
            s = self.element(t, place.repeated(length))
            pattern = _use("circularBuffer", size + self.choices.below(3), size, n, s, t)
        function = self.term(fun(s, t), place.repeated(length))
        return apply_all(pattern, [function, self.term(array(length, s), place.deeper)])

    def scan(self, type: RiseType, place: Place) -> Term:
        n, t = length_of(type), element_of(type)
        source = self.source(
            place,
            lambda s: isinstance(s, ArrayType) and length_of(s) == n,
            lambda: array(n, self.element(t, place.repeated(n))),
        )
        element = element_of(source)
        scan = _use(self.choices.of(("scan", "scanSeq")), n, element, t, to=self.target())
        step = self.term(fun(element, t, t), place.repeated(n))
        arguments = [self.term(wanted, place.deeper) for wanted in (t, source)]
        return apply_all(scan, [step, *arguments])

    # Indices

    def integer(self) -> ScalarType:
        found = [type for type in self.types.palette if _is_integer(type)]
        return self.choices.of([*found, index, i32])

    def clamp(self, number: Term, type: IdxType) -> Term:
        assert type != idx(0)
        return Apply(_use("clampIdx", type.bound.constant, number.type), number)

    def clamped(self, type: RiseType, place: Place) -> Term:
        assert isinstance(type, IdxType)
        return self.clamp(self.term(self.integer(), place.deeper), type)

    def generate(self, type: RiseType, place: Place) -> Term:
        n, t = length_of(type), element_of(type)
        function = self.term(fun(idx(n), t), place.repeated(n))
        return Apply(_use("generate", n, t, to=self.target()), function)

    def indexed(self, type: RiseType, place: Place) -> Term:
        """Elements that are read or written at indices known only when the program runs."""
        length, t = length_of(type), element_of(type)
        if length == 0:
            return self.leaf(type, place)
        room = max(1, place.room // max(volume(t), 1))
        other = self.types.length(room)
        rest, part = self.choices.below(4), self.choices.below(length + 1)
        indices, values = array(other, idx(length)), array(other, t)
        n = max(1, other)
        options: list[tuple[Pattern, list[RiseType]]] = [
            (_use("gather", n, length, t), [array(length, idx(n)), array(n, t)]),
            (_use("reorder", length, t), [fun(idx(length), idx(length)), type]),
            (_use("sliceAt", length, rest, t), [idx(rest + 1), array(rest + length, t)]),
            (_use("updateAt", part, length - part, t),
             [idx(length - part + 1), array(part, t), type]),
            (_use("scatter", length, other, t), [indices, type, values]),
            (_use("scatterWith", length, other, t), [fun(t, t, t), indices, type, values]),
        ]  # fmt: skip
        pattern, sources = self.choices.of(options)
        arguments: list[Term] = []
        for source in sources:
            inner = place.repeated(n) if isinstance(source, FunType) else place.deeper
            arguments.append(self.term(source, inner))
        return apply_all(pattern, arguments)


def _occurs(name: str, term: Term) -> bool:
    if isinstance(term, Free):
        return term.name == name
    return any(_occurs(name, child) for child in term.children)


def _is_data(type: RiseType) -> bool:
    return not isinstance(type, FunType)


def _is_integer(type: RiseType) -> bool:
    return isinstance(type, ScalarType) and not is_float(type)
