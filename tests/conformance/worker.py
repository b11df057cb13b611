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

TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2}
"""How far a result may be off, as a part of the largest one; 1e-5 for all other types."""


def cases(op: str, dtypes: Sequence[str]) -> list[Any]:
    """The cases of the harness that JAX itself runs here, for these types; of one op, or all."""
    harnesses = importlib.import_module("jax._src.internal_test_util.test_harnesses")
    chosen = [each for each in harnesses.all_harnesses if str(np.dtype(each.dtype)) in dtypes]
    chosen = [each for each in chosen if op in ("", each.group_name)]
    return [each for each in chosen if each.filter("cpu")]


def outcome(case: Any, fallback: str | None) -> tuple[str, str]:
    """`passed`, `refused`, `wrong` or `failed`, and why."""
    jax: Any = importlib.import_module("jax")
    export: Any = importlib.import_module("jax.export")
    arguments = case.dyn_args_maker(np.random.RandomState(0))
    function = jax.jit(case.dyn_fun)
    try:
        exported = export.export(function)(*arguments)
        text = str(exported.mlir_module())
        expected = jax.tree.leaves(function(*arguments))
    except Exception as error:
        return "skipped", f"JAX does not export it: {type(error).__name__}"
    # What the function does not use, its module does not take.
    leaves = [np.asarray(each) for each in jax.tree.leaves(arguments)]
    leaves = [leaves[k] for k in exported.module_kept_var_idx]
    try:
        results = _run(text, leaves, fallback)
    except rl.LimitationError as error:
        return "refused", error.message
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    if case.group_name == "sort" and not case.params.get("is_stable", True):
        # Equal keys may stand in any order: their rows are compared in one order for all.
        keys = case.params["num_keys"]
        results, expected = (
            [*each[:keys], *in_order(each, case.params)] for each in (results, expected)
        )
    if case.group_name in DECOMPOSITIONS:
        # Vectors are not unique: what they are compared with is the matrix.
        results, expected = (
            DECOMPOSITIONS[case.group_name](leaves[0], *map(np.asarray, each))
            for each in (results, expected)
        )
    for result, wanted in zip(results, expected, strict=True):
        problem = difference(np.asarray(result), np.asarray(wanted))
        if problem:
            return "wrong", problem
    return "passed", ""


def invariants_of_eigh(_: Any, vectors: Any, values: Any) -> list[Any]:
    """The eigenvalues, and matrices that do not depend on the choice of eigenvectors."""
    adjoint = vectors.conj().swapaxes(-1, -2)
    return [values, (vectors * values[..., None, :]) @ adjoint, adjoint @ vectors]


def invariants_of_svd(_: Any, values: Any, *vectors: Any) -> list[Any]:
    """The singular values, and matrices that do not depend on the choice of vectors."""
    if not vectors:
        return [values]
    u, v = vectors
    count = values.shape[-1]
    product = (u[..., :count] * values[..., None, :]) @ v[..., :count, :]
    squares = [u.conj().swapaxes(-1, -2) @ u, v @ v.conj().swapaxes(-1, -2)]
    return [values, product, *squares]


DECOMPOSITIONS = {"eigh": invariants_of_eigh, "svd": invariants_of_svd}


def _run(text: str, arguments: Sequence[Any], fallback: str | None) -> Sequence[Any]:
    model = rl.from_stablehlo(text, fallback=fallback)
    given = [
        np.asarray(each, order="C").astype(model.dtypes[name], copy=False)
        for name, each in zip(model.names, arguments, strict=True)
    ]
    result = model(*given)
    return result if isinstance(result, tuple) else (result,)


def in_order(arrays: Sequence[Any], params: Any) -> list[Any]:
    """The rows of a sort of vectors, in order."""
    flat = [np.moveaxis(np.asarray(each), params.get("dimension", -1), 0) for each in arrays]
    if any(each.ndim != 1 for each in flat):
        return list(arrays)
    order = np.lexsort(flat[::-1])
    return [each[order] for each in flat]


def difference(found: Any, wanted: Any) -> str:
    """What is wrong with a result, if anything."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind in "biu":
        wrong = found != wanted
        return f"{int(wrong.sum())} of {wrong.size} differ" if wrong.any() else ""
    if wanted.dtype.kind == "c":
        return difference(*(np.stack([each.real, each.imag]) for each in (found, wanted)))
    left, right = found.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(right)
    same = np.where(np.isnan(right), np.isnan(left), left == right)
    if not same[~finite].all():
        return "infinite or no numbers where they should not be"
    largest = np.abs(right[finite]).max(initial=0.0)
    worst = np.abs(left[finite] - right[finite]).max(initial=0.0)
    is_off = not worst <= TOLERANCES.get(str(wanted.dtype), 1e-5) * max(largest, 1e-30)
    return f"off by {worst:.1e}, where the largest is {largest:.1e}" if is_off else ""


def main(first: int, last: int, op: str, dtypes: Sequence[str], fallback: str | None) -> None:
    found = cases(op, dtypes)
    for number in range(first, min(last, len(found))):
        case = found[number]
        print(json.dumps({"number": number, "name": case.fullname}), flush=True)
        status, reason = outcome(case, fallback)
        line = {"number": number, "op": case.group_name, "status": status, "reason": reason}
        print(json.dumps(line), flush=True)
    print(json.dumps({"end": True}), flush=True)


if __name__ == "__main__":
    main(
        int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4].split(","), sys.argv[5] or None
    )
