"""Compile a program from a term to machine code.

Input: a term with a strategy and options, or a module of the dialect. Output: machine code with the
metadata that calls need, or the text of any stage. Read `pipeline.py` first: it has all steps in
order.
"""
