"""`rl.foreign`: C functions as patterns."""

from __future__ import annotations

import os
from collections.abc import Mapping

from riselang.dialects.rise.foreign_functions import DeclarationError, foreign_spec
from riselang.dsl.pattern_functions import PatternFunction
from riselang.dsl.tracing import value_text
from riselang.dsl.user_locations import user_location
from riselang.support.errors import UserError
from riselang.support.foreign_libraries import foreign_address, full_library_name


def foreign(
    declaration: str,
    library: str | os.PathLike[str] | None = None,
    vectors: Mapping[int, str] | None = None,
) -> PatternFunction:
    """Return a C function as a pattern: `rl.foreign("double f(double)", library="./libf.so")`.

    The function must have no effects besides filling the arrays that are not `const`, which are
    results: it may be called any number of times, in any order and by several threads. An integer
    parameter that is the length of an array, as in `double dot(long n, const double x[n], const
    double y[n])`, is passed by the compiler. `vectors` names functions that do the same on vectors,
    by the number of lanes: `{4: "f_avx2"}`.
    """
    if not isinstance(declaration, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(
            "foreign: expected a C declaration such as 'double f(double)', but found "
            f"{value_text(declaration)}",
            user_location(),
        )
    variants = ", ".join(f"{lanes}: {name}" for lanes, name in (vectors or {}).items())
    name = full_library_name(os.fspath(library)) if library is not None else ""
    try:
        spec = foreign_spec(declaration, name, variants)
    except DeclarationError as error:
        raise UserError(f"foreign: {declaration!r}: {error}", user_location()) from None
    assert spec.foreign is not None
    for symbol in (spec.foreign.name, *(each for _, each in spec.foreign.vectors)):
        foreign_address(name, symbol, user_location())
    return PatternFunction(spec)
