"""Faults to plant where the C front end models programs, checks calls, and emits code."""

from __future__ import annotations

from fault import Fault

from riselang.frontends.c import calling, records
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.emit import (
    bounds_checks,
    c_expressions,
    fma_contraction,
    interleaved_extrema,
    loop_vectorization,
)
from riselang.frontends.c.emit.abi_entries import _Entry
from riselang.frontends.c.emit.c_expressions import CExpressions
from riselang.frontends.c.emit.check_emitter import CheckEmitter
from riselang.frontends.c.emit.innermost import InnermostEmitter
from riselang.frontends.c.emit.loop_vectorization import VectorEmitter
from riselang.frontends.c.emit.statement_emitter import StatementEmitter
from riselang.frontends.c.model import (
    access_conditions,
    accesses,
    accumulators,
    affine_arithmetic,
    aliasing,
    footprints,
    iteration_sets,
)
from riselang.frontends.c.model.access_conditions import _ConditionCollector
from riselang.frontends.c.model.dependences import ParallelLoopMarker
from riselang.frontends.c.model.extraction import Extraction
from riselang.frontends.c.model.quasi_affine import AffineReader
from riselang.frontends.c.row_arguments import RowArgument
from riselang.frontends.c.schedule import planning, user_schedules

ACCUMULATOR_FAULTS = (
    Fault("elements that are accessed meanwhile replace scalars", accumulators._is_replaceable,
          "_meets_element($$_)", "False"),
    Fault("scalars that are not always stored are replaced", accumulators._is_replaceable,
          "_moved($$_).is_equal($last.domain)", "True"),
    Fault("scalars of other types are replaced", accumulators._is_replaceable,
          "$array.type == $variable.type", "True"),
    Fault("scalars that are results are replaced", accumulators.find_lifetimes,
          "_is_in_result($$_)", "False"),
    Fault("accumulators are contracted", fma_contraction._accumulators,
          "frozenset($found - $others)", "frozenset()"),
    Fault("instances after those of other statements run first", planning._plan_independent_first,
          "$own.subtract($late)", "$own"),
)  # fmt: skip
MODEL_FAULTS = (
    Fault("! is ignored in affine conditions", AffineReader.read_condition,
          "return f'not ({$x})'", "return $x"),
    Fault("a condition that fails is one", AffineReader._read_boolean,
          "Linear(0)", "Linear(1)"),
    Fault("both values of an affine choice are the first", AffineReader._read_conditional,
          "(f'not ({$a})', $expression.second)", "(f'not ({$a})', $expression.first)"),
    Fault("unsigned subscripts do not wrap", AffineReader._check_no_wrap,
          "not $expression.type.is_signed", "False"),
    Fault("narrower types hold all values", AffineReader._read_conversion,
          "$a.smallest >= $b.smallest and $c", "True"),
    Fault("variables that change are sizes", AffineReader._read_variable,
          "not $self._is_invariant($_)", "False"),
    Fault("expressions of variables that change are sizes", AffineReader._is_parametric,
          "not $is_loop and $self._is_invariant($_)", "not $is_loop"),
    Fault("remainders have the sign of the divisor", affine_arithmetic._remainder,
          "lambda $by: False", "lambda $by: $by < 0"),
    Fault("quotients by negative numbers are those by positive ones", affine_arithmetic._divide,
          "lambda $by: $by < 0", "lambda $by: False"),
    Fault("a mask is a remainder by itself", affine_arithmetic._mask,
          "$linear.remainder($mask + 1)", "$linear.remainder($mask)"),
    Fault("all masks are remainders", affine_arithmetic._mask,
          "$linear is None or $mask < 0 or $_", "$linear is None or $mask < 0"),
    Fault("shifts are one too far", affine_arithmetic._left_shift,
          "1 << $by", "1 << $by + 1"),
    Fault("differences in subscripts are sums", affine_arithmetic._add_or_subtract,
          "1 if $_ else -1", "1"),
    Fault("conditions of loops may hold again", iteration_sets._check_iterations,
          "not $a.intersect($b).is_empty()", "False"),
    Fault("variables of loops do not wrap", iteration_sets._check_iterations,
          "not $is_int and not $a.restrict($b).is_impossible($c)", "False"),
    Fault("!= ends loops that go down at once", iteration_sets._normalized_condition,
          "'<' if $_ else '>'", "'<'"),
    Fault("loops that do not run set their variable", iteration_sets.assign_final_value,
          "Conditional($_, $_, $_, $end, $_)", "$end"),
    Fault("loops up to the end leave it in their variable", iteration_sets.assign_final_value,
          "_binary($end, '+' if $_ else '-', _literal($end, 1))", "$end"),
    Fault("loops with steps end at their bound", iteration_sets.assign_final_value,
          "_binary(_literal($end, abs($_) - 1), '-', $_)", "_literal($end, 0)"),
    Fault("divisions by any number are computed again", Extraction._is_recomputable_part,
          "isinstance($part.right, Literal) and $_", "True"),
    Fault("variables that are set twice have their first value", Extraction._extract_declaration,
          "$self._counts.get($_) == 1 and $more", "$more"),
    Fault("ends that a loop changes are known", Extraction._has_known_end,
          "return False", "return True"),
    Fault("lengths of arrays may change", Extraction._check_extents,
          "$part.indices or $part.variable in $self.written", "$part.indices"),
    Fault("promises on variables that change count", Extraction._knows_variables_of,
          "set($function.parameters) - $changed", "set($function.parameters)"),
    Fault("subscripts of targets are not read", accesses.read_accesses,
          "(*$inner.target.indices, $inner.value)", "($inner.value,)"),
    Fault("both values of a choice are read", accesses.must_accesses,
          "$stack.append($expression.condition)",
          "$stack.extend(($expression.condition, $expression.first, $expression.second))"),
    Fault("columns may be longer than rows", accesses._indices_fit,
          "len($length) != 1 or not $_", "len($length) != 1"),
    Fault("unknown subscripts are zero", accesses.access_relation,
          "', '.join(f'o{$position}' for $position in range($rank))",
          "', '.join('0' for $position in range($rank))"),
    Fault("else is reached where then is", _ConditionCollector.visit_statement,
          "_restrict_reader($reader, $statement.condition, holds=False)",
          "_restrict_reader($reader, $statement.condition)"),
    Fault("the right side of || is reached if the left holds", _ConditionCollector.visit_expression,
          "$operator == '&&'", "True"),
    Fault("conditions that fail hold", access_conditions._restrict_reader,
          "$text if $holds else f'not ({$text})'", "$text"),
    Fault("all loops are parallel", ParallelLoopMarker._is_parallel,
          "bool($a.is_subset($b))", "True"),
    Fault("schedules may violate output dependences", user_schedules.violated_dependences,
          "$pairs.all", "$pairs.flow"),
)  # fmt: skip

