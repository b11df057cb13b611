"""Random expressions on arrays compute the same bits as NumPy, and their notation reads back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from riselang.notation.printer import show_term
from riselang.notation.program import parse_term
from support.array_expressions import Expressions, riselang_scope
from support.array_programs import jitted
from support.fuzzing import Ran, seeds

COUNT = 4
"""The number of expressions in one program."""


@pytest.mark.rotating(2)
@pytest.mark.sampled(1)
@seeds(12, nightly=400, fuzzed=20_000, batch=6)
def test_random_expressions_agree_with_numpy(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        check_expressions(seed)
    ran("random expressions on arrays", COUNT * len(seeds))


def check_expressions(seed: int) -> None:
    expressions = Expressions(seed)
    texts = [expressions.expression(expressions.random.choice("iifb"), 4) for _ in range(COUNT)]
    names = list(expressions.arrays)

    def program(*values: Any) -> Any:
        scope = {**riselang_scope(), **dict(zip(names, values, strict=True))}
        return tuple(eval(text, scope) for text in texts)

    arrays = list(expressions.arrays.values())
    kernel = jitted(program, arrays)
    term = kernel.trace(*arrays).term
    assert parse_term(show_term(term)) == term
    for text, found in zip(texts, kernel(*arrays), strict=True):
        expected = expressions.evaluate(text)
        assert found.dtype == expected.dtype, text
        np.testing.assert_array_equal(found, expected, err_msg=f"{text} (seed {seed})")
