"""The explorer: one page with a program, every rewrite step and every stage of its code.

Input: a program with its source and its strategy (`subject.py`). Output: a self-contained HTML page
(`page.py`).

Locations link corresponding parts. Each part of the program that is lowered has a number
(`numbering.py`), which lowering, MLIR and LLVM propagate to each loop and instruction as if it were
a line of a file; a table maps the number to the part of the program and to its source location.
A page of a search for a strategy (`rl.tune`) also has its trials and charts of them
(`tuning_view.py`), which are drawn here and not in the browser.
Read `subject.py`, `states.py` and `stages.py` first; the code that runs in the browser is in
`assets`.
"""
