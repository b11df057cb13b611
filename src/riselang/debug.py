"""Debugging inside programs: `rl.debug.print`, `rl.debug.callback` and `rl.debug.check_nan`."""

from riselang.api.float_checks import check_nan
from riselang.dsl.observed_values import callback, print

__all__ = ["callback", "check_nan", "print"]
