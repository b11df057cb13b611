"""A digit classifier: import it, print it, compile it, and run it on held-out images.

`train.py` in this folder trained the network; running it does not need the training framework.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import riselang as rl

HERE = Path(__file__).parent
Array = np.ndarray[Any, np.dtype[Any]]
SHADES = " .:-=+*#%@"


def load() -> tuple[list[Array], Array, Array]:
    """Return the weights, the held-out images and their labels."""
    with np.load(HERE / "weights.npz") as kept:
        weights = [kept[name] for name in kept]
    with np.load(HERE / "held_out.npz") as kept:
        images, labels = kept["images"], kept["labels"]
    return weights, (images[..., None] / 255).astype(np.float32), labels


def features(x: Array, kernel: Array, bias: Array) -> Array:
    """Compute convolution (im2col), ReLU and 2x2 max pooling with NumPy."""
    rows, columns, inputs, outputs = kernel.shape
    height, width = x.shape[0] - rows + 1, x.shape[1] - columns + 1
    shape = (height, width, rows, columns, inputs)
    strides = (*x.strides[:2], *x.strides)
    windows = np.lib.stride_tricks.as_strided(x, shape, strides)
    h = windows.reshape(height * width, -1) @ kernel.reshape(-1, outputs)
    h = np.maximum(h + bias, 0).reshape(height // 2, 2, width // 2, 2, outputs)
    return np.asarray(h.max(axis=(1, 3)))


def in_numpy(weights: Sequence[Array], x: Array) -> Array:
    k1, b1, k2, b2, w3, b3, w4, b4 = weights
    h = features(features(x[0], k1, b1), k2, b2)
    return np.asarray(np.maximum(h.reshape(1, -1) @ w3 + b3, 0) @ w4 + b4, np.float32)


def drawn(image: Array) -> str:
    """Draw an image with characters, two for each pixel, without empty rows."""
    levels = (image[:, :, 0] * (len(SHADES) - 1)).round().astype(int)
    return "\n".join("".join(SHADES[each] * 2 for each in row) for row in levels if row.any())


def first_operator(text: str) -> str:
    """Return the part of the program from the image to the result of the first sum, as stored."""
    start = text.index("x |> at(")
    return "  " + text[start : text.index(" |> toMem", text.index("reduce", start))]


def classified(network: Callable[[Array], Array], images: Array) -> Array:
    """Classify the images, and print the progress."""
    found = np.empty(len(images), np.uint8)
    for k in range(len(images)):
        found[k] = network(images[k : k + 1]).argmax()
        if sys.stdout.isatty() or k + 1 == len(images):
            print(f"\rclassified {k + 1} of {len(images)} images", end="", flush=True)
    print()
    return found


def medians(calls: Sequence[Callable[[], object]], rounds: int = 200) -> list[float]:
    """Return the median seconds of each call; the calls are interleaved."""
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, times in zip(calls, taken, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]


def main() -> float:
    """Run the demo; return the accuracy on the held-out images."""
    print("\n=== a digit classifier ===\n")
    weights, images, labels = load()
    model = rl.from_stablehlo(HERE / "digits.mlir")
    print(f"imported: {model}")
    print("\nits first operator, a convolution, as patterns:\n")
    print(first_operator(model.as_text("notation")))
    print("\ncompiling ...", end="", flush=True)
    begun = time.perf_counter()
    network = model.bind(*weights)
    network(images[:1])
    print(f" {time.perf_counter() - begun:.2f} s\n")
    print(drawn(images[0]))
    print(f"is classified as {network(images[:1]).argmax()}; its label is {labels[0]}\n")
    found = classified(network, images)
    accuracy = float((found == labels).mean())
    ours, theirs = medians([lambda: network(images[:1]), lambda: in_numpy(weights, images[:1])])
    some = [images[number : number + 1] for number in range(50)]
    difference = max(float(np.abs(network(each) - in_numpy(weights, each)).max()) for each in some)
    print(f"{accuracy:.1%} of {len(images)} held-out images are classified correctly")
    print(f"{ours * 1e6:.0f} us an image; the same network in NumPy {theirs * 1e6:.0f} us; "
          f"largest difference {difference:.1e}")  # fmt: skip
    assert np.allclose(network(images[:1]), in_numpy(weights, images[:1]), atol=1e-3)
    return accuracy


if __name__ == "__main__":
    main()
