"""Extraction of the polyhedral model from C statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from riselang.frontends.c.model import accesses
from riselang.frontends.c.model.affine_arithmetic import NotAffine
from riselang.frontends.c.model.isl_text import Names, isl, join_conditions
from riselang.frontends.c.model.iteration_sets import (
    assign_final_value,
    check_loop_variable,
    loop_nest,
)
from riselang.frontends.c.model.quasi_affine import AffineReader
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.model.scop_parameters import LoopNest, Parameters
from riselang.frontends.c.parse.c_types import FUNCTION
from riselang.frontends.c.parse.regions import Region
from riselang.frontends.c.parse.substitution import substitute_expression, substitute_statement
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Assumption,
    Binary,
    Block,
    Convert,
    Declare,
    Evaluate,
    Expression,
    For,
    If,
    Literal,
    Return,
    Statement,
    Unary,
    UnsupportedStatement,
    Variable,
    While,
    direct_expressions,
    expression_depth,
    walk_expression,
    walk_statement,
    walk_statements,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.parse.variable_uses import (
    count_assignments,
    find_calls,
    loop_variables_live_after,
    used_variables,
    written_variables,
)
from riselang.frontends.c.parse.while_loops import count_as_while
from riselang.frontends.c.schedule.schedule_tree import (
    LeafNode,
    LoopNode,
    SequenceNode,
    SourceTree,
    build_source_schedule,
)
from riselang.support.errors import SourceLocation

MAX_STATEMENTS = 400
"""Regions with more statements are rejected: isl's algorithms take superlinear time."""
MAX_LOOP_DEPTH = 12
MAX_NESTING_DEPTH = 200
"""The limit on the nesting depth of operations and of statements."""


@dataclass
class _StatementDraft:
    """A statement before all parameters of the region are known."""

    name: str
    nest: LoopNest
    body: Statement
    accesses_by_node: Mapping[Access, accesses.RawAccess]


