"""Faults to plant in the C front end, one at a time; `planted.py` explains how."""

from __future__ import annotations

from fault import Fault

from riselang.frontends.c.emit import (
    expression_emitter,
    isl_expressions,
    registers,
    strided_arrays,
    structured,
)
from riselang.frontends.c.emit.blas_routines import RoutineEmitter
from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.innermost import InnermostEmitter
from riselang.frontends.c.emit.interleaved_reductions import ReductionEmitter
from riselang.frontends.c.emit.loop_emitter import LoopEmitter
from riselang.frontends.c.emit.row_calls import RowGemmEmitter
from riselang.frontends.c.lift.statement_step import StatementStep
from riselang.frontends.c.model import accesses, affine_arithmetic, aliasing, iteration_sets
from riselang.frontends.c.model.dependences import Dependences
from riselang.frontends.c.model.extraction import Extraction
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.quasi_affine import AffineReader
from riselang.frontends.c.parse import (
    complex_arithmetic,
    globals,
    jump_removal,
    record_expansion,
    record_types,
    typed_nodes,
)
from riselang.frontends.c.parse.expressions import ExpressionReader
from riselang.frontends.c.schedule import dependence_queries
from riselang.frontends.c.tactics import array_views, boxes, dependence_cycles, structures
from riselang.frontends.c.tactics.array_views import ViewBuilder

C_FAULTS = (
    # Domains
    Fault("a guard is dropped", Extraction._extract_if,
          "$statement($branch, $nest.$_($_))", "$statement($branch, $nest)"),
    Fault("else runs where then does", Extraction._extract_if,
          "f'not ({$condition})'", "$condition"),
    Fault("a loop begins one late", iteration_sets._start_condition,
          "f'{$iterator} {$comparison} {$first}'", "f'{$iterator} {$comparison} {$first} + 1'"),
    Fault("a step is ignored", iteration_sets._start_condition,
          "$_ if $stride != 1 else ''", "''"),
    Fault("downward loops run upwards", Extraction._extract_for,
          "1 if $_ else -1", "1"),
    Fault("the last iteration is left out", LoopEmitter._emit_for,
          "1 if $_ else 0", "0"),
    # Subscripts
    Fault("subscripts are swapped", ExpressionEmitter._affine_indices,
          "[$moved for $index in $indices]", "[$moved for $index in reversed($indices)]"),
    Fault("offsets of subscripts are lost", Linear.to_affine,
          "$total + $constant if $constant else $total", "$total"),
    Fault("factors of subscripts are lost", Linear.to_affine,
          "$term if $factor == 1 else $term * $factor", "$term"),
    Fault("rows and columns are swapped", accesses.access_relation,
          "$rows($dimensions[0][0][1], $chain)", "$rows($dimensions[0][0][1], $chain)[::-1]"),
    Fault("remainders in bounds are quotients", isl_expressions,
          "{**$$before, 'pdiv_q': $quotient, **$$between, 'pdiv_r': $_, **$$after}",
          "{**$$before, 'pdiv_q': $quotient, **$$between, 'pdiv_r': $quotient, **$$after}"),
    # Signs and rounding
    Fault("division rounds down", affine_arithmetic._apply_by_sign,
          "$natural(-$linear, $number).$times(-$sign)", "$natural($linear, $number).$times($sign)"),
    Fault("integers are divided as if unsigned", expression_emitter, "arith.DivSIOp", "arith.DivUIOp"),
    Fault("remainders of integers as if unsigned", expression_emitter, "arith.RemSIOp", "arith.RemUIOp"),
    Fault("unsigned bytes are sign-extended", ExpressionEmitter._resize_integer,
          "arith.ExtSIOp if $_ else arith.ExtUIOp", "arith.ExtSIOp"),
    Fault("unsigned is compared as signed", ExpressionEmitter._emit_comparison,
          "$signed if $_ else $unsigned", "$signed"),
    Fault("unsigned becomes a float with a sign", ExpressionEmitter._emit_conversion,
          "arith.SIToFPOp if $_ else arith.UIToFPOp", "arith.SIToFPOp"),
    Fault("shifts to the right fill with zeros", expression_emitter, "arith.ShRSIOp", "arith.ShRUIOp"),
    Fault("a float negation is dropped", ExpressionEmitter._emit_unary,
          "$add(arith.NegfOp($operand))", "$operand"),
    # Order and values
    Fault("operands of a difference are swapped", ExpressionEmitter._emit_binary,
          "$left, $right = $value($binary.$first), $value($binary.$second)",
          "$right, $left = $value($binary.$first), $value($binary.$second)"),
    Fault("compound assignment forgets the target", typed_nodes.compound_assignment,
          """
          $left = $converted($_, $type)
          $value = $binary($location, $type, $operator, $left, $operand)
          """,
          """
          $left = $converted($operand, $type)
          $value = $binary($location, $type, $operator, $left, $operand)
          """),
    Fault("compound assignment in the type of the target", typed_nodes.compound_assignment,
          "$common($target.type, $_.type)", "$target.type"),
    Fault("or is and", AffineReader.read_condition,
          "f'({$left}) or ({$right})'", "f'({$left}) and ({$right})'"),
    Fault("a ternary takes the other branch", ExpressionEmitter._emit_conditional,
          "arith.SelectOp($condition, $first, $second)", "arith.SelectOp($condition, $second, $first)"),
    Fault("extents come from the innermost dimension", strided_arrays.emit_strides,
          "$lengths[$at + 1]", "$lengths[$at]"),
    Fault("an assignment that is a value is lost", ExpressionReader.read_assigned,
          """
          $reader.effects.append($statement)
          return $statement.target
          """,
          """
          return $statement.target
          """),
    Fault("anti and output dependences are lost", Dependences.all,
          "$flow.union($_).union($_)", "$flow"),
    Fault("arrays that share memory are not noticed", aliasing.emit_overlap_check,
          "$found = $_(arith.OrIOp($found, $_))", "pass"),
    # Loops in another order
    Fault("the tail of a vectorized loop is dropped", InnermostEmitter._emit_vectorized,
          "$self._emit_tail($$arguments)", "pass"),
    Fault("lanes of reductions read the first column", ReductionEmitter._emit_access,
          "$column($rows, $self._column, $out)", "$column($rows, 0, $out)"),
    Fault("elements that others write stay in registers", registers._may_alias,
          "$array and $element and $written and not $_", "$array and $element and $written and False"),
    Fault("loop fission ignores the order of statements", dependence_queries.strongly_connected_components,
          "next($name for $name in $left if $_)", "next($name for $name in $left if $name in $left)"),
)  # fmt: skip

