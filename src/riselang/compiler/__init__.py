"""The way of a program from a term to machine code.

Comes in: a term with a strategy and options, or a module of the dialect. Goes out: machine code and
what a call has to know of it, or the text of any stage. `pipeline.py` has the whole way in order;
read it first.
"""
