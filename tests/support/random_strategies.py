"""Random strategies: rules, combinators, traversals, schedules and addresses put together."""

from __future__ import annotations

from collections.abc import Callable

from riselang.rewrite.combinators import choice, fail, id_, not_, repeat, seq, try_
from riselang.rewrite.core import Strategy
from riselang.rewrite.normal_forms import beta_eta_normal_form, data_flow_normal_form
from riselang.rewrite.registry import load_all
from riselang.rewrite.rule import RULES, Rule
from riselang.rewrite.selectors import Address, Selector, innermost, loop, nth, outermost
from riselang.rewrite.strategies.contractions import column_tiles, contraction, register_tiles
from riselang.rewrite.strategies.loops_in_lanes import loops_in_lanes
from riselang.rewrite.strategies.reduction_schedules import blocked_reduction, partial_sums
from riselang.rewrite.strategies.schedules import (
    fuse,
    hoist,
    interchange,
    keep,
    pack,
    pack_vectors,
    pad_to_multiple,
    parallel,
    reorder,
    sequential,
    simplify,
    split,
    store_in_memory,
    tile,
    unroll,
    vectorize,
)
from riselang.rewrite.strategies.skinny_matmul import (
    interleaved_reductions,
    reductions_in_lanes,
    streamed_reductions,
    streamed_tiles,
)
from riselang.rewrite.strategies.threads import parallel_outermost
from riselang.rewrite.strategies.transposed_copies import tiled_transpose
from riselang.rewrite.traversals import (
    all_,
    argument,
    body,
    bottom_up,
    everywhere,
    function,
    inside,
    normalize,
    one,
    some,
    top_down,
)
from support.choices import Choices

load_all()
SIZES = (2, 4, 2, 1, 3, 8, 0)
"""What rules are given; programs have sizes that many of these divide."""
COMMON = (
    "split_join", "map_fusion", "map_fission", "reduce_map_fusion", "blocked_reduce",
    "lift_reduce", "map_interchange", "peel_map", "peel_reduce", "transpose_as_generate",
    "map_as_generate", "map_before_transpose", "slide_as_generate", "slide_tiling",
    "hoist_from_map", "inline_let", "partial_reduce", "interleaved_reduce", "through_vectors",
    "reduce_in_blocks", "zip_of_map_first", "slide_before_map", "map_before_slide",
    "map_before_pad", "split_before_zip", "map_as_loop", "reduce_as_loop", "circular_buffer",
    "rotate_values", "gather_before_map", "zip_of_map_second",
)  # fmt: skip
"""Rules of which the examples have places, tried more often than others."""
ENDING = (
    *(name for name, rule in RULES.items() if rule.family == "simplification"),
    "map_fusion", "map_as_loop", "map_in_parallel", "reduce_as_loop", "scan_as_loop",
)  # fmt: skip
"""Rules that leave less to apply to, so that they may be repeated."""
PATTERNS = ("map", "reduce", "any map", "any reduce", "slide", "transpose", "zip", "join", "let")
NAMES = ("row", "column", "e", "x", "block", "window", "p")


