"""Everything that strategies are made of, in one namespace.

import riselang.strategy as st

tiled = st.tile(32, 32) @ st.outermost("map", nest=2)
print(st.derive(program, tiled))

The rules are in `st.rules`: `st.top_down(st.rules.map_fusion)`. `st.parse_strategy` reads the
syntax of `rise derive --strategy`.
"""

from typing import TYPE_CHECKING

from riselang.rewrite import rules
from riselang.rewrite.combinators import choice, fail, id_, not_, repeat, seq, try_
from riselang.rewrite.core import Strategy
from riselang.rewrite.derivation import Derivation, derive, replay
from riselang.rewrite.derivation_checks import check, law_status
from riselang.rewrite.normal_forms import beta_eta_normal_form, data_flow_normal_form
from riselang.rewrite.parameter_binding import bind
from riselang.rewrite.parameters import (
    alternatives,
    multiples,
    param,
    parameters_of,
    powers_of_two,
)
from riselang.rewrite.rule import RULES, Permission, Rule, law, rule
from riselang.rewrite.saturation.guided_search import sketch
from riselang.rewrite.selectors import Address, innermost, loop, nth, outermost, path
from riselang.rewrite.side_conditions import distributes, neutral, regroups, relaxed, scalar
from riselang.rewrite.strategies import convolution, matmul, stencils
from riselang.rewrite.strategies.accumulated_rows import accumulated_rows
from riselang.rewrite.strategies.contractions import column_tiles, contraction, register_tiles
from riselang.rewrite.strategies.convolution_tiles import convolution_tiles
from riselang.rewrite.strategies.loops_in_lanes import loops_in_lanes
from riselang.rewrite.strategies.reduction_schedules import partial_sums
from riselang.rewrite.strategies.schedules import (
    collapse,
    fuse,
    hoist,
    interchange,
    keep,
    nontemporal,
    pack,
    pack_vectors,
    pad_to_multiple,
    parallel,
    prefetch,
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
from riselang.rewrite.strategies.stencils import overlapped_tiles, overlapped_tiles_2d
from riselang.rewrite.strategy_text import parse_strategy
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

__all__ = [
    "RULES",
    "Address",
    "Derivation",
    "Permission",
    "Rule",
    "Strategy",
    "accumulated_rows",
    "all_",
    "alternatives",
    "argument",
    "beta_eta_normal_form",
    "bind",
    "body",
    "bottom_up",
    "check",
    "choice",
    "collapse",
    "column_tiles",
    "contraction",
    "convolution",
    "convolution_tiles",
    "data_flow_normal_form",
    "derive",
    "distributes",
    "everywhere",
    "fail",
    "function",
    "fuse",
    "hoist",
    "id_",
    "innermost",
    "inside",
    "interchange",
    "interleaved_reductions",
    "keep",
    "law",
    "law_status",
    "loop",
    "loops_in_lanes",
    "matmul",
    "multiples",
    "neutral",
    "nontemporal",
    "normalize",
    "not_",
    "nth",
    "one",
    "outermost",
    "overlapped_tiles",
    "overlapped_tiles_2d",
    "pack",
    "pack_vectors",
    "pad_to_multiple",
    "parallel",
    "param",
    "parameters_of",
    "parse_strategy",
    "partial_sums",
    "path",
    "powers_of_two",
    "prefetch",
    "reductions_in_lanes",
    "register_tiles",
    "regroups",
    "relaxed",
    "reorder",
    "repeat",
    "replay",
    "rule",
    "rules",
    "scalar",
    "seq",
    "sequential",
    "simplify",
    "sketch",
    "some",
    "split",
    "stencils",
    "store_in_memory",
    "streamed_reductions",
    "streamed_tiles",
    "tile",
    "top_down",
    "try_",
    "unroll",
    "vectorize",
]

if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> object:
        from riselang.dsl.name_hints import missing_attribute_message

        raise AttributeError(missing_attribute_message(__name__, name, __all__), name=name)
