"""Faults to plant in the C front end, one at a time: all of them must be found."""

from __future__ import annotations

from planted import Fault

FOLDER = "frontends/c"


def fault(name: str, file: str, right: str, wrong: str) -> Fault:
    return Fault(name, file, right, wrong, FOLDER)


C_FAULTS = (
    # Domains
    fault("a guard is dropped", "model/extraction.py", "self._statement(branch, nest.under(holds))", "self._statement(branch, nest)"),
    fault("else runs where then does", "model/extraction.py", 'branches.append((f"not ({condition})", statement.otherwise))', "branches.append((condition, statement.otherwise))"),
    fault("a loop begins one late", "model/iteration_sets.py", 'f"{iterator} {comparison} {first}"', 'f"{iterator} {comparison} {first} + 1"'),
    fault("a step is ignored", "model/iteration_sets.py", 'steps = f"({iterator} - ({first})) mod {stride} = 0" if stride != 1 else ""', 'steps = ""'),
    fault("downward loops run upwards", "model/extraction.py", "tree: Tree = Loop(iterator, 1 if loop.step > 0 else -1", "tree: Tree = Loop(iterator, 1"),
    fault("the last iteration is left out", "emit/loops.py", 'extra = 1 if trees.operation(condition) == "le" else 0', "extra = 0"),
    # Subscripts
    fault("subscripts are swapped", "emit/values.py", "moved = [substituted(index, self._renaming()) for index in indices]", "moved = [substituted(index, self._renaming()) for index in reversed(indices)]"),
    fault("offsets of subscripts are lost", "model/linear.py", "return total + self.constant if self.constant else total", "return total"),
    fault("factors of subscripts are lost", "model/linear.py", "term = term if factor == 1 else term * factor", "term = term"),
    fault("rows and columns are swapped", "model/accesses.py", "        indices = _rows(found.dimensions[0][0][1], chain)\n", "        indices = _rows(found.dimensions[0][0][1], chain)[::-1]\n"),
    fault("remainders in bounds are quotients", "emit/trees.py", '"pdiv_r": _remainder', '"pdiv_r": _divided'),
    # Signs and rounding
    fault("division rounds down", "model/affine_arithmetic.py", "natural(-linear, abs(number)).times(-sign)", "natural(linear, abs(number)).times(sign)"),
    fault("data are divided as if unsigned", "emit/values.py", '"/": arith.DivSIOp,', '"/": arith.DivUIOp,'),
    fault("remainders of data as if unsigned", "emit/values.py", '"%": arith.RemSIOp, "&"', '"%": arith.RemUIOp, "&"'),
    fault("unsigned bytes are widened with a sign", "emit/values.py", "widen = arith.ExtSIOp if source.is_signed and source != BOOL else arith.ExtUIOp", "widen = arith.ExtSIOp"),
    fault("unsigned is compared as signed", "emit/values.py", "tests = _SIGNED_TESTS if type.is_signed else _UNSIGNED_TESTS", "tests = _SIGNED_TESTS"),
    fault("unsigned becomes a float with a sign", "emit/values.py", "op = arith.SIToFPOp if is_signed else arith.UIToFPOp", "op = arith.SIToFPOp"),
    fault("shifts to the right fill with zeros", "emit/values.py", '"<<": arith.ShLIOp, ">>": arith.ShRSIOp,', '"<<": arith.ShLIOp, ">>": arith.ShRUIOp,'),
    fault("minus is forgotten", "emit/values.py", "return self.add(arith.NegfOp(operand))", "return operand"),
    # Order and values
    fault("differences are turned round", "emit/values.py", "left, right = self.value(expression.left), self.value(expression.right)\n        if operator in", "right, left = self.value(expression.left), self.value(expression.right)\n        if operator in"),
    fault("compound assignment forgets the target", "parse/statements.py", "left = converted(target, type)\n", "left = converted(operand, type)\n"),
    fault("compound assignment in the type of the target", "parse/statements.py", "type = common(target.type, operand.type)", "type = target.type"),
    fault("or is and", "model/quasi_affine.py", 'return f"({left}) or ({inner.condition(expression.right)})"', 'return f"({left}) and ({inner.condition(expression.right)})"'),
    fault("a ternary takes the other branch", "emit/values.py", "return self.add(arith.SelectOp(condition, self.value(first), self.value(second)))", "return self.add(arith.SelectOp(condition, self.value(second), self.value(first)))"),
    fault("extents come from what is accessed last", "emit/c_entry_points.py", "for length in reversed(lengths[1:]):", "for length in reversed(lengths[:-1]):"),
    fault("chained assignment in the wrong order", "parse/statements.py", "return Block(place, (first, Assign(place, target, value)))", "return Block(place, (Assign(place, target, value), first))"),
    fault("dependences of what is overwritten are lost", "model/dependences.py", "return self.flow.union(self.anti).union(self.output).coalesce()", "return self.flow.coalesce()"),
    # Loops in another order
    fault("what vectors leave over is dropped", "emit/innermost.py", "self._stepped(name, end, upper, indices.constant(1), node, instances, None)", "pass"),
    fault("elements stay in registers that others write", "emit/registers.py", "and not _are_apart(scop, kept, other)", "and False"),
    fault("statements are taken apart in any order", "schedule/order.py", "if all(other in reached[name] or name not in reached[other] for other in left)", "if name in left"),
    # What is lifted
    fault("stencils in place are lifted", "tactics/structures.py", "if not own.is_empty():", "if False:"),
    fault("folds that run downwards are lifted", "tactics/structures.py", "if not own.is_subset(isl().Map.lex_lt(own.get_space().domain())):", "if False:"),
    fault("what is folded into is read elsewhere", "tactics/structures.py", "if any(each.array is array for each in found.reads):", "if False:"),
    fault("iterations that are no box are lifted", "tactics/structures.py", "if not isl().Set(box).intersect_params(points.params()).is_equal(points):", "if False:"),
    fault("views begin with the first element", "tactics/views.py", "builder.drop(first.nat(), xs)", "xs"),
    fault("windows are read at their beginning", "tactics/views.py", "found.append(-min(offset.constant for offset in offsets))", "found.append(0)"),
    fault("windows that run backwards run forwards", "tactics/views.py", "return found if sign == 1 else builder.map(builder.reverse, found)", "return found"),
    fault("parts are written one place before", "lift/statements.py", "first = start + _value(range_.first, numbers)", "first = start"),
    fault("statements run in any order in loops that stay", "tactics/circles.py", "for group in groups(names, edges) for name in group", "for group in groups(names, edges)[::-1] for name in group"),
    fault("ops of parts begin with the first element", "emit/structured.py", "first = first + structure.ranges[loop].first.times(factor)", "pass"),
    fault("the transpose is not told to gemv", "emit/routines.py", "flag = self._flag(matrix.loops[0] != target.loops[0])", "flag = self._flag(False)"),
    fault("products of rows forget the last row", "emit/row_calls.py", "out.insert(memref.DeallocOp.get(buffer))\n        self._copy_last_row()", "out.insert(memref.DeallocOp.get(buffer))"),
    fault("arrays that share memory are not noticed", "model/aliasing.py", "found = emitter.add(arith.OrIOp(found, meet))", "pass"),
)  # fmt: skip
