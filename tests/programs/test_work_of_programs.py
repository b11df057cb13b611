"""The loops of each example and model perform no more work than the program as written.

Each element of a window, a pipeline or a reduction that is computed repeatedly counts, and so does
each byte that is loaded or stored.
"""

from __future__ import annotations

import pytest
from running import NAMES, jitted, module

import riselang as rl
from riselang.dialects.rise.types import leaves, uncurry
from riselang.support.errors import InternalError
from riselang.term.work import Work
from support import model_examples
from support.work import check_lowered_work, check_work

pytestmark = pytest.mark.rotating(2)

LARGE = 256
"""Large enough for the default strategy to schedule the loops."""


@pytest.mark.sampled(24)
@pytest.mark.parametrize("strategy", ["default", "none"])
@pytest.mark.parametrize("name", NAMES)
def test_small_examples(name: str, strategy: str) -> None:
    check_lowered_work(jitted(name).trace(*module(name).inputs()).lower(strategy=strategy))


@pytest.mark.sampled(24)
@pytest.mark.parametrize("strategy", ["default", "none"])
@pytest.mark.parametrize("name", NAMES)
def test_large_examples(name: str, strategy: str) -> None:
    kernel = jitted(name)
    lengths = [
        length
        for type in uncurry(kernel.trace().term.type)[0]
        for lengths, _ in leaves(type)
        for length in lengths
    ]
    sizes = {size: LARGE for length in lengths for size in length.variables}
    check_lowered_work(kernel.trace(**sizes).lower(strategy=strategy))


@pytest.mark.parametrize("strategy", ["default", "none"])
@pytest.mark.parametrize("name", model_examples.names())
@pytest.mark.sampled(3)
def test_models(name: str, strategy: str) -> None:
    model = rl.from_stablehlo(model_examples.text(name), strategy=strategy)
    check_lowered_work(model.lower())


def test_more_work_is_an_error() -> None:
    with pytest.raises(InternalError, match="store what they compute repeatedly"):
        check_work("program", Work(100, 100), Work(111, 100))
