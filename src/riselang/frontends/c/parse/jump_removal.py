"""Removal of break, continue, switch and early returns: each statement then has one exit.

`if (c) continue; rest` becomes `if (c) {} else { rest }`. If a jump is deeper in nested statements,
it sets a flag, and what it skips is guarded by that flag. A loop that a jump leaves tests the flag.
A switch becomes nested ifs, in which a case also has the statements of the next cases, up to the
first break.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from riselang.frontends.c.parse.c_types import INT
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Block,
    Declare,
    Expression,
    For,
    Function,
    If,
    Jump,
    Literal,
    Return,
    Statement,
    Switch,
    Variable,
    While,
    child_statements,
    walk_expression,
    walk_statements,
)
from riselang.frontends.c.parse.typed_nodes import convert_to
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.parse.while_loops import access_to, both, count_as_while, none_of
from riselang.support.errors import SourceLocation

MAX_CASE_STATEMENTS = 1000
"""The limit on statements of a switch, in which cases without a break repeat those of the next."""


def remove_returns(function: Function) -> tuple[Statement, ...]:
    """Return the statements of a function without jumps; a return is the last of them."""
    statements = function.body.statements
    returns = [each for each in walk_statements(statements) if isinstance(each, Return)]
    if all(each is statements[-1] and not _reads_element(each) for each in returns):
        return remove_jumps(statements)
    result = None
    if function.result is not None:
        result = Variable("result", function.result, function.location)
    remover = _JumpRemover(function.location, result, is_function=True)
    body = remover.remove_from(statements)
    end = returns[-1].location
    value = None if result is None else access_to(result, end)
    declared = [] if result is None else [Declare(end, result, None)]
    return (*declared, *body, Return(end, value))


def remove_jumps(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return the statements of a region without jumps, except for a return at its end."""
    if not any(isinstance(each, Jump | Switch) for each in walk_statements(statements)):
        return tuple(statements)
    *others, last = statements
    remover = _JumpRemover(last.location)
    if isinstance(last, Return):
        return (*remover.remove_from(others), last)
    return tuple(remover.remove_from(statements))


def _reads_element(statement: Return) -> bool:
    return statement.value is not None and any(
        isinstance(part, Access) and part.indices for part in walk_expression(statement.value)
    )


def _leaving_jumps(statement: Statement) -> frozenset[str]:
    """Return the kinds of jumps that leave a statement."""
    match statement:
        case Jump():
            return frozenset([statement.kind])
        case Return():
            return frozenset(["return"])
        case _:
            inner = (_leaving_jumps(each) for each in child_statements(statement))
            jumps = frozenset[str]().union(*inner)
    if isinstance(statement, For | While):
        return jumps - {"break", "continue"}
    return jumps - {statement.exit} if isinstance(statement, Switch) else jumps


def _always_jumps(statement: Statement) -> bool:
    """Whether what follows a statement never runs after it."""
    match statement:
        case Jump() | Return():
            return True
        case Block():
            return any(map(_always_jumps, statement.statements))
        case If(then=then, otherwise=Statement() as otherwise):
            return _always_jumps(then) and _always_jumps(otherwise)
        case _:
            return False


