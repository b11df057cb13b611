"""Patterns, scalar operations and helpers as Python functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_registry import (
    ITERATE,
    KEYWORD_PARAMETERS,
    LOOP_DIALECTS,
    PAD,
    SORT,
    TYPE_PARAMETERS,
    ZIP,
)
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import FunType, uncurry
from riselang.dsl.loop_states import loop_state
from riselang.dsl.pattern_application import apply_pattern
from riselang.dsl.reduction_order import check_order, permit_order
from riselang.dsl.size_arguments import as_size
from riselang.dsl.symbolic_values import Value, build_operation
from riselang.dsl.tracing import value_text
from riselang.dsl.user_locations import user_location
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.term import build
from riselang.term.scalar_ops import OVERLOADS, overload_arity

_One = Callable[[Value], object]
_Two = Callable[[Value, Value], object]
_Three = Callable[[Value, Value, Value], object]
_Four = Callable[[Value, Value, Value, Value], object]
Given = _One | _Two | _Three | _Four | object
"""Anything; type checkers infer the parameter types of a lambda from it."""


SIZE_HINTS = {
    ITERATE: "; jit(static=...) makes an argument a Python number, and rl.while_ repeats a number "
    "of times that is computed",
    PAD: "; rl.numpy.pad takes the array first",
}
"""What to use instead if a size is a value of the program."""


class PatternFunction:
    """A pattern as a function: give it all its arguments, or some now and the rest later.

    `map(f, xs)`, `map(f)(xs)` and `xs | map(f)` are the same.
    """

    __array_ufunc__ = None  # `array | pattern` calls `__ror__`

    def __init__(
        self,
        spec: PatternSpec,
        sizes: Sequence[Argument] = (),
        arguments: Sequence[Any] = (),
        to: str | None = None,
        inferred: Mapping[str, Argument] | None = None,
        order: str | None = None,
    ):
        self.spec = spec
        self._sizes = tuple(sizes)
        self._inferred = dict(inferred or {})
        """Sizes given by name that are otherwise inferred: `rl.generate(f, n=8)`."""
        self._arguments = tuple(arguments)
        self._to = to
        self._order = order
        self.__name__ = spec.python_name
        self.__doc__ = spec.documentation

    @property
    def arity(self) -> int:
        """The number of missing arguments."""
        return self.spec.arity - len(self._arguments)

    def __call__(
        self, *arguments: Given, to: str | None = None, order: str | None = None, **inferred: Any
    ) -> Value:
        """Return the result, or the pattern with these arguments, which is a value, too."""
        if to is not None:
            self._check_target(to)
        if order is not None:
            check_order(self.spec, order)
        missing = self.spec.explicit[len(self._sizes) :]
        new = [
            self._convert_size(name, value) for name, value in zip(missing, arguments, strict=False)
        ]
        sizes = (*self._sizes, *new)
        given = (*self._arguments, *arguments[len(missing) :])
        if len(given) > self.spec.arity:
            raise UserError(
                f"{self.spec.name} takes {format_count(self.spec.arity, 'argument')}"
                f"{self._sizes_hint()}, but got {len(given)}",
                user_location(),
            )
        to, order = to or self._to, order or self._order
        known = self._inferred
        if inferred:
            known = {**known, **self._convert_inferred_sizes(inferred)}
        if len(given) < self.spec.arity or len(sizes) < len(self.spec.explicit):
            self._check_functions(given)
            partial: Any = PatternFunction(self.spec, sizes, given, to, known, order)
            return partial
        parameters = {**known, **dict(zip(self.spec.explicit, sizes, strict=True))}
        state = loop_state(self.spec, given)
        parts = given if state is None else state.arguments(given)
        result = Value(permit_order(apply_pattern(self.spec, parameters, parts, to), order))
        return result if state is None else state.result(result)

    def _check_functions(self, given: Sequence[Any]) -> None:
        """Reject values where functions are expected, such as the array in `rl.sort(x)`."""
        inputs, _ = uncurry(self.spec.type)
        for position, (type, argument) in enumerate(zip(inputs, given, strict=False)):
            if isinstance(type, FunType) and not callable(argument):
                advice = "; rl.numpy.sort(x) sorts in ascending order" if self.spec is SORT else ""
                raise UserError(
                    f"{self.spec.name}, argument {position + 1}: expected a function, but found "
                    f"{value_text(argument)}; {self.spec!r}{advice}",
                    user_location(),
                )

    def _check_target(self, to: object) -> None:
        if not (self.spec.has_target and isinstance(to, str) and to in LOOP_DIALECTS):
            raise UserError(
                f"{self.spec.name}: to={value_text(to)} is not supported; loops accept 'affine' or "
                "'scf'",
                user_location(),
            )

    def _convert_inferred_sizes(self, inferred: Mapping[str, Any]) -> dict[str, Argument]:
        names = set(self.spec.parameters) - set(self.spec.explicit) - set(TYPE_PARAMETERS)
        for name in inferred.keys() - names:
            sizes = f"; it has {', '.join(sorted(names))}" if names else ""
            raise UserError(f"{self.spec.name} has no inferred size {name}{sizes}", user_location())
        return {name: self._convert_size(name, size) for name, size in inferred.items()}

    def as_function(self, expected: FunType, what: str) -> build.Node | None:
        """Return the node of this pattern as a function of its missing arguments.

        None if their number differs from that of `expected`, or if an argument is computed: it is
        named outside the function, so that it is computed once, and the pattern is called.
        """
        missing = self.spec.explicit[len(self._sizes) :]
        if missing:
            raise self._missing_sizes_error(f"this is {what}")
        values = [argument.node for argument in self._arguments if isinstance(argument, Value)]
        if self.arity != len(uncurry(expected)[0]) or not all(
            build.is_view_node(v) for v in values
        ):
            return None
        parameters = {
            **self._inferred,
            **dict(zip(self.spec.explicit, self._sizes, strict=True)),
        }
        state = loop_state(self.spec, self._arguments)
        given = self._arguments if state is None else state.arguments(self._arguments)
        node = apply_pattern(self.spec, parameters, given, self._to, expected, what)
        return permit_order(node, self._order)

    def _missing_sizes_error(self, found: str) -> UserError:
        names = ", ".join(self.spec.explicit)
        return UserError(
            f"{self.spec.name} needs {names} first, as in rl.{self.spec.python_name}({names}); "
            f"{found}",
            user_location(),
        )

    def _sizes_hint(self) -> str:
        names = ", ".join(self.spec.explicit)
        noun = "size" if len(self.spec.explicit) == 1 else "sizes"
        return f" after the {noun} {names}" if names else ""

    def _convert_size(self, name: str, size: Any) -> Argument:
        if name in KEYWORD_PARAMETERS:
            return self._check_keyword(name, size)
        if isinstance(size, Value) or callable(size):
            hint = SIZE_HINTS.get(self.spec, "") if isinstance(size, Value) else ""
            raise self._missing_sizes_error(f"found {value_text(size)}{hint}")
        return as_size(size, f"{self.spec.name}({', '.join(self.spec.explicit)})")

    def _check_keyword(self, name: str, value: Any) -> str:
        known = KEYWORD_PARAMETERS[name]
        if isinstance(value, Value):
            raise self._missing_sizes_error(f"found {value_text(value)}")
        if not isinstance(value, str) or value not in known:
            raise UserError(
                f"{self.spec.name}({name}): expected one of {', '.join(known)}, but found "
                f"{value_text(value)}",
                user_location(),
            )
        return value

    def __ror__(self, value: Any) -> Value:
        """`array | pattern` applies a pattern to a captured array or a list."""
        return self(value)

    def __repr__(self) -> str:
        return f"<pattern {self.spec}>"


class ZipFunction(PatternFunction):
    """`zip` of two or more arrays: `zip(x, y, z)` is `zip(x, zip(y, z))`."""

    def __call__(self, *arguments: Given, **options: Any) -> Value:
        if self.arity == ZIP.arity and len(arguments) > ZIP.arity:
            first, *remaining = arguments
            return self(first, self(*remaining), **options)
        return super().__call__(*arguments, **options)


class ScalarFunction:
    """A function on scalars, or on each lane of vectors."""

    def __init__(self, name: str, arity: int, doc: str):
        self.name = self.__name__ = name
        self.arity = arity
        self.__doc__ = doc

    def __call__(self, *operands: Any) -> Value:
        if len(operands) != self.arity:
            raise UserError(
                f"{self.name} takes {format_count(self.arity, 'operand')}, but got {len(operands)}",
                user_location(),
            )
        return build_operation(self.name, *operands)

    def __repr__(self) -> str:
        return f"<scalar function {self.name}>"


def scalar_function(name: str) -> ScalarFunction:
    arity = overload_arity(name)
    ops = " or ".join(dict.fromkeys(op for op in OVERLOADS[name] if op is not None))
    return ScalarFunction(name, arity, f"`{name}` of {format_count(arity, 'scalar')}: {ops}")


class Helper:
    """A function composed of patterns, which can be partially applied."""

    __array_ufunc__ = None  # `array | helper` calls `__ror__`

    def __init__(self, function: Callable[..., Any], arity: int):
        self._function = function
        self._arity = arity
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Given, **keywords: Any) -> Value:
        """Return the result, or the helper with these arguments, which is a value, too."""
        if keywords:
            raise UserError(
                f"{self.__name__} takes no keyword arguments, but got {', '.join(keywords)}; "
                "functions with NumPy's parameters are in rl.numpy",
                user_location(),
            )
        if len(arguments) > self._arity:
            raise UserError(
                f"{self.__name__} takes {format_count(self._arity, 'argument')}, but got "
                f"{len(arguments)}",
                user_location(),
            )
        if len(arguments) == self._arity:
            return self._function(*arguments)
        rest = self._arity - len(arguments)
        partial: Any = Helper(
            _set_name(self.__name__, lambda *more: self._function(*arguments, *more)), rest
        )
        return partial

    def __ror__(self, value: Any) -> Value:
        return self(value)

    @property
    def arity(self) -> int:
        return self._arity


def _set_name(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = name
    return function


class ScalarFunctions(SimpleNamespace):
    """Functions on scalars, by name."""

    if TYPE_CHECKING:

        def __getattribute__(self, name: str, /) -> ScalarFunction: ...


def helper(arity: int) -> Callable[[Callable[..., Any]], Helper]:
    return lambda function: Helper(function, arity)
