"""Symbolic naturals: the lengths in types and the arithmetic of indices.

Integers, names and operators, or text such as `N * 4 + 1`, become values of `Nat` in normal form,
so that naturals that are equal by the laws of arithmetic are, in most cases, equal objects. On top
of that, `Facts` with `simplify` and the comparisons use what is known about variables, `solve`
finds unknown lengths during type inference, and `refinement` says which values of a size satisfy a
condition.

Read `natural.py` first (the normal form), then `division.py` (its laws), `bounds.py` and
`simplification.py` (how facts are used), and `unify.py`. `text.py` prints and parses.
"""

from riselang.nat.atoms import Atom, FloorDiv, Max, Min, Mod, Monomial, Term, Variable
from riselang.nat.bounds import is_less, is_less_equal, is_nonnegative, lower_bound, upper_bound
from riselang.nat.errors import NatError, NatSyntaxError
from riselang.nat.extrema import nat_max, nat_min
from riselang.nat.facts import Bounds, Facts
from riselang.nat.natural import Nat, NatLike, as_nat
from riselang.nat.refinement import Refinement, refinement
from riselang.nat.simplification import divides, provably_equal, simplify
from riselang.nat.text import format_nat, parse_nat
from riselang.nat.unify import Deferred, Divides, Impossible, Solution, Solved, solve

__all__ = [
    "Atom",
    "Bounds",
    "Deferred",
    "Divides",
    "Facts",
    "FloorDiv",
    "Impossible",
    "Max",
    "Min",
    "Mod",
    "Monomial",
    "Nat",
    "NatError",
    "NatLike",
    "NatSyntaxError",
    "Refinement",
    "Solution",
    "Solved",
    "Term",
    "Variable",
    "as_nat",
    "divides",
    "format_nat",
    "is_less",
    "is_less_equal",
    "is_nonnegative",
    "lower_bound",
    "nat_max",
    "nat_min",
    "parse_nat",
    "provably_equal",
    "refinement",
    "simplify",
    "solve",
    "upper_bound",
]
