"""Derivatives: transformations of a closed term into one that computes its derivative.

`evaluation.py` records what a function body computes, one scope at a time; `forward.py` propagates
tangents through the record and `reverse.py` cotangents, in the opposite order. The derivatives of
scalar operations are in `scalar_derivatives.py`. `instantiation.py` normalizes the result.
"""