class RandomStrategies:
    """Makes strategies from choices."""

    def __init__(self, choices: Choices):
        self.choices = choices

    def whole(self) -> Strategy:
        """A strategy for a program."""
        return seq(*(self.strategy(2) for _ in range(3 + self.choices.below(3))))

    def strategy(self, depth: int) -> Strategy:
        """Any strategy; most parts are tried only, so that most strategies apply."""
        if depth == 0:
            return self.leaf()
        options: list[tuple[int, Callable[[int], Strategy]]] = [
            (6, self.sequence), (2, self.alternatives), (4, self.placed), (2, self.attempt),
            (3, self.moved), (1, self.counted), (1, self.normal), (1, self.odd),
        ]  # fmt: skip
        return self.choices.weighted(options)(depth)

    def leaf(self) -> Strategy:
        """A rule somewhere, or a schedule at an address."""
        options: list[tuple[int, Callable[[], Strategy]]] = [
            (6, lambda: try_(self.first(self.one_of_rules()))),
            (3, lambda: try_(self.schedule() @ self.address())),
            (1, lambda: self.choices.of((fuse(), simplify(), hoist(), data_flow_normal_form))),
        ]
        return self.choices.weighted(options)()

    def one_of_rules(self) -> Strategy:
        return choice(*(self.rule() for _ in range(2 + self.choices.below(7))))

    def rule(self) -> Rule:
        names = tuple(RULES) if self.choices.one_in(3) else COMMON
        return self.chosen(RULES[self.choices.of(names)])

    def chosen(self, rule: Rule) -> Rule:
        return rule(*[self.choices.of(SIZES) for _ in rule.parameters])

    def first(self, strategy: Strategy) -> Strategy:
        return self.choices.of((top_down, top_down, bottom_up))(strategy)

    def schedule(self) -> Strategy:
        size = self.choices.of((2, 4, 2, 3))
        options: list[Callable[[], Strategy]] = [
            lambda: split(size),
            lambda: tile(size),
            lambda: tile(size, self.choices.of((2, 4))),
            lambda: tile(2, size, 2),
            interchange,
            lambda: reorder(2, 1),
            lambda: reorder(*self.choices.shuffled((1, 2, 3))),
            unroll,
            parallel,
            sequential,
            lambda: store_in_memory(self.choices.of(("heap", "stack", "register"))),
            store_in_memory,
            lambda: pad_to_multiple(size),
            lambda: vectorize(size),
            lambda: seq(tile(size, 2), try_(pack_vectors(2) @ loop(1 + self.choices.below(3)))),
            lambda: seq(pack(), try_(keep(size))),
            lambda: partial_sums(self.choices.of((1, 2, 3)), size),
            lambda: blocked_reduction(2, self.choices.of((1, 2)), 2),
            lambda: interleaved_reductions(self.choices.of((1, 2, 3))),
            lambda: loops_in_lanes(size),
            lambda: reductions_in_lanes(size, self.choices.of((1, 2)), self.choices.of((1, 2, 4))),
            lambda: streamed_reductions(
                self.choices.of((1, 2, 3)), reductions_per_thread=size, in_parallel=size > 2
            ),
            lambda: tiled_transpose(2, size, 2),
            parallel_outermost,
            self.tiles,
            contraction,
            lambda: self.rule(),
        ]
        return self.choices.of(options)()

    def tiles(self) -> Strategy:
        rows, lanes, vectors = (self.choices.of(sizes) for sizes in ((1, 2, 3), (2, 4), (1, 2)))
        kept, packed, in_parallel, transposed = (self.choices.one_in(2) for _ in range(4))
        if self.choices.one_in(3):
            return column_tiles(
                rows,
                lanes * vectors,
                lanes,
                kept=kept,
                transposed=transposed,
                in_parallel=in_parallel,
                packs_rows=self.choices.one_in(2),
            )
        if self.choices.one_in(3):
            depth, columns = self.choices.of((1, 2, 3)), self.choices.of((2, 3, 4))
            return streamed_tiles(
                rows,
                lanes * vectors,
                lanes,
                depth=depth,
                columns_per_thread=columns,
                in_parallel=in_parallel,
            )
        return register_tiles(
            rows, lanes * vectors, lanes, block=1 + self.choices.below(2),
            kept=kept, packed=packed, transposed=transposed, in_parallel=in_parallel,
            depth=self.choices.of((0, 0, 1, 2, 3)) if packed else 0,
            rows_ahead=self.choices.below(3), columns_ahead=self.choices.below(2),
            packs_rows=self.choices.one_in(2), piece=self.choices.below(3),
        )  # fmt: skip

    def address(self) -> Selector:
        if self.choices.one_in(6):
            return loop(1 + self.choices.below(3))
        return self.pattern()

    def pattern(self) -> Address:
        pattern = self.choices.of(PATTERNS)
        over = self.choices.of(NAMES) if self.choices.one_in(4) else None
        length = self.choices.of(SIZES) if self.choices.one_in(8) else None
        nest = self.choices.of((1, 1, 2, 3)) if pattern in ("map", "any map") else 1
        if self.choices.one_in(3):
            return nth(1 + self.choices.below(4), pattern, over=over, length=length, nest=nest)
        make = self.choices.of((outermost, innermost))
        return make(pattern, over=over, length=length, nest=nest)

    def sequence(self, depth: int) -> Strategy:
        return seq(*(self.strategy(depth - 1) for _ in range(2 + self.choices.below(2))))

    def alternatives(self, depth: int) -> Strategy:
        first = self.first(self.one_of_rules())
        return choice(first, *(self.strategy(depth - 1) for _ in range(1 + self.choices.below(2))))

    def attempt(self, depth: int) -> Strategy:
        return try_(self.strategy(depth - 1))

    def placed(self, depth: int) -> Strategy:
        return try_(seq(self.schedule(), self.strategy(depth - 1)) @ self.address())

    def moved(self, depth: int) -> Strategy:
        """At a part of the term, which it may not have."""
        move = self.choices.of((body, function, argument, inside, one, some, all_, top_down))
        return try_(body(move(self.strategy(depth - 1))))

    def counted(self, depth: int) -> Strategy:
        return try_(repeat(self.first(self.one_of_rules()), 1 + self.choices.below(3)))

    def normal(self, depth: int) -> Strategy:
        rules = [RULES[self.choices.of(ENDING)] for _ in range(2)]
        return self.choices.of((normalize, everywhere))(choice(*rules))

    def odd(self, depth: int) -> Strategy:
        return self.choices.of(
            (id_, try_(fail), try_(not_(self.strategy(0))), beta_eta_normal_form,
             repeat(top_down(RULES[self.choices.of(ENDING)])))
        )  # fmt: skip
