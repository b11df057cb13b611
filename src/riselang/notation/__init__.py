"""RISE's functional notation: `.rise` files in, terms out, and terms shown to people.

    text --reader--> syntax --elaboration--> nodes --term.finish--> term
    term --printer--> syntax --layout--> text

Read `grammar.lark` first, then `program.py` (reading) and `printer.py` (writing). The syntax tree
between (`syntax.py`) is what `formatting.py` reads and writes without looking at types.
"""
