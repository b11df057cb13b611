"""Faults to plant in the C front end, one at a time; `planted.py` explains how."""

from __future__ import annotations

from fault import Fault

from riselang.frontends.c.emit import c_entry_points, registers, structured, trees, values
from riselang.frontends.c.emit.innermost import Innermost
from riselang.frontends.c.emit.loops import LoopEmitter
from riselang.frontends.c.emit.routines import RoutineEmitter
from riselang.frontends.c.emit.row_calls import RowCallEmitter
from riselang.frontends.c.emit.values import Emitter
from riselang.frontends.c.lift.statements import StatementStep
from riselang.frontends.c.model import accesses, affine_arithmetic, aliasing, iteration_sets
from riselang.frontends.c.model.dependences import Dependences
from riselang.frontends.c.model.extraction import Extraction
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.quasi_affine import AffineReader
from riselang.frontends.c.parse import statements
from riselang.frontends.c.parse.statements import StatementReader
from riselang.frontends.c.schedule import order
from riselang.frontends.c.tactics import circles, structures, views
from riselang.frontends.c.tactics.views import ViewBuilder

C_FAULTS = (
    # Domains
    Fault("a guard is dropped", Extraction._if,
          "$statement($branch, $nest.$_($_))", "$statement($branch, $nest)"),
    Fault("else runs where then does", Extraction._if,
          "f'not ({$condition})'", "$condition"),
    Fault("a loop begins one late", iteration_sets._start,
          "f'{$iterator} {$comparison} {$first}'", "f'{$iterator} {$comparison} {$first} + 1'"),
    Fault("a step is ignored", iteration_sets._start,
          "$_ if $stride != 1 else ''", "''"),
    Fault("downward loops run upwards", Extraction._for,
          "1 if $_ else -1", "1"),
    Fault("the last iteration is left out", LoopEmitter._for,
          "1 if $_ else 0", "0"),
    # Subscripts
    Fault("subscripts are swapped", Emitter._affine_indices,
          "[$moved for $index in $indices]", "[$moved for $index in reversed($indices)]"),
    Fault("offsets of subscripts are lost", Linear.affine,
          "$total + $constant if $constant else $total", "$total"),
    Fault("factors of subscripts are lost", Linear.affine,
          "$term if $factor == 1 else $term * $factor", "$term"),
    Fault("rows and columns are swapped", accesses.subscript,
          "$rows($dimensions[0][0][1], $chain)", "$rows($dimensions[0][0][1], $chain)[::-1]"),
    Fault("remainders in bounds are quotients", trees,
          "{**$$before, 'pdiv_q': $quotient, **$$between, 'pdiv_r': $_, **$$after}",
          "{**$$before, 'pdiv_q': $quotient, **$$between, 'pdiv_r': $quotient, **$$after}"),
    # Signs and rounding
    Fault("division rounds down", affine_arithmetic._by_sign,
          "$natural(-$linear, $number).$times(-$sign)", "$natural($linear, $number).$times($sign)"),
    Fault("integers are divided as if unsigned", values, "arith.DivSIOp", "arith.DivUIOp"),
    Fault("remainders of integers as if unsigned", values, "arith.RemSIOp", "arith.RemUIOp"),
    Fault("unsigned bytes are sign-extended", Emitter._resized,
          "arith.ExtSIOp if $_ else arith.ExtUIOp", "arith.ExtSIOp"),
    Fault("unsigned is compared as signed", Emitter._comparison,
          "$signed if $_ else $unsigned", "$signed"),
    Fault("unsigned becomes a float with a sign", Emitter._converted,
          "arith.SIToFPOp if $_ else arith.UIToFPOp", "arith.SIToFPOp"),
    Fault("shifts to the right fill with zeros", values, "arith.ShRSIOp", "arith.ShRUIOp"),
    Fault("a float negation is dropped", Emitter._unary,
          "$add(arith.NegfOp($operand))", "$operand"),
    # Order and values
    Fault("operands of a difference are swapped", Emitter._binary,
          "$left, $right = $value($binary.$first), $value($binary.$second)",
          "$right, $left = $value($binary.$first), $value($binary.$second)"),
    Fault("compound assignment forgets the target", statements._updated,
          """
          $left = $converted($_, $type)
          $value = $binary($location, $type, $operator, $left, $operand)
          """,
          """
          $left = $converted($operand, $type)
          $value = $binary($location, $type, $operator, $left, $operand)
          """),
    Fault("compound assignment in the type of the target", statements._updated,
          "$common($target.type, $_.type)", "$target.type"),
    Fault("or is and", AffineReader.condition,
          "f'({$left}) or ({$right})'", "f'({$left}) and ({$right})'"),
    Fault("a ternary takes the other branch", Emitter._conditional,
          "arith.SelectOp($condition, $first, $second)", "arith.SelectOp($condition, $second, $first)"),
    Fault("extents come from the innermost dimension", c_entry_points._buffer,
          "reversed($lengths[1:])", "reversed($lengths[:-1])"),
    Fault("chained assignment in the wrong order", StatementReader.assignment,
          "$block($location, ($first, $assign($location, $target, $value)))",
          "$block($location, ($assign($location, $target, $value), $first))"),
    Fault("anti and output dependences are lost", Dependences.all,
          "$flow.union($_).union($_)", "$flow"),
    Fault("arrays that share memory are not noticed", aliasing.share_memory,
          "$found = $_(arith.OrIOp($found, $_))", "pass"),
    # Loops in another order
    Fault("the tail of a vectorized loop is dropped", Innermost._in_vectors,
          "$_($name, $end, $upper, $step, $node, $instances, None)", "pass"),
    Fault("elements that others write stay in registers", registers._may_change,
          "$array and $element and $written and not $_", "$array and $element and $written and False"),
    Fault("loop fission ignores the order of statements", order.groups,
          "next($name for $name in $left if $_)", "next($name for $name in $left if $name in $left)"),
)  # fmt: skip

LIFTING_FAULTS = (
    Fault("stencils in place are lifted", structures._check_dependences,
          "not $own.is_empty()", "False"),
    Fault("reductions that run downwards are lifted", structures._check_dependences,
          "not $own.is_subset($_)", "False"),
    Fault("accumulators that are read elsewhere are lifted", structures._check_dependences,
          "any($_)", "False"),
    Fault("iterations that are not a box are lifted", structures._box,
          "not $_.is_equal($points)", "False"),
    Fault("views begin with the first element", ViewBuilder._part,
          "$builder.drop($first, $xs)", "$xs"),
    Fault("windows are read at their beginning", views.places,
          "-min($_)", "0"),
    Fault("windows that run backwards run forwards", ViewBuilder._two_loops,
          "$windows if $sign == 1 else $builder.map($builder.reverse, $windows)", "$windows"),
    Fault("slices are stored from the first element on", StatementStep._written,
          "$first = $start + $_", "$first = $start"),
    Fault("loops that are not lifted run statements in reverse", circles._in_order,
          "[$statement for $group in $groups for $name in $group]",
          "[$statement for $group in $groups[::-1] for $name in $group]"),
    Fault("ops on slices begin with the first element", structured._span,
          "$first = $first + $ranges[$loop].$start.$times($factor)", "pass"),
    Fault("gemv is not told to transpose", RoutineEmitter._gemv,
          "$matrix.$loops[0] != $target.$loops[0]", "False"),
    Fault("matrix multiplications by rows forget the last row", RowCallEmitter.run,
          """
          $insert(memref.DeallocOp.get($buffer))
          $copy()
          """,
          "$insert(memref.DeallocOp.get($buffer))"),
)  # fmt: skip
