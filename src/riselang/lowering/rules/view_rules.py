"""Lowering rules for layout patterns, which become steps of access paths."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.ir import Block, Region, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import ViewOp
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.lane_types import builtin_vector_type
from riselang.dialects.rise.pattern_registry import CHECK_IDX
from riselang.dialects.rise.types import (
    NatAttr,
    ScalarType,
    VectorType,
    contains_array,
    uncurry,
)
from riselang.lowering.binding import known_part
from riselang.lowering.functional_values import Delayed, Lazy, Partial, ReadRule, StoreRule, Value
from riselang.lowering.layouts import size_attribute
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.rules.map_rules import is_argument_computed_whole
from riselang.lowering.rules.stored_arrays import StoredArrays
from riselang.lowering.stored_values import data_type
from riselang.lowering.translation import result_type, size_argument
from riselang.term.nodes import (
    Pattern,
    has_pattern,
)


class ViewRules(StoredArrays):
    """Rules for the patterns that only rearrange elements."""

    def read_view(self, step: type[ViewOp]) -> ReadRule:
        def rule(pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
            source = self.read_data(arguments[0])
            return self.add(step(source, result_type(pattern), size_attribute(step, pattern)))

        return rule

    def store_through(self, step: type[ViewOp]) -> StoreRule:
        def rule(pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
            if step.HEADROOM is not None and not is_argument_computed_whole(arguments[0]):
                self.copy(self.read_data(self.apply(Partial(pattern, ()), arguments)), target)
                return
            (source,), _ = uncurry(pattern.type)
            self.store(arguments[0], self.add(step(target, source, size_attribute(step, pattern))))

        return rule

    @reads("zip")
    def read_zip(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        first = self.read_data(arguments[0])
        return self.add(codegen.ZipOp(first, self.read_data(arguments[1])))

    @reads("tuple")
    def read_tuple(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        first = self.read_data(arguments[0])
        return self.add(codegen.TupleOp(first, self.read_data(arguments[1])))

    @reads("vectorFromScalar")
    def read_vector_from_scalar(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        scalar = self.read_data(arguments[0])
        type = result_type(pattern)
        element = pattern.argument("t")
        assert isinstance(type, VectorType)
        assert isinstance(element, ScalarType)
        block = Block(arg_types=[element.storage])
        repeated = vector.BroadcastOp(block.args[0], builtin_vector_type(type))
        block.add_ops([repeated, ReturnOp([repeated.vector])])
        return self.add(EmbedOp([scalar], Region(block), type))

    @stores("prefetch")
    def store_prefetch(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Ignore the prefetch: nothing is read here."""
        self.store(arguments[0], target)

    @reads("concat")
    def read_concat(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        first = self.read_data(arguments[0])
        second = self.read_data(arguments[1])
        return self.add(codegen.ConcatOp(first, second, result_type(pattern)))

    @stores("concat")
    def store_concat(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        (first, second), _ = uncurry(pattern.type)
        self.store(arguments[0], self.add(codegen.TakeOp(target, first)))
        self.store(arguments[1], self.add(codegen.DropOp(target, second)))

    @reads("padConst")
    def read_pad_const(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        value = self.read_data(arguments[0])
        source = self.read_data(arguments[1])
        left = NatAttr(size_argument(pattern, "l"))
        return self.add(codegen.PadConstOp(value, source, result_type(pattern), left))

    @stores("fst", "snd")
    def store_part(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Store one part of a pair; if it is known, without the other one."""
        pair = arguments[0]
        if isinstance(pair, Delayed) and not has_pattern(pair.term, CHECK_IDX.name):
            part = known_part(pattern, pair.term)
            if part is not None:
                self.store(Delayed(part, pair.environment), target)
                return
        self.copy(self.read_application(Partial(pattern, ()), [pair]), target)

    @stores("zip")
    def store_zip(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        self.store(arguments[0], self.add(codegen.ZipFirstAccOp(target)))
        self.store(arguments[1], self.add(codegen.ZipSecondAccOp(target)))

    @stores("tuple")
    def store_tuple(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Store arrays first, and scalars, which are computed before the arrays, last.

        If the target is an accumulator that is updated in place, all components read the old one.
        """
        types, _ = uncurry(pattern.type)
        parts = list(zip(arguments, types, (codegen.FstOp, codegen.SndOp), strict=True))
        if not any(map(contains_array, types)):
            for part, _, step in parts:
                self.store(part, self.component(step, target))
            return
        scalars = [
            (self.computed_scalars(part), step)
            for part, type, step in parts
            if not contains_array(type)
        ]
        for part, type, step in parts:
            if contains_array(type):
                self.store_unless_stored(part, self.component(step, target))
        for value, step in scalars:
            self.copy(value, self.component(step, target))

    def computed_scalars(self, part: Lazy) -> SSAValue:
        value = self.read_data(part)
        return self.wrap(data_type(value), self.unwrap(value))
