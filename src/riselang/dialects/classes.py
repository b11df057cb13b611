"""How the classes of ops and types are asked what is one of them."""

from __future__ import annotations

from abc import ABCMeta
from typing import Any, ClassVar
from weakref import WeakValueDictionary


class PlainClass(ABCMeta):
    """The metaclass of our ops and types: `isinstance` looks at the bases of a class, no further.

    xDSL's are abstract base classes, which other classes may be registered for; nobody does, and to
    ask for it takes five times as long, where lowering asks of each op which of thirty it is.
    """

    __instancecheck__ = type.__instancecheck__


class InternedClass(PlainClass):
    """The metaclass of our types: of equal ones there is one object, as long as anybody has it.

    What a type is made of is shared, and written out it may be exponentially larger: comparing two
    of them must not walk through both.
    """

    _known: ClassVar[WeakValueDictionary[tuple[Any, ...], Any]] = WeakValueDictionary()

    def __call__(cls, *parameters: Any) -> Any:
        key = (cls, *parameters)
        known = InternedClass._known.get(key)
        if known is None:
            known = InternedClass._known[key] = super().__call__(*parameters)
        return known
