"""JSCoP: what we write is read again, changed schedules take effect, and all else is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.schedule.user_schedules import read_schedule
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.tools import rise
from support.c_programs import KERNELS, arguments_for, model, run_by_c, same_bits
from support.tool_runs import called

pytestmark = pytest.mark.rotating(4)

SIZES = {"ni": 9, "nj": 11, "nk": 7, "nl": 8, "n": 12, "m": 10, "steps": 3}
NEST = """void f(int n, double a[n][n]) {
  for (int i = 1; i < n; i++)
    for (int j = 1; j < n; j++)
      a[i][j] += a[i - 1][j] * 0.5;
}
"""
POLLY = """{
   "arrays" : [ { "name" : "MemRef_a", "sizes" : [ "*", "%0" ], "type" : "double" } ],
   "context" : "[p_0] -> {  : -2147483648 <= p_0 <= 2147483647 }",
   "name" : "%for.cond1.preheader---%for.end20",
   "statements" : [ {
      "accesses" : [
      { "kind" : "read", "relation" : "[p_0] -> { Stmt_5[i0, i1] -> MemRef_a[i0, 1 + i1] }" },
      { "kind" : "read", "relation" : "[p_0] -> { Stmt_5[i0, i1] -> MemRef_a[1 + i0, 1 + i1] }" },
      { "kind" : "write", "relation" : "[p_0] -> { Stmt_5[i0, i1] -> MemRef_a[1 + i0, 1 + i1] }" }
      ],
      "domain" : "[p_0] -> { Stmt_5[i0, i1] : 0 <= i0 <= -2 + p_0 and 0 <= i1 <= -2 + p_0 }",
      "name" : "Stmt_5",
      "schedule" : "[p_0] -> { Stmt_5[i0, i1] -> [i1, i0] }"
   } ]
}
"""
"""As Polly writes a nest whose loops it has normalized."""
SHIFTED = "void f(int n, double a[n][n]) { for (int i = 0; i < n - 1; i++) for (int j = 0; " \
          "j < n - 1; j++) a[i + 1][j + 1] += a[i][j + 1] * 0.5; }"  # fmt: skip


def jscop(text: str, schedule: str = "source") -> dict[str, Any]:
    program = make_program([model(text)], Options("affine", "strict"), schedule)
    return json.loads(program.text("jscop"))


def check(text: str, schedule: str, sizes: dict[str, int]) -> None:
    scop = model(text)
    ours = arguments_for(scop, sizes, 1)
    theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in ours]
    rl.from_c(text, function=scop.name, float="strict", schedule=schedule)(*ours)
    run_by_c(text, scop, theirs)
    assert all(same_bits(mine, right) for mine, right in zip(ours, theirs, strict=True))


def test_the_members_are_those_of_polly() -> None:
    found = jscop(NEST)
    assert list(found) == ["name", "location", "context", "arrays", "statements"]
    assert found["arrays"] == [{"name": "MemRef_a", "sizes": ["*", "n"], "type": "double"}]
    (statement,) = found["statements"]
    assert list(statement) == ["name", "domain", "accesses", "schedule"]
    assert [each["kind"] for each in statement["accesses"]] == ["read", "read", "write"]
    assert "S0[i, j] -> [i, j]" in statement["schedule"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "schedule"),
    [("gemm", "source"), ("trisolv", "source"), ("jacobi-1d", "isl"), ("mvt", "isl")],
)
def test_what_is_written_is_read_again(name: str, schedule: str) -> None:
    text = (KERNELS / f"{name}.c").read_text()
    used = {k: v for k, v in SIZES.items() if re.search(rf"\bint {k}[,)]", text)}
    check(text, json.dumps(jscop(text, schedule)), used)


def test_a_changed_order_takes_effect() -> None:
    found = jscop(NEST)
    statement = found["statements"][0]
    statement["schedule"] = "[n] -> { S0[i, j] -> [j, i] }"
    program = make_program([model(NEST)], Options("affine", "strict"), json.dumps(found))
    loops = program.c_text()
    assert loops.index("for (long j = 1;") < loops.index("for (long i = 1;")
    check(NEST, json.dumps(found), {"n": 13})


def test_tiles_take_effect() -> None:
    found = jscop(NEST)
    found["statements"][0]["schedule"] = "[n] -> { S0[i, j] -> [floor(i/4), floor(j/8), i, j] }"
    check(NEST, json.dumps(found), {"n": 21})


def test_a_file_of_polly_is_read() -> None:
    check(SHIFTED, POLLY, {"n": 9})
    program = make_program([model(SHIFTED)], Options("affine", "strict"), POLLY)
    assert "[1 + i, 1 + j]" in program.text("model")
    loops = program.c_text()
    assert loops.index("for (long j = 0;") < loops.index("for (long i = 0;")


@pytest.mark.parametrize("times", ["-i, j", "j, -i", "j", "0, 0"])
def test_orders_that_violate_a_dependence_are_refused(times: str) -> None:
    found = jscop(NEST)
    found["statements"][0]["schedule"] = f"[n] -> {{ S0[i, j] -> [{times}] }}"
    with pytest.raises(UserError, match=r"S0\[.*\] \(test.c:4:.*\) must run after S0\["):
        read_schedule(model(NEST), json.dumps(found))


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    """Return a function that sets the member at a path to the last value."""

    def change(found: Any) -> None:
        for key in path[:-2]:
            found = found[key]
        found[path[-2]] = path[-1]

    return change


READ = ("statements", 0, "accesses", 0)


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set(*READ, "relation", "[n] -> { S0[i, j] -> MemRef_a[i, j - 1] }"), "a read is new"),
        (_set(*READ, "relation", "[n] -> { S0[i, j] -> MemRef_b[i, j] }"), "a read is new"),
        (_set(*READ, "relation", "[n] -> { S0[i] -> MemRef_a[i, i] }"), "has 2 iterators"),
        (_set(*READ, "relation", "[n] -> { S0[i, j] -> "), "an access of statement 0 is not a map"),
        (_set(*READ, "kind", "kill"), "the kind of an access is read or write"),
        (_set("statements", 0, "accesses", []), "a read is missing"),
        (_set("statements", 0, "domain", "[n] -> { S0[i, j] : 0 < i, j < n - 1 }"), "domain of S0"),
        (_set("statements", 0, "domain", "{ S0[i : }"), "the domain of statement 0 is not a set"),
        (_set("statements", 0, "schedule", "[n] -> { S0[i, j] -> [i] : j = 1 }"), "without a time"),
        (_set("statements", 0, "schedule", "[n] -> { S0[i, j] -> T[i, j] }"), "times are named T"),
        (_set("statements", 0, "schedule", "{ S0[i, j] -> [i, t] }"), "has several times"),
        (_set("statements", 0, "schedule", "[k, m] -> { S0[i, j] -> [i, j] }"), "the parameters n"),
        (_set("statements", 0, "schedule", 3), "'schedule' must be a string, but is 3"),
        (_set("statements", []), "expected 1 statements"),
        (_set("statements", {}), "'statements' must be a list"),
        (_set("statements", [1]), "expected an object with 'accesses', but found 1"),
        (_set("context", "[n] -> { [i] }"), "the context is not a set of parameters"),
        (_set("context", "[n, m, k] -> { : }"), "expected the parameters n, but found n, m, k"),
        (_set("arrays", 0, "name", "MemRef_c"), "MemRef_c is not an array"),
        (_set("arrays", 0, "type", "float"), "the array MemRef_a cannot be changed"),
        (_set("arrays", 0, "sizes", ["*"]), "the array MemRef_a cannot be changed"),
    ],
)  # fmt: skip
def test_what_else_is_changed_is_refused(change: Any, message: str) -> None:
    found = jscop(NEST)
    change(found)
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        read_schedule(model(NEST), json.dumps(found))
    assert "\n" not in str(caught.value.message)


def test_statements_need_schedules_of_one_length() -> None:
    text = "void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 1; a[0] = 2; }"
    found = jscop(text)
    found["statements"][1]["schedule"] = "{ S1[] -> [1] }"
    with pytest.raises(UserError, match="schedules have 1 and 2 dimensions"):
        read_schedule(model(text), json.dumps(found))


@pytest.mark.parametrize("text", ['{"name": "f"', "{}", "[]", '[{"name": 1}, {"name": 2}]'])
def test_texts_that_are_no_regions(text: str) -> None:
    with pytest.raises(UserError, match="jscop"):
        read_schedule(model(NEST), text)


def test_several_regions_are_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "two.c").write_text(NEST + NEST.replace("f(", "g(").replace("j", "k"))
    both, file = tmp_path / "both.jscop", str(tmp_path / "two.c")
    outcome = called(rise.main, ["c", file, "--autodetect", "-o", str(both)])
    assert outcome.code == 0, outcome.errors
    names = [each["name"] for each in json.loads(both.read_text())]
    assert len(names) == 2
    again = tmp_path / "again.jscop"
    command = ["c", file, "--autodetect", "--schedule", str(both), "-o", str(again)]
    assert called(rise.main, command).code == 0
    assert json.loads(again.read_text()) == json.loads(both.read_text())
    changed = json.loads(both.read_text())
    changed[1]["name"] = "h"
    both.write_text(json.dumps(changed))
    outcome = called(rise.main, command)
    assert outcome.code == 1
    assert "no JSCoP has the name" in outcome.errors


def test_functions_print_their_stages() -> None:
    function = rl.from_c(NEST, schedule="source")
    assert json.loads(function.as_text("jscop"))["statements"] == jscop(NEST)["statements"]
    assert "S0[i, j]" in function.as_text("model")
