"""A web server that classifies handwritten digits, in batches.

    python examples/serving/serve.py                    # on port 8000, until it is interrupted
    python examples/serving/serve.py --demo             # sends requests to itself, and stops

Each request has a thread of its own, as in most web servers of Python; the batched model computes
the requests that wait at the same time together. POST 28 x 28 bytes, the shades of an image, to
`/digits`: the answer is JSON.
"""

from __future__ import annotations

import argparse
import http.client
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

import riselang as rl

DIGITS = Path(__file__).parents[1] / "digits"
BATCH, SIDE = 8, 28


def load_model(batch: int = BATCH) -> Any:
    """Return the classifier for a batch of images.

    It was exported for one image: the first dimension of its tensors is the batch.
    """
    text = (DIGITS / "digits.mlir").read_text().replace("tensor<1x", f"tensor<{batch}x")
    with np.load(DIGITS / "weights.npz") as kept:
        return rl.from_stablehlo(text).bind(*(kept[name] for name in kept))


class Server(ThreadingHTTPServer):
    """A web server with a batched model."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, model: Any, port: int):
        super().__init__(("127.0.0.1", port), Handler)
        self.model = model


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is one packet
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/digits":
            self.answer(404, {"error": "post to /digits"})
            return
        if len(content) != SIDE * SIDE:
            self.answer(400, {"error": f"expected {SIDE * SIDE} bytes, found {len(content)}"})
            return
        image = np.frombuffer(content, np.uint8).reshape(SIDE, SIDE, 1)
        assert isinstance(self.server, Server)
        try:
            scores = self.server.model((image / 255).astype(np.float32))
        except rl.RiseError as error:
            self.answer(500, {"error": str(error)})
            return
        self.answer(200, {"digit": int(scores.argmax()), "scores": [*map(float, scores)]})

    def answer(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing for each request."""


@contextmanager
def serving(port: int = 0, delay: float = 0.002) -> Any:
    """Serve in another thread; port 0 stands for any free one. Yields the address."""
    with load_model().batched(delay=delay) as model:
        model(np.zeros((SIDE, SIDE, 1), np.float32))  # compiles it
        server = Server(model, port)
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[:2]
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def ask(address: tuple[str, int], images: Sequence[Any], path: str = "/digits") -> list[Any]:
    """Send images one after the other through one connection; return the statuses and answers."""
    connection = http.client.HTTPConnection(*address)
    found: list[Any] = []
    for image in images:
        connection.request("POST", path, bytes(image))
        response = connection.getresponse()
        found.append((response.status, json.loads(response.read())))
    connection.close()
    return found


def demonstrate(clients: int = BATCH) -> float:
    """Classify the held-out images with several clients; return the accuracy."""
    with np.load(DIGITS / "held_out.npz") as kept:
        images, labels = kept["images"].astype(np.uint8), kept["labels"]
    with serving() as address, ThreadPoolExecutor(clients) as pool:
        start = time.perf_counter()
        parts = list(pool.map(lambda k: ask(address, images[k::clients]), range(clients)))
        taken = time.perf_counter() - start
    found = np.zeros(len(images), int)
    for k, part in enumerate(parts):
        found[k::clients] = [answer["digit"] for _, answer in part]
    accuracy = float((found == labels).mean())
    print(f"{clients} clients: {len(images) / taken:.0f} requests per second, "
          f"{accuracy:.1%} of {len(images)} images classified correctly")  # fmt: skip
    return accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description="classify handwritten digits in a web server")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--demo", action="store_true", help="send requests to itself, and stop")
    arguments = parser.parse_args()
    if arguments.demo:
        demonstrate()
        return
    with serving(arguments.port) as (host, port):
        print(f"http://{host}:{port}/digits")
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
