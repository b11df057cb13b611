"""Extraction of the polyhedral model from C statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from riselang.frontends.c.model import accesses
from riselang.frontends.c.model.affine_arithmetic import NotAffine
from riselang.frontends.c.model.isl_text import Names, isl
from riselang.frontends.c.model.iteration_sets import loop_nest, refuse_changed, value_after
from riselang.frontends.c.model.quasi_affine import AffineReader
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.model.scop_parameters import Nest, Parameters
from riselang.frontends.c.parse.refusals import Refusal
from riselang.frontends.c.parse.regions import Region
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Block,
    Convert,
    Declare,
    Evaluate,
    Expression,
    For,
    Foreign,
    If,
    Literal,
    Return,
    Statement,
    Unary,
    Variable,
    depth,
    expressions_of,
    inside,
    statements_of,
)
from riselang.frontends.c.parse.variable_uses import (
    all_of,
    assignments_in,
    calls_in,
    needed_after,
    used_in,
    written_in,
)
from riselang.frontends.c.schedule.schedule_tree import Leaf, Loop, Steps, Tree, schedule_of
from riselang.support.errors import SourceLocation

MOST_STATEMENTS = 400
"""Regions with more statements are rejected: isl's algorithms take superlinear time."""
MOST_LOOPS = 12
MOST_NESTED = 200
"""The limit on the nesting depth of operations and of statements."""


@dataclass
class _Draft:
    """A statement before all parameters of the region are known."""

    name: str
    nest: Nest
    body: Statement
    drafted: Mapping[Access, accesses.Drafted]