EMISSION_FAULTS = (
    Fault("arrays may be one element too short", footprints._bounding_box,
          "$length - 1", "$length"),
    Fault("quotients in lengths are positive", footprints._evaluate_binary,
          "1 if $_ else -1", "1"),
    Fault("arrays that share memory begin at the same address", CFunction._check_overlap,
          "$a < $other_end and $b < $end", "$a == $b"),
    Fault("arrays of other types are accepted", calling._check_type,
          "$a.dtype != $b.dtype", "False"),
    Fault("integers that do not fit are accepted", calling._convert_scalar,
          "$type.smallest <= $value <= $type.largest", "$value <= $type.largest"),
    Fault("rows are as long as the longest", RowArgument.matrix,
          "min($sizes)", "max($sizes)"),
    Fault("members may be anywhere", records._same_layout,
          "$a not in $b or $_", "$a not in $b"),
    Fault("only arrays that are written first may overlap", aliasing.possibly_aliasing_pairs,
          "$first in $written or $second in $written", "$first in $written"),
    Fault("the last row may overlap", aliasing._address_range,
          "$end = $emitter.add(arith.AddiOp($last, $emitter.indices.emit_constant(1)))",
          "$end = $last"),
    Fault("parts of structures are stored at its start", _Entry._add_record,
          "f'getelementptr i8, ptr {$address}, i64 {8 * $position}'",
          "f'getelementptr i8, ptr {$address}, i64 0'"),
    Fault("differences are contracted as sums", fma_contraction._contract_expression,
          "Fma($a, $b, $c, $d, _apply_sign($right, $_))", "Fma($a, $b, $c, $d, $right)"),
    Fault("products that are subtracted are added", fma_contraction._contract_expression,
          "_apply_sign($right.left, $_)", "$right.left"),
    Fault("loops with unknown ends that include them end early", StatementEmitter._emit_for,
          "$operator in ('<=', '>=')", "False"),
    Fault("loops with unknown ends that go down start at zero", StatementEmitter._emit_for,
          "$index = $out.add(arith.SubiOp($first, $index))", "pass"),
    Fault("while loops do not update", StatementEmitter._emit_while,
          """
          if not $loop.tests_last:
              $self.emit_statement($loop.body)
              $self.emit_statement($loop.update)
          """,
          """
          if not $loop.tests_last:
              $self.emit_statement($loop.body)
          """),
    Fault("loops go on after a failed check", StatementEmitter._emit_while,
          "$condition = $out.add(arith.AndIOp($condition, $_))", "pass"),
    Fault("the element after the last is in bounds", CheckEmitter._emit_in_bounds,
          "'ult'", "'ule'"),
    Fault("negative subscripts are in bounds", CheckEmitter._emit_in_bounds,
          "'ult'", "'slt'"),
    Fault("one dimension is checked", CheckEmitter._emit_in_bounds,
          "$tests[1:]", "[]"),
    Fault("the least integer divided by -1 traps", CheckEmitter.emit_division,
          "$out.add(arith.SelectOp($_, $_, $right))", "$right"),
    Fault("floats above the largest integer are converted", CheckEmitter.emit_float_to_integer,
          "arith.AndIOp($is_above, $_)", "arith.AndIOp($is_above, $is_above)"),
    Fault("accesses that may fail are not checked", bounds_checks._add_checks_to_statement,
          "not $a.is_exact or $_", "not $a.is_exact"),
    Fault("vectorized loops lose their last iteration", InnermostEmitter._loop_bounds,
          "$_ == 'le'", "False"),
    Fault("single vectors begin at the start again", InnermostEmitter._emit_vectorized,
          """
          $self._emit_stepped_loop($$arguments)
          $lower = $end
          """,
          "$self._emit_stepped_loop($$arguments)"),
    Fault("distant elements are contiguous", loop_vectorization.vector_shape,
          "not $strides <= {-1, 0, 1}", "False"),
    Fault("minima are maxima", loop_vectorization.min_or_max,
          "'min', 'max'", "'max', 'min'"),
    Fault("lanes that go down begin with the last element", VectorEmitter._emit_access,
          "$self._lanes - 1 if $_ else 0", "0"),
    Fault("lanes that go down are not reversed", VectorEmitter._emit_access,
          "range($self._lanes)[::-1]", "range($self._lanes)"),
    Fault("statements with checks are vectorized", loop_vectorization.is_vectorizable,
          "$statement.checked_accesses", "False"),
    Fault("one chain of an extremum counts", interleaved_extrema.combine_chains,
          "reduce($_, $chains)", "$chains[0]"),
    Fault("C has no parentheses on the right", CExpressions._format_binary,
          "max($inner, $precedence + 1)", "$inner"),
    Fault("C has double constants in float arithmetic", c_expressions.format_literal,
          "'f' if $type.bits == 32 else ''", "''"),
    Fault("C computes bounds of constants as int", c_expressions._apply,
          "$operator in ('+', '-', '*') and $_", "False"),
)  # fmt: skip
