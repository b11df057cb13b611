"""Phase 1: lower a term to loops over `rise.codegen` access paths.

See Lücke et al., CC 2021, section 4.2.1.

The rules of the patterns are in `rules`; read `translation.py` first.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.rise.codegen_views import READ_OPS, STORE_OPS
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.pattern_spec import Role
from riselang.lowering.callees import Callees
from riselang.lowering.dynamic_sizes import Sizes
from riselang.lowering.loop_emitter import Emitter
from riselang.lowering.rule_registry import READ_RULES, STORE_RULES
from riselang.lowering.rules.index_rules import IndexRules
from riselang.lowering.rules.mma_rules import MmaRules
from riselang.lowering.rules.reduction_rules import ReductionRules
from riselang.lowering.rules.sort_rules import SortRules
from riselang.lowering.rules.view_rules import ViewRules
from riselang.lowering.runtime_checks import Checks
from riselang.lowering.translation import Delayed, data_type
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
    translator = _Translator(Emitter(point, sizes), loops, checks, callees)
    result = Delayed(body, tuple(inputs))
    if overlaps:
        temporary = translator.materialize(
            data_type(target), lambda buffer: translator.store(result, buffer)
        )
        translator.copy(temporary, target)
    else:
        translator.store(result, target)


def compiled_patterns() -> frozenset[str]:
    """Return the names of the patterns that have a lowering rule."""
    return frozenset(_Translator(Emitter(InsertPoint.at_end(Block())), "scf").read_rules)


class _Translator(ReductionRules, ViewRules, IndexRules, SortRules, MmaRules):
    """The table of lowering rules; a pattern without a rule cannot be compiled yet."""

    def __init__(
        self,
        emitter: Emitter,
        loops: str,
        checks: Checks | None = None,
        callees: Callees | None = None,
    ):
        super().__init__(emitter, loops, checks, callees)
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
