"""ELF object files: check, relocate and load them without LLVM.

In: the object files that LLVM emitted, in this process or in an earlier one. Out: their machine
code in this process. Read `object_file.py`, then `image.py`, which lays out the sections of objects
and applies relocations, and `mapped_code.py`, which maps an image as executable memory.
`relocations.py` has a table of the relocations of each architecture.
"""
