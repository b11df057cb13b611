"""Updates of integers that commute run in orders that vectors need, and give the bits of C."""

from __future__ import annotations

import re

import numpy as np
import pytest

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.model.commuting_updates import commuting_operation
from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.schedule.isl_schedule import loop_ast
from riselang.frontends.c.schedule.replay import has_same_data_flow
from riselang.frontends.c.schedule.schedule_validation import is_faithful
from riselang.frontends.c.schedule.user_schedules import read_schedule
from riselang.support.config import Options
from riselang.support.errors import UserError
from support.c_programs import KERNELS, check_same, model
from support.fuzzing import Ran, seeds

NUSSINOV = (KERNELS / "nussinov.c").read_text()
FOLD = """void f(int n, %(type)s t[n][n]) {
  for (int i = n - 2; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      %(first)s
      for (int k = i + 1; k < j; k++)
        %(second)s
    }
}"""
LEFT, SPLIT = "(t[i][j - 1] & 1023)", "((t[i][k] & 1023) + (t[k + 1][j] & 1023))"


def updated(operation: str, value: str, element: str = "t[i][j]") -> str:
    """An update of an element by an operation, which is `>`, `<` or one of C's with `=`."""
    if operation in "<>":
        return f"{element} = {element} {operation}= {value} ? {element} : {value};"
    return f"{element} {operation}= {value};"


def fold(operation: str, type: str = "int") -> str:
    """A program that folds intervals, as `nussinov` does."""
    first, second = updated(operation, LEFT), updated(operation, SPLIT)
    return FOLD % {"type": type, "first": first, "second": second}


def c_loops(text: str) -> str:
    return make_program([model(text)], Options("affine", "strict"), "isl").text("c")


def has_fast_columns(text: str) -> bool:
    """Whether the innermost loop moves along a row, and is vectorized."""
    pattern = r"#pragma omp simd\n *for \(long (\w+) = \w+ \+ 1.*\n.*\[k? ?\w+ ?\+ ?1\]\[\1\]"
    return re.search(pattern, c_loops(text)) is not None


@pytest.mark.parametrize(
    ("body", "operation"),
    [
        ("a[i] = a[i] >= b[i] ? a[i] : b[i];", "max"),
        ("a[i] = b[i] < a[i] ? b[i] : a[i];", "min"),
        ("a[i] ^= b[i];", "^"),
        ("a[i] = b[i] | a[i];", "|"),
        ("u[i] += b[i];", "+"),
        ("u[i] -= b[i];", "+"),
        ("u[i] *= 3;", "*"),
        ("u[i] = 3 - u[i];", None),
        ("u[i] /= 3;", None),
        ("a[i] += b[i];", None),
        ("x[i] += b[i];", None),
        ("a[i] = a[i] >= b[i] ? a[i] : a[i] + 1;", None),
        ("a[i] &= a[i] + b[i];", None),
        ("a[i] ^= b[a[i]];", None),
        ("a[b[i]] ^= 1;", None),
        ("a[i] = b[i];", None),
        ("if (b[i]) a[i] ^= 1;", None),
    ],
)
def test_operations(body: str, operation: str | None) -> None:
    head = "void f(int n, int a[n], int b[n], unsigned u[n], double x[n]) {"
    scop = model(f"{head} for (int i = 0; i < n; i++) {body} }}")
    assert [commuting_operation(each) for each in scop.statements] == [operation]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", [NUSSINOV, *map(fold, "<>&|^"), fold("+", "unsigned")])
def test_intervals_are_folded_along_rows(text: str) -> None:
    assert has_fast_columns(text)


@pytest.mark.parametrize("text", [fold("+"), fold("-"), fold("+", "double").replace("& 1023", "")])
def test_other_updates_keep_their_order(text: str) -> None:
    assert not has_fast_columns(text)


@pytest.mark.rotating(3)
def test_different_operations_do_not_commute() -> None:
    text = FOLD % {"type": "int", "first": updated("<", LEFT), "second": updated(">", SPLIT)}
    assert not has_fast_columns(text)


SUMS = "void f(int n, unsigned s[n], unsigned a[n][n]) { for (int j = 0; j < n; j++)" \
       " for (int i = 0; i < n; i++) s[%s] += a[j][i]; }"  # fmt: skip


def test_updates_of_one_element_do_not_run_at_the_same_time() -> None:
    text = make_program([model(SUMS % "0")], Options("affine", "strict"), "isl").affine_text()
    assert "rise.parallel" not in text
    assert "rise.parallel" in make_program([model(SUMS % "i")], Options("affine")).affine_text()


OWN = "void f(int n, int t[n]) { for (int k = 0; k < n; k++) for (int i = 0; i < n; i++)" \
      " t[i] = t[i] >= (t[%s] & 7) ? t[i] : (t[%s] & 7); }"  # fmt: skip


def backwards(text: str, rows: str) -> str:
    """A schedule of the only statement of a program."""
    domain = model(text).schedule.get_domain().to_str()
    return f'domain: "{domain}"\nchild:\n  schedule: "[n] -> [{rows}]"\n'


