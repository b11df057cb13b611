"""The registry of passes: what it says of each is what its class says."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from riselang import pipelines
from riselang.lowering.passes.resolve_rise_access import ResolveRiseAccessPass
from riselang.passes import PASSES, make_pass
from riselang.universe import RISE_UNIVERSE


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_is_where_the_registry_says(name: str) -> None:
    made = PASSES[name].load()
    assert made.name == name
    assert inspect.cleandoc(made.__doc__ or "").splitlines()[0] == PASSES[name].summary


def test_the_pipelines_name_passes_of_the_registry() -> None:
    named = (
        *pipelines.CONTRACT, *pipelines.RISE_TO_LOOPS, *pipelines.RAISE_TO_CALLS,
        *pipelines.PLAN_POLYHEDRAL, *pipelines.SKIP_CHUNKS, *pipelines.POLL_SIGNALS,
        *pipelines.OUTLINE_KERNELS,
    )  # fmt: skip
    assert not set(named) - PASSES.keys()


def test_a_pass_is_made_with_its_options() -> None:
    assert make_pass("resolve-rise-access", splits=False) == ResolveRiseAccessPass(splits=False)


def test_xdsl_sees_every_pass() -> None:
    assert RISE_UNIVERSE.all_passes.keys() == PASSES.keys()


def test_the_registry_loads_no_pass() -> None:
    code = "import sys, riselang.universe; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {spec.module for spec in PASSES.values()}
