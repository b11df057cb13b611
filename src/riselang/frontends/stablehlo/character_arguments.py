"""LAPACK's character arguments, which are numbers in calls: `uplo = 76 : ui8` is L."""

from __future__ import annotations

from riselang.frontends.stablehlo.registry import TypedOp


def character_argument(op: TypedOp, name: str, known: str) -> str:
    """Return one of the letters that are known."""
    given = op.attributes.get("mhlo.backend_config")
    number = given.get(name) if isinstance(given, dict) else None
    letter = chr(number) if isinstance(number, int) and 0 < number < 128 else "?"
    if letter not in known:
        raise op.unsupported(f"its {name} is not one of {', '.join(known)}")
    return letter
