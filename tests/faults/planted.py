"""Faults to plant in the lowering, one at a time.

Functions are named by reference, so that tools rename them here as well. Patterns name ops and
attributes of MLIR, and otherwise metavariables; `source_patterns` explains them. `plant.py` says
which tests find each fault.
"""

from __future__ import annotations

from fault import Entry, Fault

from riselang.dialects.rise import pattern_registry
from riselang.lowering import (
    function_outlining,
    imperative,
    in_place,
    noalias,
    temporaries,
    vector_removal,
)
from riselang.lowering.access import _Resolver as Resolver
from riselang.lowering.affine_nests import Nest, Subscripts
from riselang.lowering.buffer_access import Memory
from riselang.lowering.defined_arith import _TotalOpBuilder as TotalOpBuilder
from riselang.lowering.dynamic_sizes import Sizes
from riselang.lowering.index_expressions import IndexEmitter
from riselang.lowering.lane_access import LaneAccess
from riselang.lowering.layouts import LayoutRules
from riselang.lowering.loop_emitter import Emitter
from riselang.lowering.passes import convert_rise_to_imperative, plan_polyhedral
from riselang.lowering.path_steps import PathSteps
from riselang.lowering.rules import index_rules, window_rules
from riselang.lowering.rules.index_rules import IndexRules
from riselang.lowering.rules.merge_sort_rules import MergeSortRules
from riselang.lowering.rules.reduction_rules import ReductionRules
from riselang.lowering.rules.scatter_rules import ScatterRules
from riselang.lowering.rules.stored_arrays import StoredArrays
from riselang.lowering.rules.window_rules import WindowRules
from riselang.lowering.runtime_checks import Checks
from riselang.lowering.stores import Stores
from riselang.lowering.translation import Translation
from riselang.nat import Nat

FIRST_LANE = LaneAccess.value_at_first_lane.__name__
LAST_LANE = LaneAccess.value_at_last_lane.__name__
ADD = Translation.add.__name__
CONSTANT = f"{Nat.__name__}.{Nat.const.__name__}"


def view(name: str) -> Entry:
    """The pattern of that name; its view names the sizes of the pattern as parameters."""
    return Entry(pattern_registry, name)


