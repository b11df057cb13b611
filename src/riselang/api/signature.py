"""The parameters of a Python function: their annotations, defaults, and what is static."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from riselang.api.specs import Spec, annotation_spec, is_concrete
from riselang.dialects.rise.types import RiseType
from riselang.dsl.user_locations import function_location, user_location
from riselang.support.counts import format_count
from riselang.support.errors import UserError

NO_DEFAULT: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """A parameter of a Python function."""

    name: str
    spec: Spec
    default: Any = NO_DEFAULT
    is_keyword_only: bool = False
    is_static: bool = False
    """Whether its value is known when the function is traced."""

    @property
    def has_default(self) -> bool:
        return self.default is not NO_DEFAULT

    @property
    def is_plain(self) -> bool:
        """Whether a call passes one array or scalar of the annotated type, by position."""
        is_special = self.is_static or self.is_keyword_only or self.has_default
        return not is_special and is_concrete(self.spec)


@dataclass(frozen=True)
class Signature:
    """The parameters of a Python function, and its name."""

    function: str
    parameters: tuple[Parameter, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def plain_types(self) -> tuple[RiseType, ...] | None:
        """The types of the parameters, if all of them are plain."""
        types = [each.spec for each in self.parameters if each.is_plain]
        if len(types) != len(self.parameters):
            return None
        return tuple(type for type in types if isinstance(type, RiseType))

    def bind(self, positional: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return a value for each parameter; defaults replace missing ones."""
        by_position = [each.name for each in self.parameters if not each.is_keyword_only]
        if len(positional) > len(by_position):
            raise UserError(
                f"{self.function} takes {format_count(len(by_position), 'argument')} "
                f"({', '.join(by_position)}), but got {len(positional)}",
                user_location(),
            )
        values = dict(zip(by_position, positional, strict=False))
        for name, value in keywords.items():
            self._check_keyword(name, values)
            values[name] = value
        missing = [
            each.name
            for each in self.parameters
            if each.name not in values and not each.has_default
        ]
        if missing:
            raise UserError(
                f"{self.function} is called without {', '.join(missing)}", user_location()
            )
        return tuple(values.get(each.name, each.default) for each in self.parameters)

    def _check_keyword(self, name: str, values: Mapping[str, Any]) -> None:
        if name not in self.names:
            raise UserError(
                f"{self.function} has no parameter {name}; it has: {', '.join(self.names)}",
                user_location(),
            )
        if name in values:
            raise UserError(
                f"{self.function} got {name} twice: by position and by name", user_location()
            )

    def split(self, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the values of the parameters as positional and named arguments."""
        pairs = list(zip(self.parameters, values, strict=True))
        positional = [value for each, value in pairs if not each.is_keyword_only]
        return positional, {each.name: value for each, value in pairs if each.is_keyword_only}


def read_signature(function: Callable[..., Any], static: str | Sequence[str] = ()) -> Signature:
    """Read the parameters of a function; `static` names those that are known when it is traced."""
    name = getattr(function, "__name__", "the function")
    location = function_location(function)
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError as error:
        raise UserError(f"the annotations of {name} cannot be read: {error}", location) from None
    except (TypeError, ValueError):
        raise UserError(
            f"the parameters of {name} cannot be read; pass a Python function"
        ) from None
    static_names = (static,) if isinstance(static, str) else tuple(static)
    for each in static_names:
        if each not in signature.parameters:
            raise UserError(
                f"static: {name} has no parameter {each!r}; it has: "
                f"{', '.join(signature.parameters)}",
                location,
            )
    bound = function.keywords if isinstance(function, partial) else {}
    parameters: list[Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name in bound:  # a value that partial passes is known, like a captured one
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UserError(
                f"{name}: parameter {parameter.name} must be a plain parameter; pass a tuple or a "
                "dictionary for a varying number of arrays",
                location,
            )
        is_static = parameter.name in static_names
        annotation = Any if is_static else parameter.annotation
        spec = annotation_spec(annotation, parameter.name, name, location)
        is_keyword_only = parameter.kind is parameter.KEYWORD_ONLY
        parameters.append(
            Parameter(parameter.name, spec, parameter.default, is_keyword_only, is_static)
        )
    return Signature(name, tuple(parameters))
