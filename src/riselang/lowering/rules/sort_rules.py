"""Lowers `sort`: by keys if the function compares one number of each argument, else by merging."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import READ_OPS
from riselang.dialects.rise.pattern_registry import FROM_IDX, GENERATE, SORT, ZIP
from riselang.dialects.rise.types import i1
from riselang.lowering.functional_values import Closure, Delayed, Lazy, Value
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.rules.key_sort_rules import KeyedArray
from riselang.lowering.rules.selection_rules import SelectionRules
from riselang.lowering.rules.view_rules import ViewRules
from riselang.lowering.sorting.comparison_keys import ComparisonKey, comparison_key
from riselang.lowering.sorting.ordered_bits import LOW_WORD, OrderedBits
from riselang.lowering.translation import result_type, size_argument
from riselang.nat import Nat
from riselang.term.nodes import Pattern, Term, spine, subterms

MAX_MERGED_LENGTH = 16
"""Shorter arrays are merged, which takes less code."""


MAX_CHEAP_TERMS = 16
"""The maximum number of terms of a function whose results are computed again when they are read."""


class SortRules(SelectionRules, ViewRules):
    """The rules for sort, and for the first elements of a sorted array."""

    @reads("sort")
    def read_sort(self, pattern: Pattern, arguments: Sequence[Lazy]) -> SSAValue:
        return self.read_sorted(pattern, arguments, size_argument(pattern, "n"))

    @reads("take")
    def read_take(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Read the first elements of an array; those of a sorted one are selected."""
        sort = self.application_of_sort(arguments[0])
        if sort is None:
            return self.read_view(READ_OPS["take"])(pattern, arguments)
        sorted_array = self.read_sorted(*sort, limit=size_argument(pattern, "k"))
        return self.read_view(READ_OPS["take"])(pattern, [sorted_array])

    @stores("sort")
    def store_sort(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        key, length = self.sort_key(pattern, arguments[0]), size_argument(pattern, "n")
        if key is not None and key.is_identity:
            keyed = self.keyed_array(pattern, arguments, key)
            self.store_sorted_numbers(keyed, length, target)
        else:
            self.copy(self.read_sorted(pattern, arguments, length), target)

    def application_of_sort(self, lazy: Lazy) -> tuple[Pattern, list[Lazy]] | None:
        """Return the pattern and the arguments of an application of `sort`."""
        if not isinstance(lazy, Delayed):
            return None
        head, arguments = spine(lazy.term)
        if not isinstance(head, Pattern) or head.spec is not SORT or len(arguments) != 2:
            return None
        return head, [Delayed(argument, lazy.environment) for argument in arguments]

    def read_sorted(self, pattern: Pattern, arguments: Sequence[Lazy], limit: Nat) -> SSAValue:
        """Return a sorted array, of which only the elements up to a limit are valid."""
        key = self.sort_key(pattern, arguments[0])
        if key is None:
            return self.read_merged(pattern, arguments)
        keyed = self.keyed_array(pattern, arguments, key)
        if key.is_identity:
            return self.materialize(
                result_type(pattern),
                lambda target: self.store_sorted_numbers(keyed, limit, target),
            )
        indices = self.order_indices(keyed, limit)
        return self.add(codegen.GatherOp(indices, keyed.source, result_type(pattern)))

    def sort_key(self, pattern: Pattern, function: Lazy) -> ComparisonKey | None:
        """Return the key that a comparison function compares, if the array is sorted by it."""
        length, comparison = size_argument(pattern, "n"), self.force(function)
        if self.for_gpu or self.callees is None or not isinstance(comparison, Closure):
            return None
        if length.is_constant and not MAX_MERGED_LENGTH < length.constant <= LOW_WORD:
            return None
        key = comparison_key(comparison.function)
        return None if key is None or key.type == i1 else key

    def keyed_array(
        self, pattern: Pattern, arguments: Sequence[Lazy], key: ComparisonKey
    ) -> KeyedArray:
        comparison = self.force(arguments[0])
        assert isinstance(comparison, Closure)
        return KeyedArray(
            self.stored_unless_cheap(arguments[1]),
            size_argument(pattern, "n"),
            Closure(key.function, comparison.environment),
            key.type,
            OrderedBits(key.type.storage, key.descending, key.unsigned),
            key.nan,
            comparison,
        )

    def stored_unless_cheap(self, lazy: Lazy) -> SSAValue:
        """Return an array in memory, except for parts that are computed from indices alone."""
        head, arguments = spine(lazy.term) if isinstance(lazy, Delayed) else (None, [])
        if not isinstance(lazy, Delayed) or not isinstance(head, Pattern):
            return self.store_if_computed(lazy)
        parts = [Delayed(argument, lazy.environment) for argument in arguments]
        if head.spec is ZIP and len(parts) == 2:
            first, second = map(self.stored_unless_cheap, parts)
            return self.add(codegen.ZipOp(first, second))
        if head.spec is GENERATE and is_cheap(arguments[0]):
            return self.read_data(lazy)
        return self.store_if_computed(lazy)


def is_cheap(function: Term) -> bool:
    """Whether a function of an index has a few operations, and reads nothing else."""
    parts = list(subterms(function))
    patterns = (part.spec for part in parts if isinstance(part, Pattern))
    is_small = len(parts) <= MAX_CHEAP_TERMS and all(spec is FROM_IDX for spec in patterns)
    return is_small and function.open == 0
