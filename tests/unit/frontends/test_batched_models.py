"""Batched models: requests of several threads get their rows, and only their own errors."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.stablehlo.model.batching import BatchedModel, Row
from riselang.support.errors import UserError

STATIC = """func.func @main(%w: tensor<3x2xf32>, %x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %0 = stablehlo.dot %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"""
DYNAMIC = """func.func @main(%x: tensor<?x3xf32>, %y: tensor<?x3xf32>)
    -> (tensor<?x3xf32>, tensor<?x3xf32>) {
  %0 = stablehlo.add %x, %y : tensor<?x3xf32>
  %1 = stablehlo.subtract %x, %y : tensor<?x3xf32>
  return %0, %1 : tensor<?x3xf32>, tensor<?x3xf32>
}"""
W = np.arange(6, dtype=np.float32).reshape(3, 2)


def row(k: int) -> Any:
    return np.array([k, 1, -k], np.float32)


def numbers(model: Any, maximum: int = 4, delay: float = 0.05) -> BatchedModel:
    """A batched function of one number."""
    return BatchedModel(model, [Row("x", np.dtype(np.float64), ())], [1, 2, maximum], delay)


@pytest.mark.rotating(3)
def test_threads_get_their_rows() -> None:
    model = rl.from_stablehlo(STATIC).bind(W)
    with model.batched(delay=0.001) as batched, ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda k: batched(row(k)), range(400)))
    for k, each in enumerate(found):
        np.testing.assert_allclose(each, row(k) @ W, rtol=1e-6)


def test_threads_may_call_a_model_itself() -> None:
    model, start = rl.from_stablehlo(STATIC).bind(W), Barrier(8)

    def call(thread: int) -> bool:
        start.wait()
        xs = [np.stack([row(thread * k + j) for j in range(4)]) for k in range(50)]
        return all(np.allclose(model(x), x @ W) for x in xs)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(8)))


def test_batches_of_a_dynamic_model_and_several_results() -> None:
    model = rl.from_stablehlo(DYNAMIC)
    with model.batched(3) as batched, ThreadPoolExecutor(8) as pool:
        assert batched.sizes == (1, 2, 3)
        found = list(pool.map(lambda k: batched(row(k), arg1=row(1)), range(40)))
    for k, (total, difference) in enumerate(found):
        assert np.array_equal(total, row(k) + row(1))
        assert np.array_equal(difference, row(k) - row(1))


def test_an_onnx_model_batches_requests_of_equal_shapes() -> None:
    onnx: Any = pytest.importorskip("onnx")
    text = '<ir_version: 9, opset_import: ["" : 20]> f (float [n, m] x) => (float [n, k] y) ' \
           "{ y = ReduceSum <keepdims: int = 1> (x, axes) }"  # fmt: skip
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1]), "axes"))
    with rl.from_onnx(proto).batched(2, delay=0.2) as batched, ThreadPoolExecutor(6) as pool:
        lengths = [2, 3, 2, 3, 2, 3]
        found = list(pool.map(lambda n: batched(np.ones(n, np.float32)), lengths))
    assert [float(each[0]) for each in found] == lengths


def test_requests_are_computed_together() -> None:
    sizes: list[int] = []

    def model(x: Any) -> Any:
        sizes.append(len(x))
        time.sleep(0.02)
        return 2 * x

    with numbers(model) as batched:
        futures = [batched.submit(float(k)) for k in range(9)]
        assert [float(each.result()) for each in futures] == [2.0 * k for k in range(9)]
    assert sizes == [4, 4, 1]


def test_a_request_does_not_wait_longer_than_the_delay() -> None:
    with numbers(lambda x: x, delay=0.01) as batched:
        start = time.monotonic()
        assert batched(3.0) == 3.0
        assert time.monotonic() - start < 5


def test_an_error_reaches_only_the_request_that_causes_it() -> None:
    def model(x: Any) -> Any:
        if (x == 2).any():
            raise ValueError("2 is refused")
        return x

    with numbers(model) as batched:
        futures = [batched.submit(float(k)) for k in range(4)]
        assert [float(futures[k].result()) for k in (0, 1, 3)] == [0, 1, 3]
        with pytest.raises(ValueError, match="2 is refused"):
            futures[2].result()
        assert batched(5.0) == 5.0


def test_arguments_are_checked_before_they_wait() -> None:
    with rl.from_stablehlo(STATIC).bind(W).batched() as batched:
        with pytest.raises(UserError, match="expected a row of the shape"):
            batched(np.zeros((1, 3), np.float32))
        with pytest.raises(UserError, match="expected dtype float32, but found float64"):
            batched(np.zeros(3))
        with pytest.raises(UserError, match="has 1 argument"):
            batched()
        with pytest.raises(UserError, match="z is not an argument"):
            batched(row(1), z=row(2))
        assert batched(arg1=row(1)).shape == (2,)


def test_a_row_may_be_changed_after_it_is_submitted() -> None:
    x = row(7)
    with rl.from_stablehlo(STATIC).bind(W).batched(delay=0.05) as batched:
        future = batched.submit(x)
        x[:] = 0
        np.testing.assert_allclose(future.result(), row(7) @ W, rtol=1e-6)


def test_closing_computes_what_is_waiting() -> None:
    begun, end = Event(), Event()

    def model(x: Any) -> Any:
        begun.set()
        assert end.wait(10)
        return x

    batched = numbers(model, delay=0)
    futures = [batched.submit(0.0)]
    assert begun.wait(10)
    futures += [batched.submit(float(k)) for k in range(1, 6)]
    assert futures[3].cancel()
    end.set()
    batched.close()
    batched.close()
    assert [float(each.result()) for k, each in enumerate(futures) if k != 3] == [0, 1, 2, 4, 5]
    with pytest.raises(UserError, match="is closed"):
        batched(1.0)


def test_models_that_have_no_batch_are_refused() -> None:
    model = rl.from_stablehlo(STATIC)
    with pytest.raises(UserError, match="bind the arguments that are the same"):
        model.batched()
    with pytest.raises(UserError, match="takes batches of 4, not of 3"):
        model.bind(W).batched(3)
    with pytest.raises(UserError, match="maximum >= 1"):
        model.bind(W).batched(0)
    with numbers(lambda x: x.sum()) as batched, pytest.raises(UserError, match="no row"):
        batched(1.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_told() -> None:
    with numbers(lambda x: x) as batched:
        assert batched(1.0) == 1.0
        child = os.fork()
        if not child:
            try:
                batched.submit(1.0)
            except UserError:
                batched.close()
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.rotating(3)
def test_the_web_server_classifies_digits() -> None:
    path = Path(__file__).parents[3] / "examples/serving/serve.py"
    spec = importlib.util.spec_from_file_location("serve", path)
    assert spec is not None
    assert spec.loader is not None
    serve = importlib.util.module_from_spec(spec)
    sys.modules["serve"] = serve
    spec.loader.exec_module(serve)
    with np.load(serve.DIGITS / "held_out.npz") as kept:
        images, labels = kept["images"].astype(np.uint8)[:48], kept["labels"][:48]
    with serve.serving() as address, ThreadPoolExecutor(6) as pool:
        parts = list(pool.map(lambda k: serve.ask(address, images[k::6]), range(6)))
        assert serve.ask(address, [b"short"])[0][0] == 400
        assert serve.ask(address, images[:1], "/other")[0][0] == 404
    for k, part in enumerate(parts):
        assert all(status == 200 for status, _ in part)
        wrong = sum(a["digit"] != label for (_, a), label in zip(part, labels[k::6], strict=True))
        assert wrong <= 1
