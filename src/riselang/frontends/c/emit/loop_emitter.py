"""Emission of isl's loops and conditions as ops, with the statements inside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import AffineSetAttr, UnitAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import (
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
    AffineSet,
)

from riselang.frontends.c.emit import isl_expressions
from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.innermost import InnermostEmitter
from riselang.frontends.c.emit.isl_ast import (
    PARALLEL_MARK,
    callee_name,
    first_statement_call,
    is_parallel_loop,
)
from riselang.frontends.c.emit.statement_emitter import StatementEmitter, second_region
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.parse import syntax
from riselang.support.errors import SourceLocation


class LoopEmitter:
    """Walks an AST of isl's loops."""

    def __init__(self, emitter: ExpressionEmitter, *, is_arranged: bool):
        self._out = emitter
        self._innermost = InnermostEmitter(emitter, self) if is_arranged else None
        self.bindings: dict[str, Linear] = {}

    def emit_node(self, node: Any) -> None:
        types = isl().ast_node_type
        kind = node.get_type()
        if kind == types.block:
            children = node.block_get_children()
            for position in range(children.n_ast_node()):
                self.emit_node(children.get_at(position))
        elif kind == types.for_:
            self._emit_for(node)
        elif kind == types.if_:
            self._emit_if(node)
        elif kind == types.mark:
            self.emit_node(node.mark_get_node())
        elif kind == types.user:
            self._emit_user(node)
        else:
            raise AssertionError(f"an isl node of kind {kind}")

    # Loops

    def _emit_for(self, node: Any) -> None:
        name = node.for_get_iterator().get_id().get_name()
        first = node.for_get_init()
        if node.for_is_degenerate():
            self._emit_single_iteration(name, first, node)
            return
        if self._innermost is not None and self._innermost.try_emit(name, node):
            return
        step = isl_expressions.read_number(node.for_get_inc())
        condition = node.for_get_cond()
        extra = 1 if isl_expressions.operation_name(condition) == "le" else 0
        end = condition.get_op_arg(1)
        with self._out.at_location(self.source_of(node, name)[1]):
            try:
                lower = isl_expressions.bound_operands(first, "max", self.bindings)
                upper = isl_expressions.bound_operands(end, "min", self.bindings)
                upper = [each + Linear(extra) for each in upper]
            except isl_expressions.NotLinear:
                self._emit_scf_for(name, first, end, extra, step, node)
                return
            if not self._out.indices.is_affine([*lower, *upper]):
                self._emit_scf_for(name, first, end, extra, step, node)
                return
            self._emit_affine_for(name, lower, upper, step, node)

    def _emit_single_iteration(self, name: str, value: Any, node: Any) -> None:
        """Emit a loop with one iteration: its variable is bound to an expression."""
        try:
            linear = isl_expressions.read_linear(value, self.bindings)
            self.forget_binding(name)
            self.bindings[name] = linear
        except isl_expressions.NotLinear:
            index = self._out.indices.emit_isl_expression(value, self.bindings)
            self.forget_binding(name)
            self._out.indices.non_affine_values[name] = index
        self.emit_node(node.for_get_body())

    def forget_binding(self, name: str) -> None:
        """Drop the previous binding of a name: isl gives consecutive loops the same one."""
        indices = self._out.indices
        for values in (indices.loops, indices.non_affine_values, self.bindings):
            values.pop(name, None)

    def _emit_affine_for(
        self, name: str, lower: Sequence[Linear], upper: Sequence[Linear], step: int, node: Any
    ) -> None:
        lower_map, lower_operands = self._out.indices.affine_map(lower)
        upper_map, upper_operands = self._out.indices.affine_map(upper)
        block = self._emit_body(name, node, self._out.indices.loops)
        block.add_op(affine.YieldOp.get())
        op = affine.ForOp.from_region(
            lower_operands, upper_operands, [], [], lower_map, upper_map, Region(block), step
        )
        if is_parallel_loop(node):
            op.attributes[PARALLEL_MARK] = UnitAttr()
        self._out.insert(op)

    def _emit_scf_for(
        self, name: str, first: Any, end: Any, extra: int, step: int, node: Any
    ) -> None:
        indices = self._out.indices
        lower = indices.emit_isl_expression(first, self.bindings)
        upper = indices.emit_isl_expression(end, self.bindings)
        if extra:
            upper = self._out.add(arith.AddiOp(upper, indices.emit_constant(extra)))
        stride = indices.emit_constant(step)
        block = self._emit_body(name, node, indices.non_affine_values)
        block.add_op(scf.YieldOp())
        self._out.insert(scf.ForOp(lower, upper, stride, [], Region(block)))

    def _emit_body(self, name: str, node: Any, variables: dict[str, SSAValue]) -> Block:
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = self.source_of(node, name)[0]
        self.forget_binding(name)
        variables[name] = block.args[0]
        with self._out.inside_block(block):
            if self._innermost is not None:
                self._innermost.emit_prefetches(name, node)
            self.emit_node(node.for_get_body())
        return block

    def source_of(self, node: Any, name: str) -> tuple[str, SourceLocation]:
        """Return the C loop that a loop implements: one whose variable is computed from its own."""
        call = first_statement_call(node).user_get_expr()
        statement = self._out.scop.find_statement(callee_name(call))
        for position, (variable, iterator) in enumerate(statement.iterators):
            if name in call.get_op_arg(position + 1).to_C_str():
                return variable.ascii_name, self._out.scop.loop_locations[iterator]
        return "i", statement.location

    # Conditions

    def _emit_if(self, node: Any) -> None:
        location = self._out.scop.find_statement(
            callee_name(first_statement_call(node).user_get_expr())
        ).location
        condition = node.if_get_cond()
        with self._out.at_location(location):
            branches = [node.if_get_then_node()]
            branches += [node.if_get_else_node()] if node.if_has_else_node() else []
            try:
                constraints = isl_expressions.read_constraints(condition, self.bindings)
                is_affine = self._out.indices.is_affine([each.left for each in constraints])
            except isl_expressions.NotLinear:
                constraints, is_affine = [], False
            if is_affine:
                self._emit_affine_if(constraints, branches)
            else:
                truth = self._out.indices.emit_condition(condition, self.bindings)
                regions = [self._emit_branch(branch, scf.YieldOp()) for branch in branches]
                self._out.insert(scf.IfOp(truth, [], regions[0], second_region(regions)))

    def _emit_affine_if(
        self, found: Sequence[isl_expressions.Constraint], branches: Sequence[Any]
    ) -> None:
        map, operands = self._out.indices.affine_map([constraint.left for constraint in found])
        kinds = {True: AffineConstraintKind.eq, False: AffineConstraintKind.ge}
        constraints = tuple(
            AffineConstraintExpr(kinds[constraint.is_equality], left, AffineExpr.constant(0))
            for constraint, left in zip(found, map.data.results, strict=True)
        )
        condition = AffineSet(map.data.num_dims, map.data.num_symbols, constraints)
        regions = [self._emit_branch(branch, affine.YieldOp.get()) for branch in branches]
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

    def _emit_branch(self, node: Any, end: Any) -> Region:
        block = Block()
        with self._out.inside_block(block):
            outer = dict(self.bindings)
            self.emit_node(node)
            self.bindings = outer
        block.add_op(end)
        return Region(block)

    # Statements

    def _emit_user(self, node: Any) -> None:
        call = node.user_get_expr()
        statement = self._out.scop.find_statement(callee_name(call))
        counters: dict[syntax.Variable, Linear] = {}
        for position, (variable, name) in enumerate(statement.iterators):
            argument = call.get_op_arg(position + 1)
            try:
                counters[variable] = isl_expressions.read_linear(argument, self.bindings)
            except isl_expressions.NotLinear:
                value_name = f"{name}.value"
                value = self._out.indices.emit_isl_expression(argument, self.bindings)
                self._out.indices.non_affine_values[value_name] = value
                counters[variable] = Linear.of(value_name)
        self._out.counters, self._out.statement = counters, statement
        StatementEmitter(self._out).emit_statement(statement.body)
        self._out.statement = None
