"""The error function."""

from __future__ import annotations

import math

from riselang.lowering.accurate_math.constants import ERF
from riselang.lowering.accurate_math.exponentials import exp_of_pair
from riselang.lowering.accurate_math.values import Double, multiply

LARGEST = 6.0
"""Above, the result is 1."""
CENTER = 2.0
COMPLEMENT = (
    0.5107913526210115, 0.1672110104141062, -0.2038442959288779, 0.12151493052458859,
    -0.02897644669818764, -0.007515738410909677, 0.0047848985636532145, 0.0011266579991145971,
    -0.0007501847859241864, -0.0003143510399701314, 8.942107154241744e-05, 8.930978269262737e-05,
    6.2271013280541184e-06, -1.8907745222954208e-05, -8.631910008128323e-06, 1.2556555177193504e-06,
    2.873060368377017e-06, 9.950703735210093e-07, -4.2907998887121477e-07, -3.8097107129201696e-07,
)  # fmt: skip
"""A Chebyshev approximation of x e^(x^2) (1 - erf x) between 1 and 6, as a polynomial of
t = (x - 2) / (x + 2), with an error below 2e-20."""
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
REST = 1.533545961316588e-17
"""What the product with the rounded factor lacks."""


def erf(x: Double) -> Double:
    size = abs(x).clamp(0.0, LARGEST)
    large = size.clamp(1.0, LARGEST)
    near = (large - CENTER) / (large + CENTER)
    complement = exp_of_pair(-multiply(large, large)) * near.polynomial(COMPLEMENT) / large
    squared = size * size
    series = squared * squared.polynomial(ERF)
    small = size.times_plus(TWO_OVER_ROOT_PI, size * series.times_plus(TWO_OVER_ROOT_PI, REST))
    value = (size < 1.0).select(small, 1.0 - complement)
    return x.is_nan().select(x, value.with_sign_of(x))
