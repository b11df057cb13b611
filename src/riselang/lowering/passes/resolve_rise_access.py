"""Pass `resolve-rise-access`: runs phase 2 on every function of a module."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from riselang.dialects.module import functions
from riselang.lowering.access import resolve_accesses
from riselang.lowering.defined_arith import Helpers
from riselang.lowering.function_outlining import outline_long_blocks
from riselang.lowering.index_arithmetic import count_in_multiples, remove_known_results
from riselang.lowering.parallel_loops import sequentialize_inner_loops
from riselang.lowering.passes.contract_rise_floats import CONTRACTED, FLOAT_PERMISSION
from riselang.lowering.runtime_checks import remove_proven_checks
from riselang.lowering.shared_temporaries import share_temporaries
from riselang.lowering.temporaries import hoist_temporaries
from riselang.support.errors import InternalError
from riselang.support.recursion import with_deep_stack


@dataclass(frozen=True)
class ResolveRiseAccessPass(ModulePass):
    """Lowers `rise.codegen` access paths to loads and stores."""

    name = "resolve-rise-access"

    splits: bool = True
    """Whether parts of very long functions are outlined."""
    shares: bool = True
    """Whether temporaries that are not needed at the same time share memory."""

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # From here on, the module has no RISE ops that need the float permission.
        op.attributes.pop(FLOAT_PERMISSION, None)
        op.attributes.pop(CONTRACTED, None)
        helpers: Helpers = {}
        function_names = {f.sym_name.data for f in op.ops if isinstance(f, FuncOp)}
        for function in functions(op):
            resolve_accesses(function, helpers, flattens=self.shares)
            remove_known_results(function)
            _erase_rise_ops(function)
            count_in_multiples(function)
            sequentialize_inner_loops(function)
            parts = outline_long_blocks(function, function_names) if self.splits else []
            for part in (function, *parts):
                if self.shares:
                    share_temporaries(part)
                hoist_temporaries(part)
            op.body.block.add_ops(parts)
        op.body.block.add_ops(
            helper for name, helper in helpers.items() if name not in function_names
        )
        remove_proven_checks(op)


def _erase_rise_ops(function: Operation) -> None:
    """Erase the remaining RISE ops, which have no effect, from the end, uses before definitions.

    Constants that were only used as indices of paths are erased, too.
    """
    rise_ops: list[Operation] = []
    stack = [block for region in function.regions for block in region.blocks]
    while stack:
        for op in stack.pop().ops:
            if op.name.startswith("rise.") or isinstance(op, arith.ConstantOp):
                rise_ops.append(op)
            else:
                stack.extend(block for region in op.regions for block in region.blocks)
    # Inner blocks were found later, and in each block uses come after definitions.
    for op in reversed(rise_ops):
        if any(result.first_use is not None for result in op.results):
            if isinstance(op, arith.ConstantOp):
                continue
            raise InternalError(f"{op.name} is still used after access resolution")
        op.detach()
        op.drop_all_references()
