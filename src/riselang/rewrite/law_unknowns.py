"""The unknowns of a law: functions and values, sizes, and data types.

When a rule is applied, matching the left-hand side determines them, except for the sizes that the
user chooses. A law with an unknown that nothing determines is rejected when it is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from riselang.dialects.rise.type_binding import type_variables
from riselang.rewrite.law_definition import Definition
from riselang.support.errors import UserError
from riselang.term.nodes import Free, Term, subterms
from riselang.term.size_substitution import term_names

UNKNOWN = "?"
"""The first character of the name of an unknown, in terms."""


@dataclass(frozen=True)
class Unknowns:
    """The unknowns of one side of a law."""

    values: frozenset[str]
    """Functions and values."""
    sizes: frozenset[str]
    types: frozenset[str]

    @staticmethod
    def of(side: Term) -> Unknowns:
        parts = list(subterms(side))
        types = _unmark(name for each in parts for name in type_variables(each.type))
        values = _unmark(each.name for each in parts if isinstance(each, Free))
        return Unknowns(values, _unmark(term_names(side)) - types, types)


def _unmark(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.removeprefix(UNKNOWN) for name in names if name.startswith(UNKNOWN))


@dataclass(frozen=True)
class UnknownsCheck:
    """The check that a rule can determine the unknowns of its law."""

    definition: Definition
    parameters: str
    """The declaration of the functions and values, as in the text of the law."""
    text: str
    """The text of the law."""
    left: Unknowns
    right: Unknowns

    def run(self, declared: Iterable[str]) -> None:
        """Raise an error for the first unknown that nothing determines."""
        self._check_declared(declared)
        self._check_chosen()
        if not self.definition.is_matched:
            return
        for name in sorted(self.right.values - self.left.values):
            raise self._right_only_error(
                "unknown", name, "use it on the left too, or let a function find it (@st.rule)"
            )
        for name in sorted(self.right.sizes - self.left.sizes - {*self.definition.chosen}):
            raise self._right_only_error(
                "size", name, f'let the user choose it (choose="{name}"), or use it on the left too'
            )
        for name in sorted(self.right.types - self.left.types):
            raise self._right_only_error("data type", name, "use it on the left too")

    def _check_declared(self, declared: Iterable[str]) -> None:
        for name in declared:
            if name not in self.left.values | self.right.values:
                found = re.search(rf"\b{name}\b", self.parameters)
                raise self.definition.error(
                    f"the unknown {name} is on neither side of the law; use it, or remove it",
                    self.parameters, found.start() if found else 0, len(name),
                )  # fmt: skip

    def _check_chosen(self) -> None:
        known = self.left.sizes | self.right.sizes
        for name in self.definition.chosen:
            if name not in known:
                raise self.definition.error(
                    f"choose names {name}, which is not a size of the law; its sizes are: "
                    f"{', '.join(sorted(known)) or 'none'}"
                )

    def _right_only_error(self, kind: str, name: str, remedy: str) -> UserError:
        found = list(re.finditer(rf"\b{name}\b", self.text))
        return self.definition.error(
            f"the {kind} {name} is only on the right of the law, so matching the left cannot "
            f"determine it; {remedy}",
            self.text, found[0].start() if found else 0, len(name) if found else len(self.text),
        )  # fmt: skip
