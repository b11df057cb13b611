"""Operations on entire arrays, with NumPy's meaning, composed of patterns.

`broadcasting.py` applies functions on scalars to arrays; the other modules define one family of
functions each. Nothing here extends the language: every function returns the value of patterns.
"""
