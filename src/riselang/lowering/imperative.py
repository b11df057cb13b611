"""Phase 1: lower a term to loops over `rise.codegen` access paths.

See Lücke et al., CC 2021, section 4.2.1.

The rules of the patterns are in `rules`; read `translation.py` first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.rise.codegen_views import READ_OPS, STORE_OPS
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.pattern_spec import Role
from riselang.lowering.callees import Callees
from riselang.lowering.dynamic_sizes import Sizes
from riselang.lowering.functional_values import Delayed
from riselang.lowering.loop_emitter import Emitter, LoopKind
from riselang.lowering.rule_registry import READ_RULES, STORE_RULES
from riselang.lowering.rules.foreign_rules import ForeignRules
from riselang.lowering.rules.index_rules import IndexRules
from riselang.lowering.rules.lane_rules import LaneRules
from riselang.lowering.rules.reduction_rules import ReductionRules
from riselang.lowering.rules.scatter_rules import ScatterRules
from riselang.lowering.rules.sort_rules import SortRules
from riselang.lowering.rules.stored_arrays import ArrayKey
from riselang.lowering.rules.tensor_rules import TensorRules
from riselang.lowering.runtime_checks import Checks
from riselang.lowering.stored_values import data_type
from riselang.term.nodes import (
    Lambda,
    Term,
)

GPU_PATTERNS = tuple(name for name, spec in PATTERNS.items() if spec.role is Role.GPU)


def lower_program(
    term: Term,
    inputs: Sequence[SSAValue],
    target: SSAValue,
    point: InsertPoint,
    loops: str,
    overlaps: bool,
    sizes: Sizes,
    checks: Checks,
    callees: Callees | None = None,
) -> None:
    """Emit at `point` the loops that run the closed `term` on `inputs` and write to `target`.

    If the target overlaps the inputs, the whole result is computed before it is stored.
    """
    body = term
    for _ in inputs:
        assert isinstance(body, Lambda)
        body = body.body
    result = Delayed(body, tuple(inputs))
    stored_arrays: dict[ArrayKey, LoopKind] = {}
    while True:
        previous_op = point.block.last_op
        if point.insert_before is not None:
            previous_op = point.insert_before.prev_op
        translator = _Translator(Emitter(point, sizes), loops, checks, callees, stored_arrays)
        _store_result(translator, result, target, overlaps)
        ops = _ops_between(previous_op, point)
        stored_arrays = {**translator.arrays_to_store(ops), **stored_arrays}
        if len(stored_arrays) == len(translator.stored_arrays):
            return
        # The program is lowered again, with buffers for these arrays.
        for op in reversed(ops):
            op.detach()
            op.erase(safe_erase=False)


def _store_result(
    translator: _Translator, result: Delayed, target: SSAValue, overlaps: bool
) -> None:
    if overlaps:
        temporary = translator.materialize(
            data_type(target), lambda buffer: translator.store(result, buffer)
        )
        translator.copy(temporary, target)
    else:
        translator.store(result, target)


def _ops_between(previous_op: Operation | None, point: InsertPoint) -> list[Operation]:
    """Return the ops after `previous_op`, and before an insertion point in the same block."""
    ops: list[Operation] = []
    op = point.block.first_op if previous_op is None else previous_op.next_op
    while op is not None and op is not point.insert_before:
        ops.append(op)
        op = op.next_op
    return ops


def compiled_patterns() -> frozenset[str]:
    """Return the names of the patterns that have a lowering rule."""
    return frozenset(_Translator(Emitter(InsertPoint.at_end(Block())), "scf").read_rules)


class _Translator(
    ReductionRules, IndexRules, ScatterRules, SortRules, TensorRules, LaneRules, ForeignRules
):
    """The table of lowering rules; a pattern without a rule cannot be compiled yet."""

    def __init__(
        self,
        emitter: Emitter,
        loops: str,
        checks: Checks | None = None,
        callees: Callees | None = None,
        stored_arrays: Mapping[ArrayKey, LoopKind] | None = None,
    ):
        super().__init__(emitter, loops, checks, callees)
        self.stored_arrays = stored_arrays or {}
        self.recorded_arrays = {}
        self.read_rules = {
            **{name: self.read_view(step) for name, step in READ_OPS.items()},
            **{name: getattr(self, rule) for name, rule in READ_RULES.items()},
        }
        self.store_rules = {
            **{name: self.store_through(step) for name, step in STORE_OPS.items()},
            **{name: getattr(self, rule) for name, rule in STORE_RULES.items()},
        }
        if self.for_gpu:
            self.read_rules |= dict.fromkeys(GPU_PATTERNS, self.read_materialized)
            self.store_rules |= dict.fromkeys(GPU_PATTERNS, self.store_map)
