"""Programs of other systems, as terms.

Comes in: a model or kernel as another system has it. Goes out: a program of patterns, to be called,
looked at and compiled like any other. A framework is imported only inside the function that needs
it. Read `building.py` for how terms are made, then the folder of a front end.
"""
