"""Everything strategies are made of, under one name.

import riselang.strategy as st

tiled = st.tile(32, 32) @ st.outermost("map", nest=2)
print(st.derive(program, tiled))

The rules are in `st.rules`: `st.top_down(st.rules.map_fusion)`. What `rise derive --strategy` reads
is read by `st.parse_strategy`.
"""
