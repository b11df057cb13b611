"""RISE's functional notation: parsing `.rise` files to terms, and printing terms.

    text --reader--> syntax --elaboration--> nodes --term.finish--> term
    term --printer--> syntax --layout--> text

Read `grammar.lark` first, then `program.py` (parsing) and `printer.py` (printing). `formatting.py`
works on the syntax tree in between (`syntax.py`) and does not look at types.
"""
