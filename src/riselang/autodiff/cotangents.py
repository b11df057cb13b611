"""The cotangents of the values of a program, for each of their scalars."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.autodiff.contributions import Contribution
from riselang.autodiff.evaluation import Entry, Value

Leaves = Sequence[Contribution | None]
"""For each scalar that a type consists of, its cotangent, or None if it is zero."""


class Cotangents:
    """The contributions to the cotangent of each value, of which those of inactive values and
    zeros are not stored."""

    def __init__(self) -> None:
        self._contributions: dict[Entry, list[list[Contribution]]] = {}

    def add(self, value: Value, leaves: Leaves) -> None:
        """Add contributions to the scalars of a value."""
        assert isinstance(value, Entry)
        if not value.is_active or all(leaf is None for leaf in leaves):
            return
        used = [
            leaf if is_active else None
            for leaf, is_active in zip(leaves, value.active, strict=True)
        ]
        if all(leaf is None for leaf in used):
            return
        lists = self._contributions.setdefault(value, [[] for _ in used])
        for contributions, leaf in zip(lists, used, strict=True):
            if leaf is not None:
                contributions.append(leaf)

    def pop(self, entry: Entry) -> list[list[Contribution]] | None:
        return self._contributions.pop(entry, None)

    @property
    def entries(self) -> list[Entry]:
        return list(self._contributions)
