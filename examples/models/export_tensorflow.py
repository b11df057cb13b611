"""Export a model of this folder from TensorFlow: module text, inputs and expected results.

    pip install 'riselang[tensorflow]'
    python examples/models/export_tensorflow.py

The weights are arguments after the input; the format of arguments and results is that of
`export.py`.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np

tensorflow: Any = importlib.import_module("tensorflow")
HERE = Path(__file__).parent
SETS = 3
NAME = "tensorflow_cnn"
SHAPES = ((3, 3, 1, 4), (4,), (64, 10), (10,))


def network(x: Any, kernel: Any, shift: Any, weight: Any, bias: Any) -> Any:
    """A convolution, pooling and a dense layer."""
    nn = tensorflow.nn
    h = nn.relu(nn.bias_add(nn.conv2d(x, kernel, 1, "VALID"), shift))
    h = nn.max_pool2d(h, 2, 2, "VALID")
    return nn.softmax(tensorflow.reshape(h, (2, 64)) @ weight + bias)


def main() -> None:
    random = np.random.default_rng(0)
    weights = [(random.standard_normal(shape) / 4).astype(np.float32) for shape in SHAPES]
    inputs = [random.random((2, 10, 10, 1), np.float32) for _ in range(SETS)]
    compiled = tensorflow.function(network, jit_compile=True, autograph=False)
    given = [tensorflow.constant(each) for each in (inputs[0], *weights)]
    text = compiled.experimental_get_compiler_ir(*given)(stage="stablehlo")
    arrays: dict[str, Any] = {f"arg{k + 1}": each for k, each in enumerate(weights)}
    for number, x in enumerate(inputs):
        arrays[f"set{number}_arg0"] = x
        arrays[f"set{number}_result0"] = network(x, *weights).numpy()
    # Without locations, so that the text does not contain file names of this machine.
    text = re.sub(r'loc\("/[^"]*":\d+:\d+\)', "loc(unknown)", text)
    (HERE / f"{NAME}.mlir").write_text(text)
    np.savez_compressed(HERE / f"{NAME}.npz", allow_pickle=False, **arrays)
    print(f"wrote {NAME}.mlir and {NAME}.npz")


if __name__ == "__main__":
    main()
