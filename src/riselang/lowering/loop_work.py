"""The work of loops: the scalar operations and memory accesses that they perform.

It is counted at the affine stage, where each operation and access is explicit.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import affine, func, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, VectorType, i1
from xdsl.ir import Attribute, Operation

from riselang.lowering.loop_counts import NOMINAL_LENGTH, has_known_trip_count, trip_count
from riselang.term.work import CALL_WORK, NO_WORK, Work, operation_work

LOAD_OPS = {
    "affine.load", "affine.vector_load", "memref.load", "vector.load", "vector.transfer_read",
    "vector.maskedload", "vector.gather",
}  # fmt: skip
STORE_OPS = {
    "affine.store", "affine.vector_store", "memref.store", "vector.store",
    "vector.transfer_write", "vector.maskedstore", "vector.scatter",
}  # fmt: skip
COMPUTING_DIALECTS = ("arith", "math", "vector")
VECTOR_OPS = {"vector.fma": 2, "vector.reduction": 1}
"""The operations of each lane of a vector op; other vector ops only move lanes."""


def module_work(module: ModuleOp, name: str) -> Work:
    """Return the work of one call to a function of a module at the affine stage."""
    return _Counter(module).function_work(name)


class _Counter:
    """Counts the work of functions, and of each function only once."""

    def __init__(self, module: ModuleOp):
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self._works: dict[str, Work] = {}

    def function_work(self, name: str) -> Work:
        if name not in self._works:
            self._works[name] = self._compute_function_work(name)
        return self._works[name]

    def _compute_function_work(self, name: str) -> Work:
        function = self._functions.get(name)
        if function is None or function.is_declaration:
            return Work(CALL_WORK, 0)
        takes_buffers = any(isinstance(each, MemRefType) for each in function.function_type.inputs)
        # A function on scalars is one operation whose result is defined for all operands.
        return self._region_work(function) if takes_buffers else Work(1, 0)

    def _region_work(self, op: Operation) -> Work:
        blocks = [block for region in op.regions for block in region.blocks]
        return sum([self._op_work(inner) for block in blocks for inner in block.ops], NO_WORK)

    def _op_work(self, op: Operation) -> Work:
        if isinstance(op, func.CallOp):
            return self.function_work(op.callee.string_value())
        if isinstance(op, scf.IfOp | affine.IfOp):
            return self._branch_work(op)
        if op.regions:
            return self._region_work(op).repeat(trip_count(op), is_exact=has_known_trip_count(op))
        if op.name in LOAD_OPS:
            return Work(0, _lanes(op.results[0].type))
        if op.name in STORE_OPS:
            return Work(0, _lanes(op.operands[0].type))
        if isinstance(op, memref.CopyOp):
            return Work(0, 2 * _buffer_size(op.source.type))
        return Work(_scalar_operations(op), 0)

    def _branch_work(self, op: Operation) -> Work:
        """Return the work of the first branch, which is not the exception."""
        ops = [inner for block in op.regions[0].blocks for inner in block.ops]
        return sum([self._op_work(inner) for inner in ops], NO_WORK)


def _scalar_operations(op: Operation) -> int:
    dialect = op.name.partition(".")[0]
    if dialect not in COMPUTING_DIALECTS or not op.results:
        return 0
    types = [each.type for each in op.results]
    if _is_uncounted(op.results[0].type):
        return 0
    count = VECTOR_OPS.get(op.name, 0) if dialect == "vector" else operation_work(op.name)
    return count * max(map(_lanes, types))


def _is_uncounted(type: Attribute) -> bool:
    element = type.get_element_type() if isinstance(type, VectorType) else type
    return isinstance(element, IndexType) or element == i1


def _lanes(type: Attribute) -> int:
    return prod(type.get_shape()) if isinstance(type, VectorType) else 1


def _buffer_size(type: Attribute) -> int:
    assert isinstance(type, MemRefType)
    return prod(length if length >= 0 else NOMINAL_LENGTH for length in type.get_shape())
