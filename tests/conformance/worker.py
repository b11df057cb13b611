"""Runs cases of JAX's export harness from a number on, one line of JSON for each.

It is run as a process of its own, since a case might take it down.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import riselang as rl

DTYPES = ("float32", "int32", "bool")
TOLERANCE = 1e-5
"""How far a result may be off, as a part of the largest one."""


def cases(dtypes: Sequence[str] = DTYPES) -> list[Any]:
    """The cases of the harness that JAX itself runs here, for these types."""
    harnesses = importlib.import_module("jax._src.internal_test_util.test_harnesses")
    chosen = [each for each in harnesses.all_harnesses if str(np.dtype(each.dtype)) in dtypes]
    return [each for each in chosen if each.filter("cpu")]


def outcome(case: Any) -> tuple[str, str]:
    """`passed`, `refused`, `wrong` or `failed`, and why."""
    jax: Any = importlib.import_module("jax")
    export: Any = importlib.import_module("jax.export")
    arguments = case.dyn_args_maker(np.random.RandomState(0))
    function = jax.jit(case.dyn_fun)
    try:
        text = str(export.export(function)(*arguments).mlir_module())
        expected = jax.tree.leaves(function(*arguments))
    except Exception as error:
        return "skipped", f"JAX does not export it: {type(error).__name__}"
    leaves = [np.asarray(each) for each in jax.tree.leaves(arguments)]
    try:
        results = _run(text, leaves)
    except rl.LimitationError as error:
        return "refused", error.message
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    for result, wanted in zip(results, expected, strict=True):
        problem = difference(result, np.asarray(wanted))
        if problem:
            return "wrong", problem
    return "passed", ""


def _run(text: str, arguments: Sequence[Any]) -> Sequence[Any]:
    model = rl.from_stablehlo(text)
    given = [
        np.asarray(each, order="C").astype(model.dtypes[name], copy=False)
        for name, each in zip(model.names, arguments, strict=True)
    ]
    result = model(*given)
    return result if isinstance(result, tuple) else (result,)


def difference(found: Any, wanted: Any) -> str:
    """What is wrong with a result, if anything."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"
    if found.dtype.kind in "biu":
        wrong = found != wanted
        return f"{int(wrong.sum())} of {wrong.size} differ" if wrong.any() else ""
    left, right = found.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(right)
    same = np.where(np.isnan(right), np.isnan(left), left == right)
    if not same[~finite].all():
        return "infinite or no numbers where they should not be"
    largest = np.abs(right[finite]).max(initial=0.0)
    worst = np.abs(left[finite] - right[finite]).max(initial=0.0)
    is_off = not worst <= TOLERANCE * max(largest, 1e-30)
    return f"off by {worst:.1e}, where the largest is {largest:.1e}" if is_off else ""


def main(first: int, last: int) -> None:
    found = cases()
    for number in range(first, min(last, len(found))):
        case = found[number]
        print(json.dumps({"number": number, "name": case.fullname}), flush=True)
        status, reason = outcome(case)
        line = {"number": number, "op": case.group_name, "status": status, "reason": reason}
        print(json.dumps(line), flush=True)
    print(json.dumps({"end": True}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
