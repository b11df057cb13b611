"""How many components of a tuple an assignment such as `a, b, c = value` requests.

Tuples nest to the right, so `(f32 x (f32 x f32))` is both a pair and a triple. Only the assignment
determines how many components there are; Python's instruction for it contains their number.
"""

from __future__ import annotations

import dis
import inspect

_UNPACK, _UNPACK_WITH_STAR = dis.opmap["UNPACK_SEQUENCE"], dis.opmap["UNPACK_EX"]
PAIR = 2


def requested_components() -> int | None:
    """Return the number of components that the code that iterates over a value unpacks.

    It is None, for all of them, if one name has a star. A value that is iterated over in any other
    way is a pair.
    """
    iteration = inspect.currentframe()
    frame = iteration.f_back.f_back if iteration and iteration.f_back else None
    if frame is None:
        return PAIR
    code, position = frame.f_code.co_code, frame.f_lasti
    if code[position] == _UNPACK_WITH_STAR:
        return None
    return max(PAIR, code[position + 1]) if code[position] == _UNPACK else PAIR