@dataclass
class Extraction:
    """The state of extracting the model of one region."""

    region: Region
    names: Names = field(default_factory=Names)

    def __post_init__(self) -> None:
        self.parameters = Parameters(self.names)
        self.fixed: dict[Variable, Expression] = {}
        self.drafts: list[_Draft] = []
        self.declared: list[Variable] = []
        self.loop_places: dict[str, SourceLocation] = {}
        self.result: Expression | None = None
        self.written = frozenset(written_in(self.region.statements))
        self._counts = assignments_in(self.region.statements)
        self._assigned = frozenset(
            access.variable
            for statement in self.region.statements
            for access in accesses.targets(statement)
        )
        self._kept = needed_after(self.region)

    def scop(self) -> Scop:
        """Build the model; raises an error if something cannot be modeled."""
        if self.region.is_whole and self.region.function.refused is not None:
            raise Refusal(*self.region.function.refused)
        self._refuse_depth()
        self._refuse_escapes()
        tree = self._sequence(self.region.statements, Nest())
        views = accesses.views([draft.drafted for draft in self.drafts], self._prove)
        statements = tuple(self._finished(draft, views) for draft in self.drafts)
        inputs, local = self._variables()
        parameters = tuple(self.parameters)
        return Scop(
            self.region.name, self.region.place, self.region.function, self.region.is_whole,
            inputs, local, views, parameters, statements,
            schedule_of(tree, {each.name: each for each in statements}, self.parameters.prefix),
            self.fixed, self.written, self.names, self.loop_places, self.result,
        )  # fmt: skip

    def reader(self, nest: Nest) -> AffineReader:
        return AffineReader(nest, self.parameters, self._is_invariant, self.fixed)

    def _prove(self, nest: Nest, condition: str) -> bool:
        return self.reader(nest).never(f"not ({condition})")

    def _is_invariant(self, variable: Variable) -> bool:
        return not variable.is_array and variable not in self.written

    # Statements

    def _sequence(self, statements: Sequence[Statement], nest: Nest) -> Tree:
        trees = [self._statement(statement, nest) for statement in statements]
        return Steps(tuple(tree for tree in trees if tree is not None))

    def _statement(self, statement: Statement, nest: Nest) -> Tree | None:
        match statement:
            case Block():
                return self._sequence(statement.statements, nest)
            case Declare():
                return self._declaration(statement, nest)
            case Assign():
                return self._leaf(statement, nest)
            case If():
                return self._if(statement, nest)
            case For():
                return self._for(statement, nest)
            case Return():
                return self._return(statement)
            case Foreign():
                raise Refusal(statement.place, statement.reason, statement.help)
            case Evaluate():
                raise Refusal(
                    statement.place,
                    f"{statement.call.function} is neither defined in this file nor a function of "
                    "the math library, so its effects are not known",
                    "define it in the file, or move the call out of the region",
                )
            case _:
                raise Refusal(statement.place, "this statement cannot be modeled")

    def _return(self, statement: Return) -> None:
        last = self.region.statements[-1] if self.region.statements else None
        if not self.region.is_whole or last is not statement:
            raise Refusal(
                statement.place, "a return before the end is not static control flow",
                "put the rest of the function into an if",
            )  # fmt: skip
        self.result = statement.value
        for part in inside(statement.value) if statement.value is not None else ():
            accesses.check_call(part)
            if isinstance(part, Access) and part.indices:
                raise Refusal(
                    part.place, "an element of an array is returned",
                    "assign it to a variable first, and return that",
                )  # fmt: skip

    def _declaration(self, statement: Declare, nest: Nest) -> Tree | None:
        variable = statement.variable
        self.declared.append(variable)
        if statement.value is None:
            return None
        if self._counts.get(variable) == 1 and self._is_simple(statement.value, nest):
            self.fixed[variable] = statement.value
            return None
        target = Access(statement.place, variable.type, variable, ())
        return self._leaf(Assign(statement.place, target, statement.value), nest)

    def _is_simple(self, value: Expression, nest: Nest) -> bool:
        """Whether a value can be recomputed wherever it is used."""
        return value.type.is_integer and all(
            each.type.is_integer and self._is_simple_part(each, nest) for each in inside(value)
        )

    def _is_simple_part(self, part: Expression, nest: Nest) -> bool:
        match part:
            case Access(variable=variable, indices=()):
                is_loop = nest.iterator(variable) is not None
                return is_loop or variable in self.fixed or self._is_invariant(variable)
            case Binary(operator="/" | "%"):
                return isinstance(part.right, Literal) and part.right.value not in (0, -1)
            case Literal() | Unary() | Convert() | Binary():
                return True
            case _:
                return False

    def _if(self, statement: If, nest: Nest) -> Tree | None:
        reader = self.reader(nest)
        try:
            condition = reader.condition(statement.condition)
        except NotAffine:
            return self._opaque(statement, nest)
        branches = [(condition, statement.then)]
        if statement.otherwise is not None:
            branches.append((f"not ({condition})", statement.otherwise))
        found = [
            self._statement(branch, nest.under(holds))
            for holds, branch in branches
            if not reader.never(holds)
        ]
        return Steps(tuple(tree for tree in found if tree is not None))

    def _for(self, loop: For, nest: Nest) -> Tree | None:
        if len(nest.iterators) >= MOST_LOOPS:
            raise Refusal(loop.place, f"loops nest deeper than the limit of {MOST_LOOPS}")
        refuse_changed(loop, nest)
        iterator = self.names.fresh(loop.variable.hint)
        self.loop_places[iterator] = loop.place
        try:
            inner = loop_nest(loop, iterator, self.reader(nest))
        except NotAffine as reason:
            return self._opaque_loop(loop, nest, reason)
        is_run = not self.reader(inner).never("0 = 0")
        body = self._statement(loop.body, inner) if is_run else None
        tree: Tree = Loop(iterator, 1 if loop.step > 0 else -1, body or Steps(()))
        if loop.variable not in self._kept:
            return tree
        after = self._leaf(value_after(loop), nest)
        return Steps((tree, after))

    def _opaque_loop(self, loop: For, nest: Nest, reason: NotAffine) -> Tree:
        accesses.check_opaque_loop(loop, reason, self.written)
        if loop.variable in self._kept:
            raise Refusal(
                loop.place, f"{loop.variable.name} is used after this loop, whose end is not known",
                "use another variable after the loop",
            )  # fmt: skip
        return self._opaque(loop, nest)

    def _opaque(self, statement: Statement, nest: Nest) -> Tree:
        """Model a data-dependent piece of the program as one statement."""
        for inner in statements_of(statement):
            if isinstance(inner, Foreign):
                raise Refusal(inner.place, inner.reason, inner.help)
            if isinstance(inner, Evaluate | Return):
                self._statement(inner, nest)
                raise Refusal(inner.place, "this is not supported in a data-dependent if")
            if isinstance(inner, For):
                refuse_changed(inner, nest)
                if inner is not statement:
                    accesses.check_opaque_loop(inner, None, self.written)
            if isinstance(inner, Declare):
                self.declared.append(inner.variable)
        return self._leaf(statement, nest)

    def _leaf(self, statement: Statement, nest: Nest) -> Leaf:
        if len(self.drafts) >= MOST_STATEMENTS:
            raise Refusal(
                statement.place, f"the region has more than {MOST_STATEMENTS} statements",
                "split it into several regions",
            )  # fmt: skip
        for each in calls_in(statement):
            accesses.check_call(each)
        drafted = accesses.drafted(statement, self.reader(nest), self._is_memory)
        name = f"S{len(self.drafts)}"
        self.drafts.append(_Draft(name, nest, statement, drafted))
        return Leaf(name)

    def _is_memory(self, variable: Variable) -> bool:
        """Whether a variable is stored in memory, rather than in a register or as a loop
        variable."""
        return variable.is_array or (variable in self.written and variable not in self.fixed)

    # Assembling the model

    def _finished(self, draft: _Draft, views: Mapping[Variable, accesses.View]) -> ModelStatement:
        prefix = self.parameters.prefix
        tuple_ = f"{draft.name}[{', '.join(draft.nest.names)}]"
        domain = isl().Set(f"{prefix}{{ {tuple_} : {draft.nest.condition} }}")
        subscripts = {
            access: accesses.reached_part(
                accesses.subscript(
                    access, found, views.get(access.variable), prefix, tuple_,
                    draft.nest.condition, self.names,
                ),
                found, prefix, tuple_,
            )
            for access, found in draft.drafted.items()
        }  # fmt: skip
        writes = frozenset(accesses.targets(draft.body))
        reads = frozenset(accesses.reads(draft.body)) & subscripts.keys()
        return ModelStatement(
            draft.name, draft.body.place, draft.nest.iterators, domain, draft.body, subscripts,
            writes, reads, frozenset(accesses.certain(draft.body)),
        )  # fmt: skip

    def _variables(self) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
        """Return the variables that come from outside, and those that are local to the region."""
        function = self.region.function
        local = {*self.declared, *self.region.outer_locals}
        loop_variables = {
            each.variable for each in all_of(self.region.statements) if isinstance(each, For)
        }
        used = dict.fromkeys(used_in(self.region.statements, self.result))
        counted = loop_variables - self._kept - self._assigned
        inside_ = [
            v for v in used
            if v in local and v not in counted and self._is_memory(v)
        ]  # fmt: skip
        given = tuple(v for v in function.parameters if self.region.is_whole or v in used)
        others = sorted(
            (v for v in used if v not in local and v not in function.parameters
             and v not in counted),
            key=lambda v: (v.place.line, v.place.column),
        )  # fmt: skip
        extents = {
            access.variable
            for v in (*given, *others, *inside_)
            for extent in v.extents
            if extent is not None
            for access in inside(extent)
            if isinstance(access, Access)
        }
        missing = [v for v in extents if v not in given and v not in others and v not in local]
        return (*given, *others, *missing), tuple(inside_)

    def _refuse_depth(self) -> None:
        for statement in all_of(self.region.statements):
            for expression in expressions_of(statement):
                if depth(expression) > MOST_NESTED:
                    raise Refusal(
                        expression.place,
                        f"operations nest deeper than the limit of {MOST_NESTED}",
                        "compute parts of the expression in separate statements",
                    )

    def _refuse_escapes(self) -> None:
        """Check that the lengths of arrays do not change while the region runs."""
        for variable in dict.fromkeys(used_in(self.region.statements, None)):
            for extent in variable.extents:
                for part in inside(extent) if extent is not None else ():
                    if isinstance(part, Access) and (part.indices or part.variable in self.written):
                        raise Refusal(
                            variable.place,
                            f"a length of {variable.name} is computed from something that changes",
                            "declare the array with lengths that do not change",
                        )


def extract(region: Region) -> Scop:
    """Extract the model of a region; raises an error if something cannot be modeled."""
    try:
        return Extraction(region).scop()
    except RecursionError:
        raise Refusal(
            region.place, "expressions nest too deeply", "use variables for parts"
        ) from None
