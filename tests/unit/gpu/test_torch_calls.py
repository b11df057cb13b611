"""PyTorch tensors on a GPU, which a module of the same name stands for, are passed quickly."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.runtime.device_arrays import to_argument_library
from riselang.support.config import Options
from support.emulated_gpu import Emulate, EmulatedGpu

X = np.arange(8, dtype=np.float32)


class Tensor:
    """A contiguous tensor; `description` counts how often its interface is read."""

    descriptions = 0
    requires_grad = False

    def __init__(self, array: rl.DeviceArray, offset: int = 0):
        self.array, self.offset = array, offset
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        Tensor.descriptions += 1
        return self.array.__cuda_array_interface__

    def get_device(self) -> int:
        return 0

    def is_contiguous(self) -> bool:
        return True

    def data_ptr(self) -> int:
        return self.array.address + self.offset


class Stream:
    """A stream of PyTorch; the default stream has the number zero."""

    def __init__(self) -> None:
        self.cuda_stream = 0


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Stream:
    stream = Stream()

    def empty(shape: tuple[int, ...], *, dtype: Any, device: Any) -> Tensor:
        return Tensor(rl.DeviceArray(shape, np.dtype(dtype)))

    names = {name: np.dtype(name) for name in ("float32", "bool")}
    cuda = SimpleNamespace(current_stream=lambda device: stream, device_count=lambda: 1)

    def as_tensor(value: Any, device: str) -> Any:
        return value

    module = SimpleNamespace(Tensor=Tensor, empty=empty, cuda=cuda, as_tensor=as_tensor, **names)
    monkeypatch.setitem(sys.modules, "torch", module)
    return stream


def start(emulate: Emulate, text: str) -> tuple[Any, EmulatedGpu]:
    kernel = TermKernel("f", parse_term(text), options=Options("gpu"))
    return kernel, emulate(kernel.lower())


def test_a_second_call_asks_only_for_addresses(emulate: Emulate, stream: Stream) -> None:
    doubled, gpu = start(emulate, "fun((x : 8.f32), x |> map(fun(e, e + e)))")
    first = doubled(Tensor(rl.to_gpu(X)))
    Tensor.descriptions = 0
    second = doubled(first)
    assert isinstance(second, Tensor)
    assert np.array_equal(second.array.numpy(), X * 4)
    assert Tensor.descriptions == 0
    assert len(gpu.launched) == 2


def test_results_that_are_tensors_are_returned_as_they_are(
    emulate: Emulate, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prepared call returns tensors, whose dtypes have no names."""
    monkeypatch.setattr(Tensor, "__module__", "torch")
    doubled, _ = start(emulate, "fun((x : 8.f32), x |> map(fun(e, e + e)))")
    first = doubled(Tensor(rl.to_gpu(X)))
    first.dtype = "torch.float32"
    assert to_argument_library([first], first) is first


@rl.jit(loops="gpu")
def both(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda e: e + e), x | rl.map(lambda e: e * e)


def test_several_results(emulate: Emulate, stream: Stream) -> None:
    emulate(both.lower(X))
    Tensor.descriptions = 0
    for _ in range(2):
        twice, squares = both(Tensor(rl.to_gpu(X)))
        assert np.array_equal(twice.array.numpy(), X * 2)
        assert np.array_equal(squares.array.numpy(), X * X)
    assert Tensor.descriptions < 10


def test_parameters_without_annotations(emulate: Emulate, stream: Stream) -> None:
    plain: Any = rl.jit(lambda x: x * 2.0, loops="gpu")
    emulate(plain.lower(X))
    first = plain(Tensor(rl.to_gpu(X)))
    Tensor.descriptions = 0
    assert np.array_equal(plain(first).array.numpy(), X * 4)
    assert Tensor.descriptions == 0


@pytest.mark.parametrize("is_private", [False, True])
def test_kernels_run_in_the_current_stream(
    emulate: Emulate, stream: Stream, is_private: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_private:
        guards = SimpleNamespace(
            _empty_strided_cuda=lambda shape, strides, dtype: Tensor(rl.DeviceArray(shape, dtype))
        )
        private = SimpleNamespace(
            _cuda_getCurrentRawStream=lambda index: stream.cuda_stream,
            _dynamo=SimpleNamespace(guards=guards),
        )
        monkeypatch.setattr(sys.modules["torch"], "_C", private, raising=False)
    doubled, gpu = start(emulate, "fun((x : 8.f32), x |> map(fun(e, e + e)))")
    stream.cuda_stream = 7
    for _ in range(2):
        assert np.array_equal(doubled(Tensor(rl.to_gpu(X))).array.numpy(), X * 2)
    assert gpu.streams == [7, 7]


def test_captured_arrays_are_copied_once(
    emulate: Emulate, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.arange(100, 108, dtype=np.float32)
    added: Any = rl.jit(lambda x: x + weights, loops="gpu")
    gpu = emulate(added.lower(X))
    first = added(Tensor(rl.to_gpu(X)))
    monkeypatch.setattr(gpu, "copy_in", None)
    assert np.array_equal(added(first).array.numpy(), X + weights + weights)


def test_tensors_that_need_checks_are_described(emulate: Emulate, stream: Stream) -> None:
    doubled, _ = start(emulate, "fun((x : 8.f32), x |> map(fun(e, e + e)))")
    doubled(Tensor(rl.to_gpu(X)))
    Tensor.descriptions = 0
    misaligned = Tensor(rl.to_gpu(X), offset=4)
    doubled(misaligned)
    assert Tensor.descriptions > 0
    with pytest.raises(rl.UserError, match="expected 1 dimension"):
        doubled(Tensor(rl.to_gpu(X.reshape(2, 4))))


MODEL = """
func.func public @main(%x: tensor<2x8xf32>, %w: tensor<8xf32>) -> tensor<2x8xf32> {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %0 = stablehlo.add %c, %w : tensor<8xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<8xf32>) -> tensor<2x8xf32>
  %2 = stablehlo.multiply %x, %1 : tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}
"""


def test_the_weights_of_a_model_stay_on_the_gpu(
    emulate: Emulate, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.ones(8, np.float32)
    model: Any = rl.from_stablehlo(MODEL, loops="gpu").bind(arg1=weights)
    precomputation, program = model.lower().split_by_known_parameters("known", 2, {1})
    gpu = emulate(program)
    gpu.others = [precomputation.compilation.gpu]
    x = np.arange(16, dtype=np.float32).reshape(2, 8)
    expected = x * (np.arange(1, 9, dtype=np.float32) + weights)
    assert np.array_equal(model(x), expected)
    first = Tensor(rl.to_gpu(x))
    model(first)
    monkeypatch.setattr(gpu, "copy_in", None)
    Tensor.descriptions = 0
    assert np.array_equal(model(first).array.numpy(), expected)
    assert Tensor.descriptions == 0
