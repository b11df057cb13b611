"""Elementwise ops that are tested one by one, by the kinds of numbers that they are tested on."""

from __future__ import annotations

UNARY = {
    "f32": "abs negate sign floor ceil round_nearest_afz round_nearest_even is_finite",
    "tame": "exponential exponential_minus_one log log_plus_one logistic sqrt rsqrt cbrt sine "
    "cosine tan tanh",
    "i32": "abs negate sign not popcnt count_leading_zeros",
    "i1": "not",
}
BINARY = {
    "f32": "add subtract multiply maximum minimum remainder",
    "tame": "divide atan2 power",
    "i32": "add subtract multiply maximum minimum and or xor shift_left shift_right_arithmetic "
    "shift_right_logical power",
    "i1": "and or xor add multiply maximum minimum",
}
CHLO = ("acos", "asin", "atan", "cosh", "sinh", "tan")
"""Functions of CHLO that NumPy has, too."""


def cases(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(kind, name) for kind, names in table.items() for name in names.split()]
