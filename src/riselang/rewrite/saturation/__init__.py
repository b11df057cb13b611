"""Search for a rewrite: a program and sketches of the result come in, a derivation goes out.

All rewrites of a program are kept in one graph, which shares the parts they have in common. After
each iteration, the graph is searched for a program that matches the sketch.

Read `sketches.py` first (what a sketch is), then `graph.py` (how rewrites are kept),
`extraction.py` (how a match is found), `moves.py` (which rewrites are tried) and
`guided_search.py` (the strategy).
"""
