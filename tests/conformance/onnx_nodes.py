"""ONNX's own backend tests: how many of its cases of single ops pass.

    python tests/conformance/onnx_nodes.py [--kind node] [--first N] [--last N] [--case TEXT]
                                            [--backend interpret] [--out FILE]

Each case is imported, compiled and run, and its results are compared with those that come with it,
to the tolerances of the case. It passes, or is refused by name; a wrong result, an error that is
not ours, or a process that dies or hangs makes the exit code 1. For nodes, a line for each op says
how many of its cases pass.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import multiprocessing
import os
import re
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np

import riselang as rl

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted", "light")
PATIENCE = 600.0
"""Seconds that a case may take; the longest takes 20 on a quiet core."""
RANDOM = ("test_bernoulli", "test_dropout", "test_training_dropout", "test_random")
"""Cases whose results another generator of random numbers cannot reproduce."""
_HALF = {"float16": 2**-9, "bfloat16": 2**-6}
"""How far floats of these types are from the second next ones, at most, as a part of them."""
TRANSFORMS = ("test_dft", "test_stft")
"""Cases whose expected zeros are rounding errors of sums, relative to the largest result."""
Data = tuple[list[Any], list[Any]]
Fact = dict[str, Any]


def cases(kind: str, text: str) -> list[Any]:
    if kind == "light":
        return [each for each in light_models() if text in each.name]
    loader = importlib.import_module("onnx.backend.test.loader")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = loader.load_model_tests(kind=kind)
    return sorted((each for each in found if text in each.name), key=lambda each: each.name)


def light_models() -> list[Any]:
    """The networks in the wheel, whose weights are constants, for the input of ONNX's runner."""
    onnx: Any = importlib.import_module("onnx")
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    found: list[Any] = []
    for path in sorted(folder.glob("light_*.onnx")):
        model = onnx.load(path)
        weights = {each.name for each in model.graph.initializer}
        (info,) = [each for each in model.graph.input if each.name not in weights]
        shape = [each.dim_value for each in info.type.tensor_type.shape.dim]
        count = math.prod(shape)
        image = (np.arange(count).reshape(shape) / count).astype(np.float32)
        wanted = onnx.load_tensor(str(path.with_name(f"{path.stem}_output_0.pb")))
        data = [([image], [_array(wanted)])]
        found.append(
            SimpleNamespace(name=path.stem, model=model, data_sets=data, rtol=1e-3, atol=1e-7)
        )
    return found


def outcome(case: Any, backend: str = "compile") -> tuple[str, str]:
    """`passed`, `refused`, `wrong` or `failed`, and why."""
    try:
        source = case.model or Path(case.model_dir) / "model.onnx"
        model = rl.from_onnx(source, backend=backend)
        for inputs, expected in _data(case):
            problem = _difference(case, model(*inputs), expected)
            if problem:
                return "wrong", problem
    except rl.LimitationError as error:
        return "refused", error.message
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return "failed", f"{type(error).__name__} at {where}: {error}"
    return "passed", ""


def _data(case: Any) -> list[Data]:
    if case.data_sets is not None:
        return [
            ([_array(each) for each in inputs], [_array(each) for each in outputs])
            for inputs, outputs in case.data_sets
        ]
    return [_stored(each) for each in sorted(Path(case.model_dir).glob("test_data_set_*"))]


def _array(value: Any) -> Any:
    """An array of what may be a `TensorProto`; a list of arrays of a `SequenceProto`."""
    if not hasattr(value, "SerializeToString"):
        return value
    helper: Any = importlib.import_module("onnx.numpy_helper")
    if type(value).__name__ == "SequenceProto":
        return helper.to_list(value)
    if type(value).__name__ == "OptionalProto":
        return helper.to_optional(value)
    return helper.to_array(value)


