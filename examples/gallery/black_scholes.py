"""Black-Scholes: the prices of European call and put options."""

from collections.abc import Callable
from typing import Any

import numpy as np

import riselang as rl

RATE, VOLATILITY = 0.02, 0.3
ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


def price(math: Any) -> Callable[..., tuple[Any, Any]]:
    """The program, for riselang's functions or NumPy's."""

    def normal_cdf(x: Any) -> Any:
        """With the error function by formula 7.1.26 of Abramowitz and Stegun."""
        x = x * 0.5**0.5
        t = 1 / (1 + 0.3275911 * abs(x))
        total = ERF[0] * t
        for term in ERF[1:]:
            total = (total + term) * t
        return 0.5 * (1 + math.copysign(1 - total * math.exp(-x * x), x))

    def program(spot: Any, strike: Any, years: Any) -> tuple[Any, Any]:
        deviation = VOLATILITY * math.sqrt(years)
        d1 = (math.log(spot / strike) + (RATE + VOLATILITY**2 / 2) * years) / deviation
        discounted = strike * math.exp(-RATE * years)
        call = spot * normal_cdf(d1) - discounted * normal_cdf(d1 - deviation)
        return call, call - spot + discounted

    return program


black_scholes = rl.jit(price(rl.math), float="relaxed")
expected = price(np)


def example_inputs(size: int = 100_000) -> tuple[Any, ...]:
    random = np.random.default_rng(7)
    spot, strike = random.uniform(10, 50, (2, size)).astype(np.float32)
    return spot, strike, random.uniform(0.2, 2, size).astype(np.float32)
