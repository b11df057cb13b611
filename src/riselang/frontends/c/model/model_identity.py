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
from riselang.frontends.c.parse.record_types import RecordType
from riselang.frontends.c.parse.syntax import Function, GlobalDefinition, Variable
from riselang.support.errors import SourceLocation
from riselang.support.recursion import with_deep_stack


class NotSerializable(Exception):
    """Something in a model cannot be serialized."""


@with_deep_stack
def model_text(scop: Scop) -> str | None:
    """Return the text of a model; None if it cannot be serialized."""
    try:
        return _Writer().format_value(scop)
    except NotSerializable:
        return None


class _Writer:
    """Serializes a model; variables are compared by identity, so each gets a number."""

    def __init__(self) -> None:
        self._variables: dict[Variable, int] = {}
        self._nodes: dict[int, tuple[object, str]] = {}
        """Texts by the objects they describe; holding the objects keeps their ids from being
        reused."""

    def format_value(self, value: Any) -> str:
        match value:
            case None | bool() | int() | str() | float() | Enum():
                return repr(value)
            case SourceLocation() | Names() | GlobalDefinition():
                return ""
            case Variable():
                return self._format_variable(value)
            case Function():
                # Its effect is in the statements.
                return self._format_sequence(
                    "Function", (value.name, value.result, value.parameters)
                )
            case RecordType():
                # The positions of its members are in the variables.
                return self._format_sequence("Record", (value.name, value.bits))
            case Mapping():
                return f"Mapping({', '.join(sorted(map(self.format_value, value.items())))})"
            case Set():
                return f"Set({', '.join(sorted(map(self.format_value, value)))})"
            case Sequence():
                return self._format_sequence("", value)
            case _:
                return self._format_node(value)

    def _format_node(self, value: Any) -> str:
        known = self._nodes.get(id(value))
        if known is None:
            known = self._nodes[id(value)] = (value, self._format_fields(value))
        return known[1]

    def _format_fields(self, value: Any) -> str:
        if is_dataclass(value):
            named = [
                text for field in fields(value)
                if (text := self.format_value(getattr(value, field.name)))
            ]  # fmt: skip
            return f"{type(value).__name__}({', '.join(named)})"
        if not type(value).__module__.startswith("islpy"):
            raise NotSerializable
        return repr(str(value))

    def _format_sequence(self, name: str, values: Sequence[Any]) -> str:
        return f"{name}({', '.join(map(self.format_value, values))})"

    def _format_variable(self, variable: Variable) -> str:
        number = self._variables.get(variable)
        if number is not None:
            return f"v{number}"
        number = self._variables[variable] = len(self._variables)
        described = [getattr(variable, field.name) for field in fields(variable)]
        return self._format_sequence(f"v{number} = ", described)
