"""How the classes of ops and types are asked what is one of them."""

from __future__ import annotations

from abc import ABCMeta


class PlainClass(ABCMeta):
    """The metaclass of our ops and types: `isinstance` looks at the bases of a class, no further.

    xDSL's are abstract base classes, which other classes may be registered for; nobody does, and to
    ask for it takes five times as long, where lowering asks of each op which of thirty it is.
    """

    __instancecheck__ = type.__instancecheck__
