"""isl's loops and conditions as ops, and statements inside of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import affine, arith, memref, scf
from xdsl.dialects.builtin import AffineSetAttr, UnitAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import (
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
    AffineSet,
)

from riselang.errors import SourceLocation
from riselang.frontends.c import syntax
from riselang.frontends.c.emission import trees
from riselang.frontends.c.emission.indices import INDEX
from riselang.frontends.c.emission.registers import Kept, kept_elements
from riselang.frontends.c.emission.values import Emitter
from riselang.frontends.c.emission.vectors import Instance, VectorEmitter, lanes_of
from riselang.frontends.c.linear import Linear
from riselang.frontends.c.loops import bound
from riselang.frontends.c.polyhedra import isl
from riselang.frontends.c.syntax import Assign, Binary, Declare, If, Statement

PARALLEL = "rise.parallel"
"""The attribute of loops whose iterations do not depend on each other."""


class LoopEmitter:
    """Walks a tree of isl's loops."""

    def __init__(self, emitter: Emitter, *, is_arranged: bool):
        self._out = emitter
        self._is_arranged = is_arranged
        self._bindings: dict[str, Linear] = {}

    def node(self, node: Any) -> None:
        types = isl().ast_node_type
        kind = node.get_type()
        if kind == types.block:
            children = node.block_get_children()
            for at in range(children.n_ast_node()):
                self.node(children.get_at(at))
        elif kind == types.for_:
            self._for(node)
        elif kind == types.if_:
            self._if(node)
        elif kind == types.mark:
            self.node(node.mark_get_node())
        elif kind == types.user:
            self._user(node)
        else:
            raise AssertionError(f"a node of kind {kind} of isl")

    # Loops

    def _for(self, node: Any) -> None:
        name = node.for_get_iterator().get_id().get_name()
        first = node.for_get_init()
        if node.for_is_degenerate():
            self._once(name, first, node)
            return
        if self._is_arranged and (self._in_vectors(name, node) or self._in_registers(name, node)):
            return
        step = trees.number(node.for_get_inc())
        condition = node.for_get_cond()
        extra = 1 if trees.operation(condition) == "le" else 0
        end = condition.get_op_arg(1)
        with self._out.at(self._source_of(node, name)[1]):
            try:
                lower = trees.choices(first, "max", self._bindings)
                upper = trees.choices(end, "min", self._bindings)
                upper = [each + Linear(extra) for each in upper]
            except trees.NotLinear:
                self._scf_for(name, first, end, extra, step, node)
                return
            if not self._out.indices.is_affine([*lower, *upper]):
                self._scf_for(name, first, end, extra, step, node)
                return
            self._affine_for(name, lower, upper, step, node)

    def _in_vectors(self, name: str, node: Any) -> bool:
        """An innermost loop in vectors, and what is left of it one by one; whether it could be."""
        users = _only_users(node.for_get_body())
        if not _is_parallel(node) or not users or trees.number(node.for_get_inc()) != 1:
            return False
        try:
            instances = [self._instance(user, {name: Linear.of(name)}) for user in users]
        except trees.NotLinear:
            return False
        lanes = lanes_of(instances, name)
        if lanes is None:
            return False
        indices, out = self._out.indices, self._out
        with out.at(self._source_of(node, name)[1]):
            lower, upper = self._bounds(node)
            stride = indices.constant(lanes)
            count = out.add(arith.SubiOp(upper, lower))
            whole = out.add(arith.SubiOp(count, out.add(arith.RemSIOp(count, stride))))
            # No iteration at all may be less than none.
            end = out.add(arith.MaxSIOp(lower, out.add(arith.AddiOp(lower, whole))))
            runs = out.add(arith.CmpiOp(lower, end, "slt"))
            block = Block()
            with out.inside(block):
                kept = kept_elements(out.scop, instances, name)
                spread = {each.element: self._loaded(each) for each in kept}
                vectors = VectorEmitter(out, lanes, name, spread)
                self._stepped(name, lower, end, stride, node, instances, vectors)
                out.insert(scf.YieldOp())
            out.insert(scf.IfOp(runs, [], Region(block), None))
            self._stepped(name, end, upper, indices.constant(1), node, instances, None)
        return True

    def _in_registers(self, name: str, node: Any) -> bool:
        """An innermost loop some of whose elements stay in registers; whether there are any."""
        users = _only_users(node.for_get_body())
        try:
            instances = [self._instance(user, {name: Linear.of(name)}) for user in users]
        except trees.NotLinear:
            return False
        kept = kept_elements(self._out.scop, instances, name) if users else []
        if not any(each.is_written for each in kept):
            return False
        indices, out = self._out.indices, self._out
        with out.at(self._source_of(node, name)[1]):
            lower, upper = self._bounds(node)
            stride = indices.constant(trees.number(node.for_get_inc()))
            runs = out.add(arith.CmpiOp(lower, upper, "slt"))
            block = Block()
            with out.inside(block):
                self._carried(name, lower, upper, stride, node, kept)
                out.insert(scf.YieldOp())
            out.insert(scf.IfOp(runs, [], Region(block), None))
        return True

    def _bounds(self, node: Any) -> tuple[SSAValue, SSAValue]:
        """The first value of a loop, and the first that it does not reach."""
        indices, out = self._out.indices, self._out
        lower = indices.of_tree(node.for_get_init(), self._bindings)
        upper = indices.of_tree(node.for_get_cond().get_op_arg(1), self._bindings)
        if trees.operation(node.for_get_cond()) == "le":
            upper = out.add(arith.AddiOp(upper, indices.constant(1)))
        return lower, upper

    def _carried(
        self, name: str, lower: SSAValue, upper: SSAValue, stride: SSAValue, node: Any,
        kept: Sequence[Kept],
    ) -> None:  # fmt: skip
        """A loop that hands elements from iteration to iteration."""
        out, written = self._out, [each for each in kept if each.is_written]
        outer = dict(out.registers)
        values = {each.element: self._loaded(each) for each in kept}
        starts = [values[each.element] for each in written]
        block = Block(arg_types=[INDEX, *(start.type for start in starts)])
        block.args[0].name_hint = self._source_of(node, name)[0]
        self._forget(name)
        out.indices.others[name] = block.args[0]
        with out.inside(block):
            out.registers.update(values)
            for each, argument in zip(written, block.args[1:], strict=True):
                out.registers[each.element] = argument
            self.node(node.for_get_body())
            out.insert(scf.YieldOp(*(out.registers[each.element] for each in written)))
        out.registers = outer
        loop = out.insert(scf.ForOp(lower, upper, stride, starts, Region(block)))
        for each, result in zip(written, loop.results, strict=True):
            out.insert(memref.StoreOp.get(result, out.memory[each.element[0]], self._place(each)))

    def _loaded(self, kept: Kept) -> SSAValue:
        buffer = self._out.memory[kept.element[0]]
        return self._out.add(memref.LoadOp.get(buffer, self._place(kept)))

    def _place(self, kept: Kept) -> list[SSAValue]:
        return [self._out.indices.value(index) for index in kept.element[1]]

    def _stepped(
        self, name: str, lower: SSAValue, upper: SSAValue, stride: SSAValue, node: Any,
        instances: Sequence[Instance], vectors: VectorEmitter | None,
    ) -> None:  # fmt: skip
        """A loop over vectors of iterations, or over single ones."""
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = self._source_of(node, name)[0]
        self._forget(name)
        self._out.indices.others[name] = block.args[0]
        with self._out.inside(block):
            if vectors is None:
                self.node(node.for_get_body())
            else:
                for instance in instances:
                    vectors.statement(instance)
        block.add_op(scf.YieldOp())
        self._out.insert(scf.ForOp(lower, upper, stride, [], Region(block)))

    def _instance(self, call: Any, own: dict[str, Linear]) -> Instance:
        statement = self._out.scop.statement(_callee(call))
        bindings = {**self._bindings, **own}
        counters = {
            variable: trees.linear(call.get_op_arg(at + 1), bindings)
            for at, (variable, _) in enumerate(statement.iterators)
        }
        return Instance(statement, counters)

    def _once(self, name: str, value: Any, node: Any) -> None:
        """A loop with one iteration: its variable is a name for something else."""
        try:
            linear = trees.linear(value, self._bindings)
            self._forget(name)
            self._bindings[name] = linear
        except trees.NotLinear:
            index = self._out.indices.of_tree(value, self._bindings)
            self._forget(name)
            self._out.indices.others[name] = index
        self.node(node.for_get_body())

    def _forget(self, name: str) -> None:
        """What a name meant before: isl gives loops that stand side by side the same one."""
        indices = self._out.indices
        for known in (indices.loops, indices.others, self._bindings):
            known.pop(name, None)

    def _affine_for(
        self, name: str, lower: Sequence[Linear], upper: Sequence[Linear], step: int, node: Any
    ) -> None:
        lower_map, lower_operands = self._out.indices.map(lower)
        upper_map, upper_operands = self._out.indices.map(upper)
        block = self._body(name, node, self._out.indices.loops)
        block.add_op(affine.YieldOp.get())
        op = affine.ForOp.from_region(
            lower_operands, upper_operands, [], [], lower_map, upper_map, Region(block), step
        )
        if _is_parallel(node):
            op.attributes[PARALLEL] = UnitAttr()
        self._out.insert(op)

    def _scf_for(self, name: str, first: Any, end: Any, extra: int, step: int, node: Any) -> None:
        indices = self._out.indices
        lower = indices.of_tree(first, self._bindings)
        upper = indices.of_tree(end, self._bindings)
        if extra:
            upper = self._out.add(arith.AddiOp(upper, indices.constant(extra)))
        stride = indices.constant(step)
        block = self._body(name, node, indices.others)
        block.add_op(scf.YieldOp())
        self._out.insert(scf.ForOp(lower, upper, stride, [], Region(block)))

    def _body(self, name: str, node: Any, known: dict[str, SSAValue]) -> Block:
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = self._source_of(node, name)[0]
        self._forget(name)
        known[name] = block.args[0]
        with self._out.inside(block):
            self.node(node.for_get_body())
        return block

    def _source_of(self, node: Any, name: str) -> tuple[str, SourceLocation]:
        """The loop of C that a loop is for: one whose variable is computed from its own."""
        call = _first_user(node).user_get_expr()
        statement = self._out.scop.statement(_callee(call))
        for at, (variable, iterator) in enumerate(statement.iterators):
            if name in call.get_op_arg(at + 1).to_C_str():
                return variable.name, self._out.scop.loop_places[iterator]
        return "i", statement.place

    # Conditions

    def _if(self, node: Any) -> None:
        place = self._out.scop.statement(_callee(_first_user(node).user_get_expr())).place
        condition = node.if_get_cond()
        with self._out.at(place):
            branches = [node.if_get_then_node()]
            branches += [node.if_get_else_node()] if node.if_has_else_node() else []
            try:
                found = trees.constraints(condition, self._bindings)
                is_affine = self._out.indices.is_affine([each.left for each in found])
            except trees.NotLinear:
                found, is_affine = [], False
            if is_affine:
                self._affine_if(found, branches)
            else:
                truth = self._out.indices.truth(condition, self._bindings)
                regions = [self._branch(branch, scf.YieldOp()) for branch in branches]
                self._out.insert(scf.IfOp(truth, [], regions[0], _second(regions)))

    def _affine_if(self, found: Sequence[trees.Constraint], branches: Sequence[Any]) -> None:
        map, operands = self._out.indices.map([each.left for each in found])
        kinds = {True: AffineConstraintKind.eq, False: AffineConstraintKind.ge}
        constraints = tuple(
            AffineConstraintExpr(kinds[each.is_equality], left, AffineExpr.constant(0))
            for each, left in zip(found, map.data.results, strict=True)
        )
        condition = AffineSet(map.data.num_dims, map.data.num_symbols, constraints)
        regions = [self._branch(branch, affine.YieldOp.get()) for branch in branches]
        if len(regions) == 1:
            regions.append(Region())
        self._out.insert(
            affine.IfOp.build(
                operands=[operands],
                result_types=[[]],
                properties={"condition": AffineSetAttr(condition)},
                regions=regions,
            )
        )

    def _branch(self, node: Any, end: Any) -> Region:
        block = Block()
        with self._out.inside(block):
            outer = dict(self._bindings)
            self.node(node)
            self._bindings = outer
        block.add_op(end)
        return Region(block)

    # Statements

    def _user(self, node: Any) -> None:
        call = node.user_get_expr()
        statement = self._out.scop.statement(_callee(call))
        counters: dict[syntax.Variable, Linear] = {}
        for at, (variable, name) in enumerate(statement.iterators):
            argument = call.get_op_arg(at + 1)
            try:
                counters[variable] = trees.linear(argument, self._bindings)
            except trees.NotLinear:
                fresh = f"{name}.value"
                value = self._out.indices.of_tree(argument, self._bindings)
                self._out.indices.others[fresh] = value
                counters[variable] = Linear.of(fresh)
        self._out.counters, self._out.statement = counters, statement
        StatementEmitter(self._out).statement(statement.body)
        self._out.statement = None