FAULTS = (
    # Wrong strides and offsets
    Fault("split takes the outer length", view("split"),
          "lambda m, $i, $j: $i * m + $j", "lambda n, $i, $j: $i * n + $j"),
    Fault("join divides by the outer length", view("join"),
          "lambda m, $i: ($i // $positive(m), $i % $positive(m))",
          "lambda n, $i: ($i // $positive(n), $i % $positive(n))"),
    Fault("join takes the remainder first", view("join"),
          "($i // $length, $i % $length)", "($i % $length, $i // $length)"),
    Fault("storing through join forgets the inner index", view("join"),
          "$i * m + $j", "$i * m"),
    Fault("slide ignores its step", view("slide"),
          "lambda sp, $i, $j: $i * sp + $j", "lambda sp, $i, $j: $i + $j"),
    Fault("slide starts one late", view("slide"),
          "lambda sp, $i, $j: $i * sp + $j", "lambda sp, $i, $j: $i * sp + $j + 1"),
    Fault("reverse is off by one", view("reverse"),
          "$view(lambda n, $i: n - 1 - $i, $$rest)", "$view(lambda n, $i: n - $i, $$rest)"),
    Fault("drop drops nothing", view("drop"),
          "lambda k, $i: $i + k", "lambda $i: $i"),
    Fault("a slice starts at its index twice", PathSteps.follow_op,
          "$start + $index_at($path[0])", "$start + $start + $index_at($path[0])"),
    # Swapped indices and sides
    Fault("transpose does not swap", view("transpose"),
          "$view(lambda $i, $j: ($j, $i), $$rest)", "$view(lambda $i, $j: ($i, $j), $$rest)"),
    Fault("zip reads the other array", PathSteps.follow_op,
          "$op.$first if $path[1] is $side else $op.$second",
          "$op.$second if $path[1] is $side else $op.$first"),
    Fault("a tuple gives the other component", PathSteps.follow_op,
          "$op.$first if $path[0] is $side else $op.$second",
          "$op.$second if $path[0] is $side else $op.$first"),
    Fault("the buffers of a tuple are confused", Memory.address,
          "$position += 0 if $_ else $_", "$position += 0"),
    Fault("affine operands in the wrong order", Memory.affine_map,
          "[$variables[$name] for $name in $ordered]",
          "[$variables[$name] for $name in reversed($ordered)]"),
    # Missing guards
    Fault("a clamped pad does not clamp above", view("pad"),
          "$max($min($index, $last), 0)", "$max($index, 0)"),
    Fault("a clamped pad does not clamp below", view("pad"),
          "$max($min($index, $last), 0)", "$min($index, $last)"),
    Fault("a wrapped pad adds no length", view("padWrap"),
          "($i - $l + $n) % $positive($n)", "($i + $n) % $positive($n)"),
    Fault("a reflected pad repeats the boundary element", pattern_registry._reflect_index,
          "($n - 1) * 2 - $distance", "($n - 1) * 2 + 1 - $distance"),
    Fault("concat chooses one element late", Resolver.read_concat,
          "$length - 1 - $index", "$length - $index"),
    Fault("concat reads the second array from the start of the first", Resolver.read_concat,
          "($index - $length, *$path[1:])", "($index, *$path[1:])"),
    Fault("padConst ignores the right end", Resolver.read_padded,
          "$length - 1 - $index", "$length + 9 - $index"),
    Fault("an affine.if takes the other branch", Memory.affine_load,
          "$second - $first if $_min else $first - $second",
          "$first - $second if $_min else $second - $first"),
    Fault("a negative index is divided as if it were natural", IndexEmitter._atom,
          """
          case $mod($dividend, $divisor) if $is_natural($dividend):
              $$body
          """,
          """
          case $mod($dividend, $divisor):
              $$body
          """),
    Fault("clampIdx allows one more", IndexRules.read_clamp_idx,
          "$emitter.length_value($length - 1)", "$emitter.length_value($length)"),
    Fault("clampIdx of a literal allows one more", index_rules._clamped_literal,
          "$size.constant - 1", "$size.constant"),
    Fault("clampIdx does not clamp below", IndexRules.read_clamp_idx,
          "'arith.maxsi'", "'arith.addi'"),
    Fault("checkIdx accepts the bound", Checks.check_index, "'uge'", "'ugt'"),
    # Loops, accumulators and memory
    Fault("loops start at 1", Emitter._bounds, "$constant(0)", "$constant(1)"),
    Fault("a reduction forgets its start value in memory", ReductionRules.carry_in_memory,
          "$store($init, $add(codegen.CastOp($current, $type)))",
          "$store($init, $add(codegen.CastOp($following, $type)))",
          given="$current, $following = $buffers, $buffers"),
    Fault("a reduction in memory reads the buffer that it writes", ReductionRules.carry_in_memory,
          "$value = $add(codegen.CastOp($carried[:$half], $type))",
          "$value = $add(codegen.CastOp($carried[$half:], $type))"),
    Fault("double buffers are not swapped", ReductionRules.carry_in_memory,
          "(*$carried[$half:], *$carried[:$half])", "$carried"),
    Fault("a scan passes on the accumulator that it got", ReductionRules.scan_in_registers,
          "return $scalars", "return $carried",
          given="$scalars = $_($_($_, [$_($_, list($carried)), $_]))"),
    Fault("the last reduction of reducePar leaves out the partial chunk", ReductionRules.read_reduce_par,
          "codegen.TakeOp($results, $array($count, $type))",
          "codegen.TakeOp($results, $array($full, $type))",
          given="$_, $count = $full + 1, $_"),
    Fault("while never iterates", ReductionRules.repeat_in_registers,
          "return $condition($holds, $wrap($type, list($carried)))",
          f"""
          $condition($holds, $wrap($type, list($carried)))
          return self.{ADD}(arith.ConstantOp.from_int_and_width(0, 1))
          """),
    Fault("an overlapping target is written without a buffer", imperative._store_result,
          """
          if $overlaps:
              $$buffered
          else:
              $$direct
          """,
          """
          if False:
              $$buffered
          else:
              $$direct
          """),
    Fault("temporaries of threads are shared", temporaries._allocation_scope,
          "$function | scf.ParallelOp | affine.ParallelOp", "$function"),
    Fault("temporaries are freed before their last use", temporaries._move_to_heap,
          "$block.insert_op_after($free, $last)", "$block.insert_op_before($free, $last)"),
    Fault("temporaries are never freed", temporaries._move_to_heap,
          "$block.insert_op_after($free, $last)", "del $free"),
    Fault("scatter writes at the position of the value", ScatterRules.write_update,
          "$write($new, $add(codegen.IdxOp($target, $_)))",
          "$write($new, $add(codegen.IdxOp($target, $index)))",
          given="$new = $add(codegen.IdxOp($_, $index))"),
    Fault("a let is computed again at each use", Translation.bind,
          "$_($_, lambda $target: $_($lazy, $target))", "$force($lazy)",
          given="return $force($lazy)"),
    Fault("sort is not stable", MergeSortRules.is_right_next,
          "[$item for $at in ($right, $left)]", "[$item for $at in ($left, $right)]"),
    Fault("sort forgets the last run", MergeSortRules.merge_sort,
          "$add(arith.CmpiOp($carried[-1], $end, 'slt'))",
          "$add(arith.CmpiOp($add(arith.AddiOp($carried[-1], $carried[-1])), $end, 'slt'))"),
    Fault("a circular buffer is one element too short", window_rules._circular_buffer_length,
          "$length = $window.$size", f"$length = $max($window.$size - 1, {CONSTANT}(1))",
          given="$length = $max($_, $length)"),
    Fault("rotated values lose the newest", WindowRules.store_rotating,
          "$scalars[len($scalars) - len($carried):]", "$scalars[:len($carried)]"),
    # Scalars and sizes
    Fault("division by zero is not guarded", TotalOpBuilder.emit_division,
          "return $op('arith.select', $_, $_, $result)", "return $result"),
    Fault("a shift by the width wraps", TotalOpBuilder.emit_shift, "'ult'", "'ule'"),
    Fault("NaN becomes the smallest integer", TotalOpBuilder.emit_float_to_integer,
          "$op('arith.ori', $op('arith.ori', $_, $too_low), $too_high)",
          "$op('arith.ori', $too_low, $too_high)"),
    Fault("a size is read from the wrong dimension", Sizes._solve,
          "index_constant($dimension)", "index_constant(0)"),
    Fault("contraction is not applied", convert_rise_to_imperative.convert_module,
          "$contract($term) if $_ else $term", "$contract($term) if False else $term"),
    Fault("lanes take the operands of an operation from right to left", vector_removal._unzip_element,
          "$components($first, $half) + $components($second, $rest)",
          "$components($second, $half) + $components($first, $rest)"),
    Fault("lanes forget the predicate of a comparison", vector_removal._map_over_lanes,
          "$term.predicate", "$term.predicate and 'ult'"),
    # Vectors, reductions in place and in registers, maps of views
    Fault("lanes that are not contiguous are loaded as a vector", LaneAccess.contiguous_start,
          "any($outer) or not $_", "any($outer)"),
    Fault("every lane is the first", LaneAccess.gather_lanes,
          "$scalar = $read($at_lane($path, $lane, $_))",
          "$scalar = $read($at_lane($path, $lane, 0))"),
    Fault("scalars of vectors in the wrong lane", view("asScalar"),
          "($i // k, $i % k)", "($i // k, k - 1 - $i % k)"),
    Fault("a list gives its last element", PathSteps.follow_op,
          "$op.$elements[$index.$constant]", "$op.$elements[-1]"),
    Fault("a reduction in place reads what it has written", in_place._can_store_in_place,
          "$body == $target or not $_", "True"),
    Fault("a reduction in place ignores functions", in_place._can_map_in_place,
          "not isinstance($function, $type) or $_", "not isinstance($function, $type)"),
    Fault("a reduction in place does not store its start value", StoredArrays.store_unless_stored,
          """
          if not $_($init, $target):
              $store($init, $target)
          """,
          """
          if False:
              $store($init, $target)
          """),
    Fault("a reduction in place takes any view for the inverse of its own", in_place._accumulator_component,
          """
          if $xs == $target:
              return $element
          """,
          """
          if $mentions($xs, $accumulator):
              return $element
          """,
          given="[$part for $part in $_ if $mentions($part, $accumulator)]"),
    Fault("elements behind the end are stored", view("take"),
          "lambda k, $i: k - 1 - $i", "lambda k, n, $i: k + n - 1 - $i"),
    Fault("one element too many is stored", view("take"),
          "lambda k, $i: k - 1 - $i", "lambda k, $i: k - $i"),
    Fault("a vector is stored whose last lane is behind the end", Stores.contiguous_store,
          f"self.{LAST_LANE}($end, $lane)", f"self.{FIRST_LANE}($end, $lane)"),
    Fault("the lanes before the end of an array are not stored", Stores.contiguous_store,
          "self.value_at_first_lane($end, $lane) + 1", "self.value_at_first_lane($end, $lane)"),
    Fault("a vector is loaded across the end of a padded array", Resolver.read_padded_lanes,
          f"self.{LAST_LANE}($index, $lane)", f"self.{FIRST_LANE}($index, $lane)"),
    Fault("maps of views in the wrong order", LayoutRules.target_before,
          """
          for $view in $views:
              $$body
          """,
          """
          for $view in reversed($views):
              $$body
          """),
    Fault("unrolled loops repeat the first iteration", Emitter._unroll,
          "$body($constant($_), $carried)", "$body($constant(0), $carried)"),
    Fault("a buffer that a loop yields is outlined with it", function_outlining._hoist_shared_temporaries,
          "$_ and any($users)", "False and any($users)"),
    # Polyhedral loops, outlined functions, and the attributes for LLVM
    Fault("dependent iterations are tiled", Nest.is_permutable, "sum($_free) <= 1", "sum($_free) <= 9"),
    Fault("accesses to other elements are ignored", Nest.has_only_accesses_like,
          "$access.$buffer is $store.$buffer", "$access is $store.$buffer"),
    Fault("vectors run past the end of a loop", plan_polyhedral._check_vectorizable,
          "($count or 0) % $_", "($count or 0) % 1"),
    Fault("vectors of elements with stride two", Subscripts._has_unit_coefficient, "return False", "return True"),
    Fault("dependent iterations are vectorized", plan_polyhedral._check_vectorizable,
          "not $_ or not $contiguous", "not $contiguous"),
    Fault("a function that others call is planned", plan_polyhedral._check_function,
          """
          if $_:
              raise $error
          for $op in $ops:
              $$body
          """,
          """
          if False:
              raise $error
          for $op in $ops:
              $$body
          """),
    Fault("inputs are marked as distinct", noalias._noalias_parameters,
          "[$argument for $argument, $attributes in $arguments if $_]",
          "[$argument for $argument, $attributes in $arguments]"),
    Fault("outlined functions keep buffers that others use", function_outlining._hoist_shared_temporaries,
          "$needed or ($_ and $_)", "$needed"),
    Fault("outlined functions lose their results", function_outlining._outline,
          "[$result for $op in $part for $result in $op.results if $_]",
          "[$result for $op in $part for $result in $op.results if False]"),
)  # fmt: skip