DATA_FAULTS = (
    Fault("members are where the structure is", record_types._make_member,
          "MemberOf($a, $b, $c, $d)", "MemberOf($a, $b, 0, $d)"),
    # The layout determines where elements are; emitted steps only where arrays end.
    Fault("steps between structures are lost", strided_arrays.array_layout,
          "$strides.insert(0, $step // $_)", "$strides.insert(0, 1)"),
    Fault("a complex product adds what it subtracts", complex_arithmetic._product,
          "_apply('-', $x, $y)", "_apply('+', $x, $y)"),
    Fault("values that an assignment changes are not stored", record_expansion._conflicts,
          "return True", "return False"),
    Fault("initial values of globals are lost", globals._store,
          "$array[$at] = $value", "$array[$at] = 0"),
    Fault("a goto in nested loops leaves one", jump_removal._leaving_jumps,
          "$jumps - {'break', 'continue'}", "$jumps & {'return'}"),
)  # fmt: skip

LIFTING_FAULTS = (
    Fault("stencils in place are lifted", structures._check_dependences,
          "not $own.is_empty()", "False"),
    Fault("reductions that run downwards are lifted", structures._check_dependences,
          "not $own.is_subset($_)", "False"),
    Fault("accumulators that are read elsewhere are lifted", structures._check_dependences,
          "any($_)", "False"),
    # That domains are boxes is checked again with the conditions on parameters.
    Fault("statements that run under a condition are lifted", boxes.check_runs_always,
          "not $_.is_equal($_)", "False"),
    Fault("views begin with the first element", ViewBuilder._slice_function,
          "$builder.drop($first, $xs)", "$xs"),
    Fault("windows are read at their beginning", array_views.window_offsets,
          "-min($_)", "0"),
    Fault("windows that run backwards run forwards", ViewBuilder._window_axis,
          "$windows if $sign == 1 else $builder.map($builder.reverse, $windows)", "$windows"),
    Fault("slices are stored from the first element on", StatementStep._written_slice,
          "$slice($axis.offset + $range.first, $range.length, $numbers)",
          "$slice($axis.offset, $range.length, $numbers)"),
    Fault("loops that are not lifted run statements in reverse", dependence_cycles._topological_order,
          "[$statement for $group in $groups for $name in $group]",
          "[$statement for $group in $groups[::-1] for $name in $group]"),
    Fault("ops on slices begin with the first element", structured._axis_span,
          "$first = $first + $ranges[$loop].$start.$times($factor)", "pass"),
    Fault("gemv is not told to transpose", RoutineEmitter._emit_gemv,
          "$matrix.$loops[0] != $target.$loops[0]", "False"),
    Fault("matrix multiplications by rows forget the last row", RowGemmEmitter.emit,
          """
          $insert(memref.DeallocOp.get($buffer))
          $copy()
          """,
          "$insert(memref.DeallocOp.get($buffer))"),
)  # fmt: skip
