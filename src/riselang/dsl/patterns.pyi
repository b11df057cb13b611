"""Every pattern as a Python function.

Written by docs/generate.py from the registry of patterns.
"""

from riselang.dsl.pattern_functions import PatternFunction

FUNCTIONS: dict[str, PatternFunction]

as_scalar: PatternFunction
as_vector: PatternFunction
at: PatternFunction
check_idx: PatternFunction
circular_buffer: PatternFunction
clamp_idx: PatternFunction
concat: PatternFunction
drop: PatternFunction
from_idx: PatternFunction
fst: PatternFunction
gather: PatternFunction
generate: PatternFunction
if_at_least: PatternFunction
iterate: PatternFunction
iterate_seq: PatternFunction
join: PatternFunction
map: PatternFunction
map_block: PatternFunction
map_lane: PatternFunction
map_lane_exchange: PatternFunction
map_par: PatternFunction
map_rank: PatternFunction
map_seq: PatternFunction
map_seq_unroll: PatternFunction
map_thread: PatternFunction
map_warp: PatternFunction
mma: PatternFunction
nontemporal: PatternFunction
pad: PatternFunction
pad_const: PatternFunction
pad_reflect: PatternFunction
pad_wrap: PatternFunction
prefetch: PatternFunction
reduce: PatternFunction
reduce_par: PatternFunction
reduce_rank: PatternFunction
reduce_seq: PatternFunction
reduce_seq_unroll: PatternFunction
reorder: PatternFunction
reverse: PatternFunction
rotate_values: PatternFunction
scan: PatternFunction
scan_seq: PatternFunction
scatter: PatternFunction
scatter_with: PatternFunction
shard: PatternFunction
size_of: PatternFunction
slice_at: PatternFunction
slide: PatternFunction
snd: PatternFunction
sort: PatternFunction
split: PatternFunction
take: PatternFunction
tensor_attention: PatternFunction
tensor_mma: PatternFunction
to_mem: PatternFunction
transpose: PatternFunction
tuple: PatternFunction
unzip: PatternFunction
update_at: PatternFunction
vector_from_scalar: PatternFunction
while_: PatternFunction
zip: PatternFunction

__all__ = [
    "as_scalar",
    "as_vector",
    "at",
    "check_idx",
    "circular_buffer",
    "clamp_idx",
    "concat",
    "drop",
    "from_idx",
    "fst",
    "gather",
    "generate",
    "if_at_least",
    "iterate",
    "iterate_seq",
    "join",
    "map",
    "map_block",
    "map_lane",
    "map_lane_exchange",
    "map_par",
    "map_rank",
    "map_seq",
    "map_seq_unroll",
    "map_thread",
    "map_warp",
    "mma",
    "nontemporal",
    "pad",
    "pad_const",
    "pad_reflect",
    "pad_wrap",
    "prefetch",
    "reduce",
    "reduce_par",
    "reduce_rank",
    "reduce_seq",
    "reduce_seq_unroll",
    "reorder",
    "reverse",
    "rotate_values",
    "scan",
    "scan_seq",
    "scatter",
    "scatter_with",
    "shard",
    "size_of",
    "slice_at",
    "slide",
    "snd",
    "sort",
    "split",
    "take",
    "tensor_attention",
    "tensor_mma",
    "to_mem",
    "transpose",
    "tuple",
    "unzip",
    "update_at",
    "vector_from_scalar",
    "while_",
    "zip",
]
