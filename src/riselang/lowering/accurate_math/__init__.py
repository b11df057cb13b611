"""Math functions for devices without a math library, computed by arith ops on f64.

`values.py` builds the ops, `exponentials.py`, `trigonometry.py` and `error_function.py` define the
functions, and `large_angles.py` reduces large angles. `functions.py` lists them by op.

Each operation is rounded as IEEE 754 states, and no multiplication is contracted, so the results
are the same on every device. Functions of f32 are computed as f64, and rounded once.
"""
