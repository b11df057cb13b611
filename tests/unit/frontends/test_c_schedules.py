"""Schedule trees that users write: what is accepted gives the same bits, the rest is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.model_report import describe_model
from riselang.frontends.c.schedule.user_schedules import (
    FUSIONS,
    format_schedules,
    make_schedule,
    read_schedule,
)
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.tools import rise
from support.c_programs import KERNELS, arguments_for, model, run_by_c, same_bits
from support.tool_runs import called

pytestmark = pytest.mark.rotating(6)

SIZES = {"ni": 17, "nj": 19, "nk": 13, "nl": 11, "n": 23, "m": 18, "steps": 3}
NEST = "void f(int n, double a[n][n]) { for (int i = 1; i < n; i++) for (int j = 1; j < n; j++)" \
       " a[i][j] += a[i - 1][j] * 0.5; }"  # fmt: skip
PREFIX = "[n] -> "
DOMAIN = f'domain: "{PREFIX}{{ S0[i, j] : 0 < i < n and 0 < j < n }}"\n'


def tree(*rows: str) -> str:
    bands = ", ".join(f"{{ S0[i, j] -> [({row})] }}" for row in rows)
    return f'{DOMAIN}child:\n  schedule: "{PREFIX}[{bands}]"\n'


def check(text: str, schedule: str, sizes: dict[str, int]) -> None:
    scop = model(text)
    ours = arguments_for(scop, sizes, 1)
    theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in ours]
    rl.from_c(text, function=scop.name, float="strict", schedule=schedule)(*ours)
    run_by_c(text, scop, theirs)
    assert all(same_bits(mine, right) for mine, right in zip(ours, theirs, strict=True))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows", [("j", "i"), ("i", "j"), ("floor(j/4)", "i", "j"), ("i + j", "j")])
def test_orders_that_preserve_the_dependences(rows: tuple[str, ...]) -> None:
    check(NEST, tree(*rows), {"n": 21})


@pytest.mark.parametrize("rows", [("-i", "j"), ("j", "-i"), ("j - i", "i")])
def test_orders_that_do_not_are_refused(rows: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match=r"S0\[.*\] \(test.c:1:.*\) must run after S0\["):
        read_schedule(model(NEST), tree(*rows))


def test_the_last_value_that_is_stored_stays_the_last() -> None:
    text = "void f(int n, double a[n]) { for (int i = 0; i < n; i++) a[0] = i; }"
    order = f'domain: "{PREFIX}{{ S0[i] : 0 <= i < n }}"\n' \
            f'child:\n  schedule: "{PREFIX}[{{ S0[i] -> [(%s)] }}]"\n'  # fmt: skip
    read_schedule(model(text), order % "i")
    with pytest.raises(UserError, match="must run after"):
        read_schedule(model(text), order % "-i")


def test_two_instances_at_once_are_refused() -> None:
    with pytest.raises(UserError, match="violates a dependence"):
        read_schedule(model(NEST), tree("j"))


@pytest.mark.parametrize("text", ["domain: 3", "domain: [", DOMAIN.replace("< n", "< n - 1")])
def test_texts_that_are_no_schedules(text: str) -> None:
    with pytest.raises(UserError, match="schedule"):
        read_schedule(model(NEST), text)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "mvt"])
@pytest.mark.parametrize("fusion", FUSIONS)
def test_tiles_and_fusion(name: str, fusion: str) -> None:
    text = (KERNELS / f"{name}.c").read_text()
    scop = model(text)
    schedule = format_schedules([scop], [make_schedule(scop, fusion, (4, 8))])
    used = {k: v for k, v in SIZES.items() if re.search(rf"\bint {k}[,)]", text)}
    check(text, schedule, used)


def test_fusion_decides_which_statements_share_loops() -> None:
    scop = model("void f(int n, double *a, double *b) { for (int i = 0; i < n; i++) a[i] = i;"
                 " for (int i = 0; i < n; i++) b[i] = a[i] * 2; }")  # fmt: skip
    texts = [format_schedules([scop], [make_schedule(scop, each, ())]) for each in ("none", "max")]
    assert [text.count("schedule:") for text in texts] == [2, 1]


@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_what_is_written_is_read_again(schedule: str, tmp_path: Path) -> None:
    text = (KERNELS / "gemm.c").read_text()
    program = make_program([model(text)], Options("affine", "strict"), schedule)
    check(text, program.text("schedule"), {"ni": 17, "nj": 9, "nk": 6})


def test_files_without_a_schedule_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("nothing\n")
    command = ["c", str(KERNELS / "gemm.c"), "--schedule", str(tmp_path / "x.yaml")]
    outcome = called(rise.main, command)
    assert (outcome.code, "has no schedule tree" in outcome.errors) == (1, True)


def test_reports_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    rise.main(["c", str(KERNELS / "gemm.c"), "--emit", "json"])
    (found,) = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found["statements"]] == ["S0", "S1"]
    assert "S0[i, j] -> S1" in found["dependences"]["flow"]
    assert (
        found["parameters"] == describe_model(model((KERNELS / "gemm.c").read_text()))["parameters"]
    )
    rise.main(["c", str(KERNELS / "gemm.c"), "--emit", "model"])
    assert "    write   [ni, nj, nk] -> { S0[i, j] -> C[i, j]" in capsys.readouterr().out