@dataclass
class _JumpRemover:
    """Removes jumps from the statements of a function, or of a region in it."""

    location: SourceLocation
    result: Variable | None = None
    is_function: bool = False
    _flags: dict[str, list[Variable]] = field(default_factory=dict[str, list[Variable]])
    """The flags of enclosing loops and switches, innermost last."""
    _tested: set[Variable] = field(default_factory=set[Variable])
    _created: set[Variable] = field(default_factory=set[Variable])
    _returned: Variable | None = None

    def remove_from(self, statements: Sequence[Statement]) -> list[Statement]:
        found = self._remove_from(statements)
        if self._returned is not None:
            found.insert(0, self._reset(self._returned))
        return [each for statement in found for each in self._without_idle_flags(statement)]

    def _remove_from(self, statements: Sequence[Statement]) -> list[Statement]:
        done: list[Statement] = []
        for position, statement in enumerate(statements):
            jumps, rest = _leaving_jumps(statement), statements[position + 1 :]
            if not jumps:
                done += self._remove_inside(statement)
            else:
                return [*done, *self._remove_with_rest(statement, jumps, rest)]
        return done

    def _remove_with_rest(
        self, statement: Statement, jumps: frozenset[str], rest: Sequence[Statement]
    ) -> list[Statement]:
        """Remove the jumps of a statement that leave it, with the statements that they skip."""
        match statement:
            case Jump() | Return():
                return self._set_flag(statement)
            case Block():
                return self._remove_from([*statement.statements, *rest])
            case If(then=then, otherwise=otherwise):
                others = [] if otherwise is None else [otherwise]
                if _always_jumps(then):
                    return [self._make_if(statement, [then], [*others, *rest])]
                if others and _always_jumps(others[0]):
                    return [self._make_if(statement, [then, *rest], others)]
                return [self._make_if(statement, [then], others), *self._guard(jumps, rest)]
            case _:
                return [*self._remove_inside(statement), *self._guard(jumps, rest)]

    def _make_if(
        self, statement: If, then: Sequence[Statement], otherwise: Sequence[Statement]
    ) -> If:
        location = statement.location
        other = self._remove_from(otherwise)
        return If(
            location, statement.condition, Block(location, tuple(self._remove_from(then))),
            Block(location, tuple(other)) if other else None,
        )  # fmt: skip

    def _guard(self, jumps: frozenset[str], rest: Sequence[Statement]) -> list[Statement]:
        """Return statements that run only if none of the jumps was taken."""
        if not rest:
            return []
        location = rest[0].location
        flags = [self._flag_of(kind, location) for kind in sorted(jumps)]
        self._tested.update(flags)
        body = Block(location, tuple(self._remove_from(rest)))
        return [If(location, none_of(location, flags), body, None)]

    def _flag_of(self, kind: str, location: SourceLocation) -> Variable:
        if kind == "return" and not self.is_function:
            raise UnsupportedConstruct(
                location, "a return before the end is not static control flow",
                "mark the entire function, or put the remainder of it into an if",
            )  # fmt: skip
        if kind == "return":
            if self._returned is None:
                self._returned = self._make_flag("returned")
            return self._returned
        if not self._flags.get(kind):
            raise UnsupportedConstruct(
                location, f"{kind} leaves a loop or switch that begins outside the region",
                "mark the entire loop",
            )  # fmt: skip
        return self._flags[kind][-1]

    def _set_flag(self, statement: Jump | Return) -> list[Statement]:
        location = statement.location
        kind = statement.kind if isinstance(statement, Jump) else "return"
        flag = access_to(self._flag_of(kind, location), location)
        assigned: list[Statement] = [Assign(location, flag, Literal(location, INT, 1))]
        if isinstance(statement, Return) and statement.value is not None:
            if self.result is None:
                raise UnsupportedConstruct(
                    location, "a return leaves the region", "mark the entire function"
                )
            value = convert_to(statement.value, self.result.type)
            assigned.insert(0, Assign(location, access_to(self.result, location), value))
        return assigned

    # Loops and switches

    def _remove_inside(self, statement: Statement) -> list[Statement]:
        """Remove the jumps inside a statement that do not skip anything after it."""
        match statement:
            case Block():
                return [replace(statement, statements=tuple(self._remove_from(
                    statement.statements)))]  # fmt: skip
            case If():
                others = [] if statement.otherwise is None else [statement.otherwise]
                return [self._make_if(statement, [statement.then], others)]
            case For() | While():
                return self._remove_from_loop(statement)
            case Switch():
                return self._remove_from_switch(statement)
            case _:
                return [statement]

    def _remove_from_loop(self, loop: For | While) -> list[Statement]:
        location, jumps = loop.location, _leaving_jumps(loop.body)
        broken, continued = self._make_flag("broken"), self._make_flag("continued")
        self._enter("break", broken)
        self._enter("continue", continued)
        body: list[Statement] = self._remove_from([loop.body])
        self._leave("break", "continue")
        if "continue" in jumps:
            body.insert(0, self._reset(continued))
        stops = [broken] if "break" in jumps else []
        stops += [self._flag_of(each, location) for each in sorted(_leaving_jumps(loop))]
        begin = [self._reset(broken)] if "break" in jumps else []
        body_block = Block(location, tuple(body))
        if not stops:
            return [replace(loop, body=body_block)]
        self._tested.update(stops)
        is_own = isinstance(loop, For) and loop.declares_variable
        if isinstance(loop, For):
            *start, loop_ = count_as_while(replace(loop, body=body_block)).statements
            assert isinstance(loop_, While)
            begin, loop = [*begin, *start], loop_
        # A variable of the loop itself is not read after it.
        stopped = _stop_if(replace(loop, body=body_block), stops, is_update_seen=not is_own)
        return [*begin, stopped]

    def _remove_from_switch(self, statement: Switch) -> list[Statement]:
        location = statement.location
        type = statement.value.type
        selector, broken = Variable("selector", type, location), self._make_flag("broken")
        self._enter(statement.exit, broken)
        branches = self._remove_from(_nest_cases(statement, access_to(selector, location)))
        self._leave(statement.exit)
        declared = Declare(location, selector, statement.value)
        return [declared, self._reset(broken), *branches]

    # Flags

    def _make_flag(self, name: str) -> Variable:
        flag = Variable(name, INT, self.location)
        self._created.add(flag)
        return flag

    def _reset(self, flag: Variable) -> Statement:
        return Declare(self.location, flag, Literal(self.location, INT, 0))

    def _enter(self, kind: str, flag: Variable) -> None:
        self._flags.setdefault(kind, []).append(flag)

    def _leave(self, *kinds: str) -> None:
        for kind in kinds:
            self._flags[kind].pop()

    def _without_idle_flags(self, statement: Statement) -> Iterator[Statement]:
        """Yield a statement without assignments to flags that nothing tests."""
        match statement:
            case Assign(target=Access(variable=variable)) | Declare(variable=variable) if (
                variable in self._created
            ):
                if variable in self._tested:
                    yield statement
            case Block():
                yield self._clean_block(statement)
            case If():
                otherwise = statement.otherwise
                yield replace(
                    statement,
                    then=self._clean(statement.then),
                    otherwise=None if otherwise is None else self._clean(otherwise),
                )
            case For():
                yield replace(statement, body=self._clean(statement.body))
            case While():
                yield replace(
                    statement,
                    prelude=self._clean_block(statement.prelude),
                    body=self._clean(statement.body),
                    update=self._clean_block(statement.update),
                )
            case _:
                yield statement

    def _clean_block(self, block: Block) -> Block:
        inner = [e for each in block.statements for e in self._without_idle_flags(each)]
        return replace(block, statements=tuple(inner))

    def _clean(self, statement: Statement) -> Statement:
        return self._clean_block(Block(statement.location, (statement,)))


