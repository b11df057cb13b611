"""PyTorch modules that torch.compile compiles with the backend "riselang", beside PyTorch itself.

python tests/conformance/torch_modules.py
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

torch: Any = importlib.import_module("torch")
nn = torch.nn
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}
GRADIENT_TOLERANCE = {"rtol": 2e-4, "atol": 2e-4}


def applied(inner: Any, function: Callable[[Any, Any], Any]) -> Any:
    """A module that applies a function to another module and its argument."""
    module = nn.Module()
    module.inner = inner
    module.forward = lambda x: function(inner, x)
    return module


def attention(projection: Any, x: Any) -> Any:
    return nn.functional.scaled_dot_product_attention(*projection(x).chunk(3, -1))


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4)),
        torch.randn(3, 8),
    ),
    "lenet": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5),
            nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 10),
        ),
        torch.randn(2, 1, 28, 28),
    ),
    "batch norm": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU()),
        torch.randn(2, 3, 8, 8),
    ),
    "encoder": (
        lambda: nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True),
        torch.randn(2, 5, 16),
    ),
    "lstm cell": (
        lambda: applied(nn.LSTMCell(4, 8), lambda cell, x: cell(x)[0]), torch.randn(2, 4),
    ),
    "gru cell": (lambda: applied(nn.GRUCell(4, 8), lambda cell, x: cell(x)), torch.randn(2, 4)),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 3)),
        torch.tensor([[1, 2], [3, 9]]),
    ),
    "group norm": (
        lambda: nn.Sequential(nn.Conv1d(4, 8, 3), nn.GroupNorm(2, 8), nn.SiLU()),
        torch.randn(2, 4, 9),
    ),
    "log softmax": (
        lambda: nn.Sequential(nn.Linear(8, 8), nn.LogSoftmax(-1)), torch.randn(3, 8),
    ),
    "transposed convolution": (
        lambda: nn.Sequential(
            nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), nn.Softplus()
        ),
        torch.randn(2, 3, 5, 5),
    ),
    "convolution with strides": (
        lambda: nn.Sequential(
            nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), nn.ELU()
        ),
        torch.randn(2, 4, 10, 9),
    ),
    "depthwise": (
        lambda: nn.Sequential(
            nn.Conv2d(4, 4, 3, groups=4, padding=1), nn.Hardswish(), nn.AdaptiveAvgPool2d(1)
        ),
        torch.randn(2, 4, 6, 6),
    ),
    "pooling": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 3, 1), nn.MaxPool2d(3, 2, 1),
            nn.AvgPool2d(2, 1, 1, count_include_pad=False),
        ),
        torch.randn(2, 2, 9, 8),
    ),
    "upsample": (
        lambda: nn.Sequential(
            nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(3, 3, 3), nn.Sigmoid()
        ),
        torch.randn(1, 3, 4, 4),
    ),
    "attention": (lambda: applied(nn.Linear(8, 24), attention), torch.randn(2, 4, 8)),
}  # fmt: skip


def gradients(result: Any, weights: Any, module: Any) -> Iterator[Any]:
    parameters = list(module.parameters())
    found = torch.autograd.grad((result * weights).sum(), parameters, allow_unused=True)
    yield from (each for each in found if each is not None)


def check(make: Callable[[], Any], x: Any, dynamic: bool | None = None) -> None:
    """Compare results, strides and gradients with PyTorch's; no graph may be left to it."""
    torch.manual_seed(0)
    torch.compiler.reset()
    module = make()
    options = {"eager": False}
    function = torch.compile(module, backend="riselang", options=options, dynamic=dynamic)
    found, wanted = function(x), module(x)
    torch.testing.assert_close(found, wanted, **TOLERANCE)
    assert found.stride() == wanted.stride(), (found.stride(), wanted.stride())
    weights = torch.randn_like(wanted)
    pairs = zip(gradients(found, weights, module), gradients(wanted, weights, module), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, **GRADIENT_TOLERANCE)


def check_dropout() -> None:
    """Each call drops other elements, and the gradient drops the same."""
    torch.compiler.reset()
    drop = compiled(nn.Dropout(0.25))
    x = torch.ones(100, 100, requires_grad=True)
    found = drop(x)
    assert {round(each, 4) for each in found.unique().tolist()} == {0.0, 1.3333}
    assert abs((found == 0).float().mean() - 0.25) < 0.02
    assert not torch.equal(found, drop(x))
    (gradient,) = torch.autograd.grad(found.sum(), x)
    assert torch.equal(gradient, found)


def compiled(function: Callable[..., Any]) -> Any:
    return torch.compile(function, backend="riselang", options={"eager": False})


def check_graph_breaks() -> None:
    """A function whose Python code ends a graph; an argument that is changed; bf16."""

    def broken(x: Any) -> Any:
        y = x.sin() * 2
        torch._dynamo.graph_break()
        return y + 1 if y.sum() > 0 else y.cumsum(0)

    for x in (torch.rand(5), -torch.rand(5)):
        y = x.sin() * 2
        torch.testing.assert_close(compiled(broken)(x), y + 1 if y.sum() > 0 else y.cumsum(0))

    def doubled(x: Any) -> Any:
        x.mul_(2)
        return (x @ x).T

    x = torch.randn(4, 4, dtype=torch.bfloat16)
    changed = x * 2
    found = compiled(doubled)(x)
    assert torch.equal(x, changed)
    torch.testing.assert_close(found, (changed @ changed).T)
    assert found.stride() == (1, 4)


def check_what_is_left_to_torch() -> None:
    """A graph that cannot be compiled is run by PyTorch, which a warning says."""
    torch.compiler.reset()
    x = torch.randn(4, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = torch.compile(lambda x: torch.linalg.eigvals(x) + x.sum(), backend="riselang")(x)
    torch.testing.assert_close(found, torch.linalg.eigvals(x) + x.sum())
    assert any("PyTorch runs this graph" in str(each.message) for each in caught), caught


def main() -> None:
    torch.set_num_threads(1)
    for name, (make, x) in CASES.items():
        start = time.perf_counter()
        check(make, x)
        print(f"{name}: as PyTorch ({time.perf_counter() - start:.1f} s)", flush=True)
    check(*CASES["mlp"], dynamic=True)
    check_dropout()
    check_graph_breaks()
    check_what_is_left_to_torch()
    print("dynamic dimensions, dropout, graph breaks and what is left to PyTorch: as PyTorch")


if __name__ == "__main__":
    main()