def test_an_operand_that_another_instance_writes_keeps_the_order() -> None:
    scop = model(OWN.replace("%s", "k"))
    pairs = dependences(scop)
    assert pairs is not None
    assert not pairs.commuting.is_empty()
    kept = isl().UnionMap("[n] -> { S0[k, i] -> S0[i, i'] : 0 <= k < i < n and 0 <= i' < n }")
    assert kept.is_subset(pairs.ordered)


@pytest.mark.rotating(3)
def test_schedules_may_exchange_updates_that_commute() -> None:
    rows = "{ S0[j, i] -> [(-j)] }, { S0[j, i] -> [(-i)] }"
    for text in (SUMS % "i", SUMS % "0"):
        check_same(text, "f", {"n": 9}, schedule=backwards(text, rows))
        signed = text.replace("unsigned", "int")
        with pytest.raises(UserError, match="must run after"):
            read_schedule(model(signed), backwards(signed, rows))


def test_the_proof_and_the_trial_agree() -> None:
    rows = "[n] -> [{ S0[k, i] -> [(%s)] }, { S0[k, i] -> [(%s)] }]"
    for operand, order, is_valid in (
        ("n - 1 - i", ("-k", "i"), False), ("k", ("-k", "i"), False), ("0", ("k", "i"), True),
        ("0", ("k", "-i"), False), ("0", ("-k", "i"), False),
    ):  # fmt: skip
        scop = model(OWN.replace("%s", operand))
        domain = isl().Schedule.from_domain(scop.schedule.get_domain())
        schedule = domain.insert_partial_schedule(isl().MultiUnionPwAff(rows % order))
        build = isl().AstBuild.from_context(scop.context_set)
        tree = build.node_from_schedule(schedule)
        assert is_faithful(scop, tree) == is_valid, (operand, order)
        assert has_same_data_flow(scop, loop_ast(scop, "source"), tree) == is_valid


def test_updates_that_commute_have_the_same_data_flow() -> None:
    for text, is_same in ((SUMS % "0", True), ((SUMS % "0").replace("unsigned", "int"), False)):
        scop = model(text)
        domain = isl().Schedule.from_domain(scop.schedule.get_domain())
        rows = "[n] -> [{ S0[j, i] -> [(-j)] }, { S0[j, i] -> [(i)] }]"
        schedule = domain.insert_partial_schedule(isl().MultiUnionPwAff(rows))
        tree = isl().AstBuild.from_context(scop.context_set).node_from_schedule(schedule)
        assert has_same_data_flow(scop, loop_ast(scop, "source"), tree) == is_same


@pytest.mark.rotating(6)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("n", [1, 3, 40])
def test_they_give_the_bits_of_c(n: int) -> None:
    check_same(NUSSINOV, "nussinov", {"n": n}, seed=n, schedule="isl", is_changed=False)
    for operation, type in (("<", "int"), (">", "long"), ("^", "int"), ("-", "unsigned")):
        check_same(fold(operation, type), "f", {"n": n}, seed=n, schedule="isl", is_changed=False)


def random_updates(seed: int) -> str:
    """Loops with updates of two arrays, mostly by one operation."""
    random = np.random.default_rng(seed)
    type = str(random.choice(["int", "unsigned"]))
    operations = ["<", ">", "^", "&", "|", *(["+", "-", "*"] if type == "unsigned" else [])]
    usual = str(random.choice(operations))

    def element(loops: str) -> str:
        first, second = (
            f"{random.choice(list(loops))}{random.choice(['', '', ' + 1', ' - 1'])}"
            for _ in range(2)
        )
        return f"{random.choice(['s', 't', 't'])}[{first}][{second}]"

    def update(loops: str) -> str:
        target = element("ij") if random.random() < 0.3 else "t[i][j]"
        operation = usual if random.random() < 0.8 else str(random.choice(operations))
        operands = [f"({element(loops)} & 1023)" for _ in range(random.integers(1, 3))]
        return updated(operation, " + ".join(operands).join("()"), target)

    def loop(name: str, around: str) -> str:
        least, most = random.choice(["1", around, f"{around} + 1"]), random.choice(["n - 1", "j"])
        most = most if name == "k" else "n - 1"
        if random.random() < 0.3:
            return f"for (int {name} = {most} - 1; {name} >= {least}; {name}--)"
        return f"for (int {name} = {least}; {name} < {most}; {name}++)"

    lines = [f"void f(int n, {type} s[n][n], {type} t[n][n]) {{", "  " + loop("i", "1"),
             "    " + loop("j", "i") + " {"]  # fmt: skip
    lines += [f"      {update('ij')}" for _ in range(random.integers(0, 3))]
    lines += [f"      {loop('k', 'i')}", f"        {update('ijk')}"]
    lines += [f"      {update('ij')}" for _ in range(random.integers(0, 2))]
    return "\n".join([*lines, "    }", "}"])


@pytest.mark.rotating(4)
@seeds(2, nightly=40, fuzzed=2_000, batch=2)
def test_random_updates_agree_with_the_c_compiler(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        text = random_updates(seed)
        scop = model(text)
        is_new = loop_ast(scop, "isl").to_C_str() != loop_ast(scop, "source").to_C_str()
        for n in (3, 8, 37):
            check_same(text, "f", {"n": n}, seed=n, schedule="isl", is_changed=False)
        ran("programs with updates that commute", 1)
        ran("of them, in another order", int(is_new))