def _stop_if(loop: While, stops: Sequence[Variable], *, is_update_seen: bool) -> While:
    """Return a loop that ends when one of the flags is set; what follows the body does not run."""
    location = loop.location
    runs = none_of(location, stops)

    def guard(block: Block) -> Block:
        if not block.statements:
            return block
        return Block(location, (If(location, runs, block, None),))

    return replace(
        loop,
        prelude=guard(loop.prelude),
        condition=both(runs, loop.condition),
        update=guard(loop.update) if is_update_seen else loop.update,
    )


def _nest_cases(switch: Switch, selector: Expression) -> list[Statement]:
    """Return the cases of a switch as nested ifs."""
    bodies = [_statements_from(switch, position) for position in range(len(switch.cases))]
    if sum(map(len, bodies)) > MAX_CASE_STATEMENTS:
        raise UnsupportedConstruct(switch.location, "too many cases of this switch have no break")
    chain: list[Statement] = []
    for case, body in zip(switch.cases, bodies, strict=True):
        if None in case.labels:
            chain = list(body)
    for case, body in reversed(list(zip(switch.cases, bodies, strict=True))):
        numbers = [label for label in case.labels if label is not None]
        if None in case.labels or not numbers:
            continue
        location = switch.location
        condition = _is_any(selector, numbers)
        otherwise = Block(location, tuple(chain)) if chain else None
        chain = [If(location, condition, Block(location, tuple(body)), otherwise)]
    return chain


def _is_any(selector: Expression, numbers: Sequence[int]) -> Expression:
    location = selector.location
    tests: list[Expression] = []
    for number in numbers:
        label = Literal(location, selector.type, selector.type.wrap(number))
        tests.append(Binary(location, INT, "==", selector, label))
    total = tests[0]
    for test in tests[1:]:
        total = Binary(location, INT, "||", total, test)
    return total


def _statements_from(switch: Switch, position: int) -> list[Statement]:
    """Return what runs from a case on, up to the first jump."""
    found: list[Statement] = []
    for case in switch.cases[position:]:
        found += case.statements
        if any(map(_always_jumps, case.statements)):
            break
    return found
