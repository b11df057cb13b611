"""A model as text, complete except for source locations: models with equal text are the same.

Code is cached under it, so a model that was compiled before needs neither code generation nor
proofs. Every field of a model is serialized, including any that are added later; a model that
cannot be serialized has no identity, and its code is not cached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from riselang.frontends.c.model.isl_text import Names
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Function, Variable
from riselang.support.errors import SourceLocation
from riselang.support.recursion import deep


class NoText(Exception):
    """Something in a model cannot be serialized."""


@deep
def identity(scop: Scop) -> str | None:
    """Return the text of a model; None if it cannot be serialized."""
    try:
        return _Writer().text(scop)
    except NoText:
        return None


class _Writer:
    """Serializes a model; variables are compared by identity, so each gets a number."""

    def __init__(self) -> None:
        self._variables: dict[Variable, int] = {}
        self._nodes: dict[int, tuple[object, str]] = {}
        """Texts by the objects they describe; holding the objects keeps their ids from being
        reused."""

    def text(self, value: Any) -> str:
        match value:
            case None | bool() | int() | str() | float() | Enum():
                return repr(value)
            case SourceLocation() | Names():
                return ""
            case Variable():
                return self._variable(value)
            case Function():
                # Its effect is in the statements.
                return self._of("Function", (value.name, value.result, value.parameters))
            case Mapping():
                return f"Mapping({', '.join(sorted(map(self.text, value.items())))})"
            case Set():
                return f"Set({', '.join(sorted(map(self.text, value)))})"
            case Sequence():
                return self._of("", value)
            case _:
                return self._node(value)

    def _node(self, value: Any) -> str:
        known = self._nodes.get(id(value))
        if known is None:
            known = self._nodes[id(value)] = (value, self._whole(value))
        return known[1]

    def _whole(self, value: Any) -> str:
        if is_dataclass(value):
            named = [
                text for field in fields(value)
                if (text := self.text(getattr(value, field.name)))
            ]  # fmt: skip
            return f"{type(value).__name__}({', '.join(named)})"
        if not type(value).__module__.startswith("islpy"):
            raise NoText
        return repr(str(value))

    def _of(self, name: str, values: Sequence[Any]) -> str:
        return f"{name}({', '.join(map(self.text, values))})"

    def _variable(self, variable: Variable) -> str:
        number = self._variables.get(variable)
        if number is not None:
            return f"v{number}"
        number = self._variables[variable] = len(self._variables)
        described = [getattr(variable, field.name) for field in fields(variable)]
        return self._of(f"v{number} = ", described)
