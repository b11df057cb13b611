"""Nothing that recurses over a program is bounded by Python's stack: the sources are looked at."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from recursion_survey import SOURCES, Function, calls_through_c, functions_of, recursions

TREES = frozenset({"Term", "Node", "Syntax", "Operation", "Block", "SSAValue"})
"""What programs are made of."""
INSIDE = {
    "autodiff/": "autodiff/differentiation.py reverse_term",
    "dialects/module.py": "dialects/module.py parse_with_positions",
    "interpreter/evaluate.py": "interpreter/evaluate.py run_term",
    "lowering/": "lowering/passes/convert_rise_to_imperative.py convert_module",
    "native/mlir/generic_printer.py": "native/mlir/generic_printer.py native_text",
    "notation/elaboration.py": "notation/program.py parse_program",
    "notation/layout.py": "notation/layout.py layout",
    "notation/name_resolution.py": "notation/program.py parse_program",
    "notation/term_extents.py": "notation/term_extents.py format_with_extents",
    "notation/printer.py": "notation/printer.py show_term",
    "notation/size_expressions.py": "notation/program.py parse_program",
    "ranks/": "ranks/planner.py plan_program",
    "rewrite/": "rewrite/derivation.py derive",
    "term/cost.py": "term/cost.py cost",
    "term/counting.py": "term/cost.py cost",
    "term/from_dialect.py": "term/from_dialect.py read_units",
    "term/lets.py": "term/lets.py normalize_lets",
    "term/anti_unification.py": "term/outline_repeats.py outline",
    "term/flattening.py": "term/outline_repeats.py outline",
    "term/let_writer.py": "term/outline_repeats.py outline",
    "term/outline_repeats.py": "term/outline_repeats.py outline",
}
"""Modules and folders that nobody enters but by a function with a stack of its own: which one."""
BOUNDED = {
    "compiler/host_plans.py": "loops on the host, of which few are nested",
    "api/custom_derivatives.py": "functions with derivatives of their own that call each other",
    "api/kernel.py": "the parameters of a program",
    "dialects/": "the regions of one op",
    "frontends/term_builder.py": "the dimensions of an array",
    "frontends/c/": "the nesting of C, which clang bounds",
    "frontends/stablehlo/": "the dimensions of an array",
    "nat/": "a size, which `MAX_DEPTH` bounds",
    "term/complex_arithmetic.py": "none: methods call those of the same names of a builder",
    "term/fusion.py": "the names of one function",
    "term/view_inverses.py": "views of views, each a function of the next",
}
"""Recursions that are not as deep as a program is, and what they are over."""
OTHERS = ("lowering/assignments.py:",)
"""Attributes that have the name of a walk and are none."""
Walks = list[tuple[list[Function], set[Function]]]
"""Functions of a file, with a group of them that recurses."""
ENTERING = frozenset({"with_deep_stack", "recursive"})


def is_entering(function: Function | None) -> bool:
    while function is not None:
        if function.decorators & ENTERING:
            return True
        function = function.outer
    return False


def walks(path: Path) -> Walks:
    """The functions of a file, and those groups that recurse over programs."""
    functions = functions_of(path)
    found: Walks = []
    for group in recursions(functions):
        types = {name for each in group for name in each.parameter_types}
        around = {n for each in group if each.outer for n in each.outer.parameter_types}
        if (types | around) & TREES and not all(each.node.name == "__init__" for each in group):
            found.append((functions, group))
    return found


def unbounded(walks: Walks) -> list[str]:
    """The walks of a file that may be entered on the stack of whoever calls them."""
    problems: list[str] = []
    for functions, group in walks:
        module = next(iter(group)).module
        if any(module.startswith(known) for known in (*INSIDE, *BOUNDED)):
            continue
        entries = [
            each for each in functions
            if (each in group or each.calls & group) and not is_entering(each)
        ]  # fmt: skip
        inner = {each for each in entries if each in group}
        outer = [each for each in entries if each not in group]
        called = any(each.calls & group for each in functions if each not in group)
        if outer or (inner and not called):
            problems += map(str, outer or inner)
    return problems


def indirect(walks: Walks) -> list[str]:
    """Where the walks of a file call themselves by way of C, though programs are unbounded."""
    return [
        problem
        for _, group in walks
        if not next(iter(group)).module.startswith(tuple(BOUNDED))
        for problem in calls_through_c(group)
        if not problem.startswith(OTHERS)
    ]


def sources(pattern: str) -> Iterator[Path]:
    """The sources with a word that this expression matches."""
    word = re.compile(rf"\b({pattern})\b")
    return (path for path in sorted(SOURCES.rglob("*.py")) if word.search(path.read_text()))


@cache
def problems_in_sources() -> tuple[list[str], list[str]]:
    """The walks that may be entered on any stack, and those that call themselves through C."""
    # A walk has a parameter of such a type.
    found = [(unbounded(each), indirect(each)) for each in map(walks, sources("|".join(TREES)))]
    return [each for one, _ in found for each in one], [each for _, two in found for each in two]


def test_every_walk_over_a_program_is_entered_on_a_deep_stack() -> None:
    problems, _ = problems_in_sources()
    assert not problems, (
        "mark these with support.recursion.with_deep_stack, or say in INSIDE who enters them"
    )


def test_walks_over_operations_call_themselves_directly() -> None:
    _, problems = problems_in_sources()
    assert not problems, "a call through C takes C stack, which Python 3.12 and 3.13 bound"


@pytest.mark.parametrize("place", sorted(set(INSIDE.values())))
def test_those_who_enter_have_a_stack_of_their_own(place: str) -> None:
    module, name = place.split()
    (entry,) = [each for each in functions_of(SOURCES / module) if each.name == name]
    assert is_entering(entry)


def test_every_pass_has_a_stack_of_its_own() -> None:
    for path in sources("ModulePass"):
        functions = {each.name: each for each in functions_of(path)}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any(
                isinstance(base, ast.Name) and base.id == "ModulePass" for base in node.bases
            ):
                apply = functions[f"{node.name}.apply"]
                assert is_entering(apply), apply


def test_a_walk_without_a_stack_is_named(tmp_path: Path) -> None:
    path = tmp_path / "walks.py"
    path.write_text(
        "def size(term: Term) -> int:\n    return 1 + sum(size(child) for child in term.children)\n"
    )
    assert unbounded(walks(path)) == ["walks.py:1 size"]
    ((_, group),) = walks(path)
    assert calls_through_c(group) == ["walks.py:1 size: calls itself in a generator, line 2"]
    path.write_text("@recursive\n" + path.read_text())
    assert unbounded(walks(path)) == []


def test_walks_that_call_each_other_are_named(tmp_path: Path) -> None:
    path = tmp_path / "walks.py"
    path.write_text(
        "class Walk:\n"
        "    def one(self, term: Term) -> None:\n"
        "        self.all(term.children)\n"
        "    def all(self, terms: list[Term]) -> None:\n"
        "        for term in terms:\n"
        "            self.one(term)\n"
        "def walk(term: Term) -> None:\n"
        "    Walk().one(term)\n"
    )
    assert unbounded(walks(path)) == ["walks.py:7 walk"]