@dataclass
class Extraction:
    """The state of extracting the model of one region."""

    region: Region
    names: Names = field(default_factory=Names)

    def __post_init__(self) -> None:
        self.parameters = Parameters(self.names)
        self.fixed: dict[Variable, Expression] = {}
        self._fixed_in_loops: dict[Variable, Expression] = {}
        """Those that are computed from loop variables, and thus differ between iterations."""
        self.drafts: list[_StatementDraft] = []
        self.declared: list[Variable] = []
        self.loop_locations: dict[str, SourceLocation] = {}
        self.result: Expression | None = None
        self.written = frozenset(written_variables(self.region.statements))
        self._counts = count_assignments(self.region.statements)
        self._assigned = frozenset(
            access.variable
            for statement in self.region.statements
            for access in accesses.write_accesses(statement)
        )
        self._kept = loop_variables_live_after(self.region)

    def build_scop(self) -> Scop:
        """Build the model; raises an error if something cannot be modeled."""
        if self.region.is_whole and self.region.function.unsupported is not None:
            raise UnsupportedConstruct(*self.region.function.unsupported)
        self._check_function_pointers()
        self._check_depth()
        self._check_extents()
        self._check_pointers()
        context = self._read_assumptions()
        tree = self._extract_sequence(self.region.statements, LoopNest())
        views = accesses.delinearize_arrays(
            [draft.accesses_by_node for draft in self.drafts], self._prove
        )
        statements = tuple(self._finish_statement(draft, views) for draft in self.drafts)
        inputs, local = self._classify_variables()
        parameters = tuple(self.parameters)
        return Scop(
            self.region.name, self.region.location, self.region.function, self.region.is_whole,
            inputs, local, views, parameters, statements,
            build_source_schedule(
                tree, {each.name: each for each in statements}, self.parameters.prefix
            ),
            self.fixed, self.written, self.names, self.loop_locations, self.result,
            context=context,
        )  # fmt: skip

    def _read_assumptions(self) -> str:
        """Return the conditions that the user promises, on variables that never change."""
        found: list[str] = []
        for each in self.region.function.assumptions:
            try:
                if self._knows_variables_of(each):
                    found.append(self.make_reader(LoopNest()).read_condition(each.condition))
            except NotAffine as error:
                if each.is_pragma:
                    raise UnsupportedConstruct(
                        each.location, f"this condition cannot be assumed: {error.reason}",
                        "compare sums of integer parameters",
                    ) from None  # fmt: skip
        self.parameters.context = join_conditions(found) if found else ""
        return self.parameters.context

    def _knows_variables_of(self, assumption: Assumption) -> bool:
        """Whether the region knows the values of the variables in a condition."""
        function = self.region.function
        variables = {
            part.variable
            for part in walk_expression(assumption.condition)
            if isinstance(part, Access)
        }
        changed = set(written_variables(function.body.statements))
        if not variables <= set(function.parameters) - changed:
            raise NotAffine(
                assumption.location, "it mentions more than parameters that never change"
            )
        return self.region.is_whole or variables <= {*used_variables(self.region.statements, None)}

    def make_reader(self, nest: LoopNest) -> AffineReader:
        return AffineReader(nest, self.parameters, self._is_invariant, self.fixed)

    def _prove(self, nest: LoopNest, condition: str) -> bool:
        return self.make_reader(nest).is_impossible(f"not ({condition})")

    def _is_invariant(self, variable: Variable) -> bool:
        return not variable.is_array and variable not in self.written

    # Statements

    def _extract_sequence(self, statements: Sequence[Statement], nest: LoopNest) -> SourceTree:
        trees = [self._extract_statement(statement, nest) for statement in statements]
        return SequenceNode(tuple(tree for tree in trees if tree is not None))

    def _extract_statement(self, statement: Statement, nest: LoopNest) -> SourceTree | None:
        match statement:
            case Block():
                return self._extract_sequence(statement.statements, nest)
            case Declare():
                return self._extract_declaration(statement, nest)
            case Assign():
                return self._add_statement(
                    substitute_statement(statement, self._fixed_in_loops), nest
                )
            case If():
                return self._extract_if(statement, nest)
            case For():
                return self._extract_for(statement, nest)
            case While():
                return self._extract_opaque_statement(statement, nest)
            case Return():
                return self._extract_return(statement)
            case UnsupportedStatement():
                raise UnsupportedConstruct(statement.location, statement.reason, statement.help)
            case Evaluate():
                raise UnsupportedConstruct(
                    statement.location,
                    f"{statement.call.function} is neither defined in this file nor a function of "
                    "the math library, so its effects are not known",
                    "define it in the file, or move the call out of the region",
                )
            case _:
                raise UnsupportedConstruct(statement.location, "this statement cannot be modeled")

    def _extract_return(self, statement: Return) -> None:
        last = self.region.statements[-1] if self.region.statements else None
        if not self.region.is_whole or last is not statement:
            raise UnsupportedConstruct(
                statement.location, "a return before the end is not static control flow",
                "put the remainder of the function into an if",
            )  # fmt: skip
        self.result = statement.value
        for part in walk_expression(statement.value) if statement.value is not None else ():
            accesses.check_call(part)
            if isinstance(part, Access) and part.indices:
                raise UnsupportedConstruct(
                    part.location, "an element of an array is returned",
                    "assign it to a variable first, and return that",
                )  # fmt: skip

    def _extract_declaration(self, statement: Declare, nest: LoopNest) -> SourceTree | None:
        variable = statement.variable
        self.declared.append(variable)
        if statement.value is None:
            return None
        if self._counts.get(variable) == 1 and self._is_recomputable(statement.value, nest):
            self._fix(variable, statement.value, nest)
            return None
        target = Access(statement.location, variable.type, variable, ())
        return self._add_statement(Assign(statement.location, target, statement.value), nest)

    def _fix(self, variable: Variable, value: Expression, nest: LoopNest) -> None:
        self.fixed[variable] = value
        value = substitute_expression(value, self._fixed_in_loops)
        if any(
            isinstance(part, Access) and nest.iterator_name(part.variable) is not None
            for part in walk_expression(value)
        ):
            self._fixed_in_loops[variable] = value

    def _is_recomputable(self, value: Expression, nest: LoopNest) -> bool:
        """Whether a value can be recomputed wherever it is used."""
        return value.type.is_integer and all(
            each.type.is_integer and self._is_recomputable_part(each, nest)
            for each in walk_expression(value)
        )

    def _is_recomputable_part(self, part: Expression, nest: LoopNest) -> bool:
        match part:
            case Access(variable=variable, indices=()):
                is_loop = nest.iterator_name(variable) is not None
                return is_loop or variable in self.fixed or self._is_invariant(variable)
            case Binary(operator="/" | "%"):
                return isinstance(part.right, Literal) and part.right.value not in (0, -1)
            case Literal() | Unary() | Convert() | Binary():
                return True
            case _:
                return False

    def _extract_if(self, statement: If, nest: LoopNest) -> SourceTree | None:
        reader = self.make_reader(nest)
        try:
            condition = reader.read_condition(statement.condition)
        except NotAffine:
            return self._extract_opaque_statement(statement, nest)
        branches = [(condition, statement.then)]
        if statement.otherwise is not None:
            branches.append((f"not ({condition})", statement.otherwise))
        found = [
            self._extract_statement(branch, nest.with_condition(holds))
            for holds, branch in branches
            if not reader.is_impossible(holds)
        ]
        return SequenceNode(tuple(tree for tree in found if tree is not None))

    def _extract_for(self, loop: For, nest: LoopNest) -> SourceTree | None:
        if len(nest.iterators) >= MAX_LOOP_DEPTH:
            raise UnsupportedConstruct(
                loop.location, f"loops nest deeper than the limit of {MAX_LOOP_DEPTH}"
            )
        if not self._is_countable(loop, nest):
            return self._extract_opaque_statement(loop, nest)
        iterator = self.names.make_fresh(loop.variable.ascii_name)
        self.loop_locations[iterator] = loop.location
        try:
            inner = loop_nest(loop, iterator, self.make_reader(nest))
        except NotAffine:
            return self._extract_opaque_statement(loop, nest)
        is_run = not self.make_reader(inner).is_impossible("0 = 0")
        body = self._extract_statement(loop.body, inner) if is_run else None
        tree: SourceTree = LoopNode(iterator, 1 if loop.step > 0 else -1, body or SequenceNode(()))
        if loop.variable not in self._kept:
            return tree
        final_statement = self._add_statement(assign_final_value(loop), nest)
        return SequenceNode((tree, final_statement))

    def _is_countable(self, loop: For, nest: LoopNest) -> bool:
        """Whether only the head of a loop changes its variable, whose last value is known if it is
        needed."""
        try:
            check_loop_variable(loop, nest)
            if loop.variable in self._kept:
                assign_final_value(loop)
        except UnsupportedConstruct:
            return False
        return True

    def _count_opaque_loops(self, statement: Statement, nest: LoopNest) -> Statement:
        """Let the loops in a data-dependent statement compute their variables, if their trip counts
        are not known when they begin, or their variables are read after them."""
        match statement:
            case For():
                inner = replace(statement, body=self._count_opaque_loops(statement.body, nest))
                if statement.variable not in self._kept and self._has_known_end(inner, nest):
                    return inner
                self._assigned |= {statement.variable}
                return count_as_while(inner)
            case While():
                return replace(statement, body=self._count_opaque_loops(statement.body, nest))
            case Block():
                inner = tuple(self._count_opaque_loops(e, nest) for e in statement.statements)
                return replace(statement, statements=inner)
            case If(then=then, otherwise=otherwise):
                return replace(
                    statement,
                    then=self._count_opaque_loops(then, nest),
                    otherwise=None
                    if otherwise is None
                    else self._count_opaque_loops(otherwise, nest),
                )
            case _:
                return statement

    def _has_known_end(self, loop: For, nest: LoopNest) -> bool:
        try:
            check_loop_variable(loop, nest)
            accesses.check_opaque_loop(loop, self.written)
        except UnsupportedConstruct:
            return False
        return True

    def _extract_opaque_statement(self, statement: Statement, nest: LoopNest) -> SourceTree:
        """Model a data-dependent piece of the program as one statement."""
        for inner in walk_statement(statement):
            if isinstance(inner, UnsupportedStatement):
                raise UnsupportedConstruct(inner.location, inner.reason, inner.help)
            if isinstance(inner, Evaluate | Return):
                self._extract_statement(inner, nest)
                raise UnsupportedConstruct(
                    inner.location, "this is not supported in a data-dependent if"
                )
        statement = self._count_opaque_loops(statement, nest)
        for inner in walk_statement(statement):
            if isinstance(inner, Declare):
                self.declared.append(inner.variable)
        return self._add_statement(statement, nest)

    def _add_statement(self, statement: Statement, nest: LoopNest) -> LeafNode:
        if len(self.drafts) >= MAX_STATEMENTS:
            raise UnsupportedConstruct(
                statement.location, f"the region has more than {MAX_STATEMENTS} statements",
                "split it into several regions",
            )  # fmt: skip
        for each in find_calls(statement):
            accesses.check_call(each)
        drafted = accesses.collect_accesses(statement, self.make_reader(nest), self._is_memory)
        name = f"S{len(self.drafts)}"
        self.drafts.append(_StatementDraft(name, nest, statement, drafted))
        return LeafNode(name)

    def _is_memory(self, variable: Variable) -> bool:
        """Whether a variable is stored in memory, rather than in a register or as a loop
        variable."""
        return variable.is_array or (variable in self.written and variable not in self.fixed)

    # Assembling the model

    def _finish_statement(
        self, draft: _StatementDraft, views: Mapping[Variable, accesses.View]
    ) -> ModelStatement:
        prefix = self.parameters.prefix
        tuple_ = f"{draft.name}[{', '.join(draft.nest.names)}]"
        domain = isl().Set(f"{prefix}{{ {tuple_} : {draft.nest.condition} }}")
        subscripts = {
            access: accesses.with_conditions(
                accesses.access_relation(
                    access, found, views.get(access.variable), prefix, tuple_,
                    draft.nest.condition, self.names,
                ),
                found, prefix, tuple_,
            )
            for access, found in draft.accesses_by_node.items()
        }  # fmt: skip
        writes = frozenset(accesses.write_accesses(draft.body))
        reads = frozenset(accesses.read_accesses(draft.body)) & subscripts.keys()
        return ModelStatement(
            draft.name, draft.body.location, draft.nest.iterators, domain, draft.body, subscripts,
            writes, reads, frozenset(accesses.must_accesses(draft.body)),
        )  # fmt: skip

    def _classify_variables(self) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
        """Return the variables that come from outside, and those that are local to the region."""
        function = self.region.function
        # Also those in branches that never run, which the model does not have.
        declared = (e.variable for e in walk_statements(self.region.statements)
                    if isinstance(e, Declare))  # fmt: skip
        local = {*self.declared, *declared, *self.region.outer_locals}
        loop_variables = {
            each.variable
            for each in walk_statements(self.region.statements)
            if isinstance(each, For)
        }
        variables_used = dict.fromkeys(used_variables(self.region.statements, self.result))
        counted = loop_variables - self._kept - self._assigned
        local_variables = [
            v for v in variables_used
            if v in local and v not in counted and self._is_memory(v)
        ]  # fmt: skip
        parameters = tuple(
            v for v in function.parameters
            if not v.type.is_record and (self.region.is_whole or v in variables_used)
        )  # fmt: skip
        other_inputs = sorted(
            (v for v in variables_used if v not in local and v not in function.parameters
             and v not in counted),
            key=lambda v: (v.location.line, v.location.column),
        )  # fmt: skip
        extents = {
            access.variable
            for v in (*parameters, *other_inputs, *local_variables)
            for extent in v.extents
            if extent is not None
            for access in walk_expression(extent)
            if isinstance(access, Access)
        }
        missing = [
            v for v in extents if v not in parameters and v not in other_inputs and v not in local
        ]
        return (*parameters, *other_inputs, *missing), tuple(local_variables)

    def _check_depth(self) -> None:
        for statement in walk_statements(self.region.statements):
            for expression in direct_expressions(statement):
                if expression_depth(expression) > MAX_NESTING_DEPTH:
                    raise UnsupportedConstruct(
                        expression.location,
                        f"operations nest deeper than the limit of {MAX_NESTING_DEPTH}",
                        "compute parts of the expression in separate statements",
                    )

    def _check_function_pointers(self) -> None:
        for variable in self.region.function.parameters if self.region.is_whole else ():
            if variable.type is FUNCTION:
                raise UnsupportedConstruct(
                    variable.location, f"{variable.name} is a function that callers choose",
                    "call a function of the file by its name",
                )  # fmt: skip

    def _check_pointers(self) -> None:
        """Check that the address of each array is known when the function begins."""
        for variable in dict.fromkeys(used_variables(self.region.statements, self.result)):
            if variable.row_pointers and (variable.member is not None or variable.type.is_record):
                raise UnsupportedConstruct(
                    variable.location, f"{variable.name} is reached through pointers in an array, "
                    "so it may be anywhere in memory", "use one structure, or an array of arrays",
                )  # fmt: skip

    def _check_extents(self) -> None:
        """Check that the lengths of arrays do not change while the region runs."""
        for variable in dict.fromkeys(used_variables(self.region.statements, None)):
            for extent in variable.extents:
                for part in walk_expression(extent) if extent is not None else ():
                    if isinstance(part, Access) and (part.indices or part.variable in self.written):
                        raise UnsupportedConstruct(
                            variable.location,
                            f"a length of {variable.name} depends on a value that changes",
                            "declare the array with lengths that do not change",
                        )


def extract_scop(region: Region) -> Scop:
    """Extract the model of a region; raises an error if something cannot be modeled."""
    try:
        return Extraction(region).build_scop()
    except RecursionError:
        raise UnsupportedConstruct(
            region.location, "expressions nest too deeply", "assign parts of them to variables"
        ) from None
