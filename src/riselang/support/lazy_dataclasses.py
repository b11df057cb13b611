"""Methods of dataclasses that are compiled when they are first called.

For each class, `dataclasses` compiles `__init__`, `__repr__`, `__eq__`, `__hash__`, `__setattr__`
and `__delattr__` from text. For the hundreds of classes of xDSL and riselang, this takes a seventh
of the time from the start of a process to its first result, and most of the methods are never
called. In these two packages, all of them but `__init__`, whose signature is inspected, are
therefore compiled on their first call. From Python 3.13 on, `dataclasses` compiles the methods of a
class together, and nothing is changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

PACKAGES = ("xdsl", "riselang")
_COMPILER = "_create_fn"
_compile: Callable[..., Callable[..., Any]] | None = getattr(dataclasses, _COMPILER, None)


def compile_methods_lazily() -> None:
    """Compile methods lazily in every dataclass of the two packages that is defined from now on."""
    if _compile is not None:
        setattr(dataclasses, _COMPILER, _define_method)


def _define_method(
    name: str,
    parameters: Any,
    body: Any,
    *,
    globals: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Callable[..., Any]:
    """Return a method that compiles itself, and replaces itself in its class, when it is called."""
    assert _compile is not None
    compile, package = _compile, str((globals or {}).get("__name__", "")).partition(".")[0]
    if package not in PACKAGES or name == "__init__":
        return compile(name, parameters, body, globals=globals, **kwargs)
    compiled: Callable[..., Any] | None = None

    def method(self: object, *arguments: Any) -> Any:
        nonlocal compiled
        if compiled is None:
            compiled = compile(name, parameters, body, globals=globals, **kwargs)
            compiled.__qualname__ = method.__qualname__
            for owner in type(self).__mro__:
                if vars(owner).get(name) is method:
                    setattr(owner, name, compiled)
        return compiled(self, *arguments)

    method.__name__ = name
    return method
