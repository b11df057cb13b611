"""Lowers `sort`: by keys if the function compares one number of each argument, else by merging."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import i1
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.rules.key_sort_rules import KeyedArray, KeySortRules
from riselang.lowering.sorting.comparison_keys import ComparisonKey, comparison_key
from riselang.lowering.sorting.ordered_bits import LOW_WORD, OrderedBits
from riselang.lowering.translation import Closure, Lazy, Value, result_type, size_argument
from riselang.term.nodes import Pattern

MAX_MERGED_LENGTH = 16
"""Shorter arrays are merged, which takes less code."""


class SortRules(KeySortRules):
    """The rules for sort."""

    @reads("sort")
    def read_sort(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        key = self.sort_key(pattern, arguments[0])
        if key is None:
            return self.read_merged(pattern, arguments)
        keyed = self.keyed_array(pattern, arguments, key)
        if key.is_identity:
            return self.materialize(
                result_type(pattern), lambda target: self.store_sorted_numbers(keyed, target)
            )
        indices = self.order_indices(keyed)
        return self.add(codegen.GatherOp(indices, keyed.source, result_type(pattern)))

    @stores("sort")
    def store_sort(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        key = self.sort_key(pattern, arguments[0])
        if key is not None and key.is_identity:
            self.store_sorted_numbers(self.keyed_array(pattern, arguments, key), target)
        else:
            result = self.read_sort(pattern, arguments)
            assert isinstance(result, SSAValue)
            self.copy(result, target)

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
            self.store_if_computed(arguments[1]),
            size_argument(pattern, "n"),
            Closure(key.function, comparison.environment),
            key.type,
            OrderedBits(key.type.element, key.descending, key.unsigned),
            comparison,
        )
