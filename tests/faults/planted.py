"""Faults to plant in the lowering, one at a time: each is a line of it, made wrong.

A fault names a file below src/riselang/lowering, a text that occurs there once, and what stands in
its place. `plant.py` says which tests find each of them.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    name: str
    file: str
    right: str
    wrong: str
    folder: str = "lowering"
    """Below src/riselang."""


FAULTS = (
    # Wrong strides and offsets
    Fault("split takes the outer length", "pattern_registry.py", 'lambda m, i, j: i * m + j, "An array, read', 'lambda n, i, j: i * n + j, "An array, read', "dialects/rise"),
    Fault("join divides by the outer length", "pattern_registry.py", 'lambda m, i: (i // positive(m), i % positive(m)), "An array of arrays', 'lambda n, i: (i // positive(n), i % positive(n)), "An array of arrays', "dialects/rise"),
    Fault("join takes the remainder first", "pattern_registry.py", 'lambda m, i: (i // positive(m), i % positive(m)), "An array of arrays', 'lambda m, i: (i % positive(m), i // positive(m)), "An array of arrays', "dialects/rise"),
    Fault("joined indices forget the inner one", "pattern_registry.py", 'lambda m, i, j: i * m + j, "What `join`', 'lambda m, i, j: i * m, "What `join`', "dialects/rise"),
    Fault("slide ignores its step", "pattern_registry.py", 'lambda sp, i, j: i * sp + j', 'lambda sp, i, j: i + j', "dialects/rise"),
    Fault("slide starts one late", "pattern_registry.py", 'lambda sp, i, j: i * sp + j', 'lambda sp, i, j: i * sp + j + 1', "dialects/rise"),
    Fault("reverse is off by one", "pattern_registry.py", 'lambda n, i: n - 1 - i, "An array', 'lambda n, i: n - i, "An array', "dialects/rise"),
    Fault("drop drops nothing", "pattern_registry.py", 'lambda k, i: i + k', 'lambda i: i', "dialects/rise"),
    Fault("a slice starts at its index twice", "steps.py", "return op.source, (start + index_at(path[0]), *path[1:])", "return op.source, (start + start + index_at(path[0]), *path[1:])"),
    # Swapped indices and sides
    Fault("transpose does not swap", "pattern_registry.py", 'lambda i, j: (j, i), "An array', 'lambda i, j: (i, j), "An array', "dialects/rise"),
    Fault("zip reads the other array", "steps.py", "chosen = op.first if path[1] is Side.FIRST else op.second", "chosen = op.second if path[1] is Side.FIRST else op.first"),
    Fault("a tuple gives the other component", "steps.py", "return (op.first if path[0] is Side.FIRST else op.second), path[1:]", "return (op.second if path[0] is Side.FIRST else op.first), path[1:]"),
    Fault("the buffers of a pair are confused", "memory.py", "position += 0 if part is Side.FIRST else len(list(leaves(first)))", "position += 0"),
    Fault("affine operands in the wrong order", "memory.py", "return map, [self.variables[name] for name in ordered]", "return map, [self.variables[name] for name in reversed(ordered)]"),
    # Missing guards
    Fault("a clamped pad does not clamp above", "pattern_registry.py", 'nat_max(nat_min(i - l, n - 1), 0)', 'nat_max(i - l, 0)', "dialects/rise"),
    Fault("a clamped pad does not clamp below", "pattern_registry.py", 'nat_max(nat_min(i - l, n - 1), 0)', 'nat_min(i - l, n - 1)', "dialects/rise"),
    Fault("a wrapped pad adds no length", "pattern_registry.py", '(i - l + n) % positive(n)', '(i + n) % positive(n)', "dialects/rise"),
    Fault("a reflected pad repeats the edge", "pattern_registry.py", 'nat_min(distance, (n - 1) * 2 - distance)', 'nat_min(distance, (n - 1) * 2 + 1 - distance)', "dialects/rise"),
    Fault("concat chooses one element late", "access.py", "            length - 1 - index,\n            leaf_type", "            length - index,\n            leaf_type"),
    Fault("concat reads the second array from the start of the first", "access.py", "(index - length, *path[1:])", "(index, *path[1:])"),
    Fault("padConst ignores the right end", "access.py", "array_of(op.source).length - 1 - index,\n                leaf,", "array_of(op.source).length + 9 - index,\n                leaf,"),
    Fault("an affine.if takes the other branch", "memory.py", "gap = second - first if isinstance(choice, Min) else first - second", "gap = first - second if isinstance(choice, Min) else second - first"),
    Fault("a negative index is divided as if it were natural", "indices.py", "case Mod(dividend, divisor) if self._is_natural(dividend):", "case Mod(dividend, divisor):"),
    Fault("clampIdx allows one more", "rules/index_rules.py", 'size(pattern, "n") - 1', 'size(pattern, "n")'),
    Fault("clampIdx does not clamp below", "rules/index_rules.py", 'number = Scalar("arith.maxsi", [_as', 'number = Scalar("arith.addi", [_as'),
    Fault("checkIdx accepts the bound", "checks.py", 'arith.CmpiOp(number, bound, "uge")', 'arith.CmpiOp(number, bound, "ugt")'),
    # Loops, accumulators and memory
    Fault("loops start at 1", "loops.py", "return self.constant(0), self.length(length), self.constant(1)", "return self.constant(1), self.length(length), self.constant(1)"),
    Fault("a reduction forgets its start value in memory", "rules/reduction_rules.py", "        current, following = self.buffers(type), self.buffers(type)\n        self.store(init, self.add(codegen.CastOp(current, type)))\n\n        def body(", "        current, following = self.buffers(type), self.buffers(type)\n        self.store(init, self.add(codegen.CastOp(following, type)))\n\n        def body("),
    Fault("a reduction in memory reads what it writes", "rules/reduction_rules.py", "value = self.add(codegen.CastOp(carried[:half], type))\n            target = ", "value = self.add(codegen.CastOp(carried[half:], type))\n            target = "),
    Fault("buffers do not take turns", "rules/reduction_rules.py", "            self.store_applied(function, arguments, target)\n            return (*carried[half:], *carried[:half])", "            self.store_applied(function, arguments, target)\n            return carried"),
    Fault("a scan passes on what it got", "rules/reduction_rules.py", "            self.copy(kept, self.add(codegen.IdxOp(target, index)))\n            return scalars", "            self.copy(kept, self.add(codegen.IdxOp(target, index)))\n            return carried"),
    Fault("reducePar starts the last fold without its first chunk", "rules/reduction_rules.py", "return fold(self.add(codegen.TakeOp(results, array(count, type))))", "return fold(self.add(codegen.TakeOp(results, array(full, type))))"),
    Fault("while stops too late", "rules/reduction_rules.py", "            return self.goes_on(holds, self.wrap(type, list(carried)))", "            self.goes_on(holds, self.wrap(type, list(carried)))\n            return self.add(arith.ConstantOp.from_int_and_width(0, 1))"),
    Fault("an overlapping target is written at once", "imperative.py", "    if overlaps:", "    if False:"),
    Fault("temporaries of threads are shared", "temporaries.py", "if isinstance(parent, FuncOp | scf.ParallelOp | affine.ParallelOp):", "if isinstance(parent, FuncOp):"),
    Fault("temporaries are never freed", "temporaries.py", "    block.insert_op_before(memref.DeallocOp.get(moved.memref), last)", "    del last"),
    Fault("scatter writes at the position of the value", "rules/index_rules.py", "write(new, self.add(codegen.IdxOp(target, place)))", "write(new, self.add(codegen.IdxOp(target, index)))"),
    Fault("a let is computed again at each use", "translation.py", "        return self.materialised(lazy.term.type, lambda target: self.store(lazy, target))", "        return self.force(lazy)"),
    Fault("sort is not stable", "rules/sort_rules.py", "for place in (right, left)]", "for place in (left, right)]"),
    Fault("sort forgets the last run", "rules/sort_rules.py", 'return self.add(arith.CmpiOp(carried[-1], end, "slt"))', 'return self.add(arith.CmpiOp(self.add(arith.AddiOp(carried[-1], carried[-1])), end, "slt"))'),
    Fault("a ring is one element too short", "rules/window_rules.py", "    length = windows.window.length\n    if", "    length = nat_max(windows.window.length - 1, Nat.const(1))\n    if"),
    Fault("rotated values lose the newest", "rules/window_rules.py", "return scalars[len(scalars) - len(carried) :]", "return scalars[: len(carried)]"),
    # Scalars and sizes
    Fault("division by zero is not guarded", "defined_arith.py", "return self.op(\"arith.select\", is_zero, at_zero, result)", "return result"),
    Fault("a shift by the width wraps", "defined_arith.py", 'fits = self.compare("ult", amount, self.integer(width))', 'fits = self.compare("ule", amount, self.integer(width))'),
    Fault("NaN becomes the smallest integer", "defined_arith.py", 'outside = self.op("arith.ori", self.op("arith.ori", is_nan, too_low), too_high)', 'outside = self.op("arith.ori", too_low, too_high)'),
    Fault("a size is read from the wrong dimension", "sizes.py", "arith.ConstantOp.from_int_and_width(position, IndexType())", "arith.ConstantOp.from_int_and_width(0, IndexType())"),
    Fault("contraction is not applied", "passes/convert_rise_to_imperative.py", "contract(term) if contracts(module) else", "contract(term) if False else"),
    Fault("lanes take the operands of an operation from right to left", "vectors.py", "_components(first, half) + _components(second, count - half)", "_components(second, half) + _components(first, count - half)"),
    Fault("lanes forget the predicate of a comparison", "vectors.py", "scalar_type(term), term.predicate", "scalar_type(term), term.predicate and 'ult'"),
    # Vectors, folds in place and in registers, maps of views
    Fault("lanes that lie apart are loaded as a vector", "lane_access.py", "for index in outer) or not self.rises_with(last, lane):", "for index in outer):"),
    Fault("every lane is the first", "lane_access.py", "scalar = read(at_lane(path, lane, number))", "scalar = read(at_lane(path, lane, 0))"),
    Fault("scalars of vectors in the wrong lane", "pattern_registry.py", 'lambda k, i: (i // k, i % k), "An array', 'lambda k, i: (i // k, k - 1 - i % k), "An array', "dialects/rise"),
    Fault("a list gives its last element", "steps.py", "op.elements[index_at(path[0]).constant], path[1:]", "op.elements[-1], path[1:]"),
    Fault("a fold in place reads what it has written", "in_place.py", "if body == place or not _mentions(body, accumulator):", "if True:"),
    Fault("a fold in place does not look at functions", "in_place.py", "if not isinstance(function, Lambda) or _mentions(function, accumulator):", "if not isinstance(function, Lambda):"),
    Fault("a fold in place does not store its start", "rules/reduction_rules.py", "if not self.is_at(arguments[1], target):", "if False:"),
    Fault("a fold in place takes any view for the one that is undone", "in_place.py", "    if xs == place:\n        return element", "    if _mentions(xs, accumulator):\n        return element"),
    Fault("what is too much is stored", "pattern_registry.py", 'room=lambda k, i: k - 1 - i', 'room=lambda k, n, i: k + n - 1 - i', "dialects/rise"),
    Fault("one too many is stored", "pattern_registry.py", 'room=lambda k, i: k - 1 - i', 'room=lambda k, i: k - i', "dialects/rise"),
    Fault("a vector is stored whose last lane is too much", "stores.py", "last = self.at_last_lane(end, lane)", "last = self.at_first_lane(end, lane)"),
    Fault("the lanes before the end of an array are not stored", "stores.py", "return None if self.has_whole_lanes(end, lane) else other", "return None"),
    Fault("a vector is loaded across the end of a padded array", "access.py", "last = array_of(op.source).length - 1 - self.at_last_lane(index, lane)", "last = array_of(op.source).length - 1 - self.at_first_lane(index, lane)"),
    Fault("maps of views in the wrong order", "layouts.py", "for view in layout.views:", "for view in reversed(layout.views):"),
    Fault("unrolled loops repeat the first round", "loops.py", "carried = body(self.constant(number), carried)", "carried = body(self.constant(0), carried)"),
    Fault("memory that a loop gives goes with its part", "outlining.py", "is_given = gives and any", "is_given = False and any"),
    # Polyhedral loops, parts of functions, and what LLVM is told
    Fault("tiles of iterations that depend on each other", "nests.py", "sum(not store.selects(nest.index) for nest in band) <= 1", "sum(not store.selects(nest.index) for nest in band) <= 9"),
    Fault("accesses elsewhere are not looked at", "nests.py", "access == store for access in self.accesses() if access.buffer is store.buffer", "access == store for access in self.accesses() if access is store.buffer"),
    Fault("vectors run past the end of a loop", "passes/plan_polyhedral.py", "or 0) % lanes:", "or 0) % 1:"),
    Fault("vectors of elements that are two apart", "nests.py", "                return False\n        return found == 1", "                return True\n        return found == 1"),
    Fault("vectors of iterations that depend on each other", "passes/plan_polyhedral.py", "if not loop.is_parallel() or not is_along:", "if not is_along:"),
    Fault("a function that others call is planned", "passes/plan_polyhedral.py", "    if is_called:", "    if False:"),
    Fault("inputs are said to be distinct", "noalias.py", "return [argument for argument, attributes in arguments if NOALIAS in attributes.data]", "return [argument for argument, attributes in arguments]"),
    Fault("parts keep what others need", "outlining.py", "if is_needed or (is_shared and TEMPORARY in op.attributes):", "if is_needed:"),
    Fault("parts lose their results", "outlining.py", "if any(use.operation not in inside for use in result.uses)\n    ]\n    body", "if False\n    ]\n    body"),
)  # fmt: skip