class StatementEmitter:
    """Writes the body of a statement of the model."""

    def __init__(self, emitter: Emitter):
        self._out = emitter

    def statement(self, statement: Statement) -> None:
        with self._out.at(statement.place):
            match statement:
                case Assign():
                    self._assign(statement)
                case syntax.Block():
                    for inner in statement.statements:
                        self.statement(inner)
                case Declare(value=None):
                    pass
                case Declare():
                    variable = statement.variable
                    assert statement.value is not None
                    target = syntax.Access(statement.place, variable.type, variable, ())
                    self._assign(Assign(statement.place, target, statement.value))
                case If():
                    self._if(statement)
                case syntax.For():
                    self._for(statement)
                case _:
                    raise AssertionError(f"{type(statement).__name__} in a statement of the model")

    def _assign(self, statement: Assign) -> None:
        value = statement.value
        if statement.is_compound and isinstance(value, Binary) and value.operator in ("+", "*"):
            result = self._out.swapped(value)
        else:
            result = self._out.value(value)
        self._out.store(result, statement.target)

    def _if(self, statement: If) -> None:
        condition = self._out.truth(statement.condition)
        branches = [statement.then]
        branches += [statement.otherwise] if statement.otherwise is not None else []
        regions: list[Region] = []
        for branch in branches:
            block = Block()
            with self._out.inside(block):
                self.statement(branch)
            block.add_op(scf.YieldOp())
            regions.append(Region(block))
        self._out.insert(scf.IfOp(condition, [], regions[0], _second(regions)))

    def _for(self, loop: syntax.For) -> None:
        """A loop whose end depends on data: it is known when the loop begins."""
        found = bound(loop)
        assert found is not None
        out, (operator, end) = self._out, found
        first = out.as_index(loop.first)
        last = out.as_index(end)
        size = abs(loop.step)
        one, stride = out.indices.constant(1), out.indices.constant(size)
        if loop.step < 0:
            # Counted from 0: the distance to the first value.
            gap = out.add(arith.SubiOp(first, last))
            lower, upper = out.indices.constant(0), gap
        else:
            lower, upper = first, last
        if operator in ("<=", ">="):
            upper = out.add(arith.AddiOp(upper, one))
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = loop.variable.name
        with out.inside(block):
            index: SSAValue = block.args[0]
            if loop.step < 0:
                index = out.add(arith.SubiOp(first, index))
            type = loop.variable.type
            out.scalars[loop.variable] = out.add(arith.IndexCastOp(index, type.mlir))
            self.statement(loop.body)
        del out.scalars[loop.variable]
        block.add_op(scf.YieldOp())
        out.insert(scf.ForOp(lower, upper, stride, [], Region(block)))


