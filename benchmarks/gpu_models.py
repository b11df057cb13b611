"""Models on a GPU beside torch.compile: complete calls, and CUDA graphs of them.

    python benchmarks/gpu_models.py [mlp] [encoder] [lenet] [--kernels]

`--kernels` prints the time of each kernel, too.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import riselang as rl
from riselang.native import cuda

ROUNDS, MILLISECONDS = 9, 20
"""The number of measurements, and the minimum length of each."""
GRAPH_CALLS = 10
Call = Callable[[], Any]


def models(torch: Any) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Return the modules, and the shapes of their inputs."""
    nn = torch.nn
    lenet = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84),
        nn.ReLU(), nn.Linear(84, 10), nn.Softmax(-1),
    )  # fmt: skip
    mlp = nn.Sequential(nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 4096))
    encoder = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    return {
        "mlp": (mlp, (4096, 4096)),
        "encoder": (encoder, (8, 512, 512)),
        "lenet": (lenet, (32, 1, 28, 28)),
    }


def measure(name: str, dtype: Any, *, kernels: bool) -> None:
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    module, shape = models(torch)[name]
    module = module.eval().to(dtype)
    ours = rl.from_torch(
        module, torch.zeros(shape, dtype=dtype), loops="gpu", float="relaxed"
    )  # its weights are copied to the GPU
    module = module.cuda()
    x = torch.randn(shape, device="cuda").to(dtype)
    compiled = torch.compile(module)
    with torch.no_grad():
        expected = compiled(x)
        found = ours(x)
        difference = float((found.float() - expected.float()).abs().max())
        error = difference / float(expected.float().abs().max())
        calls: list[Call] = [lambda: ours(x), lambda: compiled(x)]
        title = f"{name}, {str(dtype).removeprefix('torch.')}"
        report(title, medians(calls), error)
        graphs = [graph_of(each) for each in calls]
        times = [each / GRAPH_CALLS for each in medians([each.replay for each in graphs])]
        report(f"{title}, as a graph", times, error)
        if kernels:
            for call in calls:
                print_kernels(call)


def report(title: str, times: Sequence[float], error: float) -> None:
    mine, theirs = times
    print(
        f"{title:32} {mine * 1e3:9.1f} us  torch.compile {theirs * 1e3:9.1f} us  "
        f"ratio {mine / theirs:5.2f}  error {error:.1e}",
        flush=True,
    )


def medians(calls: Sequence[Call]) -> list[float]:
    """Return the median time of each call in milliseconds, measured alternately."""
    torch: Any = import_module("torch")

    def once(call: Call, count: int) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / count

    counts = [1 + int(MILLISECONDS / max(once(each, 3), once(each, 3))) for each in calls]
    times = [
        [once(call, count) for call, count in zip(calls, counts, strict=True)]
        for _ in range(ROUNDS)
    ]
    return [sorted(each)[ROUNDS // 2] for each in zip(*times, strict=True)]


def graph_of(call: Call) -> Any:
    """Return a CUDA graph of several calls."""
    torch: Any = import_module("torch")
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        graph.results = [call() for _ in range(GRAPH_CALLS)]
    return graph


def print_kernels(call: Call, calls: int = 10) -> None:
    """Print the time of each kernel of a call."""
    profiler: Any = import_module("torch.profiler")
    torch: Any = import_module("torch")
    call()
    with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
    times = Counter[str]()
    for event in profile.events():
        times[event.name] += event.device_time / calls
    for name, time in times.items():
        print(f"    {time:9.1f} us  {name[:100]}", flush=True)


def main(arguments: Sequence[str]) -> None:
    torch: Any = import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    names = [each for each in arguments if not each.startswith("--")] or list(models(torch))
    for name in names:
        dtypes = [torch.float32] if name == "lenet" else [torch.bfloat16, torch.float32]
        for dtype in dtypes:
            measure(name, dtype, kernels="--kernels" in arguments)


if __name__ == "__main__":
    if find_spec("torch") is None or not cuda.is_available():
        print("there is no GPU here, or no torch: nothing is measured")
    else:
        main(sys.argv[1:])
