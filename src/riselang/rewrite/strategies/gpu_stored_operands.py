"""Operands of matrix multiplications that are stored: those that tensor cores can read where they
are, and those that must be copied for them."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.rewrite.combinators import Identity, seq, try_
from riselang.rewrite.core import Failure, Result, Setting, Strategy, Success
from riselang.rewrite.rules.algorithmic import reduce_map_fusion
from riselang.rewrite.rules.functions import hoist_from_map, inline_free_let, name_stored
from riselang.rewrite.rules.lowering import not_stored
from riselang.rewrite.strategies.gpu_tensor_cores import (
    copies_for_tensor_cores,
    depth_strategy,
    tensor_strategy,
    unaligned_matrices,
)
from riselang.rewrite.strategies.matmul_shapes import match_product
from riselang.rewrite.term_parts import is_free_to_read, pattern_arguments
from riselang.rewrite.traversals import AtPath, argument, normalize
from riselang.term.nodes import Term

LET_BODY = (1, 0)
fuse_sums = try_(normalize(reduce_map_fusion))


@dataclass(frozen=True, repr=False)
class StoreOperands(Strategy):
    """Copies operands of matrix multiplications that tensor cores could not read otherwise."""

    is_last: bool = False

    def run(self, term: Term, setting: Setting) -> Result:
        fused = fuse_sums.run(term, setting)
        if not isinstance(fused, Success) or tensor_strategy(fused.term, setting) is not None:
            return Failure(self, "expected a matrix multiplication", term)
        copies = copies_for_tensor_cores(fused.term, setting)
        if not copies:
            return Failure(self, "expected operands that must be copied", term)
        # The columns are computed before the loop over the rows; they come last.
        stores = [
            AtPath(path, try_(argument(not_stored)) >> store)
            >> (Identity() if path[0] else hoist_from_map)
            for path, store in copies
        ]
        copied = fuse_sums >> seq(*stores)
        # Copies may have to be transposed.
        return (copied if self.is_last else copied >> try_(StoreOperands(True))).run(term, setting)

    def __str__(self) -> str:
        return "store_operands()"


_name_stored_columns = hoist_from_map >> try_(name_stored >> AtPath(LET_BODY, inline_free_let))
"""Stores columns before the loop over the rows, which reads views of them."""


@dataclass(frozen=True, repr=False)
class AlignOperands(Strategy):
    """Copies operands of matrix multiplications whose rows tensor cores read slowly."""

    def run(self, term: Term, setting: Setting) -> Result:
        fused = fuse_sums.run(term, setting)
        copies = unaligned_matrices(fused.term, setting) if isinstance(fused, Success) else []
        if not copies:
            return Failure(self, "expected operands with unaligned rows", term)
        stores = [
            AtPath(path, store) >> (Identity() if path[0] else _name_stored_columns)
            for path, store in copies
        ]
        return (fuse_sums >> seq(*stores)).run(term, setting)

    def __str__(self) -> str:
        return "align_operands()"


@dataclass(frozen=True, repr=False)
class ReadStoredRows(Strategy):
    """Reads an operand of a matrix multiplication where it is, if tensor cores can, instead of
    copying it."""

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "map")
        stored = None if arguments is None else pattern_arguments(arguments[1], "toMem")
        if stored is None or not is_free_to_read(stored[-1]) or match_product(term) is None:
            return Failure(self, "expected a matrix multiplication whose rows are copied", term)
        result = argument(not_stored).run(term, setting)
        if isinstance(result, Success) and tensor_strategy(result.term, setting) is not None:
            return result
        return Failure(self, "tensor cores cannot read the rows where they are", term)

    def __str__(self) -> str:
        return "read_stored_rows()"


@dataclass(frozen=True, repr=False)
class SplitDepth(Strategy):
    """Computes parts of the sums of a matrix multiplication by different blocks, if it has too few
    tiles, and adds them in another kernel."""

    def run(self, term: Term, setting: Setting) -> Result:
        fused = fuse_sums.run(term, setting)
        strategy = depth_strategy(fused.term, setting) if isinstance(fused, Success) else None
        if strategy is None:
            return Failure(self, "expected a matrix multiplication with few tiles", term)
        return (fuse_sums >> strategy).run(term, setting)

    def __str__(self) -> str:
        return "split_depth()"
