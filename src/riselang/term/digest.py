"""Digests of terms, the same in every process, which name them in caches on disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable
from typing import cast

from riselang.support.recursion import with_deep_stack
from riselang.term.nodes import Key, Pattern, Term, has_pattern, parameter_names, subterms

LOCATED_PATTERNS = ("checkIdx",)
"""Patterns whose failure at run time is reported with their source location."""


@with_deep_stack
def digest(term: Term, *, every_location: bool = False) -> str:
    """A digest that is equal for equal terms in every process, and differs for different ones.

    It includes the names of the parameters, which messages mention, and the locations of run-time
    checks, or, for code with debug info, all locations.
    """
    hashed = hashlib.sha256()
    numbers: dict[Key, int] = {}
    texts: dict[Hashable, str] = {}
    stack = [term.key]
    while stack:
        key = stack[-1]
        missing = [part for part in key.parts if isinstance(part, Key) and part not in numbers]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if key not in numbers:
            numbers[key] = len(numbers)
            hashed.update(
                "\0".join(_format_part(part, numbers, texts) for part in key.parts).encode()
            )
            hashed.update(b"\1")
    for text in (*parameter_names(term), *_locations(term, every_location)):
        hashed.update(f"\2{text}".encode())
    return hashed.hexdigest()


class PartDigests:
    """Short digests of terms that share subterms: each subterm is digested once.

    They do not include names and locations.
    """

    def __init__(self) -> None:
        self._digests: dict[Key, str] = {}
        self._texts: dict[Hashable, str] = {}

    def digest_of(self, term: Term) -> str:
        stack = [term.key]
        while stack:
            key = stack[-1]
            inner = [part for part in key.parts if isinstance(part, Key)]
            missing = [part for part in inner if part not in self._digests]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if key not in self._digests:
                numbers = dict.fromkeys(inner, 0)
                own_text = "\0".join(_format_part(part, numbers, self._texts) for part in key.parts)
                text = "\1".join([own_text, *(self._digests[part] for part in inner)])
                self._digests[key] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._digests[term.key]


def _format_part(part: Hashable, numbers: dict[Key, int], texts: dict[Hashable, str]) -> str:
    if isinstance(part, Key):
        return f"@{numbers[part]}"
    if isinstance(part, tuple):
        parts = cast(tuple[Hashable, ...], part)
        return f"({', '.join(_format_part(each, numbers, texts) for each in parts)})"
    # The name of the type distinguishes equal values of different types, such as 1 and True.
    key = (type(part), part)
    if key not in texts:
        texts[key] = f"{type(part).__name__}:{part}"
    return texts[key]


def _locations(term: Term, every_location: bool) -> list[str]:
    """The source locations of the checks, or of all subterms, in the order of the term."""
    if not every_location and not has_pattern(term, *LOCATED_PATTERNS):
        return []
    locations: list[str] = []
    for current in subterms(term):
        is_check = isinstance(current, Pattern) and current.spec.name in LOCATED_PATTERNS
        if every_location and current.location is not None:
            locations.append(f"{os.path.abspath(current.location.file)} {current.location}")
        elif is_check:
            locations.append(str(current.location))
    return locations
