"""The explorer: a program, every step that rewrote it and every stage of its code, as one page.

In: a program with its source and its strategy (`subject.py`). Out: a page of HTML that needs
nothing but itself (`page.py`).

What belongs together is found by locations. The program that is lowered has a number for each of
its parts (`numbering.py`), which lowering, MLIR and LLVM carry to each loop and instruction as if
it were a line of a file; a table says where that part stands in the program, and which place in
the source it came from. Read `subject.py`, `states.py` and `stages.py` first; what a browser does
with it is in `assets`.
"""
