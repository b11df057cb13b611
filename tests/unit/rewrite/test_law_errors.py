"""Errors in the definition of a rule: located at the law, with the name of the rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import riselang.strategy as st
from riselang.rewrite.derivation_checks import law_status
from riselang.rewrite.law_definition import Definition
from riselang.rewrite.laws import Law
from riselang.rewrite.rule import RULES, Rule
from riselang.support.errors import UserError
from riselang.term.nodes import Term
from support.rule_checking import find_instance


def define(tmp_path: Path, text: str, module: str = "my_rules") -> tuple[UserError, str]:
    """The error of a file that defines rules, and the part of it that is marked."""
    file = tmp_path / f"{module}.py"
    file.write_text(f"import riselang.strategy as st\n\n\n{text}")
    names = {"__name__": module}
    before = dict(RULES)
    try:
        with pytest.raises(UserError) as caught:
            exec(compile(file.read_text(), str(file), "exec"), names)
    finally:
        RULES.clear()
        RULES.update(before)
    location = caught.value.location
    assert location is not None
    assert location.file == str(file)
    line = file.read_text().splitlines()[location.line - 1]
    assert location.source_line == line
    return caught.value, line[location.column - 1 :][: location.length]


@pytest.mark.parametrize(
    ("unknowns", "law", "message", "marked"),
    [
        ('"x : n.t, c : n.t"', "x |> reverse |> reverse ~> zip(x, c) |> map(fun(p, fst(p)))",
         "keep: the unknown c is only on the right of the law, so matching the left cannot "
         "determine it; use it on the left too, or let a function find it (@st.rule)", "c"),
        ('"x : n.t"', "x |> reverse |> reverse ~> x |> pad(0, q) |> take(n)",
         "keep: the size q is only on the right of the law, so matching the left cannot determine "
         'it; let the user choose it (choose="q"), or use it on the left too', "q"),
        ('"x : n.t", choose="z"', "x |> reverse |> reverse ~> x |> pad(0, q) |> take(n)",
         "keep: choose names z, which is not a size of the law; its sizes are: n, q",
         '@st.law("x : n.t", choose="z")'),
        ('"x : n.t, c : t"', "x |> reverse |> reverse ~> x",
         "keep: the unknown c is on neither side of the law; use it, or remove it", "c"),
        ('"x : n.t"', "x |> reverse",
         "keep: the first paragraph of the docstring of a rule is its law, left ~> right, but "
         "found 'x |> reverse'", '@st.law("x : n.t")'),
        ('"x : n.t"', "x |> join ~> x", None, "x"),
        ('"x : n.t"', "x |> revers\n    |> reverse ~> x", None, "revers"),
        ('"x : n.t"', "x |> reverse\n    |> revers ~> x", None, "revers"),
        ('"x : n.t"', "x |> reverse\n    |> reverse ~> x |> y", None, "y"),
        ('"x : n.t"', "x |> drop(1) ~> x",
         "keep: both sides of a law must have the same type, but in x |> drop(1) ~> x the "
         "left-hand side has the type n.t -> (n - 1).t and the right-hand side has the type "
         "n.t -> n.t", "x |> drop(1) ~> x"),
    ],
)  # fmt: skip
def test_an_error_names_the_rule_and_what_is_wrong(
    tmp_path: Path, unknowns: str, law: str, message: str | None, marked: str
) -> None:
    text = f'@st.law({unknowns})\ndef keep() -> None:\n    """{law}"""\n'
    error, found = define(tmp_path, text)
    assert found == marked
    assert error.message == message or (message is None and error.message.startswith("keep: "))


def test_a_rule_without_a_law(tmp_path: Path) -> None:
    error, _ = define(tmp_path, '@st.law("x : n.t")\ndef keep() -> None:\n    pass\n')
    assert error.message.startswith("keep: ")
    assert error.message.endswith("but found no docstring")


def test_a_law_that_is_computed_is_shown(tmp_path: Path) -> None:
    """The text of the law is not in the file, so the error shows it."""
    text = (
        "def keep() -> None: ...\nkeep.__doc__ = 'x |> ' + 'revers ~> x'\nst.law('x : n.t')(keep)"
    )
    file = tmp_path / "computed.py"
    file.write_text(f"import riselang.strategy as st\n{text}\n")
    with pytest.raises(UserError, match=r"computed\.py:2:6: error: keep: ") as caught:
        exec(compile(file.read_text(), str(file), "exec"), {"__name__": "computed"})
    assert "  x |> revers ~> x\n       ^^^^^^" in str(caught.value)


def test_a_function_may_find_an_unknown_of_the_right() -> None:
    @st.rule("x : n.t, c : n.t")
    def finds_both(term: Term) -> Term:
        """x |> reverse |> reverse ~> zip(x, c) |> map(fun(p, fst(p)))"""
        return term

    assert isinstance(finds_both, Rule)
    del RULES["finds_both"]


def test_the_reverse_of_a_law_is_checked_too() -> None:
    @st.law("x : n.t")
    def cut() -> None:
        """x |> pad(l, r) |> drop(l) |> take(n) ~> x"""

    try:
        with pytest.raises(UserError, match="uncut: the size l is only on the right"):
            cut.reversed("uncut")
    finally:
        del RULES["cut"]


def test_two_rules_of_one_name_are_both_located(tmp_path: Path) -> None:
    law = '@st.law("x : n.t")\ndef map_fusion() -> None:\n    """x |> reverse |> reverse ~> x"""\n'
    error, found = define(tmp_path, law)
    assert found == '@st.law("x : n.t")'
    assert error.message.startswith("there is already a rule map_fusion, at ")
    assert "algorithmic.py:" in error.message
    assert error.message.endswith(
        f": {RULES['map_fusion'].law}; use that rule, or choose another name"
    )


def test_two_built_in_rules_of_one_name_in_a_module_are_rejected(tmp_path: Path) -> None:
    law = '@st.law("x : n.t")\ndef {}() -> None:\n    """x |> reverse |> reverse ~> x"""\n\n\n'
    text = law.format("map_fusion_3") * 2
    error, _ = define(tmp_path, text, "riselang.rewrite.rules.trial")
    assert f"already a rule map_fusion_3, at {tmp_path}" in error.message
    assert ":4: " in error.message
    assert error.location is not None
    assert error.location.line == 9


def test_a_notebook_may_define_a_rule_again() -> None:
    def once() -> Callable[[], Rule]:
        @st.law("x : n.t")
        def again() -> None:
            """x |> reverse |> reverse ~> x"""

        return lambda: again

    assert once()() == once()()
    del RULES["again"]


def built_in(parameters: str, law: str) -> Rule:
    """A rule as of `rewrite/rules`, whose law is parsed when it is used."""
    definition = Definition("trial", built_in.__code__)
    parsed = Law.parse(parameters, law, definition=definition)
    return Rule("trial", parsed, "riselang.rewrite.rules.trial")


def test_the_status_of_a_built_in_law_shows_types_in_notation() -> None:
    with pytest.raises(UserError) as caught:
        law_status(built_in("x : n.t", "x |> drop(1) ~> x"))
    assert caught.value.message == (
        "trial: both sides of a law must have the same type, but in x |> drop(1) ~> x the "
        "left-hand side has the type n.t -> (n - 1).t and the right-hand side has the type "
        "n.t -> n.t"
    )


def test_the_property_tests_say_which_unknown_is_not_on_the_left() -> None:
    rule = built_in("x : n.t", "x |> reverse |> reverse ~> x |> pad(0, q) |> take(n)")
    with pytest.raises(UserError, match="trial: the size q is only on the right of the law"):
        find_instance(rule, 0)