def _stored(folder: Path) -> Data:
    onnx: Any = importlib.import_module("onnx")

    def arrays(name: str) -> list[Any]:
        paths = sorted(folder.glob(f"{name}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
        return [_array(onnx.TensorProto.FromString(path.read_bytes())) for path in paths]

    return arrays("input"), arrays("output")


def _difference(case: Any, results: Any, expected: list[Any]) -> str:
    found = results if isinstance(results, tuple) else (results,)
    if len(found) != len(expected):
        return f"{len(found)} results for {len(expected)}"
    for result, wanted in zip(found, expected, strict=True):
        if isinstance(wanted, list) or wanted is None:
            problem = _list_difference(case, result, wanted)
            if problem:
                return problem
            continue
        result, wanted = np.asarray(result), np.asarray(wanted)
        if result.shape != wanted.shape or result.dtype != wanted.dtype:
            return f"{result.dtype}{result.shape} for {wanted.dtype}{wanted.shape}"
        if not case.name.startswith(RANDOM) and not _is_close(result, wanted, case):
            return f"{_first(result)} for {_first(wanted)}"
    return ""


def _list_difference(case: Any, result: Any, wanted: Any) -> str:
    """Compare sequences, and optionals without an element."""
    if wanted is None or not isinstance(result, list):
        return "" if result is wanted else f"{result} for {wanted}"
    parts: list[Any] = result
    return _difference(case, tuple(parts), wanted)


def _is_close(found: Any, wanted: Any, case: Any) -> bool:
    if wanted.dtype.kind in "biu":
        return bool((found == wanted).all())
    # Half floats may be rounded between the steps of an op, or after the last one.
    relative = max(case.rtol, _HALF.get(str(wanted.dtype), 0))
    left, right = (np.asarray(each, np.complex128) for each in (found, wanted))
    absolute = case.atol
    if case.name.startswith(TRANSFORMS):
        absolute = max(absolute, 1e-6 * float(np.abs(right).max()))
    return np.allclose(left, right, relative, absolute, equal_nan=True)


def _first(array: Any) -> str:
    return np.array2string(array.ravel()[:6], precision=6)


def _work(chosen: list[Any], first: int, backend: str, pipe: Connection) -> None:
    """Run cases in this process, a line for the start and one for the end of each."""
    for number in range(first, len(chosen)):
        pipe.send({"number": number})
        status, reason = outcome(chosen[number], backend)
        pipe.send({"number": number, "status": status, "reason": reason})


def run_from(chosen: list[Any], first: int, backend: str) -> Iterator[Fact]:
    """What a process finds for each case, the last of which may be the one that it dies of."""
    context = multiprocessing.get_context("fork")
    pipe, end = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(chosen, first, backend, end))
    process.start()
    end.close()
    current: int | None = first
    reason = ""
    while not reason:
        try:
            fact = pipe.recv() if pipe.poll(PATIENCE) else None
        except EOFError:
            process.join()
            reason = f"exit code {process.exitcode}"
            continue
        if fact is None:
            reason = f"no end in {PATIENCE:.0f} s"
        elif "status" in fact:
            current = None
            yield fact
        else:
            current = fact["number"]
    process.kill()
    process.join()
    if current is not None:
        yield {"number": current, "status": "dead", "reason": reason}


def run_all(chosen: list[Any], backend: str, out: IO[str]) -> list[Fact]:
    facts: list[Fact] = []
    while len(facts) < len(chosen):
        for fact in run_from(chosen, len(facts), backend):
            case = chosen[fact["number"]]
            facts.append({**fact, "name": case.name, "op": _op_of(case)})
            print(json.dumps(facts[-1]), file=out, flush=True)
    return facts


def report(facts: list[Fact]) -> str:
    """A line for each reason why cases were refused, and for each case that is not right."""
    reasons = Counter(
        re.sub(r"'[^']*'", "'...'", fact["reason"])[:200]
        for fact in facts
        if fact["status"] == "refused"
    )
    lines = ["refused:", *(f"{count:5}  {reason}" for reason, count in reasons.most_common())]
    bad = [fact for fact in facts if fact["status"] not in ("passed", "refused")]
    if bad:
        lines += ["", "not right:"]
        lines += [f"{each['name']}: {each['status']}: {each['reason'][:300]}" for each in bad]
    return "\n".join(lines)


def report_ops(facts: list[Fact]) -> str:
    """A line for each op with cases that do not all pass, and the number of the others."""
    counts: dict[str, Counter[str]] = {}
    for fact in facts:
        counts.setdefault(fact["op"], Counter())[fact["status"]] += 1
    partial = {op: found for op, found in counts.items() if set(found) != {"passed"}}
    lines = [f"{len(counts) - len(partial)} ops whose cases all pass; of the others:"]
    for op in sorted(partial):
        shown = ", ".join(f"{number} {status}" for status, number in partial[op].most_common())
        lines.append(f"  {op}: {shown}")
    return "\n".join(lines)


def _op_of(case: Any) -> str:
    if case.model is None or case.name.startswith("light_"):
        return "models"
    named = case.name.partition("_expanded")
    return f"{case.model.graph.node[0].op_type}" if not named[1] else "expanded functions"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=KINDS, default="node")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=None)
    parser.add_argument("--case", default="", help="the cases with this text in their name alone")
    parser.add_argument("--backend", default="compile", help="compile or interpret")
    parser.add_argument("--out", type=Path, help="a file for a line of JSON about each case")
    options = parser.parse_args()
    start = time.time()
    chosen = cases(options.kind, options.case)[options.first : options.last]
    with open(options.out or os.devnull, "w") as out:
        facts = run_all(chosen, options.backend, out)
    counts = Counter(fact["status"] for fact in facts)
    print(report(facts))
    print(f"\n{report_ops(facts)}")
    print(
        f"\n{counts['passed']} of {len(facts)} cases pass, {counts['refused']} are refused, "
        f"{counts['wrong']} wrong, {counts['failed']} failed, {counts['dead']} dead, "
        f"in {time.time() - start:.0f} s"
    )
    return 0 if counts["passed"] + counts["refused"] == len(facts) else 1


if __name__ == "__main__":
    sys.exit(main())