def _second(regions: Sequence[Region]) -> Region | None:
    return regions[1] if len(regions) > 1 else None


def _only_users(node: Any) -> list[Any]:
    """The calls of statements in a body; none where there is anything else."""
    types = isl().ast_node_type
    kind = node.get_type()
    if kind == types.user:
        return [node.user_get_expr()]
    if kind == types.mark:
        return _only_users(node.mark_get_node())
    if kind != types.block:
        return []
    children = node.block_get_children()
    found = [_only_users(children.get_at(at)) for at in range(children.n_ast_node())]
    return [call for calls in found for call in calls] if all(found) else []


def _callee(call: Any) -> str:
    return str(call.get_op_arg(0).get_id().get_name())


def _first_user(node: Any) -> Any:
    """The first statement inside of a node."""
    types = isl().ast_node_type
    while node.get_type() != types.user:
        kind = node.get_type()
        if kind == types.block:
            node = node.block_get_children().get_at(0)
        elif kind == types.for_:
            node = node.for_get_body()
        elif kind == types.if_:
            node = node.if_get_then_node()
        else:
            node = node.mark_get_node()
    return node


def _is_parallel(node: Any) -> bool:
    try:
        annotation = node.get_annotation()
    except isl().Error:
        return False  # there is none
    return bool(annotation.get_name() == PARALLEL)
